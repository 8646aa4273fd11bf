"""Coroutines: awaited in any way, cancelled, closed or never awaited, each call gives one record."""

from __future__ import annotations

import asyncio
import collections.abc
import contextvars
import gc
import inspect
import types
import warnings
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from watching import Records, double, tool, watch

import toolog
from toolog.context import current


@tool
async def fetch(number: int) -> int:
    """Stand for a tool that waits, then calls another."""
    await asyncio.sleep(0)
    return double(number)


@tool
async def hang() -> None:
    """Stand for a tool that waits until it is cancelled, then cleans up."""
    try:
        await asyncio.Event().wait()
    finally:
        double(0)


async def test_awaited(records: Records) -> None:
    """An awaited tool returns its own result; its record has it, and its calls are its children."""
    assert await fetch(21) == 42
    record = records.of("fetch")
    assert (record["status"], record["output"], record["input"]) == ("success", 42, {"number": 21})
    assert records.of("double")["parent_id"] == record["span_id"]
    assert current.get() is None


async def test_each_way_to_run_it(records: Records) -> None:
    """Tasks, groups, gather, wait_for, shield and timeouts take the coroutine of a tool like any other."""
    loop = asyncio.get_running_loop()
    assert await asyncio.create_task(fetch(1)) == 2
    assert await loop.create_task(fetch(2)) == 4
    assert await asyncio.ensure_future(fetch(3)) == 6
    assert await asyncio.gather(fetch(4), fetch(5)) == [8, 10]
    assert await asyncio.wait_for(fetch(6), 60) == 12
    assert await asyncio.shield(fetch(7)) == 14
    assert await asyncio.wait_for(asyncio.shield(fetch(8)), 60) == 16
    async with asyncio.TaskGroup() as group:
        task = group.create_task(fetch(9))
    assert task.result() == 18
    async with anyio.create_task_group() as nursery:
        nursery.start_soon(fetch, 10)
    assert [await done for done in asyncio.as_completed([fetch(11)])] == [22]
    done, _ = await asyncio.wait([asyncio.ensure_future(fetch(12))])
    assert done.pop().result() == 24
    future = asyncio.run_coroutine_threadsafe(fetch(13), loop)
    assert await asyncio.wrap_future(future) == 26
    assert [record["input"]["number"] for record in records.all("fetch")] == list(range(1, 14))
    assert all(record["parent_id"] is None for record in records.all("fetch"))


def test_asyncio_run(records: Records) -> None:
    """`asyncio.run` and a Runner take the coroutine of a tool as their main one."""
    assert asyncio.run(fetch(1)) == 2
    with asyncio.Runner() as runner:
        assert runner.run(fetch(2)) == 4
    assert [record["status"] for record in records.all("fetch")] == ["success", "success"]


async def test_concurrent_calls_keep_apart(records: Records) -> None:
    """Children of calls that interleave in one loop belong each to its own call."""
    await asyncio.gather(*[fetch(number) for number in range(50)])
    parents = {record["span_id"]: record["input"]["number"] for record in records.all("fetch")}
    children = records.all("double")
    assert len(children) == 50
    assert all(parents[child["parent_id"]] == child["input"]["number"] for child in children)


async def test_cancelled(records: Records) -> None:
    """A cancelled awaiter ends the call as `cancelled`; the tool's cleanup is still inside it."""
    task = asyncio.create_task(hang())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    record = records.of("hang")
    assert (record["event"], record["status"]) == ("tool_call_cancelled", "cancelled")
    assert records.of("double")["parent_id"] == record["span_id"]


async def test_wait_for_timeout(records: Records) -> None:
    """A tool that `wait_for` gives up is `cancelled`: the tool itself saw a cancellation."""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(hang(), 0.01)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await hang()
    assert [record["status"] for record in records.all("hang")] == ["cancelled", "cancelled"]


async def test_timeout_inside_the_tool(records: Records) -> None:
    """A timeout that the tool itself raises is a failure with status `timeout`."""

    async def slow() -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await tool(slow)()
    record = records.of("slow")
    assert (record["event"], record["status"]) == ("tool_call_failed", "timeout")


async def test_cancelled_scope_of_anyio(records: Records) -> None:
    """anyio's cancel scopes cancel a tool as they cancel any coroutine."""
    with anyio.move_on_after(0.01) as scope:
        await hang()
    assert scope.cancelled_caught
    assert records.of("hang")["status"] == "cancelled"


async def test_failure(records: Records) -> None:
    """What an async tool raises is the very same exception, and the record is `failed`."""
    fault = LookupError("gone")

    async def broken() -> None:
        await asyncio.sleep(0)
        raise fault

    with pytest.raises(LookupError) as caught:
        await tool(broken)()
    assert caught.value is fault
    assert records.of("broken")["error"]["message"] == "gone"


async def test_stop_async_iteration_out_of_a_coroutine_is_a_failure(records: Records) -> None:
    """It ends an async generator; a coroutine that raises it (a tool behind ``__anext__``) has failed."""

    @tool
    async def following() -> int:
        raise StopAsyncIteration

    with pytest.raises(StopAsyncIteration):
        await following()
    assert records.of("following")["status"] == "execution_error"


def test_never_awaited(records: Records) -> None:
    """One that nobody awaits warns as it always did, at the line that dropped it, and ends as `closed`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fetch(1)
        gc.collect()
    (warning,) = caught
    assert str(warning.message) == "coroutine 'fetch' was never awaited"
    assert warning.filename == __file__
    record = records.of("fetch")
    assert (record["status"], record["duration_ms"]) == ("closed", 0)


def test_closed_before_it_began(records: Records) -> None:
    """A coroutine that is closed instead of awaited gives no warning and ends as `closed`."""
    fetch(1).close()
    assert records.of("fetch")["status"] == "closed"


def test_driven_by_hand(records: Records) -> None:
    """Driven step by step, in several contexts, the call is current only inside the steps."""
    waiting = hang()
    one, two = contextvars.Context(), contextvars.Context()
    loop = asyncio.new_event_loop()

    async def main() -> None:
        one.run(waiting.send, None)
        assert one.run(current.get) is None
        double(7)
        with pytest.raises(KeyError):
            two.run(waiting.throw, KeyError("stop"))
        assert two.run(current.get) is None

    loop.run_until_complete(main())
    loop.close()
    record = records.of("hang")
    assert record["status"] == "execution_error"
    by_input = {child["input"]["number"]: child["parent_id"] for child in records.all("double")}
    assert by_input == {7: None, 0: record["span_id"]}


class Handle:
    """What is awaited by handing on what a tool's coroutine gives to be awaited."""

    def __await__(self) -> Any:
        value = yield from fetch(3).__await__()
        return value


async def test_awaited_by_delegation(records: Records) -> None:
    """What ``__await__`` gives can be handed on by ``yield from`` and iterated over; the coroutine itself
    cannot be iterated over."""
    assert await Handle() == await fetch(3)
    waiting = hang()
    with pytest.raises(TypeError, match="'coroutine' object is not iterable"):
        iter(waiting)
    assert not isinstance(waiting, collections.abc.Iterable)
    steps = iter(waiting.__await__())
    assert isinstance(waiting, types.CoroutineType)
    next(steps)
    with pytest.raises(asyncio.CancelledError):
        steps.throw(asyncio.CancelledError())
    assert [record["status"] for record in records.all("fetch")] == ["success", "success"]
    assert records.of("hang")["status"] == "cancelled"


async def test_second_await(records: Records) -> None:
    """Awaiting a finished or a running tool once more raises what the plain coroutine raises."""
    finished = fetch(1)
    await finished
    with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
        await finished
    with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
        await asyncio.create_task(finished)
    running = hang()
    task = asyncio.create_task(running)
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="being awaited already"):
        await running
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [record["status"] for record in records.all("fetch")] == ["success"]


async def test_awaited_time_counts(records: Records) -> None:
    """The duration begins with the first await, not when the coroutine was made."""
    waiting = fetch(1)
    await asyncio.sleep(0.05)
    await waiting
    assert records.of("fetch")["duration_ms"] < 50


async def test_coroutine_that_returns_a_stream(records: Records) -> None:
    """An async tool that returns an async generator is one call, which ends with the stream."""

    async def numbers() -> AsyncIterator[int]:
        yield double(1)
        yield double(2)

    async def open_stream() -> AsyncIterator[int]:
        await asyncio.sleep(0)
        return numbers()

    stream = await tool(open_stream)()
    assert len(records) == 0
    assert [item async for item in stream] == [2, 4]
    record = records.of("open_stream")
    assert (record["status"], record["output"]) == ("success", [2, 4])
    assert [child["parent_id"] for child in records.all("double")] == [record["span_id"]] * 2


async def test_tasks_and_futures_stay_the_same_objects(records: Records) -> None:
    """A tool that returns a Task or a Future gives the caller that very object."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    future.set_result(1)
    task = asyncio.create_task(asyncio.sleep(0))
    assert tool(lambda: future, "give")() is future
    assert tool(lambda: task, "give")() is task
    await task
    assert len(records.all("give")) == 2


async def test_bind_across_an_await(records: Records) -> None:
    """What an async tool binds around an `await` holds behind it."""

    async def staged() -> None:
        with toolog.bind(stage="payment"):
            await asyncio.sleep(0)
            double(1)
        double(2)

    await asyncio.gather(tool(staged)(), fetch(3))
    tags = {record["input"]["number"]: record.get("tags") for record in records.all("double")}
    assert tags == {1: {"stage": "payment"}, 2: None, 3: None}


async def test_generator_based_coroutines(records: Records) -> None:
    """What `types.coroutine` makes can be awaited and iterated, and its output is what it returns."""

    @types.coroutine
    def old_style(number: int) -> Any:
        yield
        return double(number)

    def outer() -> Any:
        return (yield from tool(old_style, "inner")(4))

    watched = tool(old_style, "old_style")
    waiting = watched(2)
    assert inspect.isawaitable(waiting)
    assert inspect.isgenerator(waiting)
    assert await waiting == 4
    stepped = outer()
    assert next(stepped) is None
    with pytest.raises(StopIteration) as stop:
        next(stepped)
    assert stop.value.value == 8
    watched(3).close()
    assert [(record["status"], record.get("output")) for record in records.all("old_style")] == [
        ("success", 4),
        ("closed", None),
    ]
    assert records.of("inner")["output"] == 8


class _Pause:
    """Yield to whoever drives, as an event loop's future does."""

    def __await__(self) -> Any:
        return (yield "paused")


async def _strange(script: list[str]) -> Any:
    """Pause, return or raise as the script says."""
    for step in script:
        try:
            got = await _Pause()
        except LookupError:
            if step != "swallow":
                raise
        else:
            if step == "raise":
                raise KeyError(step)
            if step == "return":
                return got


def _drive(make: Any, script: list[str], operations: list[Any]) -> list[Any]:
    coroutine = make(script)
    seen: list[Any] = []
    for operation in operations:
        try:
            if operation == "throw":
                seen.append(coroutine.throw(IndexError("thrown")))
            elif operation == "close":
                seen.append(coroutine.close())
            elif operation == "await":
                seen.append(next(coroutine.__await__()))
            else:
                seen.append(coroutine.send(operation))
        except BaseException as error:
            seen.append((type(error).__name__, error.args))
    coroutine.close()
    return seen


@given(
    st.lists(st.sampled_from(["plain", "raise", "return", "swallow"]), max_size=5),
    st.lists(st.sampled_from([None, None, None, 1, "throw", "close"]), max_size=8),
)
def test_a_coroutine_answers_as_the_original(script: list[str], operations: list[Any]) -> None:
    """Whatever is done to a followed coroutine, it answers exactly as the plain one, and gives one record."""
    with watch() as records:
        assert _drive(tool(_strange, "strange"), script, operations) == _drive(_strange, script, operations)
        assert len(records) == 1
    assert current.get() is None
