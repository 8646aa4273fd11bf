"""A cursor's file as bytes: lines of which the last whole one tells all.

A line is ``toolog-cursor 1 CRC JSON``: CRC is the CRC-32 of the JSON in hex. Saving appends a line (one
``write(2)``: a rename for each would cost a hundred times as much); when the file has grown, it is replaced
by one with a single line (temporary file, rename). A torn or changed line counts as not written.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from pathlib import Path
from typing import Any

from toolog.descriptors import sync_path
from toolog.ownership import hand_over

_TITLE = b"toolog-cursor 1 "
_COMPACT_AT = 64 * 1024
_ROOM = 32 * 1024
_READ_AT_MOST = 64 << 20


class LineFile:
    """The file of one cursor; ``path`` need not be there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._room = _ROOM

    def keep_room(self, size: int) -> None:
        """Have room for so many bytes from now on, for a time when the disk is full, if it has room now.

        Only for whoever appends to it.
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

    def append(self, content: dict[str, Any], *, sync: bool) -> bool:
        """Write a new line; ``sync`` brings it to the disk too. Returns whether that was possible."""
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
                sync_path(self.path.parent)
        except OSError as error:
            return error.errno in (errno.ENOSPC, errno.EDQUOT) and self._overwrite(line, sync)
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
                sync_path(self.path.parent)
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


def reserve_file(path: Path) -> bool:
    """Take the disk's room for a file before there is one; return whether it has room now.

    What is written are empty lines, which say nothing, at the end of an empty file only.
    """
    try:
        _make_folder(path.parent)
        if not path.exists() or not path.stat().st_size:
            _write(path, b"\n" * _ROOM, os.O_APPEND | os.O_CREAT, False)
    except OSError:
        return False
    return True


def newest_line(path: Path) -> dict[str, Any] | None:
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
