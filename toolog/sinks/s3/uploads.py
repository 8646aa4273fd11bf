"""How an upload is seen to get on, and how long its answer may take.

A body goes out in small pieces, each of which must be taken over within the time to connect. But what the
system has taken over, up to some megabytes, is not yet at the server: on a slow line nothing is heard for as
long as that takes.
"""

from __future__ import annotations

import io
import time

from toolog.sinks.base import Pulse

_SLOWEST = 8000
"""Bytes a second: a line that carries less than this makes no headway."""
_TAKEN_OVER = 4 << 20
"""About the most bytes that are on their way when all of a body has been taken over."""


class Upload(io.BytesIO):
    """A body that gives a sign of life with each piece that is taken of it."""

    def __init__(self, body: bytes, pulse: Pulse) -> None:
        super().__init__(body)
        self._pulse = pulse
        self._taken_at = time.monotonic()

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next piece."""
        self._taken_at = time.monotonic()
        self._pulse.beat(self._pulse.last[1])
        return super().read(size)

    def waited(self) -> float:
        """Return the seconds since the last piece was taken."""
        return time.monotonic() - self._taken_at


class Patience:
    """How long the answer to a request may take: ``least`` seconds, and more for a body on a slow line.

    That doubles with each silence, and after an answer follows from how long that took. It is never more than
    the slowest line needs for what can be on its way; so small bodies neither get it nor say anything of it.
    """

    def __init__(self, least: float) -> None:
        self._least = least
        self._more = 0.0

    def timeout(self, size: int) -> float:
        """Return the seconds for a request with a body of ``size`` bytes."""
        return self._least + min(self._more, _longest(size))

    def grow(self, size: int) -> None:
        """Take note that no answer came in time."""
        self._more = max(self._more, min(2 * self._more + self._least, _longest(size)))

    def learn(self, size: int, waited: float) -> None:
        """Take note that an answer came ``waited`` seconds after the body was taken over."""
        if _longest(size) >= self._least:
            self._more = max(0.0, 2 * waited - self._least)


def _longest(size: int) -> float:
    """Return how many seconds the slowest line needs for what is on its way of a body."""
    return min(size, _TAKEN_OVER) / _SLOWEST
