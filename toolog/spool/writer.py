"""The writing side of a spool, on the caller's way: one ``write(2)`` for each frame, and no lock held.

A thread that logs, a signal handler that interrupts it in the middle of ``append``, and a ``__del__`` that
runs inside both of them may all append at once. So nothing here waits for a lock: serial numbers come from
``itertools.count`` (its step is atomic), the file is opened with ``O_APPEND`` (the kernel puts whole writes
one behind the other), and the rare work (a new segment) is guarded by a lock that is tried and never waited
for.
"""

from __future__ import annotations

import errno
import itertools
import os
import secrets
import struct
import threading
import time
import weakref
import zlib
from collections.abc import Sequence
from pathlib import Path

from toolog.counters import contain
from toolog.descriptors import sync_path
from toolog.errors import SpoolError, SpoolFull
from toolog.spool import forks, naming, segment
from toolog.spool.allowance import Allowance
from toolog.spool.frame import HEAD_SIZE, MARK, MAX_PAYLOAD, build, pack_facts, pack_head
from toolog.spool.segment import Segment

MAX_SIZE = 1 << 30
SEGMENT_SIZE = 16 << 20

_INTACT = frozenset({errno.ENOSPC, errno.EDQUOT})  # the kernel wrote nothing, the segment is as it was
_TRIES = 3
"""How often a write is tried again in another segment, when the application closed the file."""
_HEADER_ROOM = 384  # bytes that a new segment needs before its first record


class SpoolWriter:
    """Appends records to a spool; each writer has segments of its own.

    ``directory`` is created (0700) when it is not there; ``max_size`` bounds the bytes of all segments in it,
    ``segment_size`` those of one. Any thread may call any method at any time, signal handlers too. The first
    segment is created by the first append. Raises SpoolError when files cannot be made in the directory.
    """

    def __init__(
        self, directory: str | os.PathLike[str], *, max_size: int = MAX_SIZE, segment_size: int = SEGMENT_SIZE
    ) -> None:
        self.directory = Path(directory)
        self.max_size = max_size
        self.segment_size = max(1, min(segment_size, max_size))
        segment.make_directory(self.directory)
        self._begin()
        forks.watch(self)

    def _begin(self) -> None:
        """Take a new identity: a new random part of the name, serial numbers from 1 on, no segment yet."""
        self._random = secrets.token_hex(6)
        self._numbers = itertools.count(1)
        self._next = itertools.count(1).__next__
        self._segment: Segment | None = None
        self._trying = threading.Lock()  # only ever acquired without blocking
        self._holder = 0
        self._stamp_ns = 0
        self._pid = os.getpid()
        self._allowance = Allowance(self.directory, self.max_size, self.segment_size)
        self._created = self._created_on_disk = 0
        # Segments that were left and perhaps not synced: the path, and the object while a writer may be
        # inside it.
        self._left: dict[str, tuple[Path, weakref.ref[Segment]]] = {}
        self._deleted: list[Segment] = []  # somebody deleted or moved them while they were written to

    def append(self, levelno: int, serializer: int, payload: bytes, tries: int = _TRIES) -> int:
        """Append one record and return its serial number; when this returns, the kernel has the record.

        ``levelno`` is the record's level (0 to 65535), ``serializer`` the code of how ``payload`` was made.
        Raises SpoolFull when the directory has reached its bound, SpoolError when the record could not be
        written (the OSError is its cause); such a record counts as not accepted. ``tries``: into how many
        segments more, where the application closes the file that is being written to.
        """
        current = self._segment
        length = len(payload)
        total = length + HEAD_SIZE
        if current is None or current.size + total > current.limit:
            current = self._make_room(total)
        current.size += total
        seq = self._next()
        try:
            facts = pack_facts(length, seq, levelno, serializer, 0)
        except struct.error:
            facts = pack_facts(length, seq, min(max(int(levelno), 0), 65535), int(serializer) & 255, 0)
        check = zlib.crc32(facts, current.salt)
        data = pack_head(MARK, zlib.crc32(payload, check), check) + facts + payload
        try:
            written = os.write(current.fd, data)
        except OSError as error:
            failed = self._failed(current, error)
            if error.errno == errno.EBADF and tries:
                return self.append(levelno, serializer, payload, tries - 1)
            raise failed from error
        if written != total:
            raise self._torn(current, written, total)
        return seq

    def append_many(self, records: Sequence[tuple[int, int, bytes]]) -> int:
        """Append records ``(levelno, serializer, payload)`` by one write for each segment that they fill.

        Returns how many records, from the first on, were accepted; fewer than all when the disk failed in
        between. Raises SpoolFull or SpoolError when none was.
        """
        accepted = 0
        most = len(records)
        while accepted < len(records):
            try:
                accepted += self._append_some(records, accepted, most)
            except SpoolError as error:
                if most > 1 and isinstance(error, SpoolFull):
                    most = 1  # some of them may fit
                    continue
                if not accepted:
                    raise
                break
        return accepted

    def _append_some(
        self, records: Sequence[tuple[int, int, bytes]], first: int, most: int, tries: int = _TRIES
    ) -> int:
        """Append up to ``most`` records from ``first`` on, as go into one segment; return how many."""
        count = 0
        total = 0
        bound = self._allowance.bound
        for index in range(first, min(first + most, len(records))):
            size = len(records[index][2]) + HEAD_SIZE
            if count and total + size > bound:
                break
            count += 1
            total += size
        current = self._segment
        if current is None or current.size + total > current.limit:
            current = self._make_room(total)
        current.size += total
        salt = current.salt
        number = self._next
        parts = [
            build(salt, number(), min(max(levelno, 0), 65535), serializer & 255, payload)
            for levelno, serializer, payload in records[first : first + count]
        ]
        try:
            written = os.write(current.fd, b"".join(parts))
        except OSError as error:
            failed = self._failed(current, error)
            if error.errno == errno.EBADF and tries:
                return self._append_some(records, first, most, tries - 1)
            raise failed from error
        if written == total:
            return count
        torn = self._torn(current, written, total)
        whole = 0
        for part in parts:
            written -= len(part)
            if written < 0:
                break
            whole += 1
        if not whole:
            raise torn
        return whole

    def _failed(self, current: Segment, error: OSError) -> SpoolError:
        """Return the error for a write that the kernel refused.

        A file that is not open any more was closed by the application, which closes what it did not open; all
        that was written to it is there.
        """
        if error.errno not in _INTACT:
            self._leave(current)  # nobody knows what is in the file now
        return SpoolError(f"the record was not written to {current.path}: {error}")

    def _torn(self, current: Segment, written: int, total: int) -> SpoolError:
        """Return the error for a write that stopped half way; the next record begins another segment."""
        self._leave(current)
        error = SpoolError(
            f"only {written} of {total} bytes were written to {current.path}: the disk is full"
        )
        error.__cause__ = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(current.path))
        return error

    def _leave(self, current: Segment) -> None:
        """Part from a segment; it is closed when the last writer is out of it."""
        self._remember(current)
        if self._segment is current:
            self._segment = None

    def _remember(self, current: Segment) -> None:
        """Keep a segment's name for ``sync``; there are no more than the directory can hold."""
        left = self._left
        left[current.name] = (current.path, weakref.ref(current))
        if len(left) > self.max_size // self.segment_size + 256:
            left.pop(next(iter(list(left))), None)

    def _make_room(self, total: int) -> Segment:
        """Return a segment that has room for ``total`` bytes more: the current one, or a new one."""
        if total > MAX_PAYLOAD + HEAD_SIZE:
            raise SpoolError(
                f"a record of {total - HEAD_SIZE} bytes is too long: a frame holds {MAX_PAYLOAD} bytes"
            )
        # Not enough is known to wait for another thread: it may be this one, interrupted. So a second one
        # that needs room at this moment goes on with the old segment, or with an additional one of its own.
        if not self._trying.acquire(blocking=False):
            current = self._segment
            deadline = time.monotonic() + 0.02
            while current is None and self._holder != threading.get_ident() and time.monotonic() < deadline:
                time.sleep(0.0005)
                current = self._segment
            if current is None:
                current = self._create(total)
                self._remember(current)
            return current
        trying = self._trying
        try:
            self._holder = threading.get_ident()
            return self._renew(total)
        finally:
            self._holder = 0
            trying.release()

    def _renew(self, total: int) -> Segment:
        """Extend the current segment's limit, or go on to a new segment, or raise SpoolFull."""
        current = self._segment
        if current is not None and current.size + total <= current.limit:
            return current  # another thread was here first
        if current is not None and self._is_lost(current):
            current = None
        if not self._allowance.covers(total + _HEADER_ROOM):
            if current is not None:
                self._leave(current)  # complete, so that it can be shipped and deleted
            raise SpoolFull(f"the spool {self.directory} has reached its bound of {self.max_size} bytes")
        if current is None or current.size + total > self._allowance.bound:
            created = self._create(total)
            if current is not None:
                self._leave(current)
            self._segment = current = created
        else:
            self._allowance.grant(current, total)
        return current

    def _create(self, total: int) -> Segment:
        """Create a segment with room for ``total`` bytes."""
        now = max(time.time_ns(), self._stamp_ns + 1000)
        self._stamp_ns = now
        name = naming.SegmentName(
            naming.stamp(now), naming.host_name(), os.getpid(), self._random, next(self._numbers)
        )
        try:
            try:
                created = segment.create(self.directory, name)
            except FileNotFoundError:
                segment.make_directory(self.directory)  # somebody deleted it
                created = segment.create(self.directory, name)
        except OSError as error:
            raise SpoolError(f"no segment can be created in {self.directory}: {error}") from error
        self._created += 1
        self._allowance.grant(created, total)
        return created

    def sync(self) -> None:
        """Return when all that was appended before is on the disk: it survives a loss of power then.

        Raises SpoolError when the disk refuses.
        """
        try:
            for name, (path, reference) in list(self._left.items()):
                busy = reference() is not None  # asked before: who is inside may still write
                _sync_path(path)
                if not busy:
                    self._left.pop(name, None)
            current = self._segment
            if current is not None and current.is_open:
                os.fdatasync(current.fd)
            elif current is not None:
                self._leave(current)
                _sync_path(current.path)
            created = self._created
            if self._created_on_disk < created:
                _sync_path(self.directory)
                self._created_on_disk = max(self._created_on_disk, created)
        except OSError as error:
            raise SpoolError(f"the spool {self.directory} cannot be brought to the disk: {error}") from error

    def seal(self) -> None:
        """End the current segment, so that it can be deleted once it is shipped.

        The next append begins another.
        """
        current = self._segment
        if current is not None:
            self._leave(current)

    def wrote(self, name: str) -> bool:
        """Tell whether a segment, by its name without suffix, is one of this writer's."""
        return f"_{self._random}_" in name

    def notice_deleted(self) -> bool:
        """Tell whether somebody deleted or moved a segment that records went to; it is ended then."""
        current = self._segment
        if current is not None:
            self._is_lost(current)
        return bool(self._deleted)

    def _is_lost(self, current: Segment) -> bool:
        """Whether nobody will read what is written to a segment from now on; it is left in that case.

        Somebody deleted or moved its file, or closed it here, so that its number may be another file's.
        """
        if not current.is_open:
            contain("the spool's file was closed by the application")
        elif current.is_gone:
            self._deleted.append(current)
        else:
            return False
        self._leave(current)
        return True

    def take_deleted(self) -> list[Segment]:
        """Return the deleted segments, once; their content can be read while they are referred to."""
        taken = list({id(one): one for one in self._deleted}.values())
        self._deleted = []
        return taken

    def close(self) -> None:
        """End the current segment.

        A record that is appended later (at the process's exit) is still written.
        """
        self.seal()

    def after_fork_in_child(self) -> None:
        """Begin as another writer in a forked child; the parent's segments part from their files by
        themselves.

        Called by itself after ``os.fork``; a second call does no harm.
        """
        if self._pid != os.getpid():
            self._begin()


def _sync_path(path: Path) -> None:
    """Bring a file or directory to the disk; one that is deleted needs nothing."""
    try:
        sync_path(path)
    except FileNotFoundError:
        return
