"""Taking breath: long work in our threads lets the application's threads have the interpreter's lock.

A thread that needs the lock while another one computes waits for up to 5 ms (``sys.getswitchinterval``, which
is the application's to set). What ships records computes for longer than that, so a tool call that happens to
need the lock then would take 5 ms instead of some 20 us. So that work is done in stretches of a fraction of a
millisecond, with a moment of sleep between them in which whoever waits gets the lock.

A call that is being recorded gives the lock up several times, in scans and in writing. So that it does not
lose a stretch each time, our threads rest longer then.

In a process of its own, that nobody else works in, shipping need not rest (`held`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter, sleep
from typing import TypeVar

from toolog.forks import after_in_child

Item = TypeVar("Item")

STRETCH = 0.0003
"""Seconds of work between two moments of rest."""
_REST = 0.00001
"""Seconds: the kernel makes about 60 us of it, long enough for a waiting thread to wake up. Zero is not."""
_PATIENCE = 0.001
"""Seconds that a thread rests longer while a call is being recorded: most are over by then. Looking again and
again whether it is over would take the lock each time."""
_AT_ONCE = 4

recording: list[None] = []
"""One item for each call that is being recorded at this moment, by whatever thread."""
awaiting: list[None] = []
"""One item for each call that waits for our threads to make room: then they must not rest for it."""
for _calls in (recording, awaiting):  # in a child the other threads are not there
    after_in_child(_calls.clear)


class _Due(threading.local):
    at = 0.0


_due = _Due()
_holders: list[object] = []


def breathe() -> None:
    """Rest for a moment if this thread has worked for a stretch since it rested."""
    now = perf_counter()
    if now >= _due.at and not _holders:
        sleep(_REST)
        if recording and not awaiting:
            sleep(_PATIENCE)
        _due.at = perf_counter() + STRETCH


def breathing(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, looking at the time after every few; each is meant to be 100 us of work, or less."""
    left = _AT_ONCE
    for item in items:
        yield item
        left -= 1
        if not left:
            breathe()
            left = _AT_ONCE


@contextmanager
def held() -> Iterator[None]:
    """Let no thread rest meanwhile: for a process in which nobody else needs the interpreter."""
    holder = object()
    _holders.append(holder)
    try:
        yield
    finally:
        _holders.remove(holder)
