"""How much a server is asked to take, and how fast: less at once when it says "too much", more step by step
when it takes it.

Unhurt, requests follow one another as fast as they are answered. A 429 brings the rate to a tenth of what it
was in the last second, and each further one to half of that; a second in which all is taken raises it by
half, until it has passed the rate at which the trouble began. Requests get smaller with a 429 and when no
answer came in time, and grow again: as after an outage, that is at once up to half the size at which the
trouble began, and from there on step by step. A 413 makes them smaller for good: a limit of size does not
pass.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

RECORDS = 500
"""How many records one request has at most; the more, the longer a server has it in its memory."""
BYTES = 5 * 1024 * 1024
"""How large one request is at most."""
LANES = 4
"""How many requests are under way at once while all is well: while one travels and one is made, a server has
others to work on.
"""
FEWEST = 20
SLOWEST = 0.1
"""Requests a second."""
_DROP = 0.1
_HALF = 0.5
_STEP = 1.5
_GROWTH = 1.25
_ROUNDS = 2
"""So many small requests on each lane before it is seen how large the next may be."""
_SECOND = 1.0
_SMALLEST = 16 * 1024


class Pace:
    """The pace of one sink. ``clock`` gives seconds; its zero does not matter.

    ``records``, ``bytes`` and ``lanes`` are what holds now: records and bytes for one request, and requests
    at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.records = RECORDS
        self.bytes = BYTES
        self._safe = RECORDS  # records in a request up to which its size is soon tried again
        self._well = True  # something was taken since the last trouble
        self._clock = clock
        self._sent: deque[float] = deque(maxlen=1024)
        self._rate: float | None = None  # requests a second; None: as fast as they are answered
        self._full_rate = 0.0
        self._changed_at = 0.0

    @property
    def lanes(self) -> int:
        """How many requests may be under way at once."""
        return LANES if self._rate is None else 1

    @property
    def take(self) -> int | None:
        """How many records the sink wants next; None for as many as its batch limits say."""
        if self._rate is not None:
            return self.records
        return None if self.records >= self._safe else self.records * LANES * _ROUNDS

    def wait(self) -> float:
        """Return for how many seconds the next request should wait."""
        if self._rate is None or not self._sent:
            return 0.0
        return max(0.0, self._sent[-1] + 1.0 / self._rate - self._clock())

    def note_request(self) -> None:
        """Note that a request goes out now. May be called by several threads."""
        self._sent.append(self._clock())

    def slow_down(self) -> None:
        """The server said 429: a tenth of the rate, then half of it with each further time."""
        self.shrink()
        now = self._changed_at = self._clock()
        if self._rate is None:
            recent = [moment for moment in self._sent if now - moment <= _SECOND]
            self._full_rate = max(len(recent) / _SECOND, 1.0)
            self._rate = self._full_rate * _DROP
        else:
            self._rate = max(SLOWEST, self._rate * _HALF)

    def shrink(self) -> None:
        """A request was too much, or not answered in time: half as many records in the next."""
        self.records = max(FEWEST, self.records // 2)
        if self._well:
            self._safe, self._well = self.records, False

    def limit_size(self, refused: int) -> None:
        """The server refused a request of so many bytes for its size: none is half as large again."""
        self.bytes = max(_SMALLEST, min(self.bytes, refused // 2))

    def speed_up(self, requests: int = 1) -> None:
        """So many requests were taken whole: as many steps back to the safe size, or one beyond it, and one
        back to the full pace.
        """
        self._well = True
        steps, most = (requests, self._safe) if self.records < self._safe else (1, RECORDS)
        for _ in range(steps):
            self.records = min(most, int(self.records * _GROWTH) + 1)
        now = self._clock()
        if self._rate is not None and now - self._changed_at >= _SECOND:
            self._changed_at = now
            self._rate *= _STEP
            if self._rate >= self._full_rate:
                self._rate = None
