"""Whose calls are a package's own: of an application those below its tools, of an installed package all."""

from __future__ import annotations

import importlib
import sqlite3
import sys
import types
from pathlib import Path

import pytest
from tooling import names, package

from tests.helpers import Collector
from toolog.instrumentation import importlib_bootstrap_gates
from toolog.instrumentation.entry import instrument
from toolog.instrumentation.homes import MOST_NAMES, Homes
from toolog.instrumentation.importlib_bootstrap_gates import is_own_call
from toolog.instrumentation.kinds import is_installed

LIBRARY = {
    "__init__.py": "from .engine import Engine\nfrom . import store\n",
    "engine.py": """
        class Engine:
            def run(self, text): return text.upper()
    """,
    "store/__init__.py": """
        class Store:
            def __init__(self, engine): self.engine = engine
            def save(self, text): return self.engine.run(text)
    """,
    "dialect.py": "def prepare(engine): return engine.run('pragma')\n",
    "extension.py": "from .store import Store\ndef save_all(store): return store.save('x')\n",
}


@pytest.mark.parametrize("installed", [True, False])
def test_a_module_imported_later_is_at_home_only_in_an_installed_package(
    seen: Collector, tmp_path: Path, installed: bool
) -> None:
    """What a library's dialect calls is its own doing; what an application's later module calls is the
    agent's."""
    folder = tmp_path / "site-packages" if installed else tmp_path
    with package(folder, "shelved", LIBRARY) as module:
        instrument(module)
        engine = module.Engine()
        dialect = importlib.import_module("shelved.dialect")
        assert dialect.prepare(engine) == "PRAGMA"
        assert names(seen) == ([] if installed else ["Engine.run"])
        engine.run("select")
        assert names(seen) == ["Engine.run"]


def test_of_a_part_of_an_installed_package_what_is_built_on_it_calls_as_an_agent_does(
    seen: Collector, tmp_path: Path
) -> None:
    """An extension holds something of the part; a dialect below, which nobody imported before, does not."""
    with package(tmp_path / "site-packages", "shelved", LIBRARY) as module:
        instrument([module.store])
        extension = importlib.import_module("shelved.extension")
        store = module.store.Store(module.Engine())
        assert extension.save_all(store) == "X"
        assert names(seen) == ["Store.save"]
        homes = Homes("shelved.store", ["shelved.store"])
        importlib.import_module("shelved.dialect")
        assert homes.look_up("shelved.dialect") is True
        assert homes.look_up("shelved.extension") is False
        assert homes.look_up("another") is False
        assert homes.known == {
            "shelved.store": True, "shelved.dialect": True, "shelved.extension": False, "another": False,
        }  # fmt: skip


def test_a_module_that_is_still_being_imported_is_looked_up_again(tmp_path: Path) -> None:
    """What its namespace lacks now may stand there a moment later."""
    with package(tmp_path / "site-packages", "shelved", LIBRARY) as module:
        homes = Homes("shelved.store", ["shelved.store"])
        early = types.ModuleType("shelved.early")
        early.__spec__ = importlib.util.find_spec("shelved.dialect")
        assert early.__spec__ is not None
        early.__spec__._initializing = True  # type: ignore[attr-defined]  # as importlib does
        sys.modules["shelved.early"] = early
        assert homes.look_up("shelved.early") is True
        early.Store = module.store.Store  # type: ignore[attr-defined]
        early.__spec__._initializing = False  # type: ignore[attr-defined]
        assert homes.look_up("shelved.early") is False


def test_what_no_module_is_named_is_at_home_nowhere() -> None:
    """Code may run in a namespace whose name is no text."""
    assert Homes("sqlite3", ["sqlite3"]).look_up(None) is False


def test_what_came_by_an_installer_or_with_python_is_installed() -> None:
    """A module of these tests is not."""
    assert is_installed("pytest")
    assert sqlite3.__file__
    assert is_installed("sqlite3")
    assert not is_installed(__name__)
    assert not is_installed("builtins")


def test_names_of_modules_that_a_program_makes_up_are_forgotten(tmp_path: Path) -> None:
    """Calls from modules of ever new names are answered as ever, and do not fill the memory."""
    homes = Homes("made.up", ["made.up"])
    code = compile("import sys\nown = is_own_call(sys._getframe())", "invented.py", "exec")
    for number in range(2 * MOST_NAMES):
        space: dict[str, object] = {"__name__": f"invented_{number}", "is_own_call": is_own_call}
        exec(code, space)
        assert space["own"] is False
        assert not homes.look_up(f"invented_{number}")
    assert homes.known["made.up"]
    assert len(homes.known) <= MOST_NAMES
    assert len(importlib_bootstrap_gates._homes) <= MOST_NAMES
