"""What must be told when this process forks: one hook for all objects of the spool that own descriptors."""

from __future__ import annotations

import weakref
from typing import Protocol

from toolog.forks import after_in_child


class Forkable(Protocol):
    """An object that parts from its parent's files in a forked child."""

    def after_fork_in_child(self) -> None:
        """Close what was inherited and start anew."""


_known: weakref.WeakSet[Forkable] = weakref.WeakSet()


def watch(thing: Forkable) -> None:
    """Call ``thing.after_fork_in_child()`` in every forked child, for as long as the thing lives."""
    _known.add(thing)


def _in_child() -> None:
    for thing in list(_known):
        thing.after_fork_in_child()


after_in_child(_in_child)
