"""Segments: their names, how one is created, and how a reader learns whether its writer is still there."""

from __future__ import annotations

import calendar
import errno
import fcntl
import functools
import json
import os
import re
import secrets
import stat
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from toolog.descriptors import above_standard
from toolog.errors import SpoolError
from toolog.ownership import hand_over
from toolog.spool import forks, frame

MAGIC = b"TLSPOOL1"
SUFFIX = ".seg"
_NEW = ".new"
_OPEN_NEW = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_OPEN_OLD = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)
_DAY = r"[1-9]\d{3}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3])[0-5]\d[0-5]\d\d{6}"
_NAME = re.compile(
    rf"({_DAY}T{_TIME}Z)_([A-Za-z0-9.-]{{1,40}})_(\d{{1,10}})_([0-9a-f]{{12}})_(\d{{6,12}})"
    r"(?:_to-([A-Za-z0-9_.~%-]{1,100}))?",
    re.ASCII,
)
_TO = "_to-"
FOREIGN = 1 << 62
"""How far a sink has passed a segment that is addressed to another one."""
_STALE_SECONDS = 60.0
_HUGE = 1 << 30
"""Bytes; hardly a segment is as large."""


@dataclass(frozen=True, slots=True)
class SegmentName:
    """The facts that stand in a segment's name.

    When it was created, by which writer, the how many-th of it; ``to`` is the address of the one sink that
    it is for, or empty.
    """

    stamp: str
    host: str
    pid: int
    random: str
    number: int
    to: str = ""

    @classmethod
    def parse(cls, text: str) -> SegmentName:
        """Return the facts of a segment's name (without ``.seg``).

        Raises ValueError when it is no such name.
        """
        match = _NAME.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no segment's name")
        stamp, host, pid, random, number, to = match.groups()
        return cls(stamp, host, int(pid), random, int(number), to or "")

    @property
    def writer(self) -> str:
        """The writer's identity: host, process id, and a random part that is new at each start and fork."""
        return f"{self.host}_{self.pid}_{self.random}"

    @property
    def created_ns(self) -> int:
        """The time of creation in nanoseconds of the Unix epoch (with microseconds)."""
        # Not by strptime: it takes a lock, for which a signal handler or a forked child would wait for ever.
        year, month, day, hour, minute, second = (
            int(self.stamp[at : at + width])
            for at, width in ((0, 4), (4, 2), (6, 2), (9, 2), (11, 2), (13, 2))
        )
        seconds = calendar.timegm((year, month, day, hour, minute, second))
        return seconds * 1_000_000_000 + int(self.stamp[15:21]) * 1000

    @property
    def date(self) -> str:
        """The day of creation, ``YYYY-MM-DD`` in UTC."""
        return f"{self.stamp[:4]}-{self.stamp[4:6]}-{self.stamp[6:8]}"

    @property
    def hour(self) -> str:
        """The hour of creation, ``00`` to ``23`` in UTC."""
        return self.stamp[9:11]

    def __str__(self) -> str:
        to = f"{_TO}{self.to}" if self.to else ""
        return f"{self.stamp}_{self.writer}_{self.number:06d}{to}"


def address(sink: str) -> str:
    """Return a sink's name as it stands in the names of segments that are for it alone."""
    name = quote(sink, safe="") or "%"
    if len(name) > 100:
        name = f"{name[:80]}-{zlib.crc32(sink.encode('utf-8', 'surrogatepass')):08x}"
    return name


def addressee(name: str) -> str:
    """Return the address that stands in a segment's name, or "" when it is for all sinks."""
    return name.partition(_TO)[2]


def is_foreign(name: str, sink: str) -> bool:
    """Tell whether a segment is for another sink than this one."""
    to = addressee(name)
    return bool(to) and to != address(sink)


def stamp(now_ns: int) -> str:
    """Return a time (nanoseconds of the Unix epoch) as it stands in segment names: UTC with microseconds."""
    seconds, rest = divmod(now_ns, 1_000_000_000)
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds)) + f"{rest // 1000:06d}Z"


def host_name() -> str:
    """Return this host's name, fit to stand in a file's name."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename)[:40] or "host"


@functools.cache
def boot_id() -> str:
    """Return the kernel's id of this boot, or "" where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def origin(name: str) -> tuple[str, ...]:
    """Return what stays of a segment's name when its records are carried over to a new one in its place.

    Raises ValueError when it is no such name.
    """
    facts = SegmentName.parse(name)
    return facts.stamp, facts.host, str(facts.pid), str(facts.number), facts.to


class Segment:
    """A segment that this process appends to.

    Whoever writes holds a reference. The descriptor is closed when the last reference is gone and not before,
    so that its number can never be another file's while a writer is inside ``os.write``. Closing also gives
    up the lock, which tells every reader that the segment is complete.
    """

    __slots__ = ("__weakref__", "fd", "limit", "name", "path", "pid", "salt", "size")

    def __init__(self, fd: int, name: str, path: Path, size: int) -> None:
        self.fd = fd
        self.name = name
        self.path = path
        self.salt = frame.salt_of(name)
        self.size = size
        self.limit = size
        self.pid = os.getpid()
        forks.watch(self)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        fd = getattr(self, "fd", -1)  # an exception may have come before it had one
        self.fd = -1
        if fd >= 0:
            try:
                close(fd)
            except OSError:
                pass

    def after_fork_in_child(self) -> None:
        """Part from the parent's open file in a forked child, without unlocking it for the parent.

        The segment then stays locked by the parent alone, and can be adopted when that dies.
        The number stays taken (by the null device): a frame of the parent's, copied by the fork in the middle
        of a write, then writes nowhere, and not into a file that got the number meanwhile.
        """
        if self.pid == os.getpid() or self.fd < 0:
            return
        try:
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.close(self.fd)
            self.fd = -1
            return
        os.dup2(null, self.fd, inheritable=False)
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
    fd = above_standard(os.open(fresh, _OPEN_NEW, 0o600))
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
            if name.endswith(SUFFIX) and _NAME.fullmatch(name, 0, len(name) - len(SUFFIX)):
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
