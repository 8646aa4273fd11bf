"""Long work in our threads leaves the interpreter's lock to whoever waits for it."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from toolog import breath
from toolog.handler import ToologHandler


def test_items_come_as_they_are() -> None:
    """Whatever is iterated over with breathing comes whole and in order."""
    assert list(breath.breathing(range(1000))) == list(range(1000))
    assert list(breath.breathing([])) == []


def test_rest_comes_after_a_stretch_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread rests once for each stretch that it worked, and not more often."""
    clock, rests = [0.0], []

    def rest(seconds: float) -> None:
        rests.append(clock[0])

    monkeypatch.setattr(breath, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(breath, "sleep", rest)
    monkeypatch.setattr(breath, "_due", breath._Due())
    for _ in range(1000):
        clock[0] += breath.STRETCH / 100
        breath.breathe()
    assert len(rests) in (10, 11)


def test_each_thread_has_its_own_breath(monkeypatch: pytest.MonkeyPatch) -> None:
    """That one thread rested does not make another one work on."""
    rested: list[Any] = []
    monkeypatch.setattr(breath, "sleep", lambda seconds: rested.append(threading.get_ident()))
    monkeypatch.setattr(breath, "_due", breath._Due())
    breath.breathe()
    other = threading.Thread(target=breath.breathe)
    other.start()
    other.join()
    assert len(set(rested)) == 2


def test_rest_is_longer_while_a_call_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is being recorded loses one stretch to a thread of ours, not one each time it gives way."""
    rests: list[float] = []
    monkeypatch.setattr(breath, "sleep", rests.append)
    monkeypatch.setattr(breath, "_due", breath._Due())
    breath.breathe()
    short = sum(rests)
    breath.recording.append(None)
    try:
        breath._due.at = 0.0
        breath.breathe()
    finally:
        breath.recording.pop()
    assert sum(rests) - short > 10 * short


def test_a_call_counts_as_recorded_as_long_as_the_handler_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a handler has a record it says so, and no longer, also when that fails."""
    seen: list[int] = []

    class Full(ToologHandler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(len(breath.recording))
            raise OSError("no room")

    handler = Full(durability="memory", sinks={"kept": {"type": "memory"}})
    try:
        handler.handle(logging.makeLogRecord({"msg": "m"}))
    finally:
        handler.close()
    assert (seen, breath.recording) == ([1], [])


def test_nobody_rests_for_a_call_that_waits_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that a full queue holds up is over sooner the sooner our threads go on."""
    rests: list[float] = []
    monkeypatch.setattr(breath, "sleep", rests.append)
    monkeypatch.setattr(breath, "_due", breath._Due())
    monkeypatch.setattr(breath, "recording", [None])
    monkeypatch.setattr(breath, "awaiting", [None])
    breath.breathe()
    assert rests == [breath._REST]
