"""Looking into a spool without locks and without changing anything.

What is in it, what a sink has not acknowledged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from toolog.spool import naming, segment
from toolog.spool.cursor import Cursor, open_tracks
from toolog.spool.frame import CHUNK, MARK, Frame, salt_of, scan
from toolog.spool.tracks import Mark


def fits(fd: int, mark: Mark, size: int) -> bool:
    """Tell whether a segment is still the one that a mark was made for."""
    if not 0 <= mark.end <= size or not 0 <= mark.crc < 1 << 32:
        return False
    return mark.offset < 0 or os.pread(fd, 8, mark.offset) == MARK + mark.crc.to_bytes(4, "little")


class Stretch:
    """Frames of one chunk, and where the next chunk begins (as an offset in the segment)."""

    __slots__ = ("consumed", "damaged", "frames")

    def __init__(self, frames: list[Frame], consumed: int, damaged: int) -> None:
        self.frames = frames
        self.consumed = consumed
        self.damaged = damaged


def walk(
    fd: int,
    name: str,
    salt: int,
    start: int,
    size: int,
    *,
    final: bool,
    keep: Callable[[int], bool] | None = None,
) -> Iterator[Stretch]:
    """Go through an open segment from ``start`` to ``size`` without any cursor."""
    pos = start
    wanted = CHUNK
    broken = False
    while pos < size:
        data_at = segment.skip_hole(fd, pos, size)
        if data_at > pos:
            yield Stretch([], data_at, int(not broken))
            pos, broken = data_at, True
            continue
        data = os.pread(fd, min(wanted, size - pos), pos)
        if not data:
            return
        skip = len(segment.MAGIC) if pos == 0 and data.startswith(segment.MAGIC) else 0
        found = scan(
            data[skip:] if skip else data,
            pos + skip,
            name,
            salt,
            limit=1 << 62,
            at_end=pos + len(data) >= size,
            final=final,
            broken=broken,
            keep=keep,
        )
        step = found.consumed + skip
        if not step:
            if found.wanted <= len(data):
                return
            wanted = found.wanted
            continue
        wanted = CHUNK
        broken = found.broken
        pos += step
        yield Stretch(found.frames, pos, found.damaged)


def iter_frames(
    directory: str | os.PathLike[str], on_damage: Callable[[str, int, int], None] | None = None
) -> Iterator[Frame]:
    """Yield every whole frame that is in a spool, in reading order; takes no lock and changes nothing.

    ``on_damage(segment, frames, 0)`` is called for damage. Raises OSError when the directory cannot be
    listed; a segment that cannot be read is left out.
    """
    for name in segment.listing(Path(directory)):
        yield from frames_of(Path(directory), name, Mark(0), on_damage)


def frames_of(
    directory: Path, name: str, mark: Mark, on_damage: Callable[[str, int, int], None] | None = None
) -> Iterator[Frame]:
    """Yield the whole frames of one segment behind a mark, or all of them when the mark does not fit."""
    try:
        fd = segment.open_to_read(directory / (name + segment.SUFFIX))
    except OSError:
        return
    try:
        size = os.fstat(fd).st_size
        start = mark.end if fits(fd, mark, size) else 0
        for found in walk(fd, name, salt_of(name), start, size, final=True):
            if found.damaged and on_damage is not None:
                on_damage(name, found.damaged, 0)
            yield from found.frames
    except OSError:
        return
    finally:
        os.close(fd)


def frames_open(opened: segment.Segment) -> list[Frame]:
    """Return the whole frames of a segment that this process has open, even when its file was deleted."""
    frames: list[Frame] = []
    try:
        size = os.fstat(opened.fd).st_size
        for found in walk(opened.fd, opened.name, opened.salt, 0, size, final=True):
            frames += found.frames
    except OSError:
        pass
    return frames


def pending(directory: str | os.PathLike[str], cursor_name: str) -> Iterator[Frame]:
    """Yield the frames that the sink ``cursor_name`` has not acknowledged.

    Takes no lock and changes nothing.
    """
    for name in segment.listing(Path(directory)):
        if not naming.is_foreign(name, cursor_name):
            yield from frames_left(Path(directory), name, open_tracks(directory, cursor_name))


def frames_left(directory: Path, name: str, tracks: Sequence[Cursor]) -> Iterator[Frame]:
    """Yield the whole frames of one segment that a sink with these tracks has not acknowledged, by what
    stands on disk.
    """
    if not tracks[0].is_divided:
        yield from frames_of(directory, name, tracks[0].saved.get(name, Mark(0)))
        return
    least = min([track.saved.get(name, Mark(0)) for track in tracks])
    for frame in frames_of(directory, name, least):
        if any(track.covers(frame.levelno) and frame.offset >= track.passed(name) for track in tracks):
            yield frame
