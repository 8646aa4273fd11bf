"""File descriptors that stay open: where they are not in the way, and whose they are.

A process that was started without a standard stream (``2>&-``, some service managers) gives its number to
the next file that is opened. What any library then writes to "standard error" would stand between our
records. And code that turns its process into a daemon closes all descriptors that it did not open; the next
files that it opens get their numbers, the lowest first. So ours are kept at high numbers: after such a
closing they are simply closed, which the kernel tells, and no other file. Who closes or trusts one after a
long time looks first whether it is still the file that it was.
"""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Callable
from pathlib import Path

Mark = tuple[int, int]
"""Which file it is: its device and inode."""

_ABOVE_STANDARD = 3
_HIGH = 768
_SHARE = 4
"""A fourth of the numbers that the process may have at most lies above ours, where 768 is too high."""


def keep(fd: int) -> int:
    """Return a descriptor of a high number for the same file; the given one is closed.

    Where no high number is to be had, it stays where it is, but not at a standard stream's number. Raises
    OSError when that has no other one.
    """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    wanted = _HIGH if most == resource.RLIM_INFINITY else min(_HIGH, most - most // _SHARE)
    if fd >= wanted:
        return fd
    try:
        kept = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, wanted)
    except OSError:  # all of them are taken, or the limit was lowered
        if fd >= _ABOVE_STANDARD:
            return fd
        try:
            kept = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ABOVE_STANDARD)
        except OSError:
            os.close(fd)
            raise
    os.close(fd)
    return kept


def mark(fd: int, fstat: Callable[[int], os.stat_result] = os.fstat) -> Mark:
    """Return which file a descriptor stands for. Raises OSError."""
    found = fstat(fd)
    return found.st_dev, found.st_ino


def is_still(fd: int, marked: Mark, mark: Callable[[int], Mark] = mark) -> bool:
    """Whether a descriptor still stands for the file that it did; somebody may have closed it meanwhile."""
    try:
        return mark(fd) == marked
    except OSError:
        return False


def is_gone(path: str | os.PathLike[str], marked: Mark) -> bool:
    """Whether a file is no longer at its path: somebody deleted it, moved it or a folder above it, or put
    another one there. Not where the path may only not be looked at any more (a process that gave up rights).
    """
    try:
        found = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return (found.st_dev, found.st_ino) != marked


# Defaults, because finalizers call it while modules are torn down.
def let_go(
    fd: int,
    marked: Mark,
    is_still: Callable[[int, Mark], bool] = is_still,
    close: Callable[[int], None] = os.close,
) -> None:
    """Close a descriptor of ours, unless its number is somebody else's by now. Never raises OSError."""
    if is_still(fd, marked):
        try:
            close(fd)
        except OSError:
            pass


def sync_path(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
