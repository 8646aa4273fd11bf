"""What is given up when a spool is full and must make room: the lowest levels first, the oldest first among
them.

Only complete segments are looked at; whoever wants the own live one to count seals it before. Of a segment
that loses some of its records, the rest is carried over to a new segment in its place, together with how far
each sink has acknowledged it. So nothing that one sink has already is sent to it again. What is in flight is
the caller's to know, who names the segments to spare.

The new segment is there before the old one is deleted. Who dies in between leaves both: whoever ships next
deletes the copy (`mend`), as nothing was told of having been given up yet.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolog.spool import naming, segment
from toolog.spool.browse import frames_of
from toolog.spool.frame import Frame, build, salt_of
from toolog.spool.reader import SpoolReader
from toolog.spool.tracks import Mark

_UNSERVED = 1 << 20
"""What puts a frame that only sinks without a shipper wait for below every level."""


@dataclass
class GivenUp:
    """What making room has cost.

    ``frames``: how many records by level number are gone that at least one sink still needed; ``by_sink``:
    the same for each sink that needed them; ``freed``: bytes; ``segments``: how many are gone; ``carried``:
    records that were moved to a new segment.
    """

    frames: Counter[int] = field(default_factory=Counter)
    by_sink: dict[str, Counter[int]] = field(default_factory=dict)
    freed: int = 0
    segments: int = 0
    carried: int = 0


@dataclass
class _Stock:
    """What one complete segment holds: bytes on disk, and of what is still needed, bytes by rank."""

    name: str
    size: int
    needed: Counter[int]
    doomed: set[int] = field(default_factory=set)


def make_room(
    directory: Path,
    need: int,
    readers: Sequence[SpoolReader],
    *,
    below: int | None = None,
    last: Sequence[SpoolReader] = (),
    spare: Collection[str] = (),
) -> GivenUp:
    """Free ``need`` bytes in a spool, and return what that cost; see ``Spool.drop_oldest``."""
    served = readers
    readers = [*readers, *last]
    done = GivenUp(by_sink={reader.cursor.sink: Counter() for reader in readers})
    if need <= 0 or not readers:
        return done
    with ExitStack() as stack:
        for reader in readers:
            stack.enter_context(reader.hold())
        stocks = [
            _stock(directory, name, readers, served)
            for name in segment.listing(directory)
            if name not in spare
            and segment.final_size(directory / (name + segment.SUFFIX))[0]
            and any(reader.passed(name) < naming.FOREIGN for reader in readers)
        ]
        for stock in _plan(stocks, need, below):
            _carry_out(directory, stock, readers, served, done)
    return done


def _rank(frame: Frame, needed_by: Sequence[SpoolReader], served: Sequence[SpoolReader]) -> int:
    """Return the level that counts for a frame: below all others where no sink that is served needs it."""
    return frame.levelno if any(reader in served for reader in needed_by) else frame.levelno - _UNSERVED


def _stock(
    directory: Path, name: str, readers: Sequence[SpoolReader], served: Sequence[SpoolReader]
) -> _Stock:
    size = segment.final_size(directory / (name + segment.SUFFIX))[1]
    needed: Counter[int] = Counter()
    start = min([reader.passed(name) for reader in readers])
    for frame in frames_of(directory, name, Mark(start)):
        needed_by = [reader for reader in readers if reader.needs(frame)]
        if needed_by:
            needed[_rank(frame, needed_by, served)] += frame.end - frame.offset
    return _Stock(name, size, needed)


def _plan(stocks: Sequence[_Stock], need: int, below: int | None) -> list[_Stock]:
    """Choose which levels of which segments to give up; return the segments to change.

    What nobody needs is free: a segment in which nothing is needed goes first.
    """
    freed = 0
    chosen: dict[str, _Stock] = {}
    for stock in stocks:
        if not stock.needed:
            chosen[stock.name] = stock
            freed += stock.size
    levels = sorted({level for stock in stocks for level in stock.needed if below is None or level < below})
    for level in levels:
        for stock in stocks:
            if freed >= need:
                return list(chosen.values())
            if stock.needed[level]:
                if stock.name not in chosen:  # with it goes what nobody needs any more
                    freed += stock.size - stock.needed.total()
                    chosen[stock.name] = stock
                stock.doomed.add(level)
                freed += stock.needed[level]
    return list(chosen.values())


def _carry_out(
    directory: Path,
    stock: _Stock,
    readers: Sequence[SpoolReader],
    served: Sequence[SpoolReader],
    done: GivenUp,
) -> None:
    """Delete a segment after what is to stay of it stands in a new one."""
    start = min([reader.passed(stock.name) for reader in readers])
    kept: list[Frame] = []
    lost: Counter[int] = Counter()
    lost_by: dict[str, Counter[int]] = {reader.cursor.sink: Counter() for reader in readers}
    for frame in frames_of(directory, stock.name, Mark(start)):
        needed_by = [reader for reader in readers if reader.needs(frame)]
        if not needed_by:
            continue
        if _rank(frame, needed_by, served) not in stock.doomed:
            kept.append(frame)
            continue
        lost[frame.levelno] += 1
        for reader in needed_by:
            lost_by[reader.cursor.sink][frame.levelno] += 1
    size = 0
    copy: segment.Segment | None = None
    try:
        if kept:
            copy, size = _carry_over(directory, stock.name, kept, readers)
            os.fdatasync(copy.fd)
        os.unlink(directory / (stock.name + segment.SUFFIX))
    except OSError:  # no room to carry anything over, or no right to delete: this segment stays as it is
        if copy is not None:
            with suppress(OSError):
                os.unlink(copy.path)
        return
    done.segments += 1
    done.freed += stock.size - size
    done.carried += len(kept)
    done.frames += lost
    for sink, counts in lost_by.items():
        done.by_sink[sink] += counts


def _carry_over(
    directory: Path, old: str, kept: Sequence[Frame], readers: Sequence[SpoolReader]
) -> tuple[segment.Segment, int]:
    """Write frames to a new segment that is read in the old one's place; return it and its size."""
    name = replace(naming.SegmentName.parse(old), random=secrets.token_hex(6))
    text = str(name)
    salt = salt_of(text)
    parts: list[bytes] = []
    at = len(segment.header(name))
    marks: dict[SpoolReader, Mark] = {}
    for frame in kept:
        data = build(salt, frame.seq, frame.levelno, frame.serializer, frame.payload, frame.flags)
        parts.append(data)
        for reader in readers:
            if frame.offset < reader.passed(old):
                marks[reader] = Mark(at + len(data), at, int.from_bytes(data[4:8], "little"))
        at += len(data)
    # The marks first: if the process dies before the segment is there, they mean nothing.
    for reader in readers:
        reader.carry_over(old, text, marks.get(reader))
    return segment.create(directory, name, b"".join(parts)), at


def successors(directory: Path, name: str) -> dict[str, int]:
    """Return the segments, and their sizes, to which the records of one that is gone were carried over."""
    mine = naming.origin(name)
    try:
        listed = segment.listing(directory)
    except OSError:
        return {}
    return {other: size for other, size in listed.items() if other != name and naming.origin(other) == mine}


def mend(directory: Path) -> int:
    """Delete the copies that were made by processes which died before they deleted the original.

    Returns how many. Only the holder of the shipper's lock may do so, before anything is read.
    """
    gone = 0
    by_origin: dict[tuple[str, ...], list[str]] = {}
    try:
        listed = segment.listing(directory)
    except OSError:
        return 0
    for name in listed:
        by_origin.setdefault(naming.origin(name), []).append(name)
    for names in by_origin.values():
        for name in names:
            if any(_is_copy(directory, name, other) for other in names if other != name):
                with suppress(OSError):
                    os.unlink(directory / (name + segment.SUFFIX))
                    gone += 1
    return gone


def _is_copy(directory: Path, name: str, other: str) -> bool:
    """Whether all records of a complete segment stand in another one that has more of them.

    The name alone does not tell: two writers of one process may begin in the same microsecond.
    """
    if not all(segment.final_size(directory / (one + segment.SUFFIX))[0] for one in (name, other)):
        return False
    mine, others = (
        {(frame.seq, frame.levelno, frame.payload) for frame in frames_of(directory, one, Mark(0))}
        for one in (name, other)
    )
    return mine < others
