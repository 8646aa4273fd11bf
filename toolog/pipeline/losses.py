"""What was dropped: every drop is counted at once, and told as a ``loss`` record at a limited rate."""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

from toolog.counters import count
from toolog.emit import loss_record
from toolog.levels import level_name
from toolog.record import ToolRecord, stamp

TELL_EVERY = 5.0
"""Seconds between two loss records for the same reason, level and sink."""


class _Key(NamedTuple):
    reason: str
    level: str
    sink: str | None


class _Tally:
    """Drops of one kind that no loss record has told yet; ``noted`` holds counts, and appending to it is
    atomic.
    """

    __slots__ = ("first", "last", "noted", "told_at")

    def __init__(self) -> None:
        self.noted: deque[int] = deque()
        self.first = 0
        self.last = 0
        self.told_at = -TELL_EVERY


class Losses:
    """Counts drops by reason, level and sink, and makes the records that tell them."""

    def __init__(self) -> None:
        self._tallies: dict[_Key, _Tally] = {}

    def note(self, reason: str, levelno: int, number: int = 1, sink: str | None = None) -> None:
        """Count dropped records. Called on the caller's path: takes no lock and never raises."""
        level = level_name(levelno)
        count("dropped", number, reason=reason, level=level)
        key = _Key(reason, level, sink)
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies.setdefault(key, _Tally())
        now = time.time_ns()
        if not tally.noted:
            tally.first = now
        tally.last = now
        noted = tally.noted
        noted.append(number)
        if len(noted) > 1024:  # nobody tells: fold, so that a flood of drops costs no memory
            noted.append(_drain(noted))

    def due(self, *, all_of_them: bool = False) -> list[ToolRecord]:
        """Return loss records for what was dropped since they were last told; rate limited unless
        ``all_of_them``.
        """
        records: list[ToolRecord] = []
        now = time.monotonic()
        for key, tally in list(self._tallies.items()):
            if not tally.noted or (now - tally.told_at < TELL_EVERY and not all_of_them):
                continue
            first, last = tally.first, tally.last
            lost = _drain(tally.noted)
            if lost:
                tally.told_at = now
                records.append(
                    loss_record(
                        key.reason,
                        lost,
                        first=stamp(first).decode(),
                        last=stamp(max(first, last)).decode(),
                        level=key.level,
                        sink=key.sink,
                    )
                )
        return records

    def forget(self) -> None:
        """Forget what was not told yet (a forked child: its parent tells it)."""
        self._tallies.clear()


def _drain(noted: deque[int]) -> int:
    total = 0
    while True:
        try:
            total += noted.popleft()
        except IndexError:
            return total
