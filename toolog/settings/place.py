"""Where relative paths of a configuration begin: in the working directory of the moment it is made.

A program may change its directory later; what it wrote until then must not move with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from toolog.errors import ConfigError

_begun: ContextVar[str | None] = ContextVar("toolog_begun_in", default=None)


def working_directory() -> str:
    """Return the directory in which relative paths begin. Raises OSError when it is gone."""
    return _begun.get() or os.getcwd()


def remember() -> str | None:
    """Return the working directory, for `begun_in`; None when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


@contextmanager
def begun_in(directory: str | None) -> Iterator[None]:
    """Let relative paths begin in a directory for a while, wherever the program is by now (None: there)."""
    token = _begun.set(directory)
    try:
        yield
    finally:
        _begun.reset(token)


def from_here(path: str) -> Path:
    """Return a path by which a file can be opened now, ``~`` expanded."""
    return Path(_begun.get() or "", os.path.expanduser(path))


def absolute(path: str, where: str) -> str:
    """Return a path that stays where it is when the program changes its directory, ``~`` expanded.

    Raises ConfigError, which names ``where``, for a relative one when the working directory is gone.
    """
    path = os.path.expanduser(path)
    try:
        whole = path if os.path.isabs(path) else os.path.join(working_directory(), path)
    except OSError as error:
        raise ConfigError(
            f"{where}: {path!r} is a relative path, and the working directory is gone; give a whole path"
        ) from error
    # Behind a symbolic link `..` is not what the text says.
    return whole if os.pardir in Path(whole).parts else os.path.normpath(whole)
