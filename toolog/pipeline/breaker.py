"""The circuit breaker of one sink: when it is left in peace, for how long, and what a person is told.

closed     the sink answers; a failure is followed by a short pause, which doubles with each one
open       it failed BREAK_AFTER times in a row, it denied us access, or a write does not return: nothing is
           sent but, after each pause, a probe
half_open  a probe (a small batch) is on its way; its answer closes the breaker, or opens it again

Nothing is given up by a breaker: what the sink cannot take waits in the spool.
"""

from __future__ import annotations

import random
import time

from toolog.counters import contain, count, tell
from toolog.errors import SinkDenied, SinkUnavailable, ToologError
from toolog.sanitize import inuse
from toolog.sinks.lines import visible

BREAK_AFTER = 5
"""So many failures in a row open the breaker."""
PROBE = 16
"""How many records a probe has at most."""
FIRST_PAUSE = 0.1
"""Seconds of the first pause; it doubles with each failure up to the sink's ``retry.max_backoff``."""
DENIED_PAUSE = 1.0
"""Seconds between two tries at least after SinkDenied, also while somebody flushes: a person has to act."""
_TEXT = 500


class Breaker:
    """The breaker of the sink called ``sink``, or of the records of one ``policy`` on their way into it;
    ``max_backoff`` is the longest pause in seconds.
    """

    def __init__(self, sink: str, max_backoff: float, policy: str = "") -> None:
        self.max_backoff = max_backoff
        self.failures = 0
        self.failed_at = 0.0
        self.probing = False
        self.hung = False  # a write has not returned for longer than the sink's timeout
        self._sink = sink
        self._who = f"sink {sink}, policy {policy}" if policy else f"sink {sink}"
        self._opened_at = 0.0
        self._wanted = 0.0  # the pause that its answer asks for

    @property
    def is_open(self) -> bool:
        """Whether nothing but probes is sent."""
        return self.failures >= BREAK_AFTER or self.hung

    @property
    def state(self) -> str:
        """``closed``, ``open`` or ``half_open``."""
        if not self.is_open:
            return "closed"
        return "half_open" if self.probing and not self.hung else "open"

    def failed(self, reason: str, error: BaseException | None = None, *, why: str = "") -> None:
        """Take note of a failure; the breaker opens with the fifth in a row, or at once on SinkDenied.

        ``why``: what the sink said where there is no error, quoting no record.
        """
        self.failed_at = time.monotonic()
        self.probing = False
        self._wanted = getattr(error, "retry_after", None) or 0.0
        if isinstance(error, SinkDenied):
            self._wanted = max(self._wanted, DENIED_PAUSE)
        was_open = self.is_open
        self.failures += 1
        if isinstance(error, SinkDenied):
            self.failures = max(self.failures, BREAK_AFTER)
        said = _plain(why) if error is None else _told(reason, error)
        if error is not None:
            contain(f"{self._who}: {reason}", error, told=said)
        elif said:
            tell(f"{self._who}: {reason}", f"{self._who}: {reason} ({said})")
        if self.is_open and not was_open:
            self._opened_at = self.failed_at
            count("breaker_opened", sink=self._sink)
            denied = isinstance(error, SinkDenied)
            what = "it denies us access" if denied else f"it failed {self.failures} times in a row"
            what += f" ({said})" if said and not denied else ""
            tell(
                f"{self._who}: open",
                f"{self._who} is left in peace: {what}. Its records wait in the spool (in memory,"
                " where that cannot be written), and it is probed"
                f" every {self.max_backoff:g} s at most. See that it can be reached and takes what we send;"
                " nothing else is to be done",
            )

    def answered(self) -> None:
        """Take note of a write that the sink answered."""
        if self.failures >= BREAK_AFTER:
            seconds = time.monotonic() - self._opened_at
            tell(f"{self._who}: closed", f"{self._who} answers again, after {seconds:.0f} s")
        self.failures = 0
        self.probing = False
        self._wanted = 0.0

    def overdue(self, what: str, seconds: float, timeout: float) -> None:
        """Take note that a call into the sink has been running for longer than its timeout."""
        self.hung = True
        count("timeouts", sink=self._sink)
        tell(
            f"{self._who}: hangs",
            f"{self._who}: a {what} has not returned for {seconds:.0f} s (its timeout is {timeout:g} s)"
            ". Other sinks go on, and its records wait in the spool. If it never returns, restart the process"
            " that ships; a sink of your own should give its client a timeout",
        )

    def returned(self) -> None:
        """Take note that the call did return, in whatever way."""
        self.hung = False

    def pause(self, *, short: bool = False) -> float:
        """Return how many seconds to wait before the next try.

        Exponential, with jitter so that many processes do not come back at once; never less than the sink
        asked for. ``short``: as after a first failure.
        """
        longest = FIRST_PAUSE
        if not short:
            longest = min(self.max_backoff, FIRST_PAUSE * 2 ** min(self.failures, 20))
        return max(longest * random.uniform(0.5, 1.0), self.asked_for)

    @property
    def asked_for(self) -> float:
        """How many seconds the sink asked us to wait, or its denial does; a flush keeps to it too."""
        return min(self._wanted, self.max_backoff)


def _told(reason: str, error: BaseException) -> str | None:
    """Return what may be told of an error: with "connect" no record was at hand, only the options."""
    speaks = reason == "connect" or (isinstance(error, SinkUnavailable) and error.tells)
    if not speaks or not isinstance(error, ToologError):
        return None
    return _plain(str(error))


def _plain(text: str) -> str:
    """Return what a sink says as it may stand in a log: sanitized, in one line, and not too long.

    It may come from a server, which can quote us, and holds whatever characters it likes.
    """
    return visible(" ".join(str(inuse.mask(text)).split()))[:_TEXT]
