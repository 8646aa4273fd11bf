"""A spool as a whole.

Its directory, who ships from it, what can be deleted, and what is given up when it is full.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from toolog.ownership import hand_over
from toolog.spool import naming, segment
from toolog.spool.cursor import Cursor, load_all, reserve
from toolog.spool.locks import ShipperLock
from toolog.spool.overflow import GivenUp, make_room, mend
from toolog.spool.reader import SpoolReader
from toolog.spool.writer import MAX_SIZE, SEGMENT_SIZE, SpoolWriter

DEAD_LETTERS = "dead-letters"


def dead_letters_of(directory: Path, sink: str) -> Path:
    """Return where the dead letters of a sink are; nothing is made."""
    return directory / DEAD_LETTERS / f"{quote(sink, safe='')[:200]}.jsonl"


class Passed(Protocol):
    """Anything that knows how far a segment is acknowledged: a reader, or a Cursor read from disk."""

    def passed(self, segment: str, /) -> int:
        """Return up to which byte the segment is acknowledged."""


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One segment: ``live`` tells whether its writer still has it open; ``size`` is in bytes."""

    name: str
    path: Path
    size: int
    live: bool
    facts: naming.SegmentName


class Spool:
    """The spool in ``directory``; makes writers and readers for it, and keeps house in it.

    ``max_size`` bounds the bytes of all segments, ``segment_size`` those of one. The directory is created
    (0700) when it is not there. Raises SpoolError when files cannot be made in it.

    There is no step of adoption: readers follow all segments, and the kernel's locks tell which of them have
    lost their writer. So the segments of dead processes are shipped as soon as a reader looks.
    """

    def __init__(
        self, directory: str | os.PathLike[str], *, max_size: int = MAX_SIZE, segment_size: int = SEGMENT_SIZE
    ) -> None:
        self.directory = Path(directory)
        self.max_size = max_size
        self.segment_size = segment_size
        segment.make_directory(self.directory)
        segment.sweep(self.directory)

    def writer(self) -> SpoolWriter:
        """Return a new writer, with segments of its own."""
        return SpoolWriter(self.directory, max_size=self.max_size, segment_size=self.segment_size)

    def reader(
        self,
        sink: str,
        *,
        keep: Callable[[int], bool] | None = None,
        sync: bool = False,
        on_damage: Callable[[str, int, int], None] | None = None,
    ) -> SpoolReader:
        """Return a reader with the cursor of ``sink``; the options are those of SpoolReader."""
        return SpoolReader(self.directory, sink, keep=keep, sync=sync, on_damage=on_damage)

    def shipper_lock(self) -> ShipperLock:
        """Return the lock of which one shipper at a time has the right to read with cursors and to delete."""
        return ShipperLock(self.directory)

    def dead_letters(self, sink: str) -> Path:
        """Return the file for the dead letters of a sink; its folder (0700) is made."""
        path = dead_letters_of(self.directory, sink)
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            hand_over(path.parent)
        return path

    def reserve(self, sink: str) -> bool:
        """Take the disk's room for a sink's cursor before records can fill it; return whether that worked."""
        return reserve(self.directory, sink)

    def cursors(self) -> Mapping[str, Cursor]:
        """Return the cursors that are in the spool, by sink, as they stand on disk."""
        return load_all(self.directory)

    def segments(self) -> list[SegmentInfo]:
        """Return all segments in reading order. A segment that cannot be opened counts as live."""
        found = []
        for name, size in self._listing().items():
            facts = naming.SegmentName.parse(name)
            path = self.directory / (name + segment.SUFFIX)
            found.append(SegmentInfo(name, path, size, not segment.final_size(path)[0], facts))
        return found

    def size(self) -> int:
        """Return the bytes of all segments, as they count for the bound."""
        try:
            return sum(segment.listing(self.directory, on_disk=True).values())
        except OSError:
            return 0

    def _listing(self) -> dict[str, int]:
        try:
            return segment.listing(self.directory)
        except OSError:
            return {}

    def retire(self, cursors: Iterable[Passed]) -> int:
        """Delete the segments that every one of ``cursors`` has passed and nobody writes to; return how many.

        Only the holder of the shipper's lock may do so. Without any cursor, nothing is deleted: nothing is
        shipped. A segment for one sink alone stays when its sink is not among them.
        """
        needed = list(cursors)
        if not needed:
            return 0
        gone = 0
        for name, size in self._listing().items():
            if not size <= min([one.passed(name) for one in needed]) < naming.FOREIGN:
                continue
            path = self.directory / (name + segment.SUFFIX)
            # Complete first, then the size: nothing can have come behind what was acknowledged.
            final, size = segment.final_size(path)
            if final and min([one.passed(name) for one in needed]) >= size:
                try:
                    os.unlink(path)
                    gone += 1
                except OSError:
                    pass
        return gone

    def mend(self) -> int:
        """Undo what a process left half done that died while it made room; return how many segments went.

        Only the holder of the shipper's lock may do so, before its readers read.
        """
        return mend(self.directory)

    def drop_oldest(
        self,
        need: int,
        readers: Sequence[SpoolReader],
        *,
        below: int | None = None,
        last: Sequence[SpoolReader] = (),
        spare: Collection[str] = (),
    ) -> GivenUp:
        """Give up records to free ``need`` bytes, and return exactly what was given up.

        Lowest level first, and the oldest first within a level; with ``below``, only levels under that
        number, even if that is not enough; never from the segments in ``spare``, of which something is on its
        way into a sink. What every reader has acknowledged costs nothing and goes first.
        Only the holder of the shipper's lock may do so, with the readers of all sinks. Only complete segments
        are touched: seal the writer to have its current one looked at. Reads all complete segments, so ask
        for a good part of the bound at once. ``last``: the claims of sinks that nobody serves; what only
        these need goes before all else.
        """
        return make_room(self.directory, need, readers, below=below, spare=spare, last=last)
