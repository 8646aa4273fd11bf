"""The reading side of a spool.

Frames in order over all segments, and a cursor that follows the acknowledgements.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolog.spool import naming, segment
from toolog.spool.backlog import Backlog
from toolog.spool.cursor import Cursor
from toolog.spool.follower import Follower, Keep, Tally
from toolog.spool.frame import Frame
from toolog.spool.outstanding import Outstanding
from toolog.spool.tracks import Mark

_POLL_SECONDS = 0.01
_LIST_EVERY = 1.0
_SETTLED_NS = 100_000_000
_GONE = 256
_ROOM_EACH = 512
"""Bytes that a segment may take in a cursor: its mark, and what a sink's own state says of it."""


class SpoolReader(Tally):
    """Reads a spool for one sink.

    ``cursor_name`` is the sink's name; its cursor is kept on disk and moves only by ``ack``. ``keep`` answers
    for a level number whether the sink wants such frames (None: all); the others are passed over. ``sync``
    brings each saved cursor to the disk, for durability against a loss of power.

    Frames come segment by segment in the order of creation, and within a segment in the order of writing.
    Segments that are still written to are followed. It counts what `Tally` does, and ``unsaved`` (cursors
    that could not be written). It never raises on what lies in the directory.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        cursor_name: str,
        *,
        keep: Keep = None,
        sync: bool = False,
        on_damage: Callable[[str, int, int], None] | None = None,
        cursor: Cursor | None = None,
    ) -> None:
        super().__init__(on_damage)
        self.directory = Path(directory)
        self.cursor = cursor or Cursor(self.directory, cursor_name)
        self.keep = keep
        self.sync = sync
        self.unsaved = 0
        self._gone: dict[str, int] = {}  # how far segments were read that are no longer there
        self._followers: dict[str, Follower] = {}
        self._sizes: dict[str, int] = {}
        self._outstanding = Outstanding()
        self._backlog = Backlog(self.directory)
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
            self._outstanding.acknowledge(self.cursor.marks, frame)
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
            return naming.FOREIGN
        with self._lock:
            marks = self.cursor.saved if self.cursor.state is not None else self.cursor.marks
            mark = marks.get(name)
            return mark.end if mark else self._gone.get(name, 0)

    def in_hand(self) -> int:
        """Return how many bytes of the spool were read, or passed over, and are not acknowledged on disk."""
        with self._lock:
            return sum(
                [
                    max(0, follower.pos - self.passed(name))
                    for name, follower in self._followers.items()
                    if follower.pos > 0
                ]
            )

    def concerns(self, name: str) -> bool:
        """Tell whether a segment may hold anything for this sink: it is not addressed to another one."""
        return not naming.is_foreign(name, self.cursor.sink)

    def needs(self, frame: Frame) -> bool:
        """Tell whether the sink still needs a frame: it wants that level and has not acknowledged it."""
        keep = self._keep_in(frame.segment)
        return frame.offset >= self.passed(frame.segment) and (keep is None or keep(frame.levelno))

    def wants(self, levelno: int) -> bool:
        """Tell whether the sink wants records of a level, on the track that is read for."""
        return (self.keep is None or self.keep(levelno)) and self.cursor.covers(levelno)

    def _keep_in(self, name: str) -> Keep:
        """Return which levels are wanted of a segment: all (None), if it is for this sink alone. Of several
        tracks each wants its own.
        """
        if not self.cursor.is_divided:
            return None if naming.addressee(name) else self.keep
        return self.cursor.covers if naming.addressee(name) else self.wants

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
            if self._outstanding.moved:
                self._save()

    def forget(self) -> None:
        """Return to the cursor: all that was read and not acknowledged will be read again."""
        with self._lock:
            self._outstanding.clear()
            self._followers.clear()

    def reload(self) -> None:
        """Read the cursor from the disk again: another process may have shipped since."""
        with self._lock:
            self.cursor.reload()
            self._outstanding.clear()
            self._followers.clear()
            self._outstanding.moved = False
            self._listed_at = 0.0

    def _read(self, max_records: int, max_bytes: int) -> list[Frame]:
        self._refresh()
        frames: list[Frame] = []
        room = max_bytes
        for name in list(self._sizes):
            follower = self._follow(name)
            if follower.rests:
                continue
            before = follower.pos
            try:
                got = follower.read(self.cursor.marks, self._keep_in(name), max_records - len(frames), room)
            except FileNotFoundError:
                self._listed_at = 0.0
                continue
            if follower.pos > before:
                self._outstanding.add(self.cursor.marks, name, follower.pos, got)
            frames += got
            room -= sum([len(frame.payload) for frame in got])
            if len(frames) >= max_records or room <= 0:
                break
        if not frames and self._outstanding.moved and not self._outstanding:
            self._save()
        return frames

    def _follow(self, name: str) -> Follower:
        follower = self._followers.get(name)
        if follower is None:
            follower = self._followers[name] = Follower(self.directory, name, self)
        return follower

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
        for name in [name for name in self._followers if name not in sizes]:
            del self._followers[name]
        for name in [name for name in self.cursor.marks if name not in sizes]:
            self._gone[name] = self.cursor.marks.pop(name).end
            if len(self._gone) > _GONE:
                del self._gone[next(iter(self._gone))]

    def _save(self) -> bool:
        self.cursor.keep_room(_ROOM_EACH * len(self._sizes))
        if self.cursor.save(sync=self.sync):
            self._outstanding.moved = False
            return True
        self._outstanding.moved = True
        self.unsaved += 1
        return False
