"""Which process, thread and asyncio task a record comes from."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable

from toolog.forks import after_in_child
from toolog.snapshot import pack

running_loop = asyncio._get_running_loop
_current_task = asyncio.tasks.current_task
_SHORT = [bytes([0xA0 + length]) for length in range(32)]
"""The head of a MessagePack string below 32 bytes."""

on_thread = threading.local()
"""What this thread's records say of it: ``packed`` is what `packed_process` answers outside of tasks,
``with_task`` the same with a task's name to follow.

Filled in one go, not by an ``__init__`` of the local: a finalizer or a signal handler that logs meanwhile
would find it half made.
"""


def _after_fork() -> None:
    vars(on_thread).clear()  # another pid; the other threads, and what is theirs, are gone


after_in_child(_after_fork)


_GIVEN_NAME = re.compile(
    r"MainThread|Task-\d+|asyncio_\d+|Dummy-\d+|ThreadPoolExecutor-\d+_\d+|Thread-\d+(?: \(\w{1,80}\))?"
)


class Names:
    """How the names of threads and tasks are shown. They are an application's texts and may hold anything."""

    #: Masks a name; set by the sanitizer, which no record leaves without.
    mask: Callable[[str], str] = staticmethod(lambda name: name)

    @classmethod
    def shown(cls, name: str) -> str:
        """Return a name as it may be recorded; names that Python gives are as they are."""
        if _GIVEN_NAME.fullmatch(name):
            return name
        return cls.mask(name)


def _describe_thread() -> bytes:
    name = Names.shown(threading.current_thread().name)
    packed = pack({"pid": os.getpid(), "thread": name})
    on_thread.with_task = b"\x83" + packed[1:] + b"\xa4task"  # a map of three instead of two
    on_thread.packed = packed
    return packed


def packed_process() -> bytes:
    """Return pid, thread and asyncio task of the running code, as MessagePack."""
    try:
        packed: bytes = on_thread.packed
    except AttributeError:
        packed = _describe_thread()
    loop = running_loop()
    task = None if loop is None else _current_task(loop)
    if task is None:
        return packed
    head: bytes = on_thread.with_task
    given = Names.shown(task.get_name())
    name = given.encode("utf-8", "backslashreplace")
    return head + _SHORT[len(name)] + name if len(name) < 32 else head + pack(given)
