"""The reading side of a spool.

Frames in order over all segments, and a cursor that follows the acknowledgements.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

from toolog.breath import breathe
from toolog.spool import segment
from toolog.spool.backlog import Backlog
from toolog.spool.browse import fits
from toolog.spool.cursor import Cursor, Mark
from toolog.spool.frame import Frame, salt_of, scan

_POLL_SECONDS = 0.01
_LIST_EVERY = 1.0
_RETRY_SECONDS = 5.0
_ASK_SECONDS = 0.2
_STRIDE = 1 << 17  # bytes that are read, and looked through, before taking breath
_SETTLED_NS = 100_000_000
_GONE = 256
_offset = attrgetter("offset")
_ROOM_EACH = 512
"""Bytes that a segment may take in a cursor: its mark, and what a sink's own state says of it."""


class _Place:
    """Where a reader is in one segment."""

    __slots__ = (
        "ask_at",
        "broken",
        "done",
        "final",
        "path",
        "pos",
        "retry_at",
        "salt",
        "stuck",
    )

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.salt = salt_of(name)
        self.pos = -1  # the cursor was not looked at yet
        self.done = False  # final, and read to its end
        self.final = False
        self.broken = False
        self.stuck = -1  # the size at which there was no whole frame to read
        self.retry_at = 0.0  # after a failed read
        self.ask_at = 0.0  # when to ask again whether the writer is gone


class _Run:
    """A stretch of one segment that was delivered at once and is not acknowledged yet."""

    __slots__ = ("end", "frames", "segment")

    def __init__(self, name: str, end: int, frames: list[Frame]) -> None:
        self.segment = name
        self.end = end  # what is behind the last frame and was skipped belongs to it
        self.frames = frames

    @property
    def last(self) -> int:
        """Where the last frame begins, or -1."""
        return self.frames[-1].offset if self.frames else -1


class SpoolReader:
    """Reads a spool for one sink.

    ``cursor_name`` is the sink's name; its cursor is kept on disk and moves only by ``ack``. ``keep`` answers
    for a level number whether the sink wants such frames (None: all); the others are passed over. ``sync``
    brings each saved cursor to the disk, for durability against a loss of power.

    Frames come segment by segment in the order of creation, and within a segment in the order of writing.
    Segments that are still written to are followed. Counters: ``damaged`` (frames given up because their
    bytes are damaged), ``damaged_bytes``, ``unreadable`` (failed reads of a segment's file), ``rewound``
    (segments read from their beginning because the cursor did not fit them), ``unsaved`` (cursors that could
    not be written). ``on_damage(segment, frames, bytes)`` is called for damage, if given. It never raises on
    what lies in the directory.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        cursor_name: str,
        *,
        keep: Callable[[int], bool] | None = None,
        sync: bool = False,
        on_damage: Callable[[str, int, int], None] | None = None,
        cursor: Cursor | None = None,
    ) -> None:
        self.directory = Path(directory)
        self.cursor = cursor or Cursor(self.directory, cursor_name)
        self.keep = keep
        self.sync = sync
        self.on_damage = on_damage
        self.damaged = 0
        self.damaged_bytes = 0
        self.unreadable = 0
        self.rewound = 0
        self.unsaved = 0
        self._gone: dict[str, int] = {}  # how far segments were read that are no longer there
        self._places: dict[str, _Place] = {}
        self._sizes: dict[str, int] = {}
        self._runs: deque[_Run] = deque()
        self._average = 1024  # bytes between two wanted frames
        self._backlog = Backlog(self.directory)
        self._dirty = False
        self._listed_at = 0.0
        self._listed_ns = 0
        self._dir_mtime_ns = -1
        self._lock = threading.RLock()  # between a sink's thread and whoever asks for figures

    @property
    def state(self) -> dict[str, Any] | None:
        """What the sink gave to ``ack`` last, as it was found in the cursor, or None."""
        return self.cursor.state

    def read(self, max_records: int = 1000, max_bytes: int = 8 << 20, max_wait: float = 0.0) -> list[Frame]:
        """Return the next frames, at most so many, and no more once their payloads have ``max_bytes`` bytes.

        An empty list: there is nothing new, after waiting for it ``max_wait`` seconds.
        """
        deadline = time.monotonic() + max_wait if max_wait > 0 else 0.0
        while True:
            with self._lock:
                frames = self._read(max_records, max_bytes)
            if frames or not deadline:
                return frames
            rest = deadline - time.monotonic()
            if rest <= 0:
                return frames
            time.sleep(min(_POLL_SECONDS, rest))

    def ack(self, frame: Frame, state: dict[str, Any] | None = None) -> bool:
        """Acknowledge a frame and all that were returned before it; save the cursor.

        ``state`` replaces the sink's own state in the cursor. Returns whether the cursor could be saved; if
        not, it is tried again with the next one, and after a crash more would be sent again. A frame that is
        no longer outstanding changes nothing.
        """
        with self._lock:
            if state is not None:
                self.cursor.state = state
            while self._runs:
                run = self._runs[0]
                if run.segment == frame.segment and frame.offset <= run.last:
                    self._pass(run, bisect_right(run.frames, frame.offset, key=_offset))
                    break
                if not self._outstanding(frame):
                    break
                self._pass(run, len(run.frames))
            return self._save()

    def pending(self, stop: Callable[[], bool] = lambda: False) -> int:
        """Return how many wanted frames are in the spool that are not acknowledged.

        The first call reads all that is not acknowledged, later ones what came and what was acknowledged
        since. It does not keep the reader from reading. ``stop`` is asked again and again: when it says yes,
        what was counted so far is returned, and the next call goes on.
        """
        with self._lock:
            self._refresh(force=True)
            wanted = {name: self._keep_in(name) for name in self._sizes}
            marks = dict(self.cursor.marks)
        return self._backlog.count(wanted, marks, stop)

    def passed(self, name: str) -> int:
        """Return up to which byte a segment is acknowledged, so that it can be deleted behind it.

        A sink that keeps a state of its own must find the two together: there only what is saved counts.
        """
        if not self.concerns(name):
            return segment.FOREIGN
        with self._lock:
            marks = self.cursor.saved if self.cursor.state is not None else self.cursor.marks
            mark = marks.get(name)
            return mark.end if mark else self._gone.get(name, 0)

    def in_hand(self) -> int:
        """Return how many bytes of the spool were read, or passed over, and are not acknowledged on disk."""
        with self._lock:
            return sum(
                [
                    max(0, place.pos - self.passed(name))
                    for name, place in self._places.items()
                    if place.pos > 0
                ]
            )

    def concerns(self, name: str) -> bool:
        """Tell whether a segment may hold anything for this sink: it is not addressed to another one."""
        return not segment.is_foreign(name, self.cursor.sink)

    def needs(self, frame: Frame) -> bool:
        """Tell whether the sink still needs a frame: it wants that level and has not acknowledged it."""
        keep = self._keep_in(frame.segment)
        return frame.offset >= self.passed(frame.segment) and (keep is None or keep(frame.levelno))

    def wants(self, levelno: int) -> bool:
        """Tell whether the sink wants records of a level, on the track that is read for."""
        return (self.keep is None or self.keep(levelno)) and self.cursor.covers(levelno)

    def _keep_in(self, name: str) -> Callable[[int], bool] | None:
        """Return which levels are wanted of a segment: all (None), if it is for this sink alone. Of several
        tracks each wants its own.
        """
        if not self.cursor.is_divided:
            return None if segment.addressee(name) else self.keep
        return self.cursor.covers if segment.addressee(name) else self.wants

    def hold(self) -> threading.RLock:
        """Return the lock that keeps this reader from reading and acknowledging meanwhile."""
        return self._lock

    def carry_over(self, old: str, new: str, mark: Mark | None) -> None:
        """Save that what was kept of a segment will stand in a new one, acknowledged up to ``mark`` there."""
        if mark is not None:
            self.cursor.marks[new] = mark
            self.cursor.save(sync=self.sync)

    def settle(self) -> None:
        """Save the cursor, where it moved over frames that nobody wants and that wait for no other frame."""
        with self._lock:
            if self._dirty:
                self._save()

    def forget(self) -> None:
        """Return to the cursor: all that was read and not acknowledged will be read again."""
        with self._lock:
            self._runs.clear()
            self._places.clear()

    def reload(self) -> None:
        """Read the cursor from the disk again: another process may have shipped since."""
        with self._lock:
            self.cursor.reload()
            self._runs.clear()
            self._places.clear()
            self._listed_at = 0.0
            self._dirty = False

    # -- reading

    def _read(self, max_records: int, max_bytes: int) -> list[Frame]:
        self._refresh()
        frames: list[Frame] = []
        room = max_bytes
        for name in list(self._sizes):
            place = self._place(name)
            if place.done or (place.retry_at and place.retry_at > time.monotonic()):
                continue
            try:
                got = self._follow(name, place, max_records - len(frames), room)
            except FileNotFoundError:
                self._listed_at = 0.0
                continue
            except OSError:
                self.unreadable += 1
                place.retry_at = time.monotonic() + _RETRY_SECONDS
                continue
            frames += got
            room -= sum([len(frame.payload) for frame in got])
            if len(frames) >= max_records or room <= 0:
                break
        if not frames and self._dirty and not self._runs:
            self._save()
        return frames

    def _follow(self, name: str, place: _Place, max_records: int, max_bytes: int) -> list[Frame]:
        """Return frames from one segment, from the place on."""
        start = place.pos
        quiet = start >= 0 and not place.final and os.stat(place.path).st_size == max(start, place.stuck)
        if quiet and time.monotonic() < place.ask_at:
            return []
        frames: list[Frame] = []
        fd = segment.open_to_read(place.path)
        try:
            # First the question whether it can grow, then its size: what comes out then is complete.
            if not place.final:
                place.final = segment.is_final(fd)
                place.ask_at = time.monotonic() + _ASK_SECONDS
            size = os.fstat(fd).st_size
            if start < 0:
                start = place.pos = self._verify(fd, name, size)
            while place.pos < size and len(frames) < max_records and max_bytes > 0:
                try:
                    got = self._chunk(fd, name, place, size, max_records - len(frames), max_bytes)
                except OSError:
                    self.unreadable += 1
                    place.retry_at = time.monotonic() + _RETRY_SECONDS
                    break
                if got is None:
                    break
                frames += got
                max_bytes -= sum([len(frame.payload) for frame in got])
                breathe()
            if place.final and place.pos >= size:
                place.done = True
        except BaseException:
            place.pos = start  # nothing was handed out
            place.done = False
            raise
        finally:
            os.close(fd)
        if place.pos > start:
            self._deliver(name, place.pos, frames)
        return frames

    def _chunk(
        self, fd: int, name: str, place: _Place, size: int, max_records: int, max_bytes: int
    ) -> list[Frame] | None:
        """Return the frames of one chunk, or None when there is nothing whole to read yet."""
        expected = min(max_bytes, max_records * self._average) * 5 // 4
        wanted = min(_STRIDE, max(1 << 16, expected))
        data_at = segment.skip_hole(fd, place.pos, size) if place.final else place.pos
        if data_at > place.pos:
            self._note_damage(name, int(not place.broken), data_at - place.pos)
            place.pos, place.broken = data_at, True
            return []
        while True:
            data = os.pread(fd, wanted, place.pos)
            if not data:
                return None  # it was cut just now
            at_end = place.pos + len(data) >= size
            skip = len(segment.MAGIC) if place.pos == 0 and data.startswith(segment.MAGIC) else 0
            found = scan(
                data[skip:] if skip else data,
                place.pos + skip,
                name,
                place.salt,
                limit=max_records,
                room=max_bytes,
                at_end=at_end,
                final=place.final,
                broken=place.broken,
                keep=self._keep_in(name),
            )
            if found.consumed + skip == 0 and found.wanted > len(data) and not at_end:
                wanted = found.wanted
                continue
            break
        self._note_damage(name, found.damaged, found.damaged_bytes)
        if found.frames:
            self._average += (found.consumed // len(found.frames) - self._average) // 4
        place.broken = found.broken
        place.pos += found.consumed + skip
        if not found.consumed + skip:
            place.stuck = size
            return None
        return found.frames

    def _note_damage(self, name: str, frames: int, size: int) -> None:
        self.damaged_bytes += size
        if frames:
            self.damaged += frames
            if self.on_damage is not None:
                self.on_damage(name, frames, size)

    def _verify(self, fd: int, name: str, size: int) -> int:
        """Return where to begin in a segment: where the cursor says, if the segment is the one it was."""
        mark = self.cursor.marks.get(name)
        if mark is None:
            return 0
        if fits(fd, mark, size):
            return mark.end
        self.rewound += 1
        del self.cursor.marks[name]
        return 0

    def _place(self, name: str) -> _Place:
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = _Place(self.directory / (name + segment.SUFFIX), name)
        return place

    def _refresh(self, force: bool = False) -> None:
        """List the directory again if something was created or deleted in it."""
        now = time.monotonic()
        try:
            mtime = os.stat(self.directory).st_mtime_ns
            if (
                not force
                and now - self._listed_at < _LIST_EVERY
                and mtime == self._dir_mtime_ns
                and self._listed_ns - mtime > _SETTLED_NS
            ):
                return
            listed_ns = time.time_ns()
            listed = segment.listing(self.directory)
        except OSError:
            return
        sizes = {name: listed[name] for name in listed if self.concerns(name)}
        self._listed_at, self._listed_ns, self._dir_mtime_ns = now, listed_ns, mtime
        self._sizes = sizes
        for name in [name for name in self._places if name not in sizes]:
            del self._places[name]
        for name in [name for name in self.cursor.marks if name not in sizes]:
            self._gone[name] = self.cursor.marks.pop(name).end
            if len(self._gone) > _GONE:
                del self._gone[next(iter(self._gone))]

    # -- acknowledging

    def _deliver(self, name: str, end: int, frames: list[Frame]) -> None:
        """Remember what was read; what holds no frame needs no acknowledgement."""
        if not frames:
            for run in reversed(self._runs):
                if run.segment == name:
                    run.end = max(run.end, end)
                    return
            old = self.cursor.marks.get(name, Mark(0))
            if end > old.end:
                self.cursor.marks[name] = old._replace(end=end)
                self._dirty = True
            return
        self._runs.append(_Run(name, end, frames))

    def _outstanding(self, frame: Frame) -> bool:
        return any(
            run.segment == frame.segment and run.frames[0].offset <= frame.offset <= run.last
            for run in self._runs
        )

    def _pass(self, run: _Run, count: int) -> None:
        """Move the cursor over the first ``count`` frames of the oldest run."""
        if not count:
            return
        whole = count == len(run.frames)
        last = run.frames[count - 1]
        self.cursor.marks[run.segment] = Mark(run.end if whole else last.end, last.offset, last.crc)
        self._dirty = True
        if whole:
            self._runs.popleft()
        else:
            del run.frames[:count]

    def _save(self) -> bool:
        self.cursor.keep_room(_ROOM_EACH * len(self._sizes))
        if self.cursor.save(sync=self.sync):
            self._dirty = False
            return True
        self._dirty = True
        self.unsaved += 1
        return False
