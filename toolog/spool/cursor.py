"""Cursors: how far a sink has acknowledged each segment, on disk.

One file for each sink, ``cursors/<sink>.cursor``, of lines (see ``cursor_file``) of which the last whole one
tells all: an object with ``sink``, ``marks`` (segment -> [end, offset, crc], see ``Mark``) and ``state``.
Where a line is torn, the one before it tells less, so that more is sent again and nothing is skipped. Where a
shipper came that does not serve the sink, there is also ``left``: the segments that hold something for it
(see ``claims``).

A sink that is served on several tracks, one for each policy, has a cursor for each of them in its file:
``tracks`` is then a list of objects with ``policy``, ``from`` (the lowest level number of the track, which
goes up to the next one's; the first one has all levels below it too) and ``marks``; ``marks`` above is empty.
All of them are saved in one line, so they may be divided in another way from one start to the next: a new
track begins where the one among those that had its levels is that is least far.
"""

from __future__ import annotations

import math
import os
import threading
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from toolog.spool.cursor_file import LineFile, newest_line, reserve_file
from toolog.spool.naming import FOREIGN, is_foreign
from toolog.spool.tracks import WHOLE, Marks, Track, marks_of, ranges, tracks_in

FOLDER = "cursors"
SUFFIX = ".cursor"


class Cursor:
    """The cursor of one sink in one spool, or of one of its tracks.

    ``Cursor(directory, sink)`` is that of the sink as a whole: what its file says of several tracks counts as
    far as all of them are. ``marks``: segment name -> Mark; ``saved`` are the marks as they stand on disk.
    ``path`` names the file where that does not follow from the sink's name.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        sink: str,
        path: Path | None = None,
        *,
        track: Track = WHOLE,
        file: _File | None = None,
    ) -> None:
        self.track = track
        self.marks: Marks = {}
        self.saved: Marks = {}
        self._levels = (-math.inf, math.inf)
        self._file = file or _File(path or path_of(Path(directory), sink), sink)
        if file is None:
            self._file.load([self])

    @property
    def sink(self) -> str:
        """The sink's name."""
        return self._file.sink

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.lines.path

    @property
    def found(self) -> bool:
        """Whether the file said anything."""
        return self._file.found

    @property
    def state(self) -> dict[str, Any] | None:
        """What the sink itself wants to find again (plain data), or None; all its tracks have the same."""
        return self._file.state

    @state.setter
    def state(self, value: dict[str, Any] | None) -> None:
        self._file.state = value

    @property
    def left(self) -> list[str] | None:
        """The segments that wait for the sink while no shipper serves it, or None while one does."""
        return self._file.left

    @left.setter
    def left(self, value: list[str] | None) -> None:
        self._file.left = value

    @property
    def is_divided(self) -> bool:
        """Whether there are other tracks beside this one."""
        return len(self._file.cursors) > 1

    def covers(self, levelno: int) -> bool:
        """Tell whether a level is this track's."""
        low, high = self._levels
        return low <= levelno < high

    def passed(self, segment: str) -> int:
        """Return up to which byte the segment is acknowledged, as it stands on disk."""
        if is_foreign(segment, self.sink):
            return FOREIGN
        mark = self.saved.get(segment)
        return mark.end if mark else 0

    def keep_room(self, size: int) -> None:
        """Have room for so many bytes of this track from now on, for a time when the disk is full, if it has
        room now.

        Only for whoever saves this cursor.
        """
        self._file.lines.keep_room(size * len(self._file.cursors))

    def reload(self) -> None:
        """Read the file again, for all tracks."""
        self._file.load(self._file.cursors)

    def save(self, *, sync: bool = False) -> bool:
        """Write the cursor to its file, and with it what the other tracks saved last.

        ``sync`` brings it to the disk too. Returns whether that was possible.
        """
        return self._file.save(self, sync=sync)


class _File:
    """What stands in a cursor's file; each of its ``cursors`` is one track's, by level."""

    def __init__(self, path: Path, sink: str) -> None:
        self.lines = LineFile(path)
        self.sink = sink
        self.left: list[str] | None = None
        self.state: dict[str, Any] | None = None
        self.found = False
        self.cursors: list[Cursor] = []
        self._lock = threading.Lock()  # the tracks' threads save as they get on

    def load(self, cursors: list[Cursor], content: Mapping[str, Any] | None = None) -> None:
        """Let ``cursors`` say what stands in the file (its ``content``), however that is divided."""
        if content is None:
            content = newest_line(self.lines.path) or {}
        there: dict[Track, Marks] = {}
        state = left = None
        try:
            there = tracks_in(content)
            state, left = content["state"], content.get("left")
        except (ValueError, TypeError, KeyError, AttributeError):
            there = {}
        with self._lock:
            self.found = bool(there)
            self.state = state if isinstance(state, dict) else None
            self.left = [str(name) for name in left] if isinstance(left, list) else None
            self.cursors = cursors
            levels_of = ranges([cursor.track for cursor in cursors])
            for cursor, levels in zip(cursors, levels_of, strict=True):
                cursor._levels = levels
                cursor.marks = marks_of(levels, there)
                cursor.saved = dict(cursor.marks)

    def save(self, one: Cursor, *, sync: bool) -> bool:
        """Write all tracks, ``one`` as it is now, the others as they were saved last."""
        with self._lock:
            marks = dict(one.marks)
            content: dict[str, Any] = {"sink": self.sink, "marks": marks, "state": self.state}
            if len(self.cursors) > 1:
                content["marks"] = {}
                content["tracks"] = [
                    {
                        "policy": cursor.track.policy,
                        "from": cursor.track.levelno,
                        "marks": marks if cursor is one else cursor.saved,
                    }
                    for cursor in self.cursors
                ]
            if self.left is not None:
                content["left"] = self.left
            if not self.lines.append(content, sync=sync):
                return False
            one.saved = marks
        return True


def open_tracks(
    directory: str | os.PathLike[str],
    sink: str,
    tracks: Sequence[Track] | None = None,
    path: Path | None = None,
) -> list[Cursor]:
    """Return the cursors of a sink's tracks, in the order of their levels: all in one file.

    Without ``tracks`` they are those that stand in the file. Fewer than two are the sink as a whole.
    """
    file = _File(path or path_of(Path(directory), sink), sink)
    content = newest_line(file.lines.path) or {}
    if tracks is None:
        try:
            tracks = list(tracks_in(content))
        except (ValueError, TypeError, KeyError, AttributeError):
            tracks = []
    if len(tracks) < 2:
        tracks = [WHOLE]
    ordered = sorted(tracks, key=lambda track: track.levelno)
    cursors = [Cursor(directory, sink, track=track, file=file) for track in ordered]
    file.load(cursors, content)
    return cursors


def path_of(directory: Path, sink: str) -> Path:
    """Return where the cursor of a sink is kept; any text may be a sink's name."""
    name = quote(sink, safe="") or "%"
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > 200:
        name = f"{name[:180]}-{zlib.crc32(sink.encode('utf-8', 'surrogatepass')):08x}"
    return directory / FOLDER / (name + SUFFIX)


def reserve(directory: str | os.PathLike[str], sink: str) -> bool:
    """Take the disk's room for a cursor before there is one; return whether it has room now.

    A disk that the spool itself has filled is emptied by deleting what is shipped, and nothing is deleted
    before its cursor is written: without room of its own the cursor would wait for ever.
    """
    return reserve_file(path_of(Path(directory), sink))


def load_all(directory: str | os.PathLike[str]) -> Mapping[str, Cursor]:
    """Return the cursors that are in a spool, by sink; those that cannot be read are left out."""
    found: dict[str, Cursor] = {}
    folder = Path(directory) / FOLDER
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return found
    for name in names:
        if not name.endswith(SUFFIX) or name.startswith("."):
            continue
        sink = _sink_of(folder / name)
        if sink is not None:
            cursor = Cursor(directory, sink)
            if cursor.found:
                found[sink] = cursor
    return found


def sinks_with_files(directory: str | os.PathLike[str]) -> dict[str, Path]:
    """Return the sinks that have a cursor's file in a spool, also an empty one, and those files.

    The name of a sink that never acknowledged anything is read from the file's name, which cuts long ones.
    """
    folder = Path(directory) / FOLDER
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    paths = [folder / name for name in names if name.endswith(SUFFIX) and not name.startswith(".")]
    return {_sink_of(path) or unquote(path.name[: -len(SUFFIX)]): path for path in paths}


def _sink_of(path: Path) -> str | None:
    content = newest_line(path)
    sink = content.get("sink") if content else None
    return sink if isinstance(sink, str) else None
