"""After a fork, the scans that another thread was inside of are made anew.

re2 gives up the interpreter's lock while it scans, and holds locks of its own then. A child that is forked at
that moment gets them locked by a thread that it does not have: its first scan would hang for ever. So whoever
scans says so in `inside`, by one append and one pop, and the child knows. What it parts from is never freed:
it may have been in the middle of a change.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

import re2

#: One item for each scan that runs now. Read it from this module each time: a child has another list.
inside: list[None] = []
_watched: weakref.WeakSet[Any] = weakref.WeakSet()
_parted: list[Any] = []


def watch(owner: Any) -> None:
    """Have `owner.after_fork_in_child()` called in forked children whose scans may be locked.

    It answers what it parted from. It must make nothing before that is needed.
    """
    _watched.add(owner)


def _after_fork_in_child() -> None:
    global inside
    if not inside:
        return
    inside = []
    re2.purge()
    for owner in list(_watched):
        _parted.append(owner.after_fork_in_child())


os.register_at_fork(after_in_child=_after_fork_in_child)
