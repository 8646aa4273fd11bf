"""Adapters at large: which targets mean a framework, what a table of one's own can do, what doctor says.

The framework of these tests is a small one, written on the spot, that has what the real ones have: a class of
tools, a runner that validates and makes texts of errors, and a node that knows tools by name.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import sys
import traceback
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import toolog
from tests.frameworks import environment
from tests.frameworks.contract import calls
from tests.instrumentation.tooling import Namespaces, package
from toolog.errors import ConfigError
from toolog.instrumentation import entry, instrumented
from toolog.instrumentation.doctor import diagnose
from toolog.instrumentation.frameworks import adapters, find, find_package, is_older, known_names
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.testing import capture, only

FILES = {
    "__init__.py": "from miniagent.tools import Tool, run\n",
    "tools.py": """
        class Tool:
            def __init__(self, function, name=None):
                self.function = function
                self.name = name or function.__name__

            def call(self, **arguments):
                return self.function(**arguments)

        def run(tool, arguments, call_id=None, tries=1):
            if not all(isinstance(value, int) for value in arguments.values()):
                return "error: numbers, please"
            for left in reversed(range(tries)):
                try:
                    return str(tool.call(**arguments))
                except Exception as error:
                    if not left:
                        return f"error: {error}"

        async def run_later(tool, arguments, call_id=None):
            return run(tool, arguments, call_id)
        """,
}


def _read_run(nothing: Any, given: Given) -> Request:
    tool = given["tool"]
    return Request(
        name=tool.name, call_id=given["call_id"], tool=tool, function=tool.function,
        arguments=given["arguments"],
    )  # fmt: skip


def _read_call(tool: Any, given: Given) -> Request:
    return Request(name=tool.name, tool=tool, function=tool.function, arguments=given["arguments"])


def _judge(result: Any) -> str | None:
    return result if isinstance(result, str) and result.startswith("error") else None


TABLE = Adapter(
    name="miniagent",
    distribution="miniagent",
    packages=("miniagent",),
    minimum="0",
    tested="0",
    entries=(
        Entry(place="miniagent.tools:run", read=_read_run, judge=_judge),
        Entry(place="miniagent.tools:run_later", read=_read_run, judge=_judge),
        Entry(place="miniagent.tools:Tool.call", role="body", read=_read_call),
        Entry(place="miniagent.tools:not_there", role="body", read=_read_call),
    ),
    tools=("miniagent.tools:Tool",),
)


@pytest.fixture
def mini(tmp_path: Path) -> Iterator[ModuleType]:
    """The small framework, and nothing instrumented at the end."""
    with package(tmp_path, "miniagent", FILES) as module:
        yield module
        for made in reversed(instrumented.active()):
            made.undo()


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def test_a_table_of_ones_own_records_a_framework(mini: Any) -> None:
    """``adapter=`` takes an Adapter; the name, id, arguments and raw result are those it tells."""
    tool = mini.Tool(add, "plus")
    with toolog.instrument(mini, adapter=TABLE), capture("INFO") as records:
        assert mini.run(tool, {"a": 1}, "c-1") == "3"
    (record,) = calls(records)
    assert (record["tool_name"], record["tool_call_id"]) == ("plus", "c-1")
    assert (record["input"], record["output"]) == ({"a": 1, "b": 2}, 3)
    assert record["tool"]["qualname"] == "add"


def test_what_the_framework_makes_of_an_exception_is_not_what_is_recorded(mini: Any) -> None:
    """The tool's own exception is, and what the caller gets stays the framework's text."""

    def broken(a: int) -> int:
        raise LookupError(f"no {a}")

    with toolog.instrument(mini, adapter=TABLE), capture("INFO") as records:
        assert mini.run(mini.Tool(broken), {"a": 1}) == "error: no 1"
    (record,) = calls(records)
    assert (record["event"], record["error"]["type"]) == ("tool_call_failed", "LookupError")


@pytest.mark.parametrize(
    "sent",
    [
        {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"},
        {"traceparent": "\ud800" * 60, "baggage": "toolog.session=\ud800,toolog.tag.\ud800=%ff"},
        {"traceparent": "", "baggage": "," * 100_000},
        {"traceparent": 5, "baggage": ["x"], 7: None},
    ],
)
def test_whatever_context_a_request_brings_along_it_is_recorded(mini: Any, sent: Any) -> None:
    """What came over a wire with a request may be anything; it neither stops the call nor its record."""

    def read(nothing: Any, given: Given) -> Request:
        return dataclasses.replace(_read_run(nothing, given), carrier=sent)

    first, *rest = TABLE.entries
    table = dataclasses.replace(TABLE, entries=(dataclasses.replace(first, read=read), *rest))
    with capture(level="INFO") as records, toolog.instrument(mini, adapter=table):
        assert mini.run(mini.Tool(add), {"a": 1}, "c-9") == "3"
    (record,) = calls(records)
    assert (record["output"], record["tool_call_id"]) == (3, "c-9")
    assert (record["trace_id"] == "a" * 32) == (sent["traceparent"] == f"00-{'a' * 32}-{'b' * 16}-01")


def test_a_tool_that_was_tried_again_is_one_record_with_attempts(mini: Any) -> None:
    """Each try has its own status and error; the record ends as the last one did."""
    left = [LookupError("first"), LookupError("second")]

    def flaky(a: int) -> int:
        if left:
            raise left.pop(0)
        return a

    with toolog.instrument(mini, adapter=TABLE), capture("INFO") as records:
        assert mini.run(mini.Tool(flaky), {"a": 5}, tries=3) == "5"
    (record,) = calls(records)
    assert (record["event"], record["output"], record["retry_count"]) == ("tool_call_success", 5, 2)
    assert [one["status"] for one in record["attempts"]] == ["execution_error", "execution_error", "success"]
    assert [one["error"]["message"] for one in record["attempts"][:2]] == ["first", "second"]


def test_a_request_whose_tool_never_ran_was_refused(mini: Any) -> None:
    """The record is rejected, with what the framework said of it."""
    with toolog.instrument(mini, adapter=TABLE), capture("INFO") as records:
        mini.run(mini.Tool(add), {"a": "one"})
    (record,) = calls(records)
    assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
    assert (record["input"], record["error"]["message"]) == ({"a": "one"}, "error: numbers, please")


def test_another_tool_for_the_same_request_is_the_same_call(mini: Any) -> None:
    """By the model's id, while no tool has run for it: the name is the one that was asked for, the rest is
    told of the tool that ran. The same id inside a tool that runs is a call of its own."""
    source = """
        from miniagent.tools import run

        def answer(tool, other, arguments, call_id):
            return run(other, arguments, call_id)
        """
    exec(inspect.cleandoc(source), vars(mini.tools))

    def read(nothing: Any, given: Given) -> Request:
        return dataclasses.replace(_read_run(nothing, given), function=None)

    def twice(a: int) -> int:
        return int(mini.run(mini.Tool(add), {"a": a}, "c-1")) * 2

    table = dataclasses.replace(
        TABLE, entries=(Entry(place="miniagent.tools:answer", read=read), *TABLE.entries)
    )
    with toolog.instrument(mini, adapter=table), capture("INFO") as records:
        mini.tools.answer(mini.Tool(add), mini.Tool(twice), {"a": 1}, "c-1")
    inner, outer = calls(records)
    assert (outer["tool_name"], outer["input"], outer["output"]) == ("add", {"a": 1}, 6)
    assert (inner["tool_name"], inner["output"], inner["parent_id"]) == ("add", 3, outer["span_id"])
    assert inner["tool_call_id"] == outer["tool_call_id"] == "c-1"


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("later", [False, True])
def test_what_refuses_by_raising_is_told_too(mini: Any, told: bool, later: bool) -> None:
    """An entry of the role ``after`` that asks for it sees the exception; the caller gets the same one."""
    source = """
        def check(name):
            raise PermissionError(f"not {name}")

        async def check_later(name):
            check(name)
        """
    exec(inspect.cleandoc(source), vars(mini.tools))

    def refused(nothing: Any, given: Given, result: Any) -> Iterator[Request]:
        yield Request(name=given["name"], refusal=result, status="context_error")

    name = "check_later" if later else "check"
    entry_ = Entry(place=f"miniagent.tools:{name}", role="after", after=refused, raised=told)
    table = dataclasses.replace(TABLE, entries=(*TABLE.entries, entry_))

    def ask() -> None:
        answer = getattr(mini.tools, name)("pay")
        asyncio.run(answer)

    with (
        toolog.instrument(mini, adapter=table),
        capture("INFO") as records,
        pytest.raises(PermissionError, match="not pay"),
    ):
        ask()
    seen = [(one["tool_name"], one["status"], one["error"]["type"]) for one in calls(records)]
    assert seen == [("pay", "context_error", "PermissionError")] * told


def test_a_tool_called_past_the_runner_is_recorded_by_its_body(mini: Any) -> None:
    """A body opens a record itself when no request did."""
    with toolog.instrument(mini, adapter=TABLE), capture("INFO") as records:
        assert mini.Tool(add).call(a=1) == 3
    (record,) = calls(records)
    assert (record["tool_name"], record["input"], record["output"]) == ("add", {"a": 1, "b": 2}, 3)


def test_a_subclass_that_overrides_a_body_is_hooked_whenever_it_was_made(mini: Any) -> None:
    """``super()`` inside it is the same call."""

    class Early(mini.Tool):  # type: ignore[misc,name-defined]
        def call(self, **arguments: Any) -> Any:
            return super().call(**arguments) + 10

    with toolog.instrument(mini, adapter=TABLE), capture("INFO") as records:

        class Late(mini.Tool):  # type: ignore[misc,name-defined]
            def call(self, **arguments: Any) -> Any:
                return super().call(**arguments) + 100

        assert mini.run(Early(add), {"a": 1}) == "13"
        assert mini.run(Late(add), {"a": 1}) == "103"
    assert [record["output"] for record in calls(records)] == [13, 103]


def test_a_tool_that_calls_itself_is_a_child_of_itself(mini: Any) -> None:
    """Recursion through the framework is told from layers of one call, also where the function is
    instrumented itself.
    """
    home = ModuleType("minirecursion")
    source = "def down(a):\n    return 0 if a == 0 else 1 + int(run(tool, {'a': a - 1}))\n"
    home.__dict__.update(run=mini.run)
    exec(source, home.__dict__)
    home.down.__module__ = "minirecursion"
    sys.modules["minirecursion"] = home
    try:
        with (
            toolog.instrument(mini, adapter=TABLE),
            toolog.instrument(home.down),
            capture("INFO") as records,
        ):
            home.run = sys.modules["miniagent.tools"].run  # type: ignore[attr-defined]
            home.tool = mini.Tool(home.down)  # type: ignore[attr-defined]
            assert mini.run(home.tool, {"a": 2}) == "2"
    finally:
        del sys.modules["minirecursion"]
    assert [record["depth"] for record in calls(records)] == [2, 1, 0]
    assert [record["input"]["a"] for record in calls(records)] == [0, 1, 2]


def test_a_tag_between_the_framework_and_the_function_changes_nothing(mini: Any) -> None:
    """Where a middleware binds a tag, the function's own wrapper still yields, once."""

    class Tagging(mini.Tool):  # type: ignore[misc,name-defined]
        def call(self, **arguments: Any) -> Any:
            with toolog.bind(stage="inner"):
                first = super().call(**arguments)
                return first + self.function(**arguments)

    with (
        toolog.instrument(mini, adapter=TABLE),
        toolog.instrument(sys.modules[__name__].add),
        capture("INFO") as records,
    ):
        assert mini.run(Tagging(sys.modules[__name__].add), {"a": 1}) == "6"
    inner, outer = calls(records)
    assert inner["parent_id"] == outer["span_id"]
    assert (inner["output"], outer["output"]) == (3, 6)
    assert inner["tags"] == {"stage": "inner"}


def _read_field(tool: Any, given: Given) -> Request:
    return Request(name=tool.name, tool=tool, arguments=given["kwargs"])


FIELD_TABLE = dataclasses.replace(
    TABLE,
    entries=(TABLE.entries[0], Entry(place="miniagent.tools:Tool.function", role="field", read=_read_field)),
)


def test_a_field_that_only_the_objects_have_is_a_body(mini: Any) -> None:
    """The class has it while it is hooked only, and then answers as if it had not."""
    tool, empty = mini.Tool(add), mini.Tool(add)
    del empty.function
    before = Namespaces(mini, sys.modules["miniagent.tools"], mini.Tool, tool)

    def refusals() -> list[tuple[str, str | None, object]]:
        found = []
        for owner in (mini.Tool, empty):
            with pytest.raises(AttributeError) as caught:
                _ = owner.function
            found.append((str(caught.value), caught.value.name, caught.value.obj))
        with pytest.raises(AttributeError, match="function"):
            del empty.function
        return found

    plain = refusals()
    made = entry.instrument(mini, adapter=FIELD_TABLE)
    with capture("INFO") as records:
        assert mini.run(tool, {"a": 1}, "c-1") == "3"
        assert mini.Tool(tool.function, "add").call(a=2) == 4
        assert refusals() == plain
    made.undo()
    assert before.differences() == []
    assert [(record["input"]["a"], record["output"]) for record in calls(records)] == [(1, 3), (2, 4)]


@pytest.mark.parametrize("held", ["object", "class", "slot"])
def test_a_field_of_two_tables_comes_off_in_any_order(mini: Any, held: str) -> None:
    """One record a call as long as one of them is in force, wherever the function is held, and the class as
    it was after the last.
    """
    if held == "class":
        mini.Tool.function = staticmethod(add)
    elif held == "slot":

        class Slotted:
            __slots__ = ("function", "name")
            __init__ = mini.Tool.__init__
            call = mini.Tool.call

        Slotted.__module__, Slotted.__qualname__ = "miniagent.tools", "Tool"
        sys.modules["miniagent.tools"].Tool = mini.Tool = Slotted  # type: ignore[attr-defined]
    other = dataclasses.replace(FIELD_TABLE, name="other", family="miniagent")
    before = Namespaces(mini, sys.modules["miniagent.tools"], mini.Tool)
    for first_off in (0, 1):
        made = [entry.instrument(mini, adapter=FIELD_TABLE), entry.instrument(mini, adapter=other)]
        for one in (first_off, 1 - first_off):
            tool = mini.Tool(add)
            if held == "class":
                del tool.function
            copied = mini.Tool(tool.function, "copied")
            with capture("INFO") as records:
                assert mini.run(tool, {"a": 1}) == "3"
                assert copied.call(a=2) == 4
            found = [(record["tool_name"], record["output"]) for record in calls(records)]
            assert found == [("add", 3), ("copied", 4)]
            made[one].undo()
            if held == "object":
                assert vars(copied)["function"] is add
        assert before.differences() == []


@pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
def test_an_exception_that_passes_the_layers_has_no_frame_of_ours(mini: Any, later: bool) -> None:
    """Some frameworks show the model a traceback: it is the same with toolog, through every role."""
    tools = sys.modules["miniagent.tools"]
    source = """
        def check(tool):
            return inner(tool)

        def inner(tool):
            return make(tool)(a=1)

        def make(tool):
            if tool.name == "unmade":
                raise LookupError("not made")

            def made(a):
                return tool.call(a=a)

            return made

        def told(tool):
            return check(tool)

        async def told_later(tool):
            return await check_later(tool)

        async def check_later(tool):
            return await tool.call_later(a=1)
        """
    exec(inspect.cleandoc(source), tools.__dict__)

    async def call_later(tool: Any, **arguments: Any) -> Any:
        return await asyncio.sleep(0, tool.function(**arguments))

    tools.Tool.call_later = call_later  # type: ignore[attr-defined]

    def broken(a: int) -> int:
        raise LookupError(f"no {a}")

    def seen(name: str) -> list[tuple[str, int]]:
        tool = mini.Tool(broken, name)
        run = (lambda: asyncio.run(tools.told_later(tool))) if later else (lambda: tools.told(tool))
        with pytest.raises(LookupError) as caught:
            run()
        return [(frame.name, frame.lineno or 0) for frame in traceback.extract_tb(caught.value.__traceback__)]

    def read(nothing: Any, given: Given) -> Request:
        return Request(name=given["tool"].name, tool=given["tool"])

    table = dataclasses.replace(
        TABLE,
        entries=(
            Entry(place="miniagent.tools:told", role="refuse", refuse=lambda nothing, given: []),
            Entry(place="miniagent.tools:told_later", role="after", after=lambda tool, given, result: []),
            Entry(place="miniagent.tools:check", read=read),
            Entry(place="miniagent.tools:check_later", read=read),
            Entry(place="miniagent.tools:inner", role="note", note=lambda *told: None),
            Entry(place="miniagent.tools:make", role="made", read=lambda nothing, given: Request(name="")),
            Entry(place="miniagent.tools:Tool.call", role="body", read=_read_call),
            Entry(place="miniagent.tools:Tool.call_later", role="body", read=_read_call),
            FIELD_TABLE.entries[1],
        ),
    )
    plain = [seen(name) for name in ("broken", "unmade")]
    with toolog.instrument(mini, adapter=table), capture("INFO") as records:
        assert [seen(name) for name in ("broken", "unmade")] == plain
    assert only(records, tool_name="broken")["error"]["type"] == "LookupError"


async def test_async_requests_keep_apart(mini: Any) -> None:
    """Many at once, each with its own facts."""
    run_later = sys.modules["miniagent.tools"].run_later
    with toolog.instrument(mini, adapter=TABLE), capture("INFO") as records:
        tools = [mini.Tool(add, f"t{number}") for number in range(20)]
        later = sys.modules["miniagent.tools"].run_later
        assert later is not run_later
        results = await asyncio.gather(*[later(tool, {"a": n}, f"c{n}") for n, tool in enumerate(tools)])
    assert results == [str(n + 2) for n in range(20)]
    found = {record["tool_call_id"]: record for record in calls(records)}
    assert [found[f"c{n}"]["tool_name"] for n in range(20)] == [f"t{n}" for n in range(20)]


def test_one_tool_or_one_class_can_be_pointed_at(mini: Any) -> None:
    """Calls of others are left alone; the framework's class tells the table without ``adapter=``."""

    class Mine(mini.Tool):  # type: ignore[misc,name-defined]
        pass

    one, other, mine = mini.Tool(add, "one"), mini.Tool(add, "other"), Mine(add, "mine")
    with toolog.instrument([one, Mine], adapter=TABLE), capture("INFO") as records:
        for tool in (one, other, mine):
            mini.run(tool, {"a": 1})
    assert [record["tool_name"] for record in calls(records)] == ["one", "mine"]


def test_tools_and_exclude_are_globs_over_the_models_names(mini: Any) -> None:
    """And ``name`` stands before each."""
    with (
        toolog.instrument(mini, adapter=TABLE, tools="s*", exclude="*_secret", name="shop"),
        capture("INFO") as records,
    ):
        for name in ("search", "s_secret", "other"):
            mini.run(mini.Tool(add, name), {"a": 1})
    assert [record["tool_name"] for record in calls(records)] == ["shop.search"]


def test_two_targets_of_one_framework_make_one_record(mini: Any) -> None:
    """The wrappers come off with the last claim only."""
    tool = mini.Tool(add)
    whole = toolog.instrument(mini, adapter=TABLE)
    with toolog.instrument(tool, adapter=TABLE), capture("INFO") as records:
        mini.run(tool, {"a": 1})
        whole.undo()
        mini.run(tool, {"a": 2})
        mini.run(mini.Tool(add), {"a": 3})
    assert [record["input"]["a"] for record in calls(records)] == [1, 2]


def test_layers_of_two_tables_come_off_in_any_order(mini: Any) -> None:
    """Every namespace is as it was, whichever went on first."""
    other = dataclasses.replace(TABLE, name="other", family="miniagent")
    tools = sys.modules["miniagent.tools"]
    before = Namespaces(mini, tools, mini.Tool)
    for first_off in (0, 1):
        made = [entry.instrument(mini, adapter=TABLE), entry.instrument(mini, adapter=other)]
        with capture("INFO") as records:
            assert mini.run(mini.Tool(add), {"a": 1}) == "3"
        assert len(calls(records)) == 1
        made[first_off].undo()
        with capture("INFO") as records:
            assert mini.run(mini.Tool(add), {"a": 1}) == "3"
        assert len(calls(records)) == 1
        made[1 - first_off].undo()
        assert before.differences() == []


def test_plain_targets_and_tables_come_off_in_any_order(mini: Any) -> None:
    """Whatever went on first and whatever comes off first: one record a call as long as one of them is in
    force, aliases and containers included, and every namespace as it was after the last."""
    other = dataclasses.replace(TABLE, name="other", family="miniagent")
    tools = sys.modules["miniagent.tools"]
    tools.RUNNERS = [tools.run]
    before = Namespaces(mini, tools, mini.Tool)
    run = tools.run
    ways = {
        "plain": lambda: entry.instrument([mini.Tool, tools.run]),
        "table": lambda: entry.instrument(mini, adapter=TABLE),
        "other": lambda: entry.instrument(mini, adapter=other),
    }
    seen: dict[frozenset[str], set[tuple[str, ...]]] = {}
    for on in permutations(ways):
        for off in (on, (on[1], on[0], on[2])):
            made = {way: ways[way]() for way in on}
            for way in off:
                with capture("INFO") as records:
                    assert mini.run(mini.Tool(add), {"a": 1}) == "3"
                    assert tools.RUNNERS[0](mini.Tool(add), {"a": 1}) == "3"
                found = tuple(sorted(record["tool_name"] for record in calls(records)))
                seen.setdefault(frozenset(made), set()).add(found)
                assert mini.run is tools.run is tools.RUNNERS[0]
                made.pop(way).undo()
            assert before.differences() == []
            assert tools.RUNNERS[0] is run
    assert {ways: found for ways, found in seen.items() if len(found) > 1} == {}
    assert seen[frozenset({"plain"})] == {("Tool.call", "Tool.call", "run", "run")}
    assert seen[frozenset({"table"})] == seen[frozenset({"table", "other"})] == {("add", "add")}


def test_doctor_finds_nothing_wrong_where_a_table_covers_a_plain_target(mini: Any) -> None:
    """A wrapper of ours over another one of ours is no patch of somebody else's."""
    with toolog.instrument(mini.Tool), toolog.instrument(mini, adapter=TABLE):
        assert [(one.cause, one.subject) for one in diagnose().problems] == []


def test_a_framework_that_is_imported_later_is_hooked_then(tmp_path: Path) -> None:
    """Nothing is imported for an adapter; doctor says what waits."""
    late = dataclasses.replace(
        TABLE, name="minilate", packages=("minilate",), distribution="minilate",
        entries=(Entry(place="minilate.tools:run", read=_read_run, judge=_judge),),
    )  # fmt: skip
    with toolog.instrument(late) as made:
        assert "minilate" not in sys.modules
        assert any("not installed" in reason for _, reason in made.skipped)
        with package(tmp_path, "minilate", FILES_LATE) as module, capture("INFO") as records:
            assert "places are hooked" in str(diagnose())
            module.run(module.Tool(add), {"a": 1})
    assert only(records, event="tool_call_success")["tool_name"] == "add"


FILES_LATE = {name: text.replace("miniagent", "minilate") for name, text in FILES.items()}


def test_a_misspelt_adapter_names_the_right_one() -> None:
    """Also what is no adapter at all is refused."""
    with pytest.raises(ConfigError, match="did you mean 'langchain'"):
        toolog.instrument(add, adapter="langchian")
    with pytest.raises(ConfigError, match="a framework's name or an Adapter"):
        toolog.instrument(add, adapter=3)  # type: ignore[arg-type]


def test_every_table_names_itself_once_and_sorts_its_versions() -> None:
    """Names, aliases and distributions lead to one table each; the oldest version is not above the tested."""
    seen: dict[str, str] = {}
    for adapter in adapters().values():
        assert find(adapter.name) is adapter
        for name in {adapter.name, adapter.distribution, *adapter.aliases}:
            assert seen.setdefault(name, adapter.name) == adapter.name
        assert not is_older(adapter.tested, adapter.minimum)
        assert adapter.recorded
        places = [(entry.place, entry.role) for entry in adapter.entries]
        assert len(places) == len(set(places))
    assert known_names() == sorted(known_names())


def test_a_package_of_the_users_own_is_not_taken_for_a_framework() -> None:
    """A root package's name counts only where the framework's distribution is installed."""
    for adapter in adapters().values():
        for name in adapter.packages:
            found = find_package(name)
            assert found is None or name in found.packages


def test_the_name_frameworks_means_all_of_them() -> None:
    """`toolog run` uses it where nothing is named."""
    with toolog.instrument("frameworks") as made:
        assert sorted(made.adapted) == known_names()
        assert {f"{name}:*" for name in known_names()} <= set(made.wrapped)


def test_environments_install_what_the_tables_say_was_tested() -> None:
    """A table's `tested` is a pin of an environment, and no environment is older than a table's minimum."""
    pins: dict[str, list[str]] = {}
    for name in environment.names():
        for line in environment.requirements(name):
            package_name, equal, version = line.partition("==")
            if equal:
                pins.setdefault(package_name, []).append(version)
    for adapter in adapters().values():
        installed = [*pins.get(adapter.distribution, ()), *pins.get(adapter.name, ())]
        assert adapter.tested in installed, f"{adapter.name} {adapter.tested} is in no environment"
        assert not any(is_older(version, adapter.minimum) for version in installed)
