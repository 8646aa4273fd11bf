"""How a process that may not ship asks the one that does for room in a spool at its bound.

Only the shipper may give up records, and it does not know what others wait to write. So they leave the level
of it in the file ``room.wanted``; the shipper takes the file away and gives up what is lower.
"""

from __future__ import annotations

import os
from pathlib import Path

from toolog.ownership import hand_over

NAME = "room.wanted"
_FLAGS = os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)
"""Whatever lies there under that name (a pipe, say): nobody waits for it."""


def ask_for_room(directory: Path, levelno: int) -> None:
    """Say that a record of this level waits for room. Never raises: without it, it waits a little longer."""
    path = directory / NAME
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS
        fd = os.open(path, flags, 0o600)
        try:
            hand_over(path, fd)
            if os.fstat(fd).st_size < 4096:
                os.write(fd, b"%d\n" % levelno)
        finally:
            os.close(fd)
    except OSError:
        pass


def room_asked_for(directory: Path) -> int | None:
    """Return the highest level that waits for room since this was last asked, or None. Never raises."""
    path = directory / NAME
    try:
        fd = os.open(path, os.O_RDONLY | _FLAGS)
        try:
            words = os.read(fd, 8192).split()
        finally:
            os.close(fd)
            os.unlink(path)
    except OSError:  # usually: nobody asks
        return None
    return max([int(word) for word in words if word.isdigit()], default=None)
