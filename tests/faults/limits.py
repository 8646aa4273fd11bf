"""How long a piece of work may take: it is broken off by a signal, wherever it waits."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class OutOfTime(BaseException):
    """The time is up. No ``Exception``: what is meant to be caught on the way is something else."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Break off what the main thread does within the block after so many seconds, by OutOfTime."""

    def over(number: int, frame: object) -> NoReturn:
        raise OutOfTime(f"it takes longer than {seconds:,.0f} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
