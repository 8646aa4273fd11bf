"""Records that wait in memory: one deque for each level, bounded together, without any lock.

The bound counts these and what is held in memory because the disk fails (`Held`) as one.

Only single operations on deques are used, each atomic in CPython, so a signal handler or a finalizer that
logs in the middle of a `put` can neither deadlock nor lose what was being put. Several threads at once may
exceed the bound by one record each.

When the bound is reached, a record of the lowest level present is given up, never a higher one: no ERROR is
dropped while a DEBUG is held. The policy only decides between records of that lowest level:

- ``drop_newest``: the one that came last; ``drop_oldest``: the one that waited longest.
- ``block``: wait for room first, at most ``timeout`` seconds, then as drop_newest. A thread that runs an
event loop
  never waits: it would hold up every other task of the loop.
- ``spill``: the caller carries the record into the spool itself; what the spool cannot take is treated as
drop_newest.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

from toolog.breath import awaiting
from toolog.pipeline.held import Held

_BOUNDS = (20, 30, 40)
"""Levels below each bound share a lane: DEBUG, INFO, WARNING, and ERROR with all above it."""
_POLL = 0.001


Waiting: TypeAlias = tuple[int, int, int, Any]
"""A record in a queue: its place in the order of arrival, its level number, the serializer code of its bytes
(-1 when it is still to be sealed), and the record or its bytes. A plain tuple: making one is a fifth of a
named one's cost.
"""


class Queues:
    """The waiting records of one pipeline.

    ``max_records`` bounds all lanes together; ``when_full`` and ``timeout`` (seconds) say what happens then
    (see above); ``on_drop`` is called with (reason, level number) for each record given up; ``spill`` carries
    one record into the spool and answers whether that worked.
    """

    __slots__ = (
        "_appends",
        "_free_until",
        "_held",
        "_lanes",
        "_number",
        "_on_drop",
        "_spill",
        "max_records",
        "timeout",
        "when_full",
    )

    def __init__(
        self,
        max_records: int,
        when_full: str,
        timeout: float,
        *,
        on_drop: Callable[[str, int], None],
        spill: Callable[[int, int, Any], bool],
        held: Held,
    ) -> None:
        self.max_records = max_records
        self.when_full = when_full
        self.timeout = timeout
        self._on_drop = on_drop
        self._spill = spill
        self._held = held
        self._number = itertools.count()
        # As long as numbers are below it there is room, so that not every put has to count what waits.
        self._free_until = 0
        self.clear()

    def put(self, levelno: int, payload: Any, code: int = -1) -> None:
        """Add a record; never raises, and blocks only under the policy ``block``."""
        number = next(self._number)
        if number >= self._free_until and not self._make_room(levelno, code, payload, number):
            return
        try:
            append = self._appends[levelno]
        except KeyError:
            append = self._find_lane(levelno)
        append((number, levelno, code, payload))

    def _find_lane(self, levelno: int) -> Callable[[Waiting], None]:
        append = self._lanes[lane_of(levelno)].append
        if len(self._appends) < 256:
            self._appends[levelno] = append
        return append

    def take(self, limit: int) -> list[Waiting]:
        """Remove up to ``limit`` records from each lane and return them in the order in which they came."""
        taken: list[Waiting] = []
        for lane in self._lanes:
            for _ in range(min(limit, len(lane))):
                try:
                    taken.append(lane.popleft())
                except IndexError:  # a caller gave the last ones up meanwhile
                    break
        taken.sort()
        return taken

    def clear(self) -> None:
        """Forget all records, uncounted (a forked child: they are the parent's)."""
        self._lanes: tuple[deque[Waiting], ...] = (deque(), deque(), deque(), deque())
        self._appends: dict[int, Callable[[Waiting], None]] = {}

    def mark(self) -> int:
        """Return a place in the order of arrival: everything that was put before has a lower one."""
        return next(self._number)

    def has_before(self, mark: int) -> bool:
        """Whether something that came before a mark still waits."""
        for lane in self._lanes:
            try:
                if lane[0][0] < mark:
                    return True
            except IndexError:
                continue
        return False

    def __len__(self) -> int:
        return sum(map(len, self._lanes))

    def hold(self, levelno: int, code: int, payload: bytes) -> None:
        """Hold a sealed record that the disk did not take; within the same bound, and never blocking."""
        while self.is_full():
            if not self._give_up(levelno):
                self._on_drop("queue_full", levelno)
                return
        self._free_until -= 1
        self._held.append(lane_of(levelno), levelno, code, payload)

    def is_full(self) -> bool:
        """Whether as much waits in memory as may."""
        return len(self) + len(self._held.frames) >= self.max_records

    def is_pressed(self) -> bool:
        """Whether more than half of what may wait does."""
        return 2 * (len(self) + len(self._held.frames)) > self.max_records

    def _make_room(self, levelno: int, code: int, payload: Any, number: int) -> bool:
        """Answer whether the record with this number may be put, after somebody else, or nobody, had to
        go.
        """
        room = self.max_records - len(self) - len(self._held.frames)
        if room > 0:
            self._free_until = number + room
            return True
        if self.when_full == "block" and not _runs_event_loop():
            deadline = time.monotonic() + self.timeout
            # Polling, because a condition's lock deadlocks when a signal handler logs while it is held.
            while self.is_full():
                if time.monotonic() >= deadline:
                    break
                awaiting.append(None)
                try:
                    time.sleep(_POLL)
                finally:
                    del awaiting[-1:]
            else:
                return True
        elif self.when_full == "spill" and self._spill(levelno, code, payload):
            return False
        while self.is_full():
            if not self._give_up(levelno):
                self._on_drop("queue_full", levelno)
                return False
        return True

    def _give_up(self, levelno: int) -> bool:
        """Give up one record for a new one of ``levelno``: of the lowest lane below it, or, when the oldest
        are to go, of its own lane; False when there is none.
        """
        oldest = self.when_full == "drop_oldest"
        for number in range(lane_of(levelno) + oldest):
            lost = self._pop(number, oldest)
            if lost is not None:
                self._on_drop("queue_full", lost)
                return True
        return False

    def _pop(self, lane: int, oldest: bool) -> int | None:
        """Remove the oldest or newest record of a lane, held ones included; return its level number."""
        if oldest and (lost := self._held.give_up(lane, oldest)) is not None:
            return lost
        try:
            waiting = self._lanes[lane].popleft() if oldest else self._lanes[lane].pop()
        except IndexError:
            return None if oldest else self._held.give_up(lane, oldest)
        return waiting[1]


def lane_of(levelno: int) -> int:
    """Return the number of the lane that records of a level wait in."""
    return sum(levelno >= bound for bound in _BOUNDS)


def _runs_event_loop() -> bool:
    """Whether this thread runs an asyncio loop; asked without importing asyncio, which the program may never
    use.
    """
    events = sys.modules.get("asyncio.events")
    return events is not None and events._get_running_loop() is not None
