"""The tools that every framework of these tests is given, as plain functions."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

inner_call: list[object] = []
"""A function that calls the tool ``add`` by the framework's own means, or nothing; see `Contract`."""

received: list[dict[str, object]] = []
"""What the tool ``typed`` was called with."""

waiting = threading.Event()
"""Set when a tool that waits was entered."""


class NoSuchCity(LookupError):
    """What a tool raises."""


class Unjsonable:
    """A value that JSON cannot hold."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.label = "held"

    def __str__(self) -> str:
        return "an unjsonable"

    __repr__ = __str__


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


async def add_later(a: int, b: int = 2) -> int:
    """Add two numbers, later."""
    await asyncio.sleep(0)
    return a + b


def fail(city: str) -> str:
    """Look a city up, and fail."""
    raise NoSuchCity(f"no city {city}")


async def fail_later(city: str) -> str:
    """Look a city up, later, and fail."""
    await asyncio.sleep(0)
    raise NoSuchCity(f"no city {city}")


def outer(a: int) -> int:
    """Call another tool."""
    call = inner_call[0]
    return int(call(a)) + 100  # type: ignore[operator]


async def outer_later(a: int) -> int:
    """Call another tool, later."""
    call = inner_call[0]
    await asyncio.sleep(0)
    return int(await asyncio.to_thread(call, a)) + 100  # type: ignore[arg-type]


def typed(n: int, factor: float = 1.5) -> str:
    """Keep what comes."""
    received.append({"n": n, "factor": factor})
    return "kept"


async def typed_later(n: int, factor: float = 1.5) -> str:
    """Keep what comes, later."""
    return typed(n, factor)


async def wait(seconds: float) -> str:
    """Wait for a long time."""
    waiting.set()
    await asyncio.sleep(seconds)
    return "waited"


def strange(n: int) -> Unjsonable:
    """Return what JSON cannot hold."""
    return Unjsonable()


def out_of_time(n: int) -> str:
    """Run out of time."""
    raise TimeoutError(f"no answer within {n} s")


def count_up(n: int) -> Iterator[int]:
    """Give numbers one by one."""
    yield from range(n)


def slow_add(a: int, b: int = 2) -> int:
    """Add two numbers, not at once."""
    time.sleep(0.02)
    return a + b


class Toolbox:
    """A user's object whose method is a tool."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def limited(self, n: int) -> int:
        """Return a number within the limit."""
        return min(n, self.limit)
