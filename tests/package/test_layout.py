"""The package as a whole: its public names, what importing it loads, and how the tree becomes a wheel."""

from __future__ import annotations

import configparser
import json
import subprocess
import sys
from pathlib import Path

import toolog

ROOT = Path(__file__).parents[2]


def test_public_names_are_these() -> None:
    """A public name comes or goes only on purpose."""
    assert set(toolog.__all__) == {
        "ConfigError",
        "Instrumentation",
        "RecordInvalid",
        "Sanitizer",
        "ToologError",
        "ToologHandler",
        "attach",
        "bind",
        "carrier",
        "configure",
        "dict_config",
        "flush",
        "instrument",
        "instrument_threads",
        "recreate",
        "session",
        "set_level",
        "stats",
        "tool",
        "uninstrument",
        "validate",
    }


def test_every_public_name_is_there_and_documented() -> None:
    """Each public name can be loaded and says what it is."""
    for name in toolog.__all__:
        assert (getattr(toolog, name).__doc__ or "").strip(), name


def test_import_loads_nothing_heavy() -> None:
    """`import toolog` in a fresh process loads none of the clients, frameworks and slow modules."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from imports import run_fresh
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    _, heavy = run_fresh("import toolog")
    assert heavy == []


def test_setup_names_every_package() -> None:
    """setup.cfg lists each package of the tree, so that none is missing in a wheel."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf-8")
    named = set(setup["options"]["packages"].split())
    found = {
        ".".join(file.parent.relative_to(ROOT).parts) for file in (ROOT / "toolog").rglob("__init__.py")
    }
    assert named == found | {"toolog.schemas"}


def test_plugin_is_light() -> None:
    """The pytest plugin, loaded in every project that has toolog installed, loads nothing heavy either."""
    code = "import sys, json, toolog.testing; print(json.dumps([n for n in ('wrapt', 're2', 'rich') if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
