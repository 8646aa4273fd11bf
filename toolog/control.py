"""Changing a running process: one small control file for each, in the ``control`` folder of its spool
directory.

The process creates the file, keeps it locked for as long as it lives, and looks at it a few times a second;
``toolog level`` appends a line to it. The lock tells whether the process is still there, also when its id was
given to another one. Lines are JSON objects: ``{"level": "DEBUG", "tool": "payment.*"}``.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

from toolog.counters import contain
from toolog.descriptors import Mark, keep, let_go, mark
from toolog.errors import ConfigError
from toolog.levels import parse_level, set_level

FOLDER = "control"
SUFFIX = ".control"
_LONGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Process:
    """A running process that can be told something: its id and its control file."""

    pid: int
    path: Path


class Inbox:
    """This process's control file. It is never passed on to a forked child, which makes its own."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FOLDER / f"{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}"
        self._fd = -1
        self._mark: Mark = (0, 0)
        self._read = 0

    def open(self) -> None:
        """Create the file, and clear away those of dead processes. Raises OSError."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        processes(self._path.parent.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        fresh = self._path.with_suffix(".new")
        self._fd = keep(os.open(fresh, flags, 0o600))
        self._mark = mark(self._fd)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(fresh, self._path)  # named only when it is locked: nobody takes it for a dead process's

    def poll(self) -> int:
        """Do what new lines say; return how many there were. Never raises."""
        if self._fd < 0:
            return 0
        try:
            facts = os.fstat(self._fd)
            size = facts.st_size
            if (facts.st_dev, facts.st_ino) != self._mark:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            if size <= self._read:
                return 0
            data = os.pread(self._fd, _LONGEST, self._read)
        except OSError as error:
            contain("control", error)
            if error.errno == errno.EBADF:  # the application closed what it did not open
                self._open_again()
            return 0
        whole, newline, _ = data.rpartition(b"\n")
        if not newline:  # half a line: the rest will come, unless it is nonsense
            self._read = size if len(data) == _LONGEST else self._read
            return 0
        self._read += len(whole) + 1
        lines = whole.split(b"\n")
        for line in lines:
            self._obey(line)
        return len(lines)

    def _open_again(self) -> None:
        """Make the file anew; what stood in the one before was read."""
        self._fd, self._read = -1, 0
        try:
            self.open()
        except OSError as error:
            contain("control", error)

    def _obey(self, line: bytes) -> None:
        try:
            order = json.loads(line)
            tool = order.get("tool")
            set_level(order["level"], tool=None if tool is None else str(tool))
        except (ValueError, KeyError, TypeError, AttributeError, ConfigError) as error:
            contain("control", error)

    def close(self) -> None:
        """Delete the file and let go of it; may be called twice."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            try:
                os.unlink(self._path)
            except OSError:
                pass
            let_go(fd, self._mark)

    def after_fork_in_child(self) -> None:
        """Close the parent's file without unlocking or deleting it."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            let_go(fd, self._mark)


def processes(directory: str | os.PathLike[str]) -> list[Process]:
    """Return the running processes that write into a spool directory, and clear away files of dead ones."""
    found: list[Process] = []
    folder = Path(directory) / FOLDER
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return found
    for name in names:
        pid = name.partition("-")[0]
        if not name.endswith(SUFFIX) or not pid.isdigit():
            continue
        path = folder / name
        if _is_locked(path):
            found.append(Process(int(pid), path))
    return found


def _is_locked(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        try:
            os.unlink(path)  # under our lock: its owner is dead
        except OSError:
            pass
        return False
    finally:
        os.close(fd)


def send_level(
    directory: str | os.PathLike[str], level: int | str, *, tool: str | None = None, pid: int | None = None
) -> list[int]:
    """Tell running processes to record from ``level`` on, and return the ids of those that were told.

    ``tool`` is a glob over tool names, None for all; ``pid`` picks one process. They obey within a second.
    Raises ConfigError for an unknown level and OSError when a control file cannot be written.
    """
    number = parse_level(level)
    line = json.dumps({"level": number, "tool": tool}).encode() + b"\n"
    told = []
    for process in processes(directory):
        if pid is not None and process.pid != pid:
            continue
        fd = os.open(process.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)
        told.append(process.pid)
    return told
