"""The scans that run now, of which a fork and the end of the interpreter must know.

re2 gives up the interpreter's lock while it scans, and holds locks of its own then.

A child that is forked at that moment gets them locked by a thread that it does not have: its first scan would
hang for ever. So whoever scans says so in `inside`, by one append and one pop, and the child makes its scans
anew when somebody was inside. What it parts from is never freed: it may have been in the middle of a change.

A daemon thread that comes back from re2 when the interpreter is ending is ended in the middle of C++ code,
and that aborts the whole process. So at the end nobody may be inside, and only the main thread enters any
more; the content of what other threads record then is withheld.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from typing import Any

import re2

from toolog.forks import after_in_child

_PATIENCE = 2.0

#: One item for each scan that runs now. Read it from this module each time: a child has another list.
inside: list[None] = []
#: Whether the interpreter is ending. Asked after the item is in `inside`.
ending = False
_watched: weakref.WeakSet[Any] = weakref.WeakSet()
_parted: list[Any] = []


class Ending(Exception):
    """The interpreter is ending, and this thread may not scan any more."""


def check_thread() -> None:
    """Raise Ending in every thread but the main one; called once `ending` is set."""
    if threading.get_ident() != threading.main_thread().ident:
        raise Ending


def watch(owner: Any) -> None:
    """Have `owner.after_fork_in_child()` called in forked children whose scans may be locked.

    It answers what it parted from.
    """
    _watched.add(owner)


def _after_fork_in_child() -> None:
    global inside, ending
    ending = False
    if not inside:
        return
    inside = []
    re2.purge()
    for owner in list(_watched):
        _parted.append(owner.after_fork_in_child())


def _at_exit() -> None:
    global ending
    ending = True
    deadline = time.monotonic() + _PATIENCE
    while inside and time.monotonic() < deadline:
        time.sleep(0.001)


after_in_child(_after_fork_in_child)
# Registered when the module is imported, so it runs after the last flush of every handler.
atexit.register(_at_exit)
