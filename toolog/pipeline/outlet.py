"""Where sealed records leave memory: the spool on disk, and a bounded place in memory while the disk fails.

A full disk, a read-only directory or a spool at its bound never raises into the caller. One warning is
printed, what cannot be written is held in memory (as many records as the queue may hold, the lowest levels
given up first), and every half second the next batch tries the disk again.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident

from toolog.counters import contain, tell
from toolog.errors import SpoolError, SpoolFull
from toolog.pipeline.held import Held
from toolog.spool import Spool, SpoolWriter
from toolog.spool.browse import frames_open
from toolog.spool.segment import SUFFIX, Segment

TRY_AGAIN = 0.5
"""Seconds between two tries to write to a disk that failed."""
_POLL = 0.0002

Sealed = tuple[int, int, bytes]
"""Level number, serializer code, bytes."""


class Outlet:
    """The spool of one pipeline, with a place in memory beside it.

    ``directory``, ``max_size`` and ``segment_size`` (bytes) describe the spool. ``hold`` takes a record
    (level number, serializer code, bytes) into ``held``, within the bound of memory. ``make_room`` is asked,
    when the spool is at its bound, to give up records below a level (None: any) and answers whether it did.
    """

    def __init__(
        self,
        directory: Path,
        max_size: int,
        segment_size: int,
        *,
        held: Held,
        hold: Callable[[int, int, bytes], None],
        make_room: Callable[[int], bool],
    ) -> None:
        self.directory = directory
        self.degraded = False
        self.moves = 0  # grows when records have left memory, or a deleted segment, for another segment
        self.moving: list[bool] = []  # not empty while some are on their way
        self.written = 0  # grows with each write: tells runners that there is something to read
        self.spool: Spool | None = None
        self.writer: SpoolWriter | None = None
        self._max_size = max_size
        self._segment_size = segment_size
        self._held = held
        self._hold = hold
        self._make_room = make_room
        self._again_at = 0.0
        self.appended = self._synced = 0
        self._gate = _thread.allocate_lock()
        self._syncing = 0
        self._open()

    def _open(self) -> bool:
        try:
            self.spool = Spool(self.directory, max_size=self._max_size, segment_size=self._segment_size)
            self.writer = self.spool.writer()
        except (SpoolError, OSError) as error:
            self.fail(error)
            return False
        return True

    # -- on the caller's thread

    def append(self, levelno: int, code: int, payload: bytes) -> bool:
        """Write one record to the disk; False when that is not possible now. Takes no lock, never raises."""
        writer = self.writer
        if writer is None or self.degraded:
            return False
        try:
            self.appended = writer.append(levelno, code, payload)
        except SpoolError as error:
            self.fail(error)
            return False
        self.written += 1
        return True

    def sync(self, patience: float) -> None:
        """Return when what was appended before is on the platter; one thread syncs for all that wait.

        A thread that finds another one syncing waits at most ``patience`` seconds for it and then syncs by
        itself; so does one that interrupted its own sync (a signal handler), as it would wait for itself.
        """
        writer = self.writer
        if writer is None or self.degraded:
            return
        mine = self.appended
        deadline = time.monotonic() + patience
        while self._synced < mine:
            if self._gate.acquire(False):
                try:
                    self._syncing = get_ident()
                    upto = self.appended
                    if _sync(writer):
                        self._synced = upto
                    return
                finally:
                    self._syncing = 0
                    self._gate.release()
            if self._syncing == get_ident() or time.monotonic() >= deadline:
                _sync(writer)
                return
            time.sleep(_POLL)

    # -- on the worker's thread

    def append_many(self, frames: Sequence[Sealed]) -> None:
        """Write a batch to the disk, or hold it in memory while the disk fails. Called by one thread at a
        time.
        """
        rest: Sequence[Sealed] = frames
        if not self.degraded or self.recover():
            rest = self._to_disk(frames)
        for levelno, code, payload in rest:
            self._hold(levelno, code, payload)
        self.written += 1

    def recover(self) -> bool:
        """Try the disk again when it is time to: move what is held there first. True when it is well
        again.
        """
        if not self.degraded or time.monotonic() < self._again_at:
            return not self.degraded
        self._again_at = time.monotonic() + TRY_AGAIN
        if self.writer is None and not self._open():
            return False
        with self._moving():
            return self._move_held()

    def _move_held(self) -> bool:
        while True:
            moved = self._held.take_untouched(64)
            if not moved:
                break
            rest: Sequence[Sealed] = [(frame.levelno, frame.serializer, frame.payload) for frame in moved]
            try:
                rest = self._to_disk(rest)
            finally:
                self._held.put_back(moved[len(moved) - len(rest) :])
            if rest:
                return False
            self.written += 1
        self.degraded = False
        return True

    @contextmanager
    def _moving(self) -> Iterator[None]:
        """Say that records are on their way, neither where they were nor where they will be."""
        self.moving.append(True)
        try:
            yield
        finally:
            self.moves += 1
            self.moving.pop()

    def has(self, name: str) -> bool:
        """Return whether a segment's file is there."""
        return (self.directory / (name + SUFFIX)).exists()

    def lost_segments(self) -> bool:
        """Whether somebody deleted a segment that this process still has open."""
        return self.writer is not None and self.writer.notice_deleted()

    def salvage(self, passed: Callable[[str], int]) -> None:
        """Write what is in deleted segments behind the place that ``passed`` tells into a new one.

        Deleted files live on while they are open. Called by one thread at a time.
        """
        if self.writer is None:
            return
        with self._moving():
            self._write_again(self.writer.take_deleted(), passed)

    def _write_again(self, deleted: Sequence[Segment], passed: Callable[[str], int]) -> None:
        for segment in deleted:
            frames = [frame for frame in frames_open(segment) if frame.offset >= passed(segment.name)]
            contain(
                "spool_deleted",
                told=f"a segment in {self.directory} was deleted or moved while it was written to; what was"
                " not shipped of it is written again",
            )
            self.append_many([(frame.levelno, frame.serializer, frame.payload) for frame in frames])

    def _to_disk(self, frames: Sequence[Sealed]) -> Sequence[Sealed]:
        """Return what could not be written."""
        assert self.writer is not None
        for _ in range(2):
            try:
                done = self.writer.append_many(frames)
            except SpoolFull as error:
                if self._make_room(max([frame[0] for frame in frames])):
                    continue
                self.fail(error)
                return frames
            except SpoolError as error:
                self.fail(error)
                return frames
            frames = frames[done:]
            if not frames:
                break
        if frames:
            self.fail(None)
        return frames

    def fail(self, error: BaseException | None) -> None:
        """Keep records in memory from now on, until the disk is tried again."""
        self._again_at = time.monotonic() + TRY_AGAIN
        self.degraded = True
        said = "not all was written" if error is None else type(error).__name__
        if isinstance(error, SpoolError):
            said = str(error)  # (it names a place, and quotes no record)
        reason = "spool_full" if isinstance(error, SpoolFull) else "spool"
        contain(reason, error, told=f"{said}; records are kept in memory for now")

    # -- the turns of life

    def after_fork_in_child(self) -> None:
        """Forget what the parent holds; the writer takes a new identity by itself."""
        self._held.after_fork_in_child()
        self.moving = []
        self.written = 0
        self.appended = self._synced = 0
        self._gate = _thread.allocate_lock()
        self._syncing = 0

    def leave_nothing(self) -> dict[int, int]:
        """At the end: write what is held to the disk, and return how many records of each level could not
        be.
        """
        left = self._held.take_all()
        if left and self.writer is not None:
            rest = self._to_disk([(frame.levelno, frame.serializer, frame.payload) for frame in left])
            left = left[len(left) - len(rest) :]
        lost: dict[int, int] = {}
        for frame in left:
            lost[frame.levelno] = lost.get(frame.levelno, 0) + 1
        if left:
            tell(
                f"lost {self.directory}",
                f"{len(left)} records are lost: the process ended before every sink had them, and the spool "
                f"{self.directory} cannot be written",
            )
        return lost

    def close(self) -> None:
        """End the current segment; a record that comes later still finds its way into another one."""
        if self.writer is not None:
            self.writer.close()


def _sync(writer: SpoolWriter) -> bool:
    try:
        writer.sync()
    except SpoolError as error:
        contain("sync", error, told=str(error))
        return False
    return True
