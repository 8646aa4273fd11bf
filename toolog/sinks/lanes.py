"""Work on several things at once, for as long as one call lasts.

Threads of a pool would have to be told of forks and of the interpreter's end. These are begun when there is
more than one thing to do, and have ended when the call returns.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Sequence
from typing import TypeVar

from toolog.context import mute

Thing = TypeVar("Thing")


def work_side_by_side(things: Sequence[Thing], work: Callable[[Thing], bool], lanes: int) -> list[Thing]:
    """Do ``work`` on each thing, at most ``lanes`` at a time; return those that were not begun.

    After a ``work`` that answers False nothing more is begun. ``work`` must not raise. What the extra threads
    log is our own doing. Where no thread can be started, the calling one does it all.
    """
    waiting = list(reversed(things))
    go_on = [True]

    def run() -> None:
        while waiting and go_on[0]:
            try:
                thing = waiting.pop()
            except IndexError:  # another lane was quicker
                return
            if not work(thing):
                go_on[0] = False

    def run_beside(done: _thread.LockType) -> None:
        try:
            mute()
            run()
        finally:
            done.release()

    ends: list[_thread.LockType] = []
    for _ in range(min(lanes, len(things)) - 1):
        done = _thread.allocate_lock()
        done.acquire()
        try:
            _thread.start_new_thread(run_beside, (done,))
        except RuntimeError:  # at the end of the interpreter there are no new threads
            break
        ends.append(done)
    run()
    for done in ends:
        done.acquire()
    return list(reversed(waiting))
