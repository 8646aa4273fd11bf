"""Whether a call into a sink hangs: asked by others than the thread that makes it."""

from __future__ import annotations

import time

from toolog.pipeline.breaker import Breaker
from toolog.sinks.base import Pulse

_OVERDUE = 0.5
"""Seconds over its timeout after which a call is called hung: a client that keeps its own timeout is not."""


class Watch:
    """Watches the calls into one sink, whose ``timeout`` (seconds) counts from the last sign of life.

    ``pulse``: those of the sink that is being called, if it gives any (see `Pulse`); else a call's beginning
    is the only sign.
    """

    def __init__(self, breaker: Breaker, timeout: float) -> None:
        self.pulse: Pulse | None = None
        self._breaker = breaker
        self._timeout = timeout
        self._call = ""  # what is being asked of the sink now, and since when
        self._began = 0.0

    def begin(self, call: str) -> float:
        """Note that the sink is being called; return the time (monotonic seconds)."""
        self._began = time.monotonic()
        self._call = call
        return self._began

    def end(self) -> None:
        """Note that the call returned."""
        self._call = ""
        self._breaker.returned()

    def check(self) -> None:
        """Notice a call that gave no sign for too long; counted and told once, and forgotten with the next
        sign.
        """
        call, began, pulse = self._call, self._began, self.pulse
        if not call:
            return
        since, timeout = began, self._timeout
        if pulse is not None and pulse.last[0] >= began:
            since, longer = pulse.last
            timeout = timeout if longer is None else longer
        seconds = time.monotonic() - since
        if seconds <= timeout + _OVERDUE:
            self._breaker.returned()  # or gave a sign of life after all
        elif not self._breaker.hung and self._began == began:
            self._breaker.overdue(call, seconds, timeout)
        if not self._call:  # it returned meanwhile
            self._breaker.returned()
