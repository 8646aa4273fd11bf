"""Configuration files other than pyproject.toml: what `--config FILE` or ``TOOLOG_CONFIG`` names.

A file is TOML or JSON, by its suffix. It holds the keys of ``[tool.toolog]``: at its top, or below
``tool.toolog`` as in a pyproject.toml.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolog.errors import ConfigError, kind_of

VARIABLE = "TOOLOG_CONFIG"
"""The environment variable that names a file in place of pyproject.toml."""


def read_config(path: Path) -> tuple[str, Mapping[str, Any]]:
    """Return (where, table) of a configuration file, for `look_up` in place of the project's table.

    Raises ConfigError when the file cannot be read, or is not what its suffix says.
    """
    try:
        text = path.read_text("utf-8-sig")  # some editors begin with a byte order mark
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # of TOML, JSON and UTF-8 alike
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ConfigError(f"{path} is not readable as {kind}: {error}") from error
    where = str(path)
    if isinstance(table, Mapping) and isinstance(tool := table.get("tool"), Mapping) and "toolog" in tool:
        table, where = tool["toolog"], f"[tool.toolog] of {path}"
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where} is a table of options, not {kind_of(table)}")
    return where, table
