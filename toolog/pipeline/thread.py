"""A thread of ours that can be started from anywhere, told to stop, and forgotten after a fork.

It is started by ``_thread.start_new_thread``: ``threading.Thread.start`` takes locks that a signal handler's
caller may hold, and the first record after a fork may come from a signal handler. Nobody joins it either; who
wants to know whether it has ended looks at ``alive``. Such a thread never keeps the interpreter from ending.
"""

from __future__ import annotations

import _thread
import signal
import threading

from toolog.context import mute
from toolog.counters import contain
from toolog.pipeline.bell import Bell
from toolog.untraced import leave_no_spans


class Loop:
    """A thread that runs ``run()`` once.

    ``stopping`` is what ``run`` must look at; ``busy`` counts the stretches in which a fork should not
    happen; ``paused`` asks the thread not to begin another one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = False
        self.stopping = False
        self.busy = False
        self.paused = False
        self.bell = Bell()
        self._untraced = False

    def start(self) -> bool:
        """Start the thread; False when the interpreter or the system refuses one."""
        self.alive = True
        try:
            _thread.start_new_thread(self._main, ())
        except RuntimeError as error:
            self.alive = False
            if "shutdown" not in str(error):  # at the end of the interpreter that is as it must be (3.12)
                contain("thread", error)
            return False
        return True

    def run(self) -> None:
        """Do the thread's work."""
        raise AssertionError("a Loop has a run() of its own")

    def stop(self) -> None:
        """Ask the thread to end soon."""
        self.stopping = True
        self.bell.ring()

    def idle(self, seconds: float) -> None:
        """Sleep, unless somebody rings."""
        self.bell.wait(seconds)

    def enter(self) -> None:
        """Begin a stretch in which a fork should not happen; waits while one is about to."""
        self.busy = True
        while self.paused:
            self.busy = False
            self.bell.wait(0.001)
            self.busy = True
        if not self._untraced:  # it may have been imported since the thread began
            self._untraced = leave_no_spans()

    def leave(self) -> None:
        """End that stretch; may be called twice."""
        self.busy = False

    def _main(self) -> None:
        try:
            mute()
            # A program that lets a closed pipe end it means its own output, not a server that hangs up on us.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
            threading.current_thread().name = self.name
            self.run()
        except BaseException as error:
            contain("thread_died", error)
        finally:
            self.alive = False
