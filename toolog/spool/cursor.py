"""Cursors: how far a sink has acknowledged each segment, on disk.

One file for each sink, ``cursors/<sink>.cursor``: a first line with the format's name and the CRC-32 of the
rest, then one JSON object. It is replaced as a whole (temporary file, rename). A cursor that is missing, torn
or changed counts as no cursor: everything that is in the spool is sent again, and nothing is skipped.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

FOLDER = "cursors"
SUFFIX = ".cursor"
_TITLE = b"toolog-cursor 1 "


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
    None. ``saved`` are the marks as they stand on disk.
    """

    def __init__(self, directory: str | os.PathLike[str], sink: str) -> None:
        self.sink = sink
        self.path = path_of(Path(directory), sink)
        self.marks: dict[str, Mark] = {}
        self.state: dict[str, Any] | None = None
        self.saved: dict[str, Mark] = {}
        self.found = False
        self._load()

    def passed(self, segment: str) -> int:
        """Return up to which byte the segment is acknowledged, as it stands on disk."""
        mark = self.saved.get(segment)
        return mark.end if mark else 0

    def _load(self) -> None:
        try:
            data = self.path.read_bytes()
        except OSError:
            return
        head, _, body = data.partition(b"\n")
        if head != _TITLE + b"%08x" % zlib.crc32(body):
            return
        try:
            content = json.loads(body)
            marks = {
                str(name): Mark(int(end), int(offset), int(crc))
                for name, (end, offset, crc) in content["marks"].items()
            }
            state = content["state"]
        except (ValueError, TypeError, KeyError, AttributeError):
            return
        self.marks = marks
        self.saved = dict(marks)
        self.state = state if isinstance(state, dict) else None
        self.found = True

    def save(self, *, sync: bool = False) -> bool:
        """Write the cursor to its file.

        ``sync`` brings it to the disk too. Returns whether that was possible.
        """
        marks = dict(self.marks)
        content = {"sink": self.sink, "marks": marks, "state": self.state}
        body = json.dumps(content, separators=(",", ":")).encode()
        data = _TITLE + b"%08x\n" % zlib.crc32(body) + body
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        try:
            try:
                _write(fresh, data, os.O_CREAT | os.O_TRUNC, sync)
            except FileNotFoundError:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _write(fresh, data, os.O_CREAT | os.O_TRUNC, sync)
            os.rename(fresh, self.path)
            if sync:
                _sync_folder(self.path.parent)
        except OSError as error:
            try:
                os.unlink(fresh)
            except OSError:
                pass
            # On a full disk nothing can be deleted before the cursor is written: use the room that it has. If
            # that is torn, the checksum tells, and all is sent again.
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                return False
            try:
                _write(self.path, data, 0, sync)
                os.truncate(self.path, len(data))
            except OSError:
                return False
        self.saved = marks
        return True


def path_of(directory: Path, sink: str) -> Path:
    """Return where the cursor of a sink is kept; any text may be a sink's name."""
    name = quote(sink, safe="")
    if len(name) > 200:
        name = f"{name[:180]}-{zlib.crc32(sink.encode('utf-8', 'surrogatepass')):08x}"
    return directory / FOLDER / (name + SUFFIX)


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


def _sink_of(path: Path) -> str | None:
    try:
        content = json.loads(path.read_bytes().partition(b"\n")[2])
        sink = content["sink"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return sink if isinstance(sink, str) else None


def _write(path: Path, data: bytes, flags: int, sync: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
