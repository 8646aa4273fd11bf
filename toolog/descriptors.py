"""File descriptors that stay open: kept away from the numbers of standard input, output and error.

A process that was started without one of these (``2>&-``, some service managers) gives its number to the next
file that is opened. What any library then writes to "standard error" would stand between our records.
"""

from __future__ import annotations

import fcntl
import os

_FIRST = 3


def above_standard(fd: int) -> int:
    """Return the descriptor, or, where it has a standard stream's number, another one for the same file.

    The given one is closed then. Raises OSError when no other one is free.
    """
    if fd >= _FIRST:
        return fd
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST)
    finally:
        os.close(fd)
