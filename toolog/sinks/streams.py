"""Paths that lead to no file of ours: standard streams, devices, pipes.

``/dev/stdout`` is what a container's log is collected from, or a file that a shell opened for whatever the
program prints. Nothing of that is ours to rename, to cut or to lock.
"""

from __future__ import annotations

import os
import re
import stat

_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_NUMBERED = re.compile(r"(?:/dev/fd|/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/fd)/([0-9]+)")


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads to a standard stream, a device or a pipe, over whatever links; not where nothing
    is yet.
    """
    if _number(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def open_stream(path: str | os.PathLike[str]) -> int:
    """Return a descriptor to write to what `is_stream`. Raises OSError.

    One of this process's own is duplicated: where it is a socket, as below some service managers, or was
    opened by another user, its path cannot be opened.
    """
    number = _number(path)
    if number is not None:
        return os.dup(number)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC)


def _number(path: str | os.PathLike[str]) -> int | None:
    """Return the descriptor of this process that a path names, over whatever links."""
    text = os.path.abspath(path)
    for _ in range(40):  # as many links as the kernel follows
        if text in _STANDARD:
            return _STANDARD[text]
        if found := _NUMBERED.fullmatch(text):
            owner = text.split("/")[2] if text.startswith("/proc/") else "self"
            return int(found[1]) if owner in ("self", "thread-self", str(os.getpid())) else None
        try:
            text = os.path.abspath(os.path.join(os.path.dirname(text), os.readlink(text)))
        except OSError:
            return None
    return None
