"""How the interpreter is set up where a process does nothing but ship.

Records come and go by ten thousands, and each dies with its batch, by its reference count. But the garbage
collector is called after so many new objects, whether they are garbage or not: in an application a quarter of
the processor time of shipping is its looking through all objects there are. There it is the application's to
set. A process of its own has it look seldom, and its threads need not rest for those of others.

What is garbage all the same is an error with its traceback, which can hold a batch: so the collector is
called every now and then, too, when nobody waits for it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

from toolog import breath

YOUNG = 50_000
"""New objects, more than were let go of, after which the garbage collector looks for cycles among them: as
many as two large batches have. So many that really are garbage take some megabytes."""

TIDY_EVERY = 20.0
"""Seconds. Looking through all objects takes some 40 ms."""


class Tidying:
    """Has the garbage collector look through everything every ``TIDY_EVERY`` seconds, when `tidy` is called
    often.
    """

    def __init__(self) -> None:
        self._due = time.monotonic() + TIDY_EVERY

    def tidy(self) -> None:
        """Do that if it is time."""
        if time.monotonic() >= self._due:
            gc.collect()
            self._due = time.monotonic() + TIDY_EVERY


@contextmanager
def devoted() -> Iterator[None]:
    """Set the interpreter up to ship and to do nothing else; as it was before, at the end."""
    before = gc.get_threshold()
    gc.set_threshold(max(YOUNG, before[0]) if before[0] else 0, *before[1:])
    try:
        with breath.held():
            yield
    finally:
        gc.set_threshold(*before)
