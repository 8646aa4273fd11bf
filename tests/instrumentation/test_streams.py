"""Generators: the record ends with the stream; the call is current only while the tool's own code runs."""

from __future__ import annotations

import contextvars
import gc
import threading
import types
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from watching import Records, double, tool, watch

import toolog
from toolog import counters
from toolog.context import current
from toolog.instrumentation import stream_record
from toolog.settings import capture


@tool
def count(to: int) -> Iterator[int]:
    """Stand for a tool that streams, calls and cleans up."""
    try:
        for number in range(to):
            yield double(number)
    finally:
        double(100)


def test_items_are_the_output_and_children_are_nested(records: Records) -> None:
    """An exhausted generator gives one record with its items, and its calls are its children."""
    assert list(count(3)) == [0, 2, 4]
    stream = records.of("count")
    assert (stream["status"], stream["output"], stream["input"]) == ("success", [0, 2, 4], {"to": 3})
    assert {child["parent_id"] for child in records.all("double")} == {stream["span_id"]}
    assert {child["trace_id"] for child in records} == {stream["trace_id"]}
    assert [child["depth"] for child in records.all("double")] == [1, 1, 1, 1]


def test_early_close(records: Records) -> None:
    """Closing a generator early gives one record `closed` with the items seen, its cleanup inside."""
    stream = count(3)
    next(stream)
    stream.close()
    stream.close()
    record = records.of("count")
    assert (record["event"], record["status"]) == ("tool_call_cancelled", "closed")
    assert record["output"] == [0]
    assert record.get("error") is None
    assert records.all("double")[-1]["input"] == {"number": 100}
    assert records.all("double")[-1]["parent_id"] == record["span_id"]


def test_dropped(records: Records) -> None:
    """A generator that is dropped while suspended ends as `closed`, and its cleanup is inside its call."""
    for item in count(3):
        assert item == 0
        break
    gc.collect()
    record = records.of("count")
    assert (record["status"], record["output"]) == ("closed", [0])
    assert [child["parent_id"] for child in records.all("double")] == [record["span_id"]] * 2


def test_never_started(records: Records) -> None:
    """A generator that nobody starts ends as `closed`, took no time and has no items."""
    count(3)
    gc.collect()
    record = records.of("count")
    assert (record["status"], record["output"], record["duration_ms"]) == ("closed", [], 0)
    count(3).close()
    assert [each["status"] for each in records.all("count")] == ["closed", "closed"]


def test_failure_in_the_middle(records: Records) -> None:
    """What the tool raises after some items reaches the caller as it is; the record has error and items."""
    fault = ValueError("no more")

    def broken() -> Iterator[int]:
        yield 1
        raise fault

    stream = tool(broken)()
    assert next(stream) == 1
    with pytest.raises(ValueError) as caught:
        next(stream)
    assert caught.value is fault
    record = records.of("broken")
    assert (record["event"], record["status"], record["output"]) == (
        "tool_call_failed",
        "execution_error",
        [1],
    )
    assert record["error"]["message"] == "no more"
    assert next(stream, "over") == "over"
    assert len(records) == 1


def test_the_caller_is_outside(records: Records) -> None:
    """Between two items nothing of the stream is current: what the caller calls is no child of it."""
    for _ in count(2):
        assert current.get() is None
        double(7)
    outside = [record for record in records.all("double") if record["input"] == {"number": 7}]
    assert len(outside) == 2
    assert all(record["parent_id"] is None for record in outside)
    assert len({record["trace_id"] for record in records}) == 3


def test_nested_streams(records: Records) -> None:
    """Streams inside streams keep each its own place while their steps interleave."""

    def pairs() -> Iterator[tuple[int, int]]:
        yield from zip(count(2), count(3), strict=False)

    assert list(tool(pairs)()) == [(0, 0), (2, 2)]
    outer = records.of("pairs")
    inner = records.all("count")
    assert [record["parent_id"] for record in inner] == [outer["span_id"]] * 2
    spans = {record["span_id"] for record in inner}
    assert {record["parent_id"] for record in records.all("double")} == spans


def test_yield_from_returns_the_value(records: Records) -> None:
    """`yield from` gets the generator's return value, and what is sent reaches the generator."""

    def ask() -> Any:
        answer = yield "question"
        return answer

    asked = tool(ask)

    def outer() -> Any:
        return (yield from asked())

    stream = outer()
    assert next(stream) == "question"
    with pytest.raises(StopIteration) as stop:
        stream.send("answer")
    assert stop.value.value == "answer"
    assert records.of("ask")["output"] == ["question"]


def test_thrown_exception_can_be_handled(records: Records) -> None:
    """`throw` reaches the tool; an item that it yields in answer is an item of the stream."""

    def patient() -> Iterator[str]:
        try:
            yield "first"
        except KeyError:
            yield "handled"

    stream = tool(patient)()
    next(stream)
    assert stream.throw(KeyError("x")) == "handled"
    assert list(stream) == []
    assert records.of("patient")["output"] == ["first", "handled"]


def test_items_are_snapshotted_when_they_pass(records: Records) -> None:
    """What happens to an item after it was yielded does not change the record."""

    def reuse() -> Iterator[dict[str, int]]:
        row: dict[str, int] = {}
        for number in range(3):
            row["number"] = number
            yield row

    for row in tool(reuse)():
        row["number"] = -1
    assert records.of("reuse")["output"] == [{"number": 0}, {"number": 1}, {"number": 2}]


def test_many_items_are_bounded(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond max_items the items are counted, and the record says how many there were."""
    monkeypatch.setattr(capture, "max_items", 10)

    def many() -> Iterator[int]:
        yield from range(1_000)

    assert sum(tool(many)()) == 499_500
    record = records.of("many")
    assert record["output"] == [*range(10), {"...": "990 more items"}]
    assert record["truncated"]["output"] == {"size": 1_000, "unit": "items", "kept": 10}


def test_large_items_are_bounded(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """The items of one stream take max_bytes together, each cut at its leaves."""
    monkeypatch.setattr(capture, "max_bytes", 2_000)

    def large() -> Iterator[str]:
        yield "a" * 5_000
        yield "b" * 900
        yield "c" * 900

    assert [len(item) for item in tool(large)()] == [5_000, 900, 900]
    record = records.of("large")
    assert record["output"][0].startswith("aaa")
    assert record["output"][-1] == {"...": "2 more items"}
    assert record["truncated"]["output"]["size"] == 3
    assert record["truncated"]["output[0]"]["size"] == 5_000


def test_bind_across_a_yield_is_kept(records: Records) -> None:
    """What the tool binds around a `yield` holds for its next steps, and never for the caller's code."""

    def staged() -> Iterator[int]:
        with toolog.bind(stage="payment"):
            yield double(1)
            yield double(2)
        yield double(3)

    for _ in tool(staged)():
        double(9)
    tags = {record["input"]["number"]: record.get("tags") for record in records.all("double")}
    assert tags == {1: {"stage": "payment"}, 2: {"stage": "payment"}, 3: None, 9: None}


def test_steps_in_different_contexts_and_threads(records: Records) -> None:
    """Each step may run in another context or thread; no step leaves anything current there."""
    stream = count(3)
    first, second = contextvars.Context(), contextvars.Context()
    assert first.run(next, stream) == 0
    assert second.run(next, stream) == 2
    assert first.run(current.get) is second.run(current.get) is None
    thread = threading.Thread(target=stream.close)
    thread.start()
    thread.join()
    record = records.of("count")
    assert record["status"] == "closed"
    assert [child["parent_id"] for child in records.all("double")] == [record["span_id"]] * 3


def test_running_stream_is_not_ended_by_a_misuse(records: Records) -> None:
    """`generator already executing` and a value sent too early end nothing."""

    def selfish() -> Iterator[Any]:
        with pytest.raises(ValueError, match="already executing"):
            next(stream)
        yield 1
        yield 2

    stream = tool(selfish)()
    with pytest.raises(TypeError, match="just-started"):
        stream.send("too early")
    assert list(stream) == [1, 2]
    assert records.of("selfish")["status"] == "success"


def test_close_that_is_refused(records: Records) -> None:
    """A tool that yields in answer to `close` gives its RuntimeError to the caller and is not over."""

    def stubborn() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            yield 2
        yield 3

    stream = tool(stubborn)()
    next(stream)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        stream.close()
    assert list(stream) == [3]
    assert records.of("stubborn")["status"] == "success"


def test_plain_function_that_returns_a_generator(records: Records) -> None:
    """The result decides: a function that returns a generator is a stream; one that returns a list is not."""

    def either(lazy: bool) -> Any:
        return (number for number in range(3)) if lazy else [0, 1, 2]

    watched = tool(either)
    assert watched(False) == [0, 1, 2]
    stream = watched(True)
    assert len(records) == 1
    assert list(stream) == [0, 1, 2]
    assert [record["output"] for record in records] == [[0, 1, 2], [0, 1, 2]]


def test_other_lazy_results_stay_the_same_object(records: Records) -> None:
    """Iterators, files, context managers and the like are handed on untouched."""
    results = [iter([1]), map(str, [1]), zip([1]), open(__file__), memoryview(b"x"), threading.Lock()]  # noqa: SIM115
    for result in results:
        assert tool(lambda result=result: result, "give")() is result
    results[3].close()  # type: ignore[attr-defined]
    assert len(records) == len(results)


def test_trouble_of_ours_never_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """When snapshots, records or the proxy itself break, streams run on as without us, and it is counted."""

    def breaks(*args: Any, **kwargs: Any) -> Any:
        raise OSError("disk on fire")

    before = counters.value("internal")
    with watch() as records:
        monkeypatch.setattr(stream_record, "pack_cut", breaks)
        assert list(count(2)) == [0, 2]
        assert records.of("count")["output"] == [{"...": "2 more items"}]
        monkeypatch.setattr(stream_record, "finish", breaks)
        stream = count(2)
        assert next(stream) == 0
        stream.close()
        count(2)
        monkeypatch.setitem(stream_record.PROXIES, types.GeneratorType, breaks)
        assert type(count(2)) is types.GeneratorType
    assert counters.value("internal") >= before + 5
    assert current.get() is None


OPERATIONS = st.lists(
    st.sampled_from(["next", "send", "throw", "close", "drop"]) | st.tuples(st.just("send"), st.integers()),
    max_size=8,
)


def _strange(script: list[str]) -> Iterator[Any]:
    """Yield, return, raise or swallow as the script says."""
    for step in script:
        try:
            got = yield step
            if got is not None:
                yield ("got", got)
            if step == "raise":
                raise KeyError(step)
            if step == "return":
                return "value"
        except LookupError:
            if step != "swallow":
                raise
            yield "swallowed"


def _drive(make: Any, script: list[str], operations: list[Any]) -> list[Any]:
    stream = make(script)
    seen: list[Any] = []
    for operation in operations:
        try:
            if operation == "next":
                seen.append(next(stream))
            elif operation == "throw":
                seen.append(stream.throw(IndexError("thrown")))
            elif operation == "close":
                seen.append(stream.close())
            elif operation == "drop":
                break
            else:
                seen.append(stream.send(operation[1] if type(operation) is tuple else None))
        except BaseException as error:
            seen.append((type(error).__name__, error.args))
    return seen


@given(st.lists(st.sampled_from(["plain", "raise", "return", "swallow"]), max_size=5), OPERATIONS)
def test_a_stream_answers_as_the_original(script: list[str], operations: list[Any]) -> None:
    """Whatever is done to a followed generator, it answers exactly as the plain one, and gives one record."""
    with watch() as records:
        assert _drive(tool(_strange, "strange"), script, operations) == _drive(_strange, script, operations)
        gc.collect(0)
        assert len(records) == 1
    assert current.get() is None
