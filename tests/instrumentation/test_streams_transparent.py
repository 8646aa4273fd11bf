"""A followed stream looks like the original to whoever asks: isinstance, inspect, asyncio, attributes."""

from __future__ import annotations

import asyncio
import collections.abc
import copy
import inspect
import pickle
import sys
import traceback
import types
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from watching import tool

from toolog.instrumentation import streams
from toolog.snapshot import plain

pytestmark = pytest.mark.usefixtures("records")


def numbers() -> Iterator[int]:
    """Stand for a tool that streams."""
    yield 1
    yield 2


async def fetch() -> int:
    """Stand for an async tool."""
    await asyncio.sleep(0)
    return 1


async def stream() -> AsyncIterator[int]:
    """Stand for an async tool that streams."""
    yield 1


PLAIN = {"generator": numbers, "coroutine": fetch, "async_generator": stream}

QUESTIONS: list[Any] = [
    *[getattr(inspect, name) for name in ("isgenerator", "iscoroutine", "isawaitable", "isasyncgen")],
    asyncio.iscoroutine,
    asyncio.isfuture,
    callable,
    *[
        lambda value, kind=kind: isinstance(value, kind)
        for kind in (
            types.GeneratorType,
            types.CoroutineType,
            types.AsyncGeneratorType,
            *[getattr(collections.abc, name) for name in collections.abc.__all__ if name != "ByteString"],
        )
    ],
    lambda value: value.__class__,
    lambda value: value.__name__,
    lambda value: value.__qualname__,
    lambda value: type(value).__name__,
    lambda value: [name for name in dir(value) if name.startswith(("gi_", "cr_", "ag_"))],
    lambda value: [
        getattr(value, name) for name in ("gi_code", "cr_code", "ag_code") if hasattr(value, name)
    ],
    lambda value: [
        getattr(value, name) for name in dir(value) if name.endswith(("_running", "_suspended", "_await"))
    ],
    lambda value: [hasattr(value, name) for name in ("close", "throw", "send", "asend", "aclose", "__len__")],
    lambda value: bool(value),
    lambda value: plain(value),
]


def _end(value: Any) -> None:
    if inspect.isasyncgen(value):
        with pytest.raises(StopIteration):
            value.aclose().send(None)
    else:
        value.close()


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_the_same_answer(kind: str, question: Any) -> None:
    """Types, abstract classes, names, code and state are those of the original."""
    original, followed = PLAIN[kind](), tool(PLAIN[kind])()
    assert question(followed) == question(original)
    _end(original)
    _end(followed)


def test_only_lazy_results_are_followed() -> None:
    """`follow` gives back anything else as it is."""
    value = object()
    assert streams.follow(None, value) is value  # type: ignore[arg-type]


def test_states_and_frames_of_a_generator() -> None:
    """`inspect` tells a generator's state and locals at each stage, and its frame is the tool's own."""
    followed = tool(numbers)()
    assert inspect.getgeneratorstate(followed) == inspect.GEN_CREATED
    next(followed)
    assert inspect.getgeneratorstate(followed) == inspect.GEN_SUSPENDED
    assert inspect.getgeneratorlocals(followed) == {}
    assert followed.gi_frame.f_code is numbers.__code__
    followed.close()
    assert inspect.getgeneratorstate(followed) == inspect.GEN_CLOSED
    assert followed.gi_frame is None


async def test_states_and_frames_of_a_coroutine() -> None:
    """`inspect` tells a coroutine's state at each stage; a task's stack shows the tool's own frame."""
    followed = tool(fetch)()
    assert inspect.getcoroutinestate(followed) == inspect.CORO_CREATED
    task = asyncio.create_task(followed)
    await asyncio.sleep(0)
    assert inspect.getcoroutinestate(followed) == inspect.CORO_SUSPENDED
    assert followed.cr_await is not None
    assert task.get_coro() is followed
    assert [frame.f_code for frame in task.get_stack()] == [fetch.__code__]
    assert "fetch" in repr(task)
    assert await task == 1
    assert inspect.getcoroutinestate(followed) == inspect.CORO_CLOSED


def test_identity_hash_and_weak_references() -> None:
    """An iterator is its own iterator, can be a key and be held weakly; its repr is the original's."""
    followed = tool(numbers)()
    assert iter(followed) is followed
    assert {followed: 1}[followed] == 1
    assert weakref.ref(followed)() is followed
    assert repr(followed).startswith("<generator object numbers at 0x")
    asynchronous = tool(stream)()
    assert aiter(asynchronous) is asynchronous


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused_as_ever(kind: str, use: Any) -> None:
    """Copying or pickling a followed stream fails as it does for the original."""
    original, followed = PLAIN[kind](), tool(PLAIN[kind])()
    with pytest.raises(TypeError) as expected:
        use(original)
    with pytest.raises(TypeError) as found:
        use(followed)
    assert str(found.value) == str(expected.value)
    _end(original)
    _end(followed)


def test_wrong_uses_name_the_original_type() -> None:
    """The messages of type errors say `generator` and `coroutine`."""
    followed = tool(numbers)()
    with pytest.raises(TypeError, match="'generator' object is not callable"):
        followed()
    with pytest.raises(AttributeError, match="'generator' object has no attribute 'extra'"):
        followed.extra
    waiting = tool(fetch)()
    with pytest.raises(TypeError, match="'coroutine' object is not iterable"):
        iter(waiting)
    waiting.close()


def test_origin_tracking_is_the_originals() -> None:
    """`sys.set_coroutine_origin_tracking_depth` shows where the tool was called."""
    sys.set_coroutine_origin_tracking_depth(10)
    try:
        followed = tool(fetch)()
    finally:
        sys.set_coroutine_origin_tracking_depth(0)
    assert any(name == "test_origin_tracking_is_the_originals" for _, _, name in followed.cr_origin)
    followed.close()


async def test_warnings_inside_name_the_tools_caller() -> None:
    """A `warnings.warn(stacklevel=2)` inside a followed tool blames the line that runs it."""
    import warnings

    def old() -> Iterator[int]:
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        yield 1

    with pytest.warns(DeprecationWarning, match="old") as caught:
        next(tool(old)())
    assert caught[0].filename == __file__


def failing() -> Iterator[int]:
    """Stand for a tool whose stream fails, however it is driven on."""
    try:
        yield 1
    finally:
        raise LookupError("failed")


@types.coroutine
def given_a_number() -> Iterator[int]:
    """Wait for a number, as an event loop that sends results does."""
    yield 1


async def failing_late() -> None:
    """Stand for an async tool that fails, however it is driven on."""
    try:
        await given_a_number()
    finally:
        raise LookupError("failed")


async def failing_stream() -> AsyncIterator[int]:
    """Stand for an async stream that fails, however it is driven on."""
    try:
        yield 1
    finally:
        raise LookupError("failed")


async def _awaiting(value: Any) -> None:
    await value


def _frames(make: Any, drive: Any) -> list[str]:
    stream = make()
    first = stream.__anext__() if inspect.isasyncgen(stream) else stream
    try:
        first.send(None)
    except StopIteration:
        pass
    with pytest.raises(LookupError) as caught:
        drive(stream)
    del stream
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:]


@pytest.mark.parametrize(
    ("make", "drive"),
    [
        (failing, next),
        (failing, list),
        (failing, lambda value: value.send(2)),
        (failing, lambda value: value.throw(ValueError())),
        (failing, lambda value: value.close()),
        (failing_late, lambda value: value.send(None)),
        (failing_late, lambda value: value.send(2)),
        (failing_late, lambda value: value.throw(ValueError())),
        (failing_late, lambda value: value.close()),
        *[
            (failing_stream, lambda value, drive=drive, step=step: drive(step(value)))
            for step in (
                lambda value: value.__anext__(),
                lambda value: value.asend(2),
                lambda value: value.athrow(ValueError()),
                lambda value: value.aclose(),
            )
            for drive in (
                lambda step: step.send(None),
                lambda step: next(step.__await__()),
                lambda step: step.throw(ValueError()),
                lambda step: _awaiting(step).send(None),
            )
        ],
    ],
)
def test_no_frame_of_ours_is_in_a_traceback(make: Any, drive: Any) -> None:
    """A stream that fails does so with the traceback of the original, however it is driven."""
    assert _frames(tool(make), drive) == _frames(make, drive)
