"""Whether the clock can be believed when something is to be deleted because of its age.

Deleting cannot be taken back, and a clock that jumps ahead makes every record look old at once. How much time
has passed is known without it: the kernel counts the seconds since the machine started, sleep included.
"""

from __future__ import annotations

import time

from toolog.counters import tell

JUMP = 1.5 * 86400
"""Seconds by which the clock may move apart from the time that passed, between two looks; the same as a purge
may be late."""

PATIENCE = 86400.0
"""Seconds for which nothing is deleted after a jump, so that somebody can put the clock right."""


def passed() -> float:
    """Return the seconds since some moment, those in which the machine slept among them."""
    kind = getattr(time, "CLOCK_BOOTTIME", None)  # Linux only
    return time.monotonic() if kind is None else time.clock_gettime(kind)


def wall() -> float:
    """Return what the clock says, in seconds of the Unix epoch."""
    return time.time()


class Clock:
    """Watches the clock from one look to the next."""

    def __init__(self) -> None:
        self._started = wall() - passed()
        self._waits_until = 0.0

    def is_trusted(self) -> bool:
        """Tell whether ages may be taken from the clock now.

        Not for a day after it jumped ahead, unless it jumps back before. A clock that is right after it was
        wrong is only late by that day.
        """
        now = passed()
        started = wall() - now
        ahead, self._started = started - self._started, started
        if ahead > JUMP:
            self._waits_until = now + PATIENCE
            tell("clock", f"the clock jumped ahead by {ahead / 86400:.1f} days: nothing is purged for a day")
        elif ahead < -JUMP:
            self._waits_until = 0.0
        return now >= self._waits_until
