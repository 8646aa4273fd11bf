"""A bell: how a sleeping thread of ours is woken by anybody, also from within a signal handler.

``threading.Event`` takes a lock in ``set``; a signal handler that interrupts ``set`` and calls it again would
wait for itself forever. A bare lock needs nothing but its own atomic release.
"""

from __future__ import annotations

import _thread


class Bell:
    """One waiter, any number of ringers."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._lock.acquire()

    def ring(self) -> None:
        """Wake the waiter, or let its next wait return at once. Never blocks, never raises."""
        try:
            self._lock.release()
        except RuntimeError:  # it rings already
            pass

    def wait(self, seconds: float) -> bool:
        """Wait until the bell rings or ``seconds`` have passed; True when it rang."""
        return self._lock.acquire(timeout=max(0.0, seconds))
