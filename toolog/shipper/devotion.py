"""How the interpreter is set up where a process does nothing but ship.

Records come and go by ten thousands, and each dies with its batch, by its reference count. But the garbage
collector is called after so many new objects, whether they are garbage or not: in an application a quarter of
the processor time of shipping is its looking through all objects there are. There it is the application's to
set. A process of its own has it look seldom, and its threads need not rest for those of others.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from toolog import breath

YOUNG = 50_000
"""New objects, more than were let go of, after which the garbage collector looks for cycles among them: as
many as two large batches have. So many that really are garbage take some megabytes."""


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
