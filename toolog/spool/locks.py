"""The shipper's lock: one process at a time reads a spool to its end and deletes what is shipped."""

from __future__ import annotations

import fcntl
import math
import os
import time
from pathlib import Path
from types import TracebackType

from toolog.descriptors import Mark, is_gone, is_still, keep, let_go, mark
from toolog.errors import SpoolError
from toolog.ownership import hand_over
from toolog.spool import forks

NAME = "shipper.lock"
_here: dict[Path, float] = {}
"""When this process let go of a lock last (monotonic seconds), or infinity while it has it. (Its process id
in the file does not tell: in another container it may be another's.)"""


class ShipperLock:
    """The right to ship from one spool directory, held by at most one object in at most one process.

    The kernel gives it up when the holder dies, however that happens. It is not passed on to forked children.
    The file stays in the directory and is never deleted.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = Path(directory) / NAME
        self._fd = -1
        self._mark: Mark = (0, 0)
        self._pid = os.getpid()
        forks.watch(self)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd >= 0

    def try_acquire(self) -> bool:
        """Take the lock unless somebody has it.

        Return whether it is held now. Raises SpoolError, never waits.
        """
        if self._fd >= 0:
            return True
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
            fd = keep(os.open(self.path, flags, 0o600))
        except OSError as error:
            raise SpoolError(f"the lock file {self.path} cannot be opened: {error}") from error
        try:
            hand_over(self.path, fd)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except OSError as error:
            os.close(fd)
            raise SpoolError(f"the lock file {self.path} cannot be locked: {error}") from error
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, b"%d\n" % os.getpid(), 0)  # for people; nothing reads it but `owner`
        except OSError:
            pass
        self._pid = os.getpid()
        self._fd, self._mark = fd, mark(fd)
        _here[self.path] = math.inf
        return True

    def was_here(self, since: float) -> bool:
        """Whether another object of this process has the lock, or had it at some time since then (monotonic
        seconds).
        """
        return not self.held and _here.get(self.path, -math.inf) >= since

    def is_taken(self) -> bool:
        """Whether somebody has the lock; creates nothing and takes nothing."""
        try:
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)
            fd = os.open(self.path, flags)
        except OSError:  # no file, or none that we may look at
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(fd, fcntl.LOCK_UN)
        except OSError:
            return True
        finally:
            os.close(fd)
        return False

    def is_lost(self) -> bool:
        """Whether this object holds a lock that others do not see: somebody deleted or moved its file, or the
        application closed it.
        """
        fd = self._fd
        return fd >= 0 and (not is_still(fd, self._mark) or is_gone(self.path, self._mark))

    def owner(self) -> int | None:
        """Return the process id that stands in the lock file (it may be of the past), or None."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            return int(os.read(fd, 20))
        except (OSError, ValueError):
            return None
        finally:
            os.close(fd)

    def release(self) -> None:
        """Give the lock up; without it, nothing happens."""
        fd = self._fd
        if fd >= 0 and is_still(fd, self._mark):
            try:
                # Closing is not enough: a child that was forked without Python's hooks may have it open.
                fcntl.flock(fd, fcntl.LOCK_UN)
            except OSError:
                pass
        self._close()

    def _close(self, here: dict[Path, float] = _here) -> None:  # a default: finalizers run late
        fd, self._fd = self._fd, -1
        if fd >= 0:
            here[self.path] = time.monotonic()
            let_go(fd, self._mark)

    def after_fork_in_child(self) -> None:
        """Close the inherited descriptor in a forked child: closing does not unlock it for the parent."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._close()
            _here.clear()

    def __enter__(self) -> ShipperLock:
        if not self.try_acquire():
            raise SpoolError(f"another process ships from {self.path.parent} (process {self.owner()})")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __del__(self) -> None:
        self.release()
