"""Async generators: items, early exits, finalizers, and nothing odd on stderr."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from watching import Records, double, run, tool

import toolog
from toolog.context import current


@tool
async def count(to: int) -> AsyncGenerator[int, None]:
    """Stand for a tool that streams, waits, calls and cleans up."""
    try:
        for number in range(to):
            await asyncio.sleep(0)
            yield double(number)
    finally:
        await asyncio.sleep(0)
        double(100)


async def settle() -> None:
    """Let the loop close what was dropped."""
    gc.collect()
    for _ in range(10):
        await asyncio.sleep(0)


async def test_items_are_the_output_and_children_are_nested(records: Records) -> None:
    """An exhausted async generator gives one record with its items, and its calls are its children."""
    assert [item async for item in count(3)] == [0, 2, 4]
    stream = records.of("count")
    assert (stream["status"], stream["output"]) == ("success", [0, 2, 4])
    assert {child["parent_id"] for child in records.all("double")} == {stream["span_id"]}


async def test_break(records: Records) -> None:
    """Breaking out gives one record `closed` with the items seen; the cleanup is still inside the call."""
    async for item in count(3):
        assert current.get() is None
        if item == 2:
            break
    await settle()
    record = records.of("count")
    assert (record["event"], record["status"]) == ("tool_call_cancelled", "closed")
    assert record["output"] == [0, 2]
    cleanup = records.all("double")[-1]
    assert (cleanup["input"], cleanup["parent_id"]) == ({"number": 100}, record["span_id"])


async def test_aclose(records: Records) -> None:
    """`aclose` ends the record as `closed`, once, after the cleanup."""
    stream = count(3)
    async with aclosing(stream):
        assert await anext(stream) == 0
    await stream.aclose()
    record = records.of("count")
    assert (record["status"], record["output"]) == ("closed", [0])
    assert [each["tool_name"] for each in records] == ["double", "double", "count"]


async def test_closed_in_another_task(records: Records) -> None:
    """A stream that one task begins and another closes raises nothing and ends as `closed`."""
    stream = count(3)
    assert await asyncio.create_task(stream.__anext__()) == 0
    await asyncio.create_task(stream.aclose())
    record = records.of("count")
    assert record["status"] == "closed"
    assert [child["parent_id"] for child in records.all("double")] == [record["span_id"]] * 2


async def test_never_started(records: Records) -> None:
    """A stream that nobody iterates ends as `closed`, took no time and has no items."""
    count(3)
    await settle()
    await count(3).aclose()
    ends = [(each["status"], each["output"], each["duration_ms"]) for each in records]
    assert ends == [("closed", [], 0)] * 2


async def test_failure_in_the_middle(records: Records) -> None:
    """What the tool raises after some items is the very same exception; the record has error and items."""
    fault = ValueError("no more")

    async def broken() -> AsyncIterator[int]:
        yield 1
        raise fault

    stream = tool(broken)()
    assert await anext(stream) == 1
    with pytest.raises(ValueError) as caught:
        await anext(stream)
    assert caught.value is fault
    record = records.of("broken")
    assert (record["status"], record["output"]) == ("execution_error", [1])


async def test_cancelled_while_it_waits(records: Records) -> None:
    """A consumer cancelled while the tool works ends the call as `cancelled`, with the items so far."""

    async def slow() -> AsyncIterator[int]:
        yield 1
        await asyncio.Event().wait()

    async def consume() -> None:
        async for _ in tool(slow)():
            pass

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(consume(), 0.01)
    record = records.of("slow")
    assert (record["status"], record["output"]) == ("cancelled", [1])


async def test_send_and_throw(records: Records) -> None:
    """`asend` and `athrow` reach the tool, and what it yields in answer is an item."""

    async def talk() -> AsyncGenerator[str, str]:
        try:
            heard = yield "who?"
            yield f"hello {heard}"
        except KeyError:
            yield "sorry"

    stream = tool(talk)()
    assert await stream.asend(None) == "who?"
    assert await stream.asend("you") == "hello you"
    assert await stream.athrow(KeyError("x")) == "sorry"
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    assert await anext(stream, "default") == "default"
    record = records.of("talk")
    assert (record["status"], record["output"]) == ("success", ["who?", "hello you", "sorry"])


async def test_steps_are_awaitables_like_the_originals(records: Records) -> None:
    """What `__anext__` returns can be awaited, wrapped in a task, and waited for with a timeout."""
    stream = count(5)
    assert await stream.__anext__() == 0
    assert await asyncio.create_task(stream.__anext__()) == 2
    assert await asyncio.wait_for(anext(stream), 60) == 4
    assert await asyncio.gather(stream.asend(None)) == [6]
    await stream.aclose()
    assert records.of("count")["output"] == [0, 2, 4, 6]


async def test_two_consumers_at_once(records: Records) -> None:
    """A second `anext` while the first waits raises as it does for the original, and ends nothing."""
    stream = count(2)
    first = asyncio.create_task(stream.__anext__())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="already running"):
        await stream.__anext__()
    assert await first == 0
    assert [item async for item in stream] == [2]
    assert records.of("count")["status"] == "success"


async def test_hooks_see_the_original(records: Records) -> None:
    """The hooks of `sys.set_asyncgen_hooks` are called as for the plain generator: once each."""
    begun: list[Any] = []
    ended: list[Any] = []
    held = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(firstiter=begun.append, finalizer=lambda stream: ended.append(stream.__name__))
    try:

        async def two() -> AsyncIterator[int]:
            yield 1
            yield 2

        stream = tool(two)()
        await anext(stream)
        await anext(stream)
        assert [each.__name__ for each in begun] == ["two"]
        begun.clear()
        del stream
        gc.collect()
        assert ended == ["two"]
    finally:
        sys.set_asyncgen_hooks(*held)
    assert records.of("two")["status"] == "closed"


async def test_bind_across_a_yield(records: Records) -> None:
    """What the tool binds around a `yield` holds for its next steps, not for the consumer."""

    async def staged() -> AsyncIterator[int]:
        async with toolog.bind(stage="payment"):
            yield double(1)
            yield double(2)

    async for _ in tool(staged)():
        double(9)
    tags = {record["input"]["number"]: record.get("tags") for record in records.all("double")}
    assert tags == {1: {"stage": "payment"}, 2: {"stage": "payment"}, 9: None}


def test_exits_of_a_whole_program_are_quiet() -> None:
    """Breaks, abandoned, cancelled streams and those left for the loop to close: nothing on stderr."""
    out = run("""
        import asyncio, gc
        from watching import tool, watch

        @tool
        async def numbers(name):
            try:
                for number in range(100):
                    await asyncio.sleep(0)
                    yield number
            finally:
                await asyncio.sleep(0)

        async def consume(name):
            async for number in numbers(name):
                if number == 3:
                    break

        async def part(name):
            stream = numbers(name)
            await anext(stream)
            return stream

        async def main():
            asyncio.get_running_loop().slow_callback_duration = 60  # debug mode tells of a busy machine
            await consume("break")
            await asyncio.gather(*[consume("gather") for _ in range(20)])
            left = await asyncio.create_task(part("left for the loop"))
            task = asyncio.create_task(consume("cancelled"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            numbers("never started")
            globals()["kept"] = await part("kept until the end")
            raise SystemExit

        with watch() as records:
            try:
                asyncio.run(main())
            except SystemExit:
                pass
            del kept
            gc.collect()
            found = sorted((r["input"]["name"], r["status"]) for r in records)
        for name, status in dict.fromkeys(found):
            print(name, found.count((name, status)), status)
    """)
    assert out.splitlines() == [
        "break 1 closed",
        "cancelled 1 cancelled",
        "gather 20 closed",
        "kept until the end 1 closed",
        "left for the loop 1 closed",
        "never started 1 closed",
    ]


def test_trio_runs_them() -> None:
    """trio drives tools, cancels them and finalizes their async generators without a word."""
    pytest.importorskip("trio")
    out = run("""
        import warnings
        warnings.simplefilter("ignore")  # of trio's own imports
        import trio
        warnings.simplefilter("error")
        from watching import tool, watch

        @tool
        async def wait(seconds):
            await trio.sleep(seconds)
            return seconds

        @tool
        async def numbers():
            for number in range(10):
                await trio.sleep(0)
                yield number

        async def main():
            await wait(0)
            with trio.move_on_after(0.01):
                await wait(60)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait, 0)
            stream = numbers()
            async for number in stream:
                if number == 2:
                    break
            await stream.aclose()

        with watch() as records:
            trio.run(main)
            for name, status, output in records.brief():
                print(name, status, output)
            trio.run(wait, 0)
    """)
    assert out.splitlines() == [
        "wait success 0",
        "wait cancelled None",
        "wait success 0",
        "numbers closed [0, 1, 2]",
    ]


def test_the_collector_may_run_anywhere() -> None:
    """With a garbage collection at every allocation, whose finalizers call tools, nothing crashes or is told.

    On CPython 3.11 such a finalizer inside ContextVar.set frees the mapping in use (python/cpython#148891).
    """
    out = run("""
        import asyncio, gc
        from collections import Counter
        from watching import tool, watch

        @tool
        def touch():
            pass

        class Cycle:
            def __init__(self):
                self.me = self
            def __del__(self):
                touch()

        @tool
        def lines():
            for number in range(3):
                Cycle()
                yield number

        @tool
        async def wait():
            Cycle()
            await asyncio.sleep(0)

        @tool
        async def numbers():
            for number in range(3):
                Cycle()
                await asyncio.sleep(0)
                yield number

        async def use():
            async for _ in numbers():
                Cycle()
            async for _ in numbers():
                break
            await wait()

        async def main():
            asyncio.get_running_loop().slow_callback_duration = 60
            await asyncio.gather(*[use() for _ in range(20)])

        with watch() as records:
            gc.set_threshold(1, 1, 1)
            for _ in range(20):
                list(lines())
                next(lines())
            asyncio.run(main())
            gc.set_threshold(700, 10, 10)
            gc.collect()
        found = Counter((record["tool_name"], record["status"]) for record in records)
        assert found.pop(("touch", "success")) > 50
        print(*sorted(found.items()), sep="\\n")
    """)
    assert out.splitlines() == [
        "(('lines', 'closed'), 20)",
        "(('lines', 'success'), 20)",
        "(('numbers', 'closed'), 20)",
        "(('numbers', 'success'), 20)",
        "(('wait', 'success'), 20)",
    ]
