"""Forks, also those that Python is not told of.

``os.fork`` calls what was registered with `os.register_at_fork`. A server in C that embeds Python may fork by
itself and call none of that (uWSGI does, unless ``py-call-uwsgi-fork-hooks`` is set). Such a child would go
on with its parent's ids, so that its records would be taken for repetitions of other children's, under its
parent's process id, and wait for threads that it does not have.

So all hooks of ours stand in one list here, and where a record gets its id, `here` is looked at: one byte in
a page of memory that the kernel fills with zeros in every forked child (``MADV_WIPEONFORK``, Linux 4.14). A
child that was told of its fork, or has noticed it, sets it to one again. Elsewhere the byte is always one.
"""

from __future__ import annotations

import _thread
import mmap
import os
from collections.abc import Callable
from typing import Any

_WIPE_ON_FORK = 18
_hooks: list[Callable[[], object]] = []
_turn = _thread.allocate_lock()


def _make_page() -> Any:
    if os.uname().sysname == "Linux":
        try:
            page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            page.madvise(_WIPE_ON_FORK)
        except (OSError, ValueError):  # an older kernel, or one that only looks like Linux
            return bytearray(1)
        return page
    return bytearray(1)


here: Any = _make_page()
"""``here[0]`` is 0 in a child that has not noticed yet that it is one; then `notice` must be called."""
here[0] = 1


def after_in_child(hook: Callable[[], object]) -> None:
    """Call ``hook`` in each forked child, before anything else of ours happens there; in the order in which
    hooks were given.
    """
    _hooks.append(hook)


def look() -> None:
    """Notice whether this is such a child. Never raises."""
    if not here[0]:
        notice()


def notice() -> None:
    """Do in a child what should have been done when it was forked. Never raises."""
    if not _turn.acquire(False):  # a hook of ours asks, or another thread is at it
        return
    try:
        if not here[0]:
            _begin()
    except Exception:  # what broke in one hook is its matter; the caller only wanted to log
        pass
    finally:
        _turn.release()


def _after_fork() -> None:
    global _turn
    _turn = _thread.allocate_lock()
    _begin()


def _begin() -> None:
    here[0] = 1
    broke: Exception | None = None
    for hook in _hooks:
        try:
            hook()
        except Exception as error:
            broke = error
    if broke is not None:
        raise broke


os.register_at_fork(after_in_child=_after_fork)
