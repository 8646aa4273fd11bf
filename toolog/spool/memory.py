"""A spool in memory with the interface of the one on disk, for when no directory can be written."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from toolog.errors import SpoolError, SpoolFull
from toolog.spool import forks
from toolog.spool.frame import HEAD_SIZE, MAX_PAYLOAD, Frame

SEGMENT = "memory"
_POLL_SECONDS = 0.01


class MemorySpool:
    """A bounded spool in memory; it is its own writer, and ``reader`` gives readers.

    ``max_size`` bounds the bytes (each record counts its payload and a frame's header). Appending takes no
    lock. The offsets of its frames are serial places, not bytes. In a forked child it begins empty: what
    waits is the parent's.
    """

    def __init__(self, *, max_size: int = 64 << 20) -> None:
        self.max_size = max_size
        self._pid = os.getpid()
        self._begin()
        forks.watch(self)

    def _begin(self) -> None:
        self._frames: list[Frame] = []
        self._first = 0  # the place of the first frame that is still here
        self._size = 0
        self._next = itertools.count(1).__next__
        self._lock = threading.Lock()  # among readers and `retire`; never taken by `append`

    def append(self, levelno: int, serializer: int, payload: bytes) -> int:
        """Append one record and return its serial number.

        Raises SpoolFull, or SpoolError for a too long record.
        """
        size = len(payload) + HEAD_SIZE
        if self._size + size > self.max_size:
            if size > MAX_PAYLOAD:
                raise SpoolError(f"a record of {len(payload)} bytes is too long")
            raise SpoolFull(f"the spool in memory has reached its bound of {self.max_size} bytes")
        self._size += size
        seq = self._next()
        self._frames.append(Frame(SEGMENT, 0, 0, seq, levelno, serializer, 0, 0, payload))
        return seq

    def append_many(self, records: Sequence[tuple[int, int, bytes]]) -> int:
        """Append records.

        Return how many, from the first on, were accepted. Raises SpoolFull when none was.
        """
        accepted = 0
        for levelno, serializer, payload in records:
            try:
                self.append(levelno, serializer, payload)
            except SpoolError:
                if not accepted:
                    raise
                break
            accepted += 1
        return accepted

    def sync(self) -> None:
        """Do nothing: memory does not survive a loss of power, nor the process."""

    def seal(self) -> None:
        """Do nothing: there are no segments."""

    def close(self) -> None:
        """Do nothing: what waits can still be read."""

    def after_fork_in_child(self) -> None:
        """Begin empty in a forked child; a second call does no harm."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._begin()

    def reader(
        self,
        sink: str,
        *,
        keep: Callable[[int], bool] | None = None,
        sync: bool = False,
        on_damage: Callable[[str, int, int], None] | None = None,
    ) -> MemoryReader:
        """Return a reader that begins at the oldest record.

        ``sync`` and ``on_damage`` have no meaning in memory.
        """
        return MemoryReader(self, sink, keep=keep)

    def size(self) -> int:
        """Return the bytes that are held."""
        return max(0, self._size)

    def retire(self, cursors: Iterable[MemoryReader]) -> int:
        """Let go of the records that all readers have passed; return how many."""
        needed = list(cursors)
        if not needed:
            return 0
        with self._lock:
            count = min([one.acked for one in needed]) - self._first
            return len(self._cut(count))

    def drop_oldest(self, need: int) -> dict[int, int]:
        """Give up the oldest records until ``need`` bytes are free; return how many by level number."""
        given_up: dict[int, int] = {}
        with self._lock:
            count = 0
            free = self.max_size - self._size
            for frame in self._frames:
                if free >= need:
                    break
                free += len(frame.payload) + HEAD_SIZE
                count += 1
            for frame in self._cut(count):
                given_up[frame.levelno] = given_up.get(frame.levelno, 0) + 1
        return given_up

    def _cut(self, count: int) -> list[Frame]:
        """Let go of the first ``count`` frames; the caller holds the lock."""
        if count <= 0:
            return []
        gone = self._frames[:count]
        del self._frames[: len(gone)]
        self._first += len(gone)
        # Additions by threads at the same time may have been lost from the sum: begin from what is there.
        self._size = sum([len(frame.payload) + HEAD_SIZE for frame in list(self._frames)])
        return gone

    def slice(self, start: int, count: int) -> tuple[int, list[Frame]]:
        """Return frames from a place on, and the place of the first of them."""
        with self._lock:
            start = max(start, self._first)
            index = start - self._first
            return start, self._frames[index : index + count]


class MemoryReader:
    """Reads a MemorySpool for one sink; the interface of SpoolReader, with a cursor in memory."""

    def __init__(
        self, spool: MemorySpool, cursor_name: str, *, keep: Callable[[int], bool] | None = None
    ) -> None:
        self.spool = spool
        self.cursor_name = cursor_name
        self.keep = keep
        self.state: dict[str, Any] | None = None
        self.damaged = self.damaged_bytes = self.unreadable = self.rewound = self.unsaved = 0
        self.acked = 0  # the place behind the last acknowledged frame
        self._at = 0
        self._handed_out = 0  # the place behind the last frame that was returned

    def read(self, max_records: int = 1000, max_bytes: int = 8 << 20, max_wait: float = 0.0) -> list[Frame]:
        """Return the next frames, as SpoolReader does."""
        deadline = time.monotonic() + max_wait if max_wait > 0 else 0.0
        while True:
            frames = self._read(max_records, max_bytes)
            if frames or not deadline:
                return frames
            rest = deadline - time.monotonic()
            if rest <= 0:
                return frames
            time.sleep(min(_POLL_SECONDS, rest))

    def _read(self, max_records: int, max_bytes: int) -> list[Frame]:
        frames: list[Frame] = []
        while len(frames) < max_records and max_bytes > 0:
            start, found = self.spool.slice(self._at, max_records - len(frames))
            if not found:
                break
            for index, frame in enumerate(found):
                if max_bytes <= 0:
                    break
                self._at = start + index + 1
                if self.keep is None or self.keep(frame.levelno):
                    frame.offset = start + index
                    frame.end = self._at
                    frames.append(frame)
                    self._handed_out = self._at
                    max_bytes -= len(frame.payload)
        self._pass_over()
        return frames

    def _pass_over(self) -> None:
        """What was looked at and not wanted needs no acknowledgement, when nothing before it does."""
        if self.acked >= self._handed_out:
            self.acked = max(self.acked, self._at)

    def ack(self, frame: Frame, state: dict[str, Any] | None = None) -> bool:
        """Acknowledge a frame and all before it; ``state`` is kept for the sink."""
        if state is not None:
            self.state = state
        if frame.end <= self._at:
            self.acked = max(self.acked, frame.end)
            self._pass_over()
        return True

    def pending(self) -> int:
        """Return how many wanted records are not acknowledged."""
        _, found = self.spool.slice(self.acked, 1 << 62)
        return sum([1 for frame in found if self.keep is None or self.keep(frame.levelno)])

    def passed(self, segment: str) -> int:
        """Return the place behind the last acknowledged record."""
        return self.acked

    def forget(self) -> None:
        """Return to the last acknowledged record: what was read behind it will be read again."""
        self._at = self._handed_out = self.acked
