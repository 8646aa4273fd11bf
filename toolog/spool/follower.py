"""One segment read from front to back, also while its writer is adding to it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from toolog.breath import breathe
from toolog.spool import segment
from toolog.spool.browse import fits
from toolog.spool.frame import Frame, salt_of, scan
from toolog.spool.tracks import Marks

_RETRY_SECONDS = 5.0
_ASK_SECONDS = 0.2
_STRIDE = 1 << 16  # bytes that are read, and looked through, before taking breath
_EMPTY = bytes(512)  # as no frame begins, but a hole does; to ask for holes takes longer than to read

Keep = Callable[[int], bool] | None
"""Answers for a level number whether frames of it are wanted; None: all are."""


class Tally:
    """What is counted over all segments that a reader follows.

    ``damaged``: frames given up because their bytes are damaged; ``damaged_bytes``: those bytes;
    ``unreadable``: failed reads of a segment's file; ``rewound``: segments read from their beginning because
    the cursor did not fit them; ``average``: bytes between two wanted frames, lately.
    ``on_damage(segment, frames, bytes)`` is called for damage, if given.
    """

    def __init__(self, on_damage: Callable[[str, int, int], None] | None = None) -> None:
        self.damaged = 0
        self.damaged_bytes = 0
        self.unreadable = 0
        self.rewound = 0
        self.average = 1024
        self.on_damage = on_damage

    def note_damage(self, segment: str, frames: int, size: int) -> None:
        """Count frames of a segment, and their bytes, that are damaged."""
        self.damaged_bytes += size
        if frames:
            self.damaged += frames
            if self.on_damage is not None:
                self.on_damage(segment, frames, size)


class Follower:
    """Where a reader is in one segment (``pos``: its next byte, -1 until the cursor was looked at).

    ``done``: the segment is final and read to its end.
    """

    __slots__ = (
        "_ask_at", "_broken", "_final", "_path", "_retry_at", "_salt", "_stuck", "_tally",
        "done", "name", "pos",
    )  # fmt: skip

    def __init__(self, directory: Path, name: str, tally: Tally) -> None:
        self.name = name
        self.pos = -1
        self.done = False
        self._path = directory / (name + segment.SUFFIX)
        self._salt = salt_of(name)
        self._tally = tally
        self._final = False
        self._broken = False
        self._stuck = -1  # the size at which there was no whole frame to read
        self._retry_at = 0.0  # after a failed read
        self._ask_at = 0.0  # when to ask again whether the writer is gone

    @property
    def rests(self) -> bool:
        """Whether there is nothing to read now: all was read, or the file could not be read a moment ago."""
        return self.done or (self._retry_at > 0 and self._retry_at > time.monotonic())

    def read(self, marks: Marks, keep: Keep, max_records: int, max_bytes: int) -> list[Frame]:
        """Return the next frames, at most so many, and no more once their payloads have ``max_bytes`` bytes.

        A mark that does not fit the segment is taken out of ``marks``. Raises FileNotFoundError where the
        segment was deleted, and any other OSError never: the file is left alone for a while then.
        """
        try:
            return self._read(marks, keep, max_records, max_bytes)
        except FileNotFoundError:
            raise
        except OSError:
            self._fail()
            return []

    def _fail(self) -> None:
        self._tally.unreadable += 1
        self._retry_at = time.monotonic() + _RETRY_SECONDS

    def _read(self, marks: Marks, keep: Keep, max_records: int, max_bytes: int) -> list[Frame]:
        start = self.pos
        quiet = start >= 0 and not self._final and os.stat(self._path).st_size == max(start, self._stuck)
        if quiet and time.monotonic() < self._ask_at:
            return []
        frames: list[Frame] = []
        fd = segment.open_to_read(self._path)
        try:
            # First the question whether it can grow, then its size: what comes out then is complete.
            if not self._final:
                self._final = segment.is_final(fd)
                self._ask_at = time.monotonic() + _ASK_SECONDS
            size = os.fstat(fd).st_size
            if start < 0:
                start = self.pos = self._verify(fd, marks, size)
            while self.pos < size and len(frames) < max_records and max_bytes > 0:
                try:
                    got = self._chunk(fd, keep, size, max_records - len(frames), max_bytes)
                except OSError:
                    self._fail()
                    break
                if got is None:
                    break
                frames += got
                max_bytes -= sum([len(frame.payload) for frame in got])
                breathe()
            if self._final and self.pos >= size:
                self.done = True
        except BaseException:
            self.pos = start  # nothing was handed out
            self.done = False
            raise
        finally:
            os.close(fd)
        return frames

    def _verify(self, fd: int, marks: Marks, size: int) -> int:
        """Return where to begin: where the mark says, if the segment is the one that it was made for."""
        mark = marks.get(self.name)
        if mark is None:
            return 0
        if fits(fd, mark, size):
            return mark.end
        self._tally.rewound += 1
        del marks[self.name]
        return 0

    def _chunk(self, fd: int, keep: Keep, size: int, max_records: int, max_bytes: int) -> list[Frame] | None:
        """Return the frames of one chunk, or None when there is nothing whole to read yet."""
        tally = self._tally
        expected = min(max_bytes, max_records * tally.average) * 5 // 4
        wanted = min(_STRIDE, max(1 << 15, expected))
        while True:
            data = os.pread(fd, wanted, self.pos)
            if not data:
                return None  # it was cut just now
            if self._final and data.startswith(_EMPTY):
                data_at = segment.skip_hole(fd, self.pos, size)
                if data_at > self.pos:
                    tally.note_damage(self.name, int(not self._broken), data_at - self.pos)
                    self.pos, self._broken = data_at, True
                    return []
            at_end = self.pos + len(data) >= size
            skip = len(segment.MAGIC) if self.pos == 0 and data.startswith(segment.MAGIC) else 0
            found = scan(
                data[skip:] if skip else data,
                self.pos + skip,
                self.name,
                self._salt,
                limit=max_records,
                room=max_bytes,
                at_end=at_end,
                final=self._final,
                broken=self._broken,
                keep=keep,
            )
            if found.consumed + skip == 0 and found.wanted > len(data) and not at_end:
                wanted = found.wanted
                continue
            break
        tally.note_damage(self.name, found.damaged, found.damaged_bytes)
        if found.frames:
            tally.average += (found.consumed // len(found.frames) - tally.average) // 4
        self._broken = found.broken
        self.pos += found.consumed + skip
        if not found.consumed + skip:
            self._stuck = size
            return None
        return found.frames
