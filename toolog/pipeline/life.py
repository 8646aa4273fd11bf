"""Life and death of a process: fork, the end of the interpreter, children of multiprocessing, signals.

Why ``atexit`` and not ``threading._register_atexit``: the latter is private, and it runs before the program's
own atexit functions, which may still log. Our threads are daemons and go on working while atexit functions
run, so the flush finds them alive; whatever is logged after it goes straight into the spool (counted as
``late``).

Children of multiprocessing end by ``os._exit`` and run no atexit functions (fork and forkserver), but they do
run ``multiprocessing.util.Finalize`` callbacks. The child clears those that were registered before it began
its work, so ours is registered again with its first record, and by ``register_after_fork``, which runs after
the clearing.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from toolog.context import is_ours
from toolog.counters import contain, reset
from toolog.emit import before_the_end
from toolog.forks import after_in_child, look
from toolog.sanitize import scans as _registered_before_us  # noqa: F401 - it ends when all is flushed

FORK_PATIENCE = 0.1
"""Seconds that a fork waits at most for a thread of ours that is inside a sink (SQLite holds locks of its
own).
"""


class Living(Protocol):
    """What a pipeline does at the turns of a process's life."""

    @property
    def busy(self) -> bool:
        """Whether a thread of it is where a fork should not happen."""

    paused: bool

    def request_finish(self) -> None:
        """Take no more records and begin to end; returns at once."""

    def after_fork_in_child(self) -> None:
        """Become a pipeline of the child: nothing of the parent's is left, nothing runs."""

    def finish(self) -> None:
        """Flush within the shutdown timeout and stop; records that come later go to the spool."""


_living: weakref.WeakSet[Any] = weakref.WeakSet()
_left: dict[Path, Any] = {}
_ending = False


def is_ending() -> bool:
    """Whether the interpreter is about to end: no thread may be started and nothing imported any more."""
    return _ending or sys.is_finalizing()


def watch(pipeline: Living) -> None:
    """Tell ``pipeline`` of forks and of the end of the process, for as long as it lives."""
    if not _living:
        # Registered late, so that it runs before what was registered earlier (logging.shutdown among it).
        atexit.unregister(_at_exit)
        atexit.register(_at_exit)
    _living.add(pipeline)
    finish_in_children()


def unwatch(pipeline: Living) -> None:
    """Forget a pipeline that has ended."""
    _living.discard(pipeline)


def living() -> list[Any]:
    """Return the pipelines that have not ended."""
    return list(_living)


def leave(directory: Path, pipeline: Living) -> None:
    """Remember a pipeline that has ended and left something in its spool, for who asks about that."""
    _left[directory] = pipeline


def left_behind() -> dict[Path, Any]:
    """Return the pipelines that ended so, the last one of each directory; the caller may remove some."""
    return _left


def finish_in_children() -> None:
    """In a child of multiprocessing, flush before the child ends; does nothing elsewhere. Never raises."""
    util = sys.modules.get("multiprocessing.util")
    if util is None:
        return
    try:
        if not _watcher.watches:
            _watcher.watches = True
            util.register_after_fork(_watcher, _Watcher.finalize)
        if sys.modules["multiprocessing.process"].parent_process() is not None:
            _watcher.finalize()
    except Exception as error:
        contain("multiprocessing", error)


class _Watcher:
    """What multiprocessing is told about; it lives as long as this module."""

    def __init__(self) -> None:
        self.watches = False
        self._finalizer: Any = None

    def finalize(self) -> None:
        """Have this process's pipelines finished before it ends, unless that is arranged already."""
        if self._finalizer is None or not self._finalizer.still_active():
            # A low priority: whatever else the child finalizes may still log.
            util = sys.modules["multiprocessing.util"]
            self._finalizer = util.Finalize(None, _finish_all, exitpriority=-100)


_watcher = _Watcher()


def _finish_all() -> None:
    """Finish all pipelines at the same time, so that the longest of their timeouts bounds them together."""
    look()
    for hook in before_the_end:
        hook()
    pipelines = list(_living)
    for step in ("request_finish", "finish"):
        for pipeline in pipelines:
            try:
                getattr(pipeline, step)()
            except Exception as error:
                contain("finish", error)


def _at_exit() -> None:
    global _ending
    _ending = True
    _finish_all()


# Once more for a handler that was made by an exit function: what is registered then is not called any more.
atexit.register(_finish_all)


# -- fork
# -------------------------------------------------------------------------------------------------------


def _before_fork() -> None:
    pipelines = list(_living)
    for pipeline in pipelines:
        pipeline.paused = True
    if is_ours():  # a sink's client forks: its own thread is the busy one
        return
    deadline = time.monotonic() + FORK_PATIENCE
    while any(pipeline.busy for pipeline in pipelines) and time.monotonic() < deadline:
        time.sleep(0.001)


def _after_fork_in_parent() -> None:
    for pipeline in list(_living):
        pipeline.paused = False


def _after_fork_in_child() -> None:
    global _ending
    _ending = False
    reset()
    _left.clear()
    for pipeline in list(_living):
        try:
            pipeline.after_fork_in_child()
        except Exception as error:  # the child's own work matters more than its records
            contain("fork", error)
    if _living:
        finish_in_children()  # multiprocessing loads what it forks with when it forks for the first time


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent)
after_in_child(_after_fork_in_child)


# -- signals
# ----------------------------------------------------------------------------------------------------

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """Flushes on SIGTERM and SIGINT, then does what the process would have done, exit code included.

    Only memory durability needs it. A second signal while the flush runs is obeyed at once. Those that are
    ``idle`` when others are installed have been replaced: the others do not call them.
    """

    def __init__(self, finish: Callable[[], None], idle: Callable[[], bool] = lambda: False) -> None:
        self._finish = finish
        self._idle = idle
        self._before: dict[int, Any] = {}

    def install(self) -> bool:
        """Put the handlers in place; False where that is not possible (only the main thread may)."""
        if threading.current_thread() is not threading.main_thread():
            return False
        for number in _SIGNALS:
            before: Any = signal.getsignal(number)
            while isinstance(owner := getattr(before, "__self__", None), Signals) and owner._idle():
                before = owner._before.get(number, signal.SIG_DFL)
            if before is not signal.SIG_IGN and before is not None:
                self._before[number] = before
                signal.signal(number, self._handle)
        return True

    def restore(self) -> None:
        """Put the former handlers back, where ours still stand."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, before in list(self._before.items()):
            if signal.getsignal(number) == self._handle:
                signal.signal(number, before)
            del self._before[number]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        before = self._before.get(number, signal.SIG_DFL)
        self.restore()
        if not callable(before):  # this is the end
            for hook in before_the_end:
                hook()
        self._finish()
        if callable(before):
            before(number, frame)
        else:
            os.kill(os.getpid(), number)
