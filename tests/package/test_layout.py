"""The package as a whole: its public names, what importing it loads, and how the tree becomes a wheel."""

from __future__ import annotations

import configparser
import importlib.util
from pathlib import Path
from typing import Any

import toolog

ROOT = Path(__file__).parents[2]


def load_benchmark() -> Any:
    """Return benchmarks/imports.py as a module; it is a script and no package."""
    spec = importlib.util.spec_from_file_location("benchmarks_imports", ROOT / "benchmarks" / "imports.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_public_names_are_these() -> None:
    """A public name comes or goes only on purpose."""
    assert toolog.__all__ == [
        "ArgumentsInvalid", "AttemptsExhausted", "CallDepthExceeded", "ConfigError",
        "ContextRejected", "GuardError", "Instrumentation", "RecordInvalid", "Sanitizer",
        "SchemaError", "SegmentCorrupt", "SerializationError", "SinkError", "SinkRejected",
        "SinkUnavailable", "SpoolError", "SpoolFull", "ToolTimeout", "ToologError", "ToologHandler",
        "UnknownTool", "attach", "bind", "carrier", "configure", "dict_config", "flush",
        "instrument", "instrument_threads", "recreate", "session", "set_level", "stats", "tool",
        "uninstrument", "validate",
    ]  # fmt: skip


def test_every_public_name_is_there_and_documented() -> None:
    """Each public name can be loaded and says what it is."""
    for name in toolog.__all__:
        assert (getattr(toolog, name).__doc__ or "").strip(), name


def test_import_loads_nothing_heavy() -> None:
    """`import toolog` in a fresh process loads none of the clients, frameworks and slow modules."""
    _, heavy = load_benchmark().run_fresh("import toolog")
    assert heavy == []


def test_setup_names_every_package() -> None:
    """setup.cfg lists each package of the tree, so that none is missing in a wheel."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf-8")
    named = set(setup["options"]["packages"].split())
    found = {".".join(file.parent.relative_to(ROOT).parts) for file in (ROOT / "toolog").rglob("__init__.py")}
    assert named == found | {"toolog.schemas"}


def test_plugin_is_light() -> None:
    """The pytest plugin, loaded in every project that has toolog installed, loads nothing heavy either."""
    _, heavy = load_benchmark().run_fresh("import toolog.testing")
    assert heavy == []
