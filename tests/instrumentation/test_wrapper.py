"""The wrapper around a tool: one call, one record, and the tool's own result or exception untouched."""

from __future__ import annotations

import asyncio
import logging
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import toolog
from tests.helpers import Collector, collecting, restored, wrap
from toolog.call import refresh_plans
from toolog.context import current
from toolog.emit import emit_event
from toolog.settings import capture


@pytest.fixture
def seen() -> Iterator[Collector]:
    """What arrived at toolog.calls."""
    with collecting() as collector:
        yield collector


@pytest.fixture
def settings() -> Iterator[Any]:
    """The settings of capture, restored afterwards."""
    with restored(capture):
        yield capture
    refresh_plans()


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def test_one_call_one_record(seen: Collector) -> None:
    """A call gives one record: arguments by name with defaults, the result, status, duration, ids."""
    assert wrap(add)(1) == 3
    document = seen.only()
    assert document["event"] == "tool_call_success"
    assert document["input"] == {"a": 1, "b": 2}
    assert document["output"] == 3
    assert (document["status"], document["level"], document["tool_name"]) == ("success", "INFO", "add")
    assert document["duration_ms"] > 0
    assert (document["depth"], document["parent_id"]) == (0, None)
    toolog.validate(document)


def test_the_very_object_is_returned(seen: Collector) -> None:
    """The caller gets the object that the tool returned, not a copy."""
    thing: list[int] = [1]
    assert wrap(lambda: thing, "give")() is thing


def test_the_very_exception_is_raised(seen: Collector) -> None:
    """The tool's own exception passes through, and is recorded with type, message and stack."""
    error = ValueError("broken")

    def fail() -> None:
        raise error

    with pytest.raises(ValueError, match="broken") as caught:
        wrap(fail)()
    assert caught.value is error
    document = seen.only()
    assert (document["event"], document["status"], document["level"]) == (
        "tool_call_failed", "execution_error", "ERROR",
    )  # fmt: skip
    assert document["error"]["type"] == "ValueError"
    assert "in fail" in document["error"]["stack"]
    assert "importlib_bootstrap" not in document["error"]["stack"]
    toolog.validate(document)


class Closed(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class Lying(Exception):
    def __str__(self) -> str:
        class Text(str):
            __slots__ = ()

            def __len__(self) -> int:
                return -1

        return Text("text")

    @property
    def __class__(self) -> type:
        raise RuntimeError("asked")


@pytest.mark.parametrize(("kind", "message"), [(Closed, "m"), (Lying, "text")])
def test_an_exception_that_lets_nobody_read_it_is_raised_and_recorded(
    seen: Collector, kind: type[Exception], message: str
) -> None:
    """Neither the caller nor the record gets another exception in its place."""
    error = kind("m")

    def end() -> None:
        raise error

    caught: list[BaseException] = []
    try:
        wrap(end)()
    except BaseException as raised:
        caught.append(raised)
    assert caught[0] is error
    document = seen.only()
    assert (document["status"], document["error"]["message"]) == ("execution_error", message)
    toolog.validate(document)


class Stubborn(type):
    """A metaclass whose classes cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("compared")


def test_a_result_of_a_class_that_cannot_be_hashed_is_recorded(seen: Collector) -> None:
    """The very object comes back, and its state is the output."""
    cls = Stubborn("Row", (), {})
    row = cls()
    row.key = 5
    assert wrap(lambda: row)() is row
    assert seen.only()["output"]["state"] == {"key": 5}


@pytest.mark.parametrize(
    ("error", "event", "status"),
    [
        (TimeoutError("late"), "tool_call_failed", "timeout"),
        (asyncio.CancelledError(), "tool_call_cancelled", "cancelled"),
        (KeyboardInterrupt(), "tool_call_cancelled", "cancelled"),
        (SystemExit(3), "tool_call_failed", "execution_error"),
    ],
)
def test_ends_by_kind_of_exception(seen: Collector, error: BaseException, event: str, status: str) -> None:
    """Time-outs and cancellations are told apart from failures."""

    def end() -> None:
        raise error

    with pytest.raises(type(error)):
        wrap(end)()
    assert (seen.only()["event"], seen.only()["status"]) == (event, status)


def test_arguments_are_snapshotted_before_the_call(seen: Collector) -> None:
    """A tool that changes its arguments does not change what is recorded of them."""

    def empty(items: list[int]) -> None:
        items.clear()

    wrap(empty)([1, 2])
    assert seen.only()["input"] == {"items": [1, 2]}


def test_wrong_calls_raise_what_python_raises(seen: Collector) -> None:
    """A call with wrong arguments raises the function's own TypeError and is recorded as it was made."""
    with pytest.raises(TypeError, match="positional argument"):
        wrap(add)(1, 2, 3)
    assert seen.only()["input"] == {"a": 1, "b": 2, "args": [3]}
    assert seen.only()["status"] == "execution_error"


def test_a_call_inside_a_call_is_its_child(seen: Collector) -> None:
    """Nested calls share the trace; the inner one names the outer as its parent."""
    inner = wrap(add, "inner")
    wrap(lambda: inner(1), "outer")()
    child, parent = seen.documents
    assert child["tool_name"] == "inner"
    assert child["trace_id"] == parent["trace_id"]
    assert child["parent_id"] == parent["span_id"]
    assert (child["depth"], parent["depth"]) == (1, 0)
    assert current.get() is None


def test_only_the_outermost_call_of_a_package(seen: Collector) -> None:
    """With nested=False, a package's calls inside itself are no records; another package's are children."""
    deep = wrap(add, "deep", package="shop", nested=False)
    other = wrap(lambda: deep(1), "other", package="bank", nested=False)
    wrap(lambda: (deep(1), other()), "outer", package="shop", nested=False)()
    assert [document["tool_name"] for document in seen.documents] == ["deep", "other", "outer"]
    assert [document["depth"] for document in seen.documents] == [2, 1, 0]


def test_a_level_that_is_off_records_nothing(seen: Collector) -> None:
    """At level ERROR successes are not recorded, failures are; above it nothing is."""
    tool = wrap(add, "quiet")
    toolog.set_level("ERROR", tool="quiet")
    try:
        tool(1)
        with pytest.raises(TypeError):
            tool("x")
        assert [document["event"] for document in seen.documents] == ["tool_call_failed"]
        toolog.set_level(100, tool="quiet")
        with pytest.raises(TypeError):
            tool("x")
        assert len(seen.records) == 1
    finally:
        toolog.set_level(0, tool="quiet")


def test_debug_adds_starts() -> None:
    """At level DEBUG a call has a start record too, with the same span and its own record id."""
    with collecting(logging.DEBUG) as seen:
        wrap(add)(1)
    start, end = seen.documents
    assert (start["event"], start["level"]) == ("tool_call_start", "DEBUG")
    assert "duration_ms" not in start
    assert start["span_id"] == end["span_id"]
    assert start["timestamp"] == end["timestamp"]
    assert start["record_id"] != end["record_id"]
    for document in seen.documents:
        toolog.validate(document)


def test_slow_calls_are_warnings(seen: Collector, settings: Any) -> None:
    """A call slower than slow_ms is a WARNING."""
    settings.slow_ms = 0.0
    refresh_plans()
    wrap(add)(1)
    assert seen.only()["level"] == "WARNING"


def test_levels_of_events_are_configurable(seen: Collector, settings: Any) -> None:
    """The level of an event can be set."""
    settings.levels = {"tool_call_success": "WARNING"}
    refresh_plans()
    wrap(add)(1)
    assert seen.only()["level"] == "WARNING"


def test_depth_is_told_by_default(seen: Collector, settings: Any) -> None:
    """Calls nested deeper than max_depth are warnings that name the chain, and nothing is raised."""
    settings.max_depth = 1
    refresh_plans()

    def walk(depth: int) -> int:
        return depth if depth == 0 else tool(depth - 1)

    tool = wrap(walk)
    assert tool(2) == 0
    deepest = seen.documents[0]
    assert deepest["level"] == "WARNING"
    assert deepest["depth_exceeded"] == ["walk", "walk", "walk"]
    assert "depth_exceeded" not in seen.documents[1]
    toolog.validate(deepest)


def test_bounds_of_values_do_not_break_our_own_fields(seen: Collector, settings: Any) -> None:
    """However few items of a user's values are kept, the chain of calls and of causes is as the schema says;
    of a very long chain of calls the ends are shown."""
    settings.max_depth, settings.max_items, settings.max_bytes = 2, 3, 2000
    refresh_plans()

    def walk(depth: int) -> int:
        if depth == 0:
            try:
                raise KeyError("first")
            except KeyError as error:
                raise ExceptionGroup("many", [ValueError(str(n)) for n in range(8)]) from error
        return tool(depth - 1)

    tool = wrap(walk)
    with pytest.raises(ExceptionGroup):
        tool(100)
    for document in seen.documents:
        toolog.validate(document)
    deepest = seen.documents[0]
    assert deepest["depth_exceeded"] == ["walk"] * 32 + ["... 37 more"] + ["walk"] * 32
    assert len(deepest["error"]["chain"]) == 9


def test_notes_of_an_error_are_masked(seen: Collector) -> None:
    """What an agent adds to an exception by add_note is in the record, masked like its message."""

    def pay() -> None:
        error = ValueError("refused for ada@example.org")
        error.add_note("asked by bob@example.org with password=inv-9-ented")
        raise error from KeyError("first")

    with pytest.raises(ValueError, match="ada@"):
        wrap(pay)()
    document = seen.only()
    toolog.validate(document)
    assert document["error"]["notes"] == ["asked by [MASKED:email] with password=[MASKED:password]"]


def test_depth_raises_where_asked(seen: Collector, settings: Any) -> None:
    """With on_max_depth="raise" the call is refused with its chain, and recorded as rejected."""
    settings.max_depth, settings.on_max_depth = 1, "raise"
    refresh_plans()

    def walk(depth: int) -> int:
        return depth if depth == 0 else tool(depth - 1)

    tool = wrap(walk)
    with pytest.raises(RecursionError) as caught:
        tool(5)
    assert isinstance(caught.value, toolog.CallDepthExceeded)
    assert caught.value.chain == ("walk", "walk", "walk")
    assert [document["event"] for document in seen.documents] == [
        "tool_call_rejected", "tool_call_failed", "tool_call_failed",
    ]  # fmt: skip
    assert current.get() is None
    toolog.validate(seen.documents[0])


def test_a_handler_that_calls_tools_is_not_recorded() -> None:
    """A handler that uses an instrumented tool does not recurse: its calls are counted, not recorded."""
    tool = wrap(add)

    class Calling(Collector):
        def emit(self, record: logging.LogRecord) -> None:
            super().emit(record)
            tool(len(self.records))

    before = toolog.stats()["reentrant"]
    with collecting():
        calling = Calling()
        logging.getLogger("toolog.calls").handlers[:] = [calling]
        tool(1)
        assert len(calling.records) == 1
    assert toolog.stats()["reentrant"] == before + 1


def test_a_handler_that_calls_tools_at_the_start_of_a_call_does_not_recurse() -> None:
    """At level DEBUG, and for the record of an instance, the handler's own calls are counted, too."""
    tool = wrap(add)

    class Calling(Collector):
        def emit(self, record: logging.LogRecord) -> None:
            super().emit(record)
            if len(self.records) < 20:
                tool(len(self.records))

    before = toolog.stats()["reentrant"]
    with collecting(logging.DEBUG):
        calling = Calling()
        logging.getLogger("toolog.calls").handlers[:] = [calling]
        tool(1)
        emit_event("evaluation", content={"passed": True})
        assert [record.toolog_event for record in calling.records] == [
            "tool_call_start", "tool_call_success", "evaluation",
        ]  # fmt: skip
    assert toolog.stats()["reentrant"] == before + 3


def test_a_call_while_a_tools_logger_is_asked_is_counted() -> None:
    """What a logger's own method, or a signal handler that interrupts it, calls is no record, and counted."""
    inner = wrap(add, "asked_meanwhile")

    class Log(logging.Logger):
        def isEnabledFor(self, level: int) -> bool:
            inner(1)
            return super().isEnabledFor(level)

    logging.setLoggerClass(Log)
    try:
        outer = wrap(add, "has_such_a_logger")
    finally:
        logging.setLoggerClass(logging.Logger)
    before = toolog.stats()["reentrant"]
    with collecting() as seen:
        assert outer(1) == 3
    assert [one["tool_name"] for one in seen.documents] == ["has_such_a_logger"]
    assert toolog.stats()["reentrant"] > before


def test_a_repr_that_calls_tools_while_its_value_is_recorded_is_not_recorded(
    seen: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a listed type's repr calls is our own doing, in the arguments as in the result."""
    inner = wrap(add, "inner")

    class Order:
        def __repr__(self) -> str:
            return f"Order {inner(1)}"

    monkeypatch.setattr(capture, "repr_types", ("*.Order",))
    before = toolog.stats()["reentrant"]
    wrap(lambda order: order, "outer")(Order())
    assert seen.only()["input"] == {"order": "Order 3"}
    assert toolog.stats()["reentrant"] == before + 2


def test_an_event_that_was_raised_to_critical_is_recorded_at_that_level(settings: Any) -> None:
    """A level of an event above ERROR counts, too, when the logger takes only that."""

    def fail() -> None:
        raise ValueError

    settings.levels = {"tool_call_failed": "CRITICAL"}
    refresh_plans()
    with collecting(logging.CRITICAL) as seen:
        with pytest.raises(ValueError):
            wrap(fail)()
        wrap(add)(1)
    assert (seen.only()["event"], seen.only()["level"]) == ("tool_call_failed", "CRITICAL")


@pytest.mark.parametrize("raising", [False, True])
def test_ctrl_c_while_a_call_is_recorded_leaves_its_scope(raising: bool) -> None:
    """A KeyboardInterrupt in a handler is the application's; later calls are recorded as ever."""

    class Interrupted(Collector):
        def emit(self, record: logging.LogRecord) -> None:
            super().emit(record)
            if len(self.records) == 1:
                raise KeyboardInterrupt

        def handleError(self, record: logging.LogRecord) -> None:
            raise

    def tool(fails: bool) -> None:
        if fails:
            raise ValueError

    with collecting():
        interrupted = Interrupted()
        logging.getLogger("toolog.calls").handlers[:] = [interrupted]
        with pytest.raises(KeyboardInterrupt):
            wrap(tool)(raising)
        assert current.get() is None
        assert wrap(add)(1) == 3
        assert len(interrupted.records) == 2


def test_a_handler_that_raises_does_not_reach_the_caller() -> None:
    """What a handler breaks is contained: the tool's result comes back, and the scope is left."""

    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("broken handler")

    with collecting():
        logging.getLogger("toolog.calls").handlers[:] = [Broken()]
        assert wrap(add)(1) == 3
    assert current.get() is None


async def test_a_tool_that_arranges_its_own_next_call_keeps_no_calls_alive(seen: Collector) -> None:
    """A heartbeat's calls are children of each other for ever; those that are over are let go."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    kept: list[int] = []

    def beat(left: int) -> None:
        scope, above = current.get(), 0
        while scope is not None:
            scope, above = scope.parent, above + 1
        kept.append(above)
        if not left:
            done.set_result(None)
            return
        with toolog.bind(left=left):
            loop.call_soon(wrapped, left - 1)

    wrapped = wrap(beat)
    wrapped(200)
    await done
    first, second = seen.records[-2:]
    assert second.document()["parent_id"] == first.document()["span_id"]
    assert (second.document()["depth"], second.document()["trace_id"]) == (200, first.document()["trace_id"])
    assert second.document()["depth_exceeded"] == ["beat", "beat"]
    assert max(kept) < 100


def test_threads_of_a_call_that_records_are_still_seen(seen: Collector) -> None:
    """While one thread records a call, another thread that works for it makes records of its own."""
    tool = wrap(add)
    context: list[Any] = []

    def outer() -> None:
        import contextvars

        context.append(contextvars.copy_context())

    wrap(outer)()
    threads = [threading.Thread(target=context[0].run, args=(tool, n)) for n in range(1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [document["tool_name"] for document in seen.documents] == ["outer", "add"]
    assert seen.documents[1]["parent_id"] == seen.documents[0]["span_id"]


def test_warnings_blame_the_caller(seen: Collector) -> None:
    """A tool that warns with stacklevel=2 blames its caller's line, as it would without us."""

    def warn() -> None:
        warnings.warn("old", DeprecationWarning, stacklevel=2)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wrap(warn)()
    assert caught[0].filename == __file__


def test_log_lines_with_stacklevel_name_the_caller(seen: Collector, caplog: pytest.LogCaptureFixture) -> None:
    """A tool that logs with stacklevel=2 names its caller's function, as it would without us."""

    def log() -> None:
        logging.getLogger("app").warning("hello", stacklevel=2)

    wrap(log)()
    assert caplog.records[0].funcName == "test_log_lines_with_stacklevel_name_the_caller"


def test_session_and_tags_stand_in_the_record(seen: Collector) -> None:
    """Records made inside a session carry its id and tags."""
    with toolog.session("order-1001", customer="c-7"):
        wrap(add)(1)
    assert seen.only()["session_id"] == "order-1001"
    assert seen.only()["tags"] == {"customer": "c-7"}
    toolog.validate(seen.only())


async def test_the_task_is_named(seen: Collector) -> None:
    """A call inside an asyncio task names the task."""
    task = asyncio.current_task()
    assert task is not None
    task.set_name("worker-7")
    wrap(add)(1)
    assert seen.only()["process"]["task"] == "worker-7"


def test_a_large_result_is_cut_and_told(seen: Collector) -> None:
    """A result above the bound stays valid and says what was cut."""
    wrap(lambda: "x" * 1_000_000, "big")()
    document = seen.only()
    assert len(document["output"]) < 100_000
    assert document["truncated"]["output"]["size"] == 1_000_000
    toolog.validate(document)


def test_contextvars_set_by_a_tool_stay(seen: Collector) -> None:
    """A tool that sets a context variable sets it for its caller, as it would without us."""
    import contextvars

    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="before")
    wrap(lambda: variable.set("after"), "set")()
    assert variable.get() == "after"


@pytest.mark.parametrize("words", [1_000, 500_000])
def test_long_texts_are_packed_and_cut_before_they_wait(words: int) -> None:
    """A queue never holds a long text itself, given or returned in a flat dict, but its bounded snapshot."""
    tool = wrap(lambda text: {"text": text}, "tool")
    with collecting() as collector:
        tool("walnut " * words)
    record: Any = collector.records[0]
    assert type(record._call.input) is bytes
    assert type(record._output) is not dict
    assert len(record.tail()[0]) < 300_000
