"""Room on the stack for what watching adds: a tool that walks a deep tree must not break by being watched.

Between a tool that calls itself and its next level stand our wrapper's frame and wrapt's call, which count
against Python's recursion limit. As deep as the tool calls nest, the limit is raised by just that much; so a
tool reaches about the depth that it reaches unwatched, and endless recursion still ends in RecursionError.

See docs/decisions/recursion-limit.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

FRAMES = 2 if sys.version_info < (3, 12) else 1
"""What one watched level counts beside the tool's own frame. From 3.12 on calls through C count elsewhere."""
STEP = 64
"""Levels that room is made for at once."""


class Room:
    """How much of the recursion limit is ours. An application that sets the limit anew sets it for good."""

    granted = 0
    limit = 0
    """The limit that we set last."""


def make_room(depth: int) -> None:
    """Raise the recursion limit for a call at this depth, unless there is room enough. Never lowers it."""
    limit = sys.getrecursionlimit()
    if limit != Room.limit:
        Room.granted = 0  # ours was replaced
    base = limit - Room.granted
    needed = FRAMES * (min(depth, base) + STEP // 2)  # a depth from another process may be any number
    if needed > Room.granted:
        Room.granted = needed + FRAMES * STEP
        Room.limit = base + Room.granted
        sys.setrecursionlimit(Room.limit)


def give_back() -> None:
    """Set the limit that the application set, unless this very call is too deep for it, or it set another."""
    if Room.granted and sys.getrecursionlimit() == Room.limit:
        try:
            sys.setrecursionlimit(Room.limit - Room.granted)
        except RecursionError:
            return
    Room.granted = 0


@contextmanager
def spare_room(frames: int) -> Iterator[None]:
    """Let the block go that many frames deeper than the application may, wherever on the stack it stands.

    The limit goes back at its end, unless somebody set another one meanwhile.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + frames)
    try:
        yield
    finally:
        if sys.getrecursionlimit() == limit + frames:
            sys.setrecursionlimit(limit)
