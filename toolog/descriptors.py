"""What is done with file descriptors: kept away from standard streams, brought to the disk."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

_FIRST = 3


def above_standard(fd: int) -> int:
    """Return the descriptor, or, where it has a standard stream's number, another one for the same file.

    A process that was started without one of these (``2>&-``, some service managers) gives its number to the
    next file that is opened. What any library then writes to "standard error" would stand between our
    records. The given one is closed then. Raises OSError when no other one is free.
    """
    if fd >= _FIRST:
        return fd
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST)
    finally:
        os.close(fd)


def sync_path(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
