"""Cursors: how far a sink has acknowledged each segment, on disk.

One file for each sink, ``cursors/<sink>.cursor``, of lines ``toolog-cursor 1 CRC JSON``: CRC is the CRC-32 of
the JSON in hex, and the last line that is whole tells all. Saving appends a line (one ``write(2)``: a rename
for each would cost a hundred times as much); when the file has grown, it is replaced by one with a single
line (temporary file, rename). A torn or changed line counts as not written: the line before it tells less, so
that more is sent again and nothing is skipped. The JSON is an object with ``sink``, ``marks`` (segment ->
[end, offset, crc], see ``Mark``) and ``state``. Where a shipper came that does not serve the sink, there is
also ``left``: the segments that hold something for it (see ``claims``).
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from toolog.ownership import hand_over
from toolog.spool.segment import FOREIGN, is_foreign

FOLDER = "cursors"
SUFFIX = ".cursor"
_TITLE = b"toolog-cursor 1 "
_COMPACT_AT = 64 * 1024
_ROOM = 32 * 1024
_READ_AT_MOST = 64 << 20


class Mark(NamedTuple):
    """How far a segment is acknowledged.

    ``end``: every byte before it is done with; ``offset`` and ``crc``: place and checksum of the last
    acknowledged frame, by which a reader recognizes that the segment is still the one it was (``offset`` is
    -1 when there is none).
    """

    end: int
    offset: int = -1
    crc: int = 0


class Cursor:
    """The cursor of one sink in one spool.

    ``marks``: segment name -> Mark; ``state``: what the sink itself wants to find again (plain data), or
    None. ``saved`` are the marks as they stand on disk. ``left``: the segments that wait for the sink while
    no shipper serves it, or None while one does. ``path`` names the file where that does not follow from the
    sink's name.
    """

    def __init__(self, directory: str | os.PathLike[str], sink: str, path: Path | None = None) -> None:
        self.sink = sink
        self.path = path or path_of(Path(directory), sink)
        self.left: list[str] | None = None
        self.marks: dict[str, Mark] = {}
        self.state: dict[str, Any] | None = None
        self.saved: dict[str, Mark] = {}
        self.found = False
        self._room = _ROOM
        self._load()

    def passed(self, segment: str) -> int:
        """Return up to which byte the segment is acknowledged, as it stands on disk."""
        if is_foreign(segment, self.sink):
            return FOREIGN
        mark = self.saved.get(segment)
        return mark.end if mark else 0

    def keep_room(self, size: int) -> None:
        """Have room for so many bytes from now on, for a time when the disk is full, if it has room now.

        Only for whoever saves this cursor.
        """
        if size <= self._room:
            return
        try:
            rest = size - os.stat(self.path).st_size
            if rest > 0:  # empty lines, which say nothing
                _write(self.path, b"\n" * rest, os.O_APPEND, False)
        except OSError:
            return
        self._room = size

    def _load(self) -> None:
        content = _newest(self.path)
        if content is None:
            return
        try:
            marks = {str(name): Mark(*map(int, mark)) for name, mark in content["marks"].items()}
            state = content["state"]
            left = content.get("left")
        except (ValueError, TypeError, KeyError, AttributeError):
            return
        self.marks = marks
        self.saved = dict(marks)
        self.state = state if isinstance(state, dict) else None
        self.left = [str(name) for name in left] if isinstance(left, list) else None
        self.found = True

    def save(self, *, sync: bool = False) -> bool:
        """Write the cursor to its file.

        ``sync`` brings it to the disk too. Returns whether that was possible.
        """
        marks = dict(self.marks)
        content: dict[str, Any] = {"sink": self.sink, "marks": marks, "state": self.state}
        if self.left is not None:
            content["left"] = self.left
        body = json.dumps(content, separators=(",", ":")).encode()
        # The line feed stands first: what is in front of it may be torn.
        line = b"\n" + _TITLE + b"%08x " % zlib.crc32(body) + body
        try:
            try:
                size = _write(self.path, line, os.O_APPEND | os.O_CREAT, sync)
            except FileNotFoundError:
                _make_folder(self.path.parent)
                size = _write(self.path, line, os.O_APPEND | os.O_CREAT, sync)
            if size > max(_COMPACT_AT, 8 * len(line), 2 * self._room):
                self._compact(line, sync)
            elif sync and size == len(line):
                _sync_folder(self.path.parent)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not self._overwrite(line, sync):
                return False
        self.saved = marks
        return True

    def _compact(self, line: bytes, sync: bool) -> None:
        """Replace the file by one with a single line, and room for longer ones; if that fails, the long one
        stays.
        """
        fresh = self.path.with_name(f".{self.path.name}.new")
        try:
            _write(fresh, line.rjust(self._room, b"\n"), os.O_CREAT | os.O_TRUNC, sync)
            os.rename(fresh, self.path)
            if sync:
                _sync_folder(self.path.parent)
        except OSError:
            try:
                os.unlink(fresh)
            except OSError:
                pass

    def _overwrite(self, line: bytes, sync: bool) -> bool:
        """Use the room that the file has.

        On a full disk nothing can be deleted before the cursor is written.
        """
        try:
            room = os.stat(self.path).st_size
            if len(line) > room:
                return False
            # Over all of it: an older line behind this one would count as the newer.
            _write(self.path, line.rjust(room, b"\n"), 0, sync)
        except OSError:
            return False
        return True


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
    before its cursor is written: without room of its own the cursor would wait for ever. What is written are
    empty lines, which say nothing, at the end of an empty file only.
    """
    path = path_of(Path(directory), sink)
    try:
        _make_folder(path.parent)
        if not path.exists() or not path.stat().st_size:
            _write(path, b"\n" * _ROOM, os.O_APPEND | os.O_CREAT, False)
    except OSError:
        return False
    return True


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
    content = _newest(path)
    sink = content.get("sink") if content else None
    return sink if isinstance(sink, str) else None


def _newest(path: Path) -> dict[str, Any] | None:
    """Return what the last whole line of a cursor's file says, or None."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            data = os.pread(fd, _READ_AT_MOST, max(0, os.fstat(fd).st_size - _READ_AT_MOST))
        finally:
            os.close(fd)
    except OSError:
        return None
    for line in reversed(data.split(b"\n")):
        if not line.startswith(_TITLE):
            continue
        crc, _, body = line[len(_TITLE) :].partition(b" ")
        if crc != b"%08x" % zlib.crc32(body):
            continue
        try:
            content = json.loads(body)
        except ValueError:
            continue
        return content if isinstance(content, dict) else None
    return None


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        hand_over(folder)


def _write(path: Path, data: bytes, flags: int, sync: bool) -> int:
    """Write all of ``data`` and return the file's size after it."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags, 0o600)
    try:
        hand_over(path, fd)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if sync:
            os.fsync(fd)
        return os.lseek(fd, 0, os.SEEK_CUR)
    finally:
        os.close(fd)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
