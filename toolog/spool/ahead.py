"""What stands behind the place of a reader, looked through while a sink is busy with what was read before.

Nothing but time depends on it: a chunk of a segment says the same whenever it is read. What was found is used
when the reader comes to just that place; all else (damage, the end of a segment) is left to the reader.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from toolog.breath import breathe
from toolog.spool import segment
from toolog.spool.frame import Frame, salt_of, scan

STRIDE = 1 << 17
"""Bytes that are read, and looked through, before taking breath."""


class Place(NamedTuple):
    """Where a reader will go on: at ``start`` of a segment, whose levels it wants as ``keep`` says."""

    path: Path
    name: str
    start: int
    keep: Callable[[int], bool] | None


class Found(NamedTuple):
    """A chunk without damage: its whole frames, the bytes of their payloads, and how long it is."""

    frames: list[Frame]
    size: int
    step: int


class Ahead:
    """Chunks of segments that were looked through, until a reader takes them, or looks again."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], Found] = {}

    def look(self, places: Iterable[Place], most: int) -> None:
        """Look through segments, about ``most`` bytes; what was found before is forgotten.

        May be called on any thread. What cannot be read is left out.
        """
        found: dict[tuple[str, int], Found] = {}
        self._found = {}
        for place in places:
            try:
                fd = segment.open_to_read(place.path)
            except OSError:
                break
            try:
                most -= _look(fd, place, most, found)
            except OSError:
                break
            finally:
                os.close(fd)
            if most <= 0:
                break
        self._found = found

    def take(self, name: str, pos: int, max_records: int, max_bytes: int) -> Found | None:
        """Return what stands there, if it was looked through and is no more than the reader may return."""
        found = self._found.pop((name, pos), None)
        if found is None or len(found.frames) > max_records or found.size > max_bytes:
            return None
        return found

    def forget(self) -> None:
        """Let go of what was found."""
        self._found = {}


def _look(fd: int, place: Place, most: int, found: dict[tuple[str, int], Found]) -> int:
    """Look through one segment; return how many bytes that were."""
    salt = salt_of(place.name)
    pos = place.start
    while pos - place.start < most:
        data = os.pread(fd, STRIDE, pos)
        if len(data) < STRIDE:
            break
        skip = len(segment.MAGIC) if not pos and data.startswith(segment.MAGIC) else 0
        chunk = scan(
            data[skip:] if skip else data,
            pos + skip,
            place.name,
            salt,
            limit=STRIDE,
            at_end=False,
            final=False,
            keep=place.keep,
        )
        if not chunk.consumed or chunk.damaged:
            break
        size = sum([len(frame.payload) for frame in chunk.frames])
        found[place.name, pos] = Found(chunk.frames, size, chunk.consumed + skip)
        pos += chunk.consumed + skip
        breathe()
    return pos - place.start
