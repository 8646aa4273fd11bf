"""What this process was told also holds in the processes that `multiprocessing` starts anew.

A forked child has all of it. One that is spawned, or that a fork server makes, begins with an empty
interpreter: what is to be done there first rides on its process object, and is done when that is unpickled,
before the function that the process is to run. The program's own module is imported by then; names in it that
hold plain functions are repaired as ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from toolog.counters import contain

_HEIR = "_toolog_heir"
_will: list[Callable[[], None]] = []


class Heir:
    """Rides on a process object that is pickled for a new process: there ``begin`` is called."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin

    def __reduce__(self) -> Any:
        return inherit, (self._begin,)


def inherit(begin: Callable[[], None]) -> Heir:
    """Do in a new process what the one that started it left to be done. Never raises."""
    try:
        leave_to_children(begin)
        begin()
    except Exception as error:
        contain("heir", error)
    return Heir(begin)


def leave_to_children(begin: Callable[[], None]) -> None:
    """Have ``begin`` (which can be pickled) called in each process that is started anew from now on.

    A second call replaces the first.
    """
    if not _will:
        from wrapt import register_post_import_hook

        register_post_import_hook(_patch, "multiprocessing.process")
    _will[:] = [begin]


def _patch(module: ModuleType) -> None:
    process: Any = vars(module).get("BaseProcess")
    original = None if process is None else vars(process).get("start")
    if original is None:
        contain("heir")
        return

    @functools.wraps(original)
    def start(self: Any) -> Any:
        own = vars(self)
        others = dict(own)
        own.clear()
        own.update({_HEIR: Heir(_will[0]), **others})  # first, so that it is unpickled before all others
        try:
            return original(self)
        finally:
            own.pop(_HEIR, None)

    process.start = start
