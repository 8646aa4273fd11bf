"""Segments: how one is created, and how a reader learns whether its writer is still there."""

from __future__ import annotations

import errno
import fcntl
import functools
import json
import os
import secrets
import stat
import time
from collections.abc import Callable
from pathlib import Path

from toolog.descriptors import Mark, is_gone, is_still, keep, let_go, mark
from toolog.errors import SpoolError
from toolog.ownership import hand_over
from toolog.spool import forks, frame
from toolog.spool.naming import SegmentName, is_name

MAGIC = b"TLSPOOL1"
SUFFIX = ".seg"
_NEW = ".new"
_OPEN_NEW = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_OPEN_OLD = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)
_STALE_SECONDS = 60.0
_HUGE = 1 << 30
"""Bytes; hardly a segment is as large."""


@functools.cache
def boot_id() -> str:
    """Return the kernel's id of this boot, or "" where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class Segment:
    """A segment that this process appends to.

    Whoever writes holds a reference. The descriptor is closed when the last reference is gone and not before,
    so that its number can never be another file's while a writer is inside ``os.write``. Closing also gives
    up the lock, which tells every reader that the segment is complete.
    """

    __slots__ = ("__weakref__", "_mark", "fd", "limit", "name", "path", "pid", "salt", "size")

    def __init__(self, fd: int, name: str, path: Path, size: int) -> None:
        self.fd = fd
        self._mark = mark(fd)
        self.name = name
        self.path = path
        self.salt = frame.salt_of(name)
        self.size = size
        self.limit = size
        self.pid = os.getpid()
        forks.watch(self)

    @property
    def is_open(self) -> bool:
        """Whether the file is still open here; the application may have closed what it did not open."""
        return is_still(self.fd, self._mark)

    @property
    def is_gone(self) -> bool:
        """Whether no reader finds it any more: somebody deleted it, or moved it or a folder above it."""
        return is_gone(self.path, self._mark)

    def __del__(self, let_go: Callable[[int, Mark], None] = let_go) -> None:
        if hasattr(self, "_mark"):  # an exception may have come before it had one
            fd, self.fd = self.fd, -1
            let_go(fd, self._mark)

    def after_fork_in_child(self) -> None:
        """Part from the parent's open file in a forked child, without unlocking it for the parent.

        The segment then stays locked by the parent alone, and can be adopted when that dies.
        The number stays taken (by the null device): a frame of the parent's, copied by the fork in the middle
        of a write, then writes nowhere, and not into a file that got the number meanwhile.
        """
        if self.pid == os.getpid() or not self.is_open:
            return
        try:
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.close(self.fd)
            self.fd = -1
            return
        os.dup2(null, self.fd, inheritable=False)
        self._mark = mark(null)
        os.close(null)


def header(name: SegmentName) -> bytes:
    """Return what a segment begins with: the magic bytes, and a frame that repeats the facts of its name."""
    text = str(name)
    facts = {
        "version": 1,
        "segment": text,
        "host": name.host,
        "pid": name.pid,
        "created_ns": name.created_ns,
        "boot_id": boot_id(),
    }
    payload = json.dumps(facts, separators=(",", ":")).encode()
    return MAGIC + frame.build(frame.salt_of(text), 0, 0, 0, payload, frame.HEADER_FLAG)


def create(directory: Path, name: SegmentName, content: bytes = b"") -> Segment:
    """Create a segment, locked by this process, and return it. Raises OSError.

    ``content`` are whole frames to stand behind its header. It gets its name only when it is locked and has
    all of that: no reader ever sees a live segment unlocked.
    """
    text = str(name)
    path = directory / (text + SUFFIX)
    fresh = directory / f".{text}-{secrets.token_hex(4)}{_NEW}"
    fd = keep(os.open(fresh, _OPEN_NEW, 0o600))
    segment = Segment(fd, text, path, 0)  # owns the descriptor from here on
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        hand_over(fresh, fd)
        head = header(name) + content
        if os.write(fd, head) != len(head):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.rename(fresh, path)
    except BaseException:
        try:
            os.unlink(fresh)
        except OSError:
            pass
        raise
    segment.size = segment.limit = len(head)
    return segment


def open_to_read(path: Path) -> int:
    """Open a segment to read from it and return the descriptor.

    Raises OSError, also for what is no plain file.
    """
    fd = os.open(path, _OPEN_OLD)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
    except BaseException:
        os.close(fd)
        raise
    return fd


def is_final(fd: int) -> bool:
    """Tell whether nobody can append any more to the segment that is open as ``fd``.

    The writer holds an exclusive lock for as long as it has the segment open, and the kernel lets go of it
    when the process dies in whatever way.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return True


def final_size(path: Path) -> tuple[bool, int]:
    """Return whether a segment is complete, and its size after that question.

    What cannot be opened is not.
    """
    try:
        fd = open_to_read(path)
    except OSError:
        return False, 0
    try:
        final = is_final(fd)
        return final, os.fstat(fd).st_size
    finally:
        os.close(fd)


def skip_hole(fd: int, pos: int, size: int) -> int:
    """Return where the next bytes stand on the disk at or behind ``pos`` in a file of this size, if that is
    far; else ``pos``.

    What is named like a segment may be a file of a terabyte in which nothing was ever written.
    """
    try:
        found = min(os.lseek(fd, pos, os.SEEK_DATA), size)
    except OSError as error:  # nothing behind it; or a file system that cannot tell
        found = size if error.errno == errno.ENXIO else pos
    return found if found - pos >= frame.CHUNK else pos


def listing(directory: Path, *, on_disk: bool = False) -> dict[str, int]:
    """Return the segments of a directory, oldest first: name (without ``.seg``) -> size in bytes.

    ``on_disk``: without what a very large one does not take up on the disk. Whatever else lies there is left
    alone: other names, subdirectories, links, devices. Raises OSError.
    """
    found: list[tuple[str, int]] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(SUFFIX) and is_name(name[: -len(SUFFIX)]):
                try:
                    facts = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISREG(facts.st_mode):
                    size = facts.st_size
                    if on_disk and size > _HUGE:  # of small, fresh files some file systems say it late
                        size = min(size, facts.st_blocks * 512)
                    found.append((name[: -len(SUFFIX)], size))
    found.sort()
    return dict(found)


def sweep(directory: Path) -> int:
    """Delete what processes left behind that died while they created a segment; return how many files."""
    gone = 0
    for path in directory.glob(f".*{_NEW}"):
        try:
            if not stat.S_ISREG(path.lstat().st_mode) or time.time() - path.lstat().st_mtime < _STALE_SECONDS:
                continue
            fd = open_to_read(path)
            try:
                if is_final(fd):
                    os.unlink(path)
                    gone += 1
            finally:
                os.close(fd)
        except OSError:
            continue
    return gone


def make_directory(directory: Path) -> None:
    """Make the spool's directory (0700) unless it is there, and check that files can be made in it.

    Raises SpoolError with the reason in plain words.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SpoolError(f"the spool directory {directory} cannot be created: {error}") from error
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        raise SpoolError(
            f"the spool directory {directory} is not writable for this process (or a read-only disk)"
        )
