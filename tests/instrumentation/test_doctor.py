"""The doctor names each usual cause of missing records, and finds nothing wrong where nothing is."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from tooling import package, watching, write_package

from tests.helpers import Collector
from toolog import counters, emit
from toolog.errors import ConfigError
from toolog.handler import ToologHandler
from toolog.instrumentation.doctor import Diagnosis, diagnose
from toolog.instrumentation.entry import instrument

FILES = {
    "__init__.py": "from .core import Tool, search\n",
    "core.py": """
        class Tool:
            def run(self, n): return n
            def other(self, n): return n
        def search(text): return text
    """,
}


@pytest.fixture
def seen() -> Iterator[Collector]:
    """The records that a test makes; whatever it instruments is undone."""
    counters.reset()
    with watching() as collector:
        yield collector


@pytest.fixture
def sick(tmp_path: Path) -> Iterator[ModuleType]:
    """A package to be examined."""
    with package(tmp_path, "sickpkg", FILES) as module:
        yield module


def causes(found: Diagnosis) -> dict[str, str]:
    """Return the problems' causes and texts."""
    return {finding.cause: f"{finding.subject}: {finding.text}" for finding in found.problems}


def test_a_healthy_process_has_no_problem(seen: Collector, sick: ModuleType) -> None:
    """What is instrumented is listed, and nothing else is said."""
    instrument(sick)
    found = diagnose()
    assert found.problems == []
    assert "+ sickpkg: 3 tools: Tool.run, Tool.other, search" in str(found)
    assert str(found).endswith("no problem found")


def test_a_target_without_tools_is_told(seen: Collector, caplog: pytest.LogCaptureFixture) -> None:
    """What holds nothing to record is told when it is instrumented and by the doctor, with what to do; what
    waits, or has tools, is not."""
    internal = logging.getLogger("toolog.internal")
    internal.addHandler(caplog.handler)
    try:
        instrument(ModuleType("bare"))
        instrument("not.imported.yet")
        instrument(_tool)
    finally:
        internal.removeHandler(caplog.handler)
    assert caplog.messages == [
        "toolog: bare holds no tools, so nothing of it is recorded; name the module that defines them"
    ]
    (found,) = [one for one in diagnose().findings if one.cause == "nothing found"]
    assert (found.text, found.advice) == ("holds no tools", "name the module that defines them")


def _tool(number: int) -> int:
    return number


def test_nothing_is_instrumented() -> None:
    """The first of all causes."""
    assert "nothing instrumented" in causes(diagnose())


@pytest.mark.parametrize("held_in", ["list", "dict", "bound method", "closure", "functools.partial"])
def test_what_was_taken_before_is_told_with_its_holder(
    seen: Collector, sick: ModuleType, held_in: str
) -> None:
    """A registry that was filled too early holds plain functions: their holder is named."""
    search, thing = vars(sick)["search"], sick.Tool()

    def closure() -> Any:
        return search("x")

    holders = {
        "list": lambda: [search], "dict": lambda: {"search": search}, "bound method": lambda: thing.run,
        "closure": lambda: closure, "functools.partial": lambda: functools.partial(search, "x"),
    }  # fmt: skip
    holder = holders[held_in]()
    if held_in != "closure":
        search = None
        del closure
    instrument(sick)
    text = causes(diagnose())["imported too early"]
    assert text.startswith("Tool.run: " if held_in == "bound method" else "sickpkg.search: ")
    assert held_in in text
    assert holder is not None


def test_what_somebody_patched_over_is_told(seen: Collector, sick: ModuleType) -> None:
    """A mock over a tool, or a plain function put back, hides it from us."""
    instrument(sick)
    with mock.patch.object(sick.Tool, "run"):
        assert causes(diagnose())["patched over"] == "Tool.run: a MagicMock stands where our wrapper stood"
    import importlib

    importlib.reload(sys.modules["sickpkg.core"])
    importlib.reload(sick)
    assert "replaced" in causes(diagnose())


def test_waiting_for_an_import_is_told(seen: Collector, sick: ModuleType, tmp_path: Path) -> None:
    """A name that cannot be found is a problem, one that merely was not imported yet is not."""
    write_package(tmp_path, "sickpkg", {"later.py": "def f(): ...\n"})
    instrument(["sickpkg.later", "sickqkg"])
    found = diagnose()
    assert causes(found) == {"waiting": "sickqkg: waits for its import, but no such module can be found"}
    assert [finding.subject for finding in found.findings if finding.cause == "waiting"] == [
        "sickpkg.later", "sickqkg",
    ]  # fmt: skip


def test_levels_and_disabled_loggers_are_told(seen: Collector, sick: ModuleType) -> None:
    """A level above INFO, a disabled logger of a tool, and logging.disable each keep records away."""
    instrument(sick)
    root, tool = logging.getLogger("toolog.calls"), logging.getLogger("toolog.calls.Tool.run")
    root.setLevel(logging.WARNING)
    assert "successful calls are not recorded" in causes(diagnose())["level"]
    root.setLevel(logging.CRITICAL)
    assert "all calls are not recorded" in causes(diagnose())["level"]
    root.setLevel(logging.INFO)
    tool.disabled = True
    try:
        assert "Tool.run" in causes(diagnose())["disabled logger"]
    finally:
        tool.disabled = False
    logging.disable(logging.ERROR)
    try:
        assert "logging.disable(40)" in causes(diagnose())["disabled logger"]
    finally:
        logging.disable(logging.NOTSET)
    assert diagnose().problems == []


def test_no_handler_is_told(seen: Collector, sick: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that reach no handler are a problem when nothing will bring one up."""
    instrument(sick)
    monkeypatch.setattr(logging.getLogger("toolog.calls"), "handlers", [])
    monkeypatch.setenv("TOOLOG_AUTOCONFIGURE", "0")
    assert "no handler" in causes(diagnose())
    monkeypatch.delenv("TOOLOG_AUTOCONFIGURE")
    assert "taken away" in str(diagnose())
    monkeypatch.setattr(emit, "first", [])
    emit.on_first_record(lambda: None)
    assert "no handler" not in causes(diagnose())


def test_troubles_of_our_own_are_told(seen: Collector, sick: ModuleType) -> None:
    """What was contained while recording is shown with its count."""
    instrument(sick)
    counters.contain("snapshot", ValueError("x"))
    assert causes(diagnose())["troubles"] == "toolog: 1 times contained while recording: snapshot"
    counters.reset()


def test_a_target_is_examined_without_being_instrumented(seen: Collector, sick: ModuleType) -> None:
    """With a target the doctor tells what its tools would be, what is skipped and why; nothing is changed."""
    before = dict(vars(sick.Tool))
    text = str(diagnose(sick, "math", "sickpkg.core.Tool.run"))
    assert "3 tools can be instrumented: Tool.run, Tool.other, search" in text
    assert "math.sqrt: function written in C" in text
    assert dict(vars(sick.Tool)) == before
    instrument(sick.Tool)
    text = str(diagnose(sick))
    assert "2 tools are instrumented: Tool.run, Tool.other" in text
    assert "1 tool can be instrumented: search" in text


def test_a_target_that_is_not_imported_can_be_loaded(seen: Collector, tmp_path: Path) -> None:
    """`load` imports a dotted name to see what it holds, and tells when that fails."""
    write_package(tmp_path, "loadpkg", {"__init__.py": "def f(): ...\n", "bad.py": "1 / 0\n"})
    sys.path.insert(0, str(tmp_path))
    try:
        assert "waiting" in [finding.cause for finding in diagnose("loadpkg").findings]
        assert "loadpkg" not in sys.modules
        assert "1 tool can be instrumented: f" in str(diagnose("loadpkg", load=True))
        assert "ZeroDivisionError" in causes(diagnose("loadpkg.bad", load=True))["import"]
        assert "no 'g' to instrument" in causes(diagnose("loadpkg.g", load=True))["target"]
        assert "cannot be found" in causes(diagnose("loadqkg", load=True))["waiting"]
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("loadpkg", None)
    with pytest.raises(ConfigError):
        instrument(3)


def test_a_retention_that_ships_no_successes_is_told(seen: Collector, tmp_path: Path) -> None:
    """Where every handler of ours ships failures only, the table of retention is the cause; where nobody
    ships at all here, that is said.
    """
    out = {"out": {"type": "file", "path": str(tmp_path / "out.jsonl")}}
    logger = logging.getLogger("toolog.calls")
    given: dict[str, Any] = {"sinks": out, "spool": {"path": str(tmp_path / "spool")}}
    for options, told in (
        ({"retention": {"ERROR": {"sinks": ["out"]}}}, {"retention"}),
        ({"retention": {"INFO": {"sinks": ["out"]}}}, set()),
        ({}, set()),
    ):
        handler = ToologHandler(**given, **options)
        logger.handlers[:] = [handler]
        found = diagnose()
        assert {cause for cause in causes(found) if cause == "retention"} == told
        handler.close()
    handler = ToologHandler(**given, ship="none")
    logger.handlers[:] = [handler]
    notes = [one for one in diagnose().findings if one.cause == "other process" and one.kind == "note"]
    assert any("wait for a process that ships them" in one.text for one in notes)
    handler.close()


def test_a_module_that_ends_the_process_when_it_is_imported_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that is a program, or whose import fails with an exception without a text, is a finding."""
    write_package(tmp_path, "endingpkg", {"__init__.py": "import sys; sys.exit(3)"})
    write_package(
        tmp_path, "mutepkg", {"__init__.py": "class Odd(Exception):\n    def __str__(self): 1 / 0\nraise Odd"}
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    found = diagnose("endingpkg", "mutepkg", load=True).problems
    assert [(one.cause, one.subject) for one in found] == [("import", "endingpkg"), ("import", "mutepkg")]
    assert "SystemExit: 3" in found[0].text
    assert "Odd" in found[1].text
