"""What holds for every framework: one record a call, with the right facts, and the framework cannot tell.

A framework's test module derives a class from `Contract` and says how its tools are made and how its own
agent loop is run by a scripted model. Everything runs twice, without toolog and with it: what the model was
told and what the agent answered are the same byte for byte.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import pytest

import toolog
from tests.frameworks import tools
from toolog.instrumentation import entry, frameworks, instrumented
from toolog.testing import capture, find, only


class Ask(NamedTuple):
    """One tool call that the scripted model asks for. ``raw`` is the arguments' text where it is no JSON of a
    dict.
    """

    name: str
    arguments: dict[str, Any]
    call_id: str = "call-1"


Turn = Sequence[Ask]
Transcript = list[str]
"""What the model was told, in order, and last the agent's answer; or the type and text of what was raised."""


def need(*modules: str) -> None:
    """Skip a test module whose packages are not here; in an environment that promises them, fail instead.

    TOOLOG_REQUIRE_FRAMEWORKS lists the root packages that must be there.
    """
    required = os.environ.get("TOOLOG_REQUIRE_FRAMEWORKS", "").split()
    for module in modules:
        try:
            found = importlib.util.find_spec(module) is not None
        except ImportError:
            found = False
        if not found:
            root = module.partition(".")[0]
            assert root not in required, f"{module} is required here, but not installed"
            pytest.skip(f"{module} is not installed", allow_module_level=True)


DUPLICATES = ["copy", "deepcopy", "pickle"] + ["cloudpickle"] * bool(importlib.util.find_spec("cloudpickle"))


class Failed(NamedTuple):
    """How making a duplicate failed."""

    kind: type[BaseException]
    text: str


def duplicated(way: str, value: Any) -> Any:
    """Return a duplicate made in one of the `DUPLICATES` ways, or how that `Failed`."""
    if way in ("copy", "deepcopy"):
        return attempt(getattr(copy, way), value)
    by = importlib.import_module(way)
    blob = attempt(by.dumps, value)
    if isinstance(blob, Failed):
        return blob
    assert b"toolog.instrumentation" not in blob  # (a path may well have the name in it)
    return attempt(by.loads, blob)


def attempt(function: Callable[[Any], Any], value: Any) -> Any:
    """Return what a function makes of a value, or how it `Failed`."""
    try:
        return function(value)
    except Exception as error:
        return Failed(type(error), re.sub("0x[0-9a-f]+", "0x", str(error)))


class Contract:
    """The tests of one framework. Attributes say what it is; methods what it does its own way."""

    framework: ClassVar[str]
    """The name of the adapter."""

    sync_tools = True
    async_tools = True
    keeps_call_id = True
    refuses_arguments = True
    refuses_unknown = True
    handles_errors = True
    """Whether the agent loop shows a tool's exception to the model as a text and goes on."""
    options: ClassVar[dict[str, Any]] = {}
    """What `instrument` is given besides, for tools that the agent loop itself brings along."""
    configured_name = "limited"
    """What the model calls the tool of `make_configured`."""
    inner_call_id: str | None = None
    """The model's call id inside another tool, where an agent is run there; None for a call in code."""
    gives_raw_output = True
    """Whether the framework lets one see the tool's own result."""

    # -- what a framework says

    def make_tool(self, function: Callable[..., Any], **options: Any) -> Any:
        """Return the framework's tool made from a function."""
        raise NotImplementedError

    def run_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        """Run the framework's own agent loop: each turn the model asks for these calls, then it is done."""
        raise NotImplementedError

    async def run_agent_async(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        """Run the agent loop in the running event loop."""
        raise NotImplementedError

    streams = True
    """Whether the framework can hand on a run piece by piece."""

    def run_streamed(self, made: Sequence[Any], turns: Sequence[Turn]) -> Transcript:
        """Run the agent loop and read what it gives piece by piece; the pieces stand in the transcript."""
        raise NotImplementedError

    def call_directly(self, tool: Any, arguments: dict[str, Any]) -> Any:
        """Call a tool as the framework's users do in code, synchronously."""
        raise NotImplementedError

    def call_inside(self, tool: Any, a: int) -> Any:
        """Call the tool ``add`` inside another tool, and return its result."""
        if self.inner_call_id is None:
            return self.call_directly(tool, {"a": a})
        self.run_agent([tool], [[Ask("add", {"a": a}, self.inner_call_id)]])
        return a + 2

    def make_configured(self, limit: int) -> Any:
        """Return a tool ``limited(n)`` of a class with a setting ``limit``; its result is n or the limit.
        None where the framework has no tool classes.
        """
        return None

    def describe(self, tool: Any) -> Any:
        """Return what the framework tells the model of a tool: its description and schema."""
        raise NotImplementedError

    def make_agent(self, made: Sequence[Any], turns: Sequence[Turn]) -> Any:
        """Return the framework's agent with these tools and the scripted model in it. None where it has no
        object that holds both.
        """
        return None

    def talk(self, agent: Any) -> str:
        """Run an agent that `make_agent` made, or a copy of one, and return its answer."""
        raise NotImplementedError

    def copy_tool(self, tool: Any) -> Any:
        """Return a copy of a tool as the framework makes it."""
        return copy.copy(tool)

    # -- means

    @contextmanager
    def watched(self, *targets: Any) -> Iterator[list[dict[str, Any]]]:
        """Instrument the framework (or only some targets), and collect records."""
        threads = toolog.instrument_threads()
        made = toolog.instrument(list(targets) if targets else self.framework, **self.options)
        try:
            with capture("INFO") as records:
                yield records
        finally:
            made.undo()
            threads.undo()

    def both(self, functions: Sequence[Callable[..., Any]], turns: Sequence[Turn]) -> list[dict[str, Any]]:
        """Run the agent without and with toolog, compare what came of it, and return the calls' records."""
        plain = self.run_agent([self.make_tool(function) for function in functions], turns)
        with self.watched() as records:
            seen = self.run_agent([self.make_tool(function) for function in functions], turns)
        assert seen == plain
        return calls(records)

    # -- one call

    def test_a_sync_tool_gives_one_record_with_all_facts(self) -> None:
        """Name, arguments by name with defaults, raw result, call id, root trace."""
        if not self.sync_tools:
            pytest.skip("the framework has no sync tools")
        (record,) = self.both([tools.add], [[Ask("add", {"a": 1}, "call-77")]])
        self.check_add(record, "add", "call-77")

    def test_an_async_tool_gives_one_record_with_all_facts(self) -> None:
        """The same for a coroutine function."""
        if not self.async_tools:
            pytest.skip("the framework has no async tools")
        (record,) = self.both([tools.add_later], [[Ask("add_later", {"a": 1}, "call-78")]])
        self.check_add(record, "add_later", "call-78")

    def check_add(self, record: dict[str, Any], name: str, call_id: str) -> None:
        assert (record["event"], record["status"]) == ("tool_call_success", "success")
        assert record["tool_name"] == name
        assert record["input"] == {"a": 1, "b": 2}
        assert record["output"] == 3 or not self.gives_raw_output
        assert record.get("parent_id") is None
        assert record["depth"] == 0
        assert record.get("tool_call_id") == (call_id if self.keeps_call_id else None)

    @pytest.mark.parametrize("function", [tools.fail, tools.fail_later], ids=["sync", "async"])
    def test_a_tool_that_raises_is_recorded_with_its_own_exception(self, function: Any) -> None:
        """Not with the text or the exception that the framework makes of it."""
        if not (self.async_tools if function is tools.fail_later else self.sync_tools):
            pytest.skip("the framework has no such tools")
        (record,) = self.both([function], [[Ask(function.__name__, {"city": "Ys"})]])
        assert (record["event"], record["status"]) == ("tool_call_failed", "execution_error")
        assert record["error"]["type"].endswith("NoSuchCity")
        assert record["error"]["message"] == "no city Ys"
        assert record["input"] == {"city": "Ys"}

    def test_a_tool_that_times_out_is_a_timeout(self) -> None:
        """A TimeoutError out of a tool is told as such."""
        (record,) = self.both([tools.out_of_time], [[Ask("out_of_time", {"n": 3})]])
        assert (record["event"], record["status"]) == ("tool_call_failed", "timeout")

    def test_a_result_that_json_cannot_hold_is_recorded(self) -> None:
        """The value is described; the model is told what it was told before."""
        (record,) = self.both([tools.strange], [[Ask("strange", {"n": 1})]])
        assert record["input"] == {"n": 1}
        if record["status"] != "success":  # the framework refuses such a result
            assert record["event"] == "tool_call_failed"
            assert record["error"]["message"]
        elif self.gives_raw_output:
            assert "Unjsonable" in str(record["output"])

    def test_parallel_calls_of_one_turn_are_one_record_each(self) -> None:
        """Each has its own id, arguments and result, whatever ran at the same time."""
        asks = [Ask("slow_add", {"a": n}, f"call-{n}") for n in range(4)]
        records = self.both([tools.slow_add], [asks])
        assert sorted(record["input"]["a"] for record in records) == [0, 1, 2, 3]
        assert len({record["span_id"] for record in records}) == 4
        for record in records:
            a = record["input"]["a"]
            assert record["output"] == a + 2 or not self.gives_raw_output
            if self.keeps_call_id:
                assert record["tool_call_id"] == f"call-{a}"

    def test_a_streamed_run_is_recorded_the_same(self) -> None:
        """Each call once, with its session, also in threads and tasks that the stream runs in."""
        if not self.streams:
            pytest.skip("the framework does not stream a run")
        turns = [
            [Ask("add", {"a": 1}, "s1"), Ask("slow_add", {"a": 2}, "s2")],
            [Ask("fail", {"city": "Ys"}, "s3")],
        ]  # fmt: skip
        functions = [tools.add, tools.slow_add, tools.fail]
        plain = self.run_streamed([self.make_tool(function) for function in functions], turns)
        with self.watched() as records, toolog.session("s-2"):
            assert self.run_streamed([self.make_tool(function) for function in functions], turns) == plain
        found = {record["tool_name"].rpartition("-")[2]: record for record in calls(records)}
        assert len(found) == len(calls(records)) == 3
        assert [found[name]["input"].get("a") for name in ("add", "slow_add")] == [1, 2]
        assert [record["session_id"] for record in calls(records)] == ["s-2"] * 3
        assert found["fail"]["error"]["message"] == "no city Ys"
        if self.keeps_call_id:
            assert {record["tool_call_id"] for record in calls(records)} == {"s1", "s2", "s3"}

    def test_the_turns_of_one_session_are_told_together(self) -> None:
        """What is bound around the agent's run stands in each record, across its threads and tasks."""
        made = [self.make_tool(tools.add)]
        with self.watched() as records, toolog.session("s-1", customer="c-7"):
            self.run_agent(made, [[Ask("add", {"a": 1}, "x1")], [Ask("add", {"a": 2}, "x2")]])
        assert [record["session_id"] for record in calls(records)] == ["s-1", "s-1"]
        assert [record["tags"] for record in calls(records)] == [{"customer": "c-7"}] * 2

    def test_a_tool_that_calls_another_tool_is_its_parent(self) -> None:
        """The inner call is a child in the same trace, also from the thread that the framework runs it in."""
        inner = self.make_tool(tools.add)
        tools.inner_call[:] = [lambda a: self.call_inside(inner, a)]
        records = self.both([tools.outer], [[Ask("outer", {"a": 5})]])
        child, parent = only(records, tool_name="add"), only(records, tool_name="outer")
        assert len(records) == 2
        assert child["parent_id"] == parent["span_id"]
        assert child["trace_id"] == parent["trace_id"]
        assert child["depth"] == 1
        assert self.inner_call_id in (None, child.get("tool_call_id"))

    def test_an_async_tool_that_calls_another_tool_is_its_parent(self) -> None:
        """Also where it hands the call to a thread of its own."""
        if not self.async_tools:
            pytest.skip("the framework has no async tools")
        inner = self.make_tool(tools.add)
        tools.inner_call[:] = [lambda a: self.call_inside(inner, a)]
        records = self.both([tools.outer_later], [[Ask("outer_later", {"a": 5})]])
        child, parent = only(records, tool_name="add"), only(records, tool_name="outer_later")
        assert len(records) == 2
        assert (child["parent_id"], child["trace_id"]) == (parent["span_id"], parent["trace_id"])

    def test_the_inner_calls_of_parallel_tools_are_told_apart(self) -> None:
        """Each has the call as parent that made it, whatever ran at the same time."""
        inner = self.make_tool(tools.slow_add)
        tools.inner_call[:] = [lambda a: self.call_inside(inner, a)]
        records = self.both([tools.outer], [[Ask("outer", {"a": n}, f"call-{n}") for n in range(3)]])
        assert len(records) == 6
        parents = {one["span_id"]: one["input"]["a"] for one in find(records, tool_name="outer")}
        inner_calls = find(records, tool_name="slow_add")
        assert [parents[one["parent_id"]] for one in inner_calls] == [
            one["input"]["a"] for one in inner_calls
        ]
        assert sorted(parents.values()) == [0, 1, 2]

    @pytest.mark.parametrize("function", [tools.typed, tools.typed_later], ids=["sync", "async"])
    def test_arguments_are_recorded_as_the_function_gets_them(self, function: Any) -> None:
        """Converted where the framework converts them, as the model gave them where it does not."""
        if not (self.async_tools if function is tools.typed_later else self.sync_tools):
            pytest.skip("the framework has no such tools")
        tools.received.clear()
        (record,) = self.both([function], [[Ask(function.__name__, {"n": "5"})]])
        if record["status"] == "validation_error":
            assert tools.received == []
        else:
            plain, seen = tools.received
            assert seen == plain
            assert record["input"] == seen

    # -- what the model gets wrong

    def test_bad_arguments_leave_a_rejected_record(self) -> None:
        """The tool never ran: the record says so, with the arguments as the model gave them."""
        if not self.refuses_arguments:
            pytest.skip("the framework does not check arguments")
        (record,) = self.both([tools.add], [[Ask("add", {"a": "many"})]])
        assert (record["event"], record["status"]) == ("tool_call_rejected", "validation_error")
        assert record["input"] == {"a": "many"}
        assert record["phase"] == "validation"
        assert record["error"]["message"]

    def test_an_unknown_tool_leaves_a_rejected_record(self) -> None:
        """The name is the one that the model asked for."""
        if not self.refuses_unknown:
            pytest.skip("the framework does not let one see it")
        (record,) = self.both([tools.add], [[Ask("subtract", {"a": 1})]])
        assert (record["event"], record["status"]) == ("tool_call_rejected", "unknown_tool")
        assert record["tool_name"] == "subtract"

    # -- which tools

    def test_a_tool_made_before_instrumenting_is_recorded(self) -> None:
        """The framework's class is hooked, so the order does not matter."""
        made = [self.make_tool(tools.add)]
        with self.watched() as records:
            self.run_agent(made, [[Ask("add", {"a": 1})]])
        assert [record["tool_name"] for record in calls(records)] == ["add"]

    def test_a_tool_that_was_copied_is_recorded_once(self) -> None:
        """A copy is a tool like its original."""
        made = self.make_tool(tools.add)
        with self.watched() as records:
            self.run_agent([self.copy_tool(made)], [[Ask("add", {"a": 1})]])
        assert [record["tool_name"] for record in calls(records)] == ["add"]

    def test_a_duplicate_is_what_it_would_be_without_toolog(self) -> None:
        """A tool that is copied or pickled comes out of it, or fails, as it does without; what comes out is
        recorded while the framework is instrumented, and is the plain thing after it."""
        asked: list[Turn] = [[Ask("add", {"a": 1})]]
        plain = {way: duplicated(way, self.make_tool(tools.add)) for way in DUPLICATES}
        made = self.make_tool(tools.add)
        with self.watched() as records:
            twins = {
                way: [duplicated(way, one) for one in (made, self.make_tool(tools.add))] for way in plain
            }
            for way, before in plain.items():
                if isinstance(before, Failed):
                    assert twins.pop(way) == [before, before]
            told = {way: [self.run_agent([twin], asked) for twin in pair] for way, pair in twins.items()}
        assert [record["tool_name"] for record in calls(records)] == ["add", "add"] * len(twins)
        with capture("INFO") as records:
            for way, (twin, other) in twins.items():
                assert self.run_agent([twin], asked) == self.run_agent([plain[way]], asked)
                assert self.run_agent([other], asked) == told[way][0] == told[way][1]
        assert calls(records) == []

    def test_an_agents_duplicate_is_what_it_would_be_without_toolog(self) -> None:
        """The same for an agent with its tools and its model."""
        asked: list[Turn] = [[Ask("add", {"a": 1})]]

        def make() -> Any:
            return self.make_agent([self.make_tool(tools.add)], asked)

        if make() is None:
            pytest.skip("the framework has no agent that holds its tools and its model")
        plain, made = (
            {way: duplicated(way, make()) for way in DUPLICATES},
            {way: make() for way in DUPLICATES},
        )
        said = {way: attempt(self.talk, twin) for way, twin in plain.items() if not isinstance(twin, Failed)}
        with self.watched() as records:
            for way, before in plain.items():
                twins = [duplicated(way, made[way]), duplicated(way, make())]
                if isinstance(before, Failed):
                    assert twins == [before, before]
                else:
                    assert [attempt(self.talk, twin) for twin in twins] == [said[way], said[way]]
        went_well = sum(not isinstance(one, Failed) for one in said.values())
        assert went_well
        assert [record["tool_name"] for record in calls(records)][: 2 * went_well] == ["add"] * 2 * went_well

    def test_a_function_that_is_instrumented_itself_is_not_recorded_twice(self) -> None:
        """The framework's wrapper records, the function's own yields; called directly, that one records."""
        with self.watched(self.framework, tools) as records:
            self.run_agent([self.make_tool(tools.add)], [[Ask("add", {"a": 1})]])
            tools.add(3)
        assert [record["input"]["a"] for record in calls(records)] == [1, 3]

    def test_the_model_is_offered_the_same(self) -> None:
        """Of a function that is instrumented itself a framework reads the same description and schema."""

        def offered() -> list[str]:
            functions = [tools.add] * self.sync_tools + [tools.add_later] * self.async_tools
            return [repr(self.describe(self.make_tool(function))) for function in functions]

        plain = offered()
        assert all("two numbers" in one or "integer" in one for one in plain)
        with self.watched(self.framework, tools):
            assert offered() == plain

    def test_only_the_tool_that_was_pointed_at_is_recorded(self) -> None:
        """``instrument(tool)`` leaves the framework's other tools alone."""
        wanted, other = self.make_tool(tools.add), self.make_tool(tools.slow_add)
        with self.watched(wanted) as records:
            self.run_agent([wanted, other], [[Ask("slow_add", {"a": 1}, "1"), Ask("add", {"a": 1}, "2")]])
        assert [record["tool_name"] for record in calls(records)] == ["add"]

    def test_two_instances_with_different_settings_are_told_apart(self) -> None:
        """Each call names the instance it ran on, and that tells its configuration."""
        few, many = self.make_configured(3), self.make_configured(30)
        if few is None:
            pytest.skip("the framework has no tool classes")
        with self.watched() as records:
            self.run_agent([few], [[Ask(self.configured_name, {"n": 10})]])
            self.run_agent([many], [[Ask(self.configured_name, {"n": 10})]])
        first, second = calls(records)
        assert (str(first["output"]), str(second["output"])) == ("3", "10") or not self.gives_raw_output
        assert first["input"] == second["input"] == {"n": 10}
        limits = {
            record["instance_id"]: record["config"]["limit"]
            for record in find(records, event="tool_instance")
        }
        assert (limits[first["instance_id"]], limits[second["instance_id"]]) == (3, 30)

    # -- manners

    async def wait_long(self) -> None:
        """Run the tool ``wait`` for a minute, in an agent loop where the framework has async ones."""
        await self.run_agent_async([self.make_tool(tools.wait)], [[Ask("wait", {"seconds": 60.0})]])

    def test_a_cancelled_run_is_told_as_cancelled(self) -> None:
        """The tool that waited when the run was cancelled has one record, and the cancellation goes on."""
        if not self.async_tools:
            pytest.skip("the framework has no async tools")

        async def main() -> None:
            tools.waiting.clear()
            task = asyncio.ensure_future(self.wait_long())
            async with asyncio.timeout(100):
                while not tools.waiting.is_set():
                    await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        with self.watched() as records:
            asyncio.run(main())
        (record,) = calls(records)
        assert (record["event"], record["status"]) == ("tool_call_cancelled", "cancelled")

    def test_nothing_is_said_on_stderr(self, capfd: pytest.CaptureFixture[str]) -> None:
        """What the framework says itself, it says without toolog, too."""
        turns = [[Ask("add", {"a": 1})], [Ask("fail", {"city": "Ys"}, "call-2")]]
        self.run_agent([self.make_tool(tools.add), self.make_tool(tools.fail)], turns)
        plain = capfd.readouterr().err
        with self.watched():
            self.run_agent([self.make_tool(tools.add), self.make_tool(tools.fail)], turns)
        assert len(capfd.readouterr().err.splitlines()) == len(plain.splitlines())

    def test_undoing_leaves_every_namespace_as_it_was(self) -> None:
        """Modules and classes of the framework, in keys, order and objects."""
        self.run_agent([self.make_tool(tools.add)], [[Ask("add", {"a": 1})]])  # loads what is loaded late
        before = Everything(self.framework)
        made = entry.instrument(self.framework)  # not armed: a profile patches threads, and keeps them so
        assert before.differences()
        made.undo()
        assert before.differences() == []
        assert instrumented.active() == []

    def test_after_undoing_nothing_is_recorded(self) -> None:
        """Nor does a tool that was made meanwhile remember."""
        with self.watched():
            made = [self.make_tool(tools.add)]
        with capture("INFO") as records:
            self.run_agent(made, [[Ask("add", {"a": 1})]])
        assert calls(records) == []


def calls(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of ended calls, by the order of their ends."""
    return [record for record in records if record["event"].startswith("tool_call")]


class Everything:
    """The namespaces of a framework's hooked modules, and of the classes in them and below them."""

    def __init__(self, framework: str) -> None:
        adapter = frameworks.find(framework)
        assert adapter is not None
        gc.collect()
        owners: list[Any] = []
        for name in sorted(adapter.modules):
            module = sys.modules.get(name)
            if module is None:
                continue
            owners.append(module)
            for value in list(vars(module).values()):
                if isinstance(value, type) and value is not object:
                    owners += [value, *type.__subclasses__(value)]
        self._before = [(owner, list(vars(owner).items())) for owner in owners]

    def differences(self) -> list[str]:
        """Return where a namespace is not exactly as it was."""
        found = []
        for owner, before in self._before:
            now = dict(vars(owner))
            if list(now) != [key for key, _ in before]:
                found.append(f"{owner!r}: keys or their order")
            found += [f"{owner!r}.{key}" for key, value in before if now.get(key) is not value]
        return found
