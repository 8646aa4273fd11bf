"""Writes docs/reference/configuration.md from the table of parameters.

``python -m toolog.settings.reference PATH`` does it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from toolog.settings.table import Parameter, section

_HEAD = """\
<!-- Written from toolog/settings/table.py; change the code, not this page. -->

# Configuration

Every option can stand in four places. The first that says something wins:

1. an argument: of `toolog.configure(...)`, `toolog.dict_config(...)`, or of `toolog.ToologHandler` in a
   `logging.config.dictConfig` dictionary
2. an environment variable
3. the file that the environment variable `TOOLOG_CONFIG` names; without it the table `[tool.toolog]` of
   `pyproject.toml`, in the working directory or the nearest directory above it
4. the profile's default, else the default below

A name with a dot is a key of a nested table: `queue.max_records` is `queue={"max_records": 5000}` in Python
and

```toml
[tool.toolog]
queue = { max_records = 5000 }
```

in `pyproject.toml`. A file of another name is TOML or, with the suffix `.json`, JSON; the keys stand in
`[tool.toolog]` there, too, or at its top. `--config` of a command is read in place of both. Relative paths
go by the working directory, whatever file they stand in.

In environment variables, tables are JSON, and lists are JSON or separated by commas. Sizes and
durations are plain bytes and seconds, or text with a unit: `"16 MiB"`, `"500 ms"`, `"7 days"`. An unknown key
raises `ConfigError`, which names the nearest one that exists.
"""

_SECTIONS = (
    (
        "profile",
        "Profile",
        "For `configure` and `dict_config`, around the handler. The profile `dev` has two "
        "sinks, `console` (a line for each call on stderr) and `store` (SQLite, `.toolog/calls.db`). A table "
        "`sinks` takes the place of both: who changes one names the other again, as in "
        '`sinks={"console": {}, "store": {"type": "sqlite", "path": "calls.db"}}`.',
    ),
    ("handler", "Handler", "Keys of `ToologHandler`, of `configure` and of `[tool.toolog]`."),
    (
        "capture",
        "Capture",
        "In `configure` and `[tool.toolog]` beside the others; for `dictConfig` under the handler's key "
        "`capture`.",
    ),
    ("run", "`toolog run`", "Only in `[tool.toolog]` and the environment."),
    (
        "sink",
        "Every sink",
        "Keys in each entry of `sinks`, beside those of its type. The environment variables hold for all "
        "sinks that say nothing themselves.",
    ),
)


def write() -> str:
    """Return the text of the page."""
    parts = [_HEAD]
    for name, title, text in _SECTIONS:
        parts.append(
            f"\n## {title}\n\n{text}\n\n| option | what it takes | default | environment | meaning |\n"
        )
        parts.append("|---|---|---|---|---|\n")
        parts += [_row(parameter) for parameter in section(name)]
    return "".join(parts)


def _row(parameter: Parameter) -> str:
    env = f"`{parameter.env}`" if parameter.env else ""
    cells = (f"`{parameter.name}`", _takes(parameter), _default(parameter), env, parameter.doc)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _takes(parameter: Parameter) -> str:
    kinds = {
        "choice": " or ".join(f"`{choice}`" for choice in parameter.choices),
        "count": "whole number",
        "durability": "name, or table of levels",
        "flag": "`true` or `false`",
        "levels": "table of levels",
        "names": "list of names",
        "strings": "table of texts",
    }
    text = kinds.get(parameter.kind, parameter.kind)
    if parameter.least:
        text += f", at least {parameter.least:g}"
    return text


def _default(parameter: Parameter) -> str:
    value: Any = parameter.default
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value in ({}, ()):
        return "empty"
    if isinstance(value, str):
        return f"`{value}`"
    return f"`{value!r}`"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(write(), "utf-8")
