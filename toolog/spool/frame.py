"""One frame: its bytes, how they are checked, and how a reader finds the next one behind damage."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

MARK = b"\xc1\xfe\x9b\xc0"
"""Stands before each frame. 0xC1 and 0xFE occur in no UTF-8 text, and 0xC1 is no MessagePack type byte."""

MAX_PAYLOAD = 64 * 1024 * 1024
"""The longest payload of one frame, in bytes; a header that claims more is damage."""

HEADER_FLAG = 1
"""Flag bit of the first frame of a segment, whose payload describes the segment; it is no record."""

CHUNK = 1 << 20
"""How many bytes of a segment are read at once, if they are asked for."""

HEAD_SIZE = 28
FACTS_AT = 12  # where the part that the checksums cover begins

_HEAD = struct.Struct("<4sII")
_FACTS = struct.Struct("<IQHBB")
_ALL = struct.Struct("<4sIIIQHBB")

pack_head = _HEAD.pack
pack_facts = _FACTS.pack
unpack_all = _ALL.unpack_from


class Frame(NamedTuple):
    """One record as it lies in a spool, with the place where it lies.

    ``segment`` is the name of the segment, ``offset`` and ``end`` are where the frame begins and ends in it
    (bytes), ``seq`` is the writer's serial number, ``levelno`` and ``serializer`` are what the writer was
    given, ``crc`` is the frame's checksum, ``payload`` are the record's bytes.
    """

    segment: str
    offset: int
    end: int
    seq: int
    levelno: int
    serializer: int
    flags: int
    crc: int
    payload: bytes

    @property
    def record_key(self) -> str:
        """The frame's name, the same whenever the frame is read again: ``segment/seq``."""
        return f"{self.segment}/{self.seq}"

    def __repr__(self) -> str:
        return f"<Frame {self.record_key} level {self.levelno}, {len(self.payload)} bytes>"


def salt_of(segment: str) -> int:
    """Return the number that the checksums of a segment begin with.

    It follows from the segment's name, so that bytes of another segment (copied into a record, or left on the
    disk by a deleted file) are never taken for a frame of this one.
    """
    return zlib.crc32(segment.encode())


def build(salt: int, seq: int, levelno: int, serializer: int, payload: bytes, flags: int = 0) -> bytes:
    """Return the bytes of one frame. Raises ``struct.error`` for numbers that do not fit their fields."""
    facts = pack_facts(len(payload), seq, levelno, serializer, flags)
    check = zlib.crc32(facts, salt)
    return pack_head(MARK, zlib.crc32(payload, check), check) + facts + payload


class Scan:
    """What ``scan`` found in one chunk of a segment.

    ``consumed``: how far the chunk is done with (bytes); ``wanted``: how many bytes from there on are needed
    to go further (0: as many as come); ``damaged``: frames given up, an estimate where bytes are gone;
    ``broken``: the chunk ended inside damage.
    """

    __slots__ = ("broken", "consumed", "damaged", "damaged_bytes", "frames", "wanted")

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.consumed = 0
        self.wanted = 0
        self.damaged = 0
        self.damaged_bytes = 0
        self.broken = False


def scan(
    data: bytes,
    base: int,
    segment: str,
    salt: int,
    *,
    limit: int,
    room: int = 1 << 62,
    at_end: bool,
    final: bool,
    broken: bool = False,
    keep: Callable[[int], bool] | None = None,
) -> Scan:
    """Read frames from a chunk of a segment.

    ``base`` is the chunk's place in the segment, ``limit`` the most frames to return, ``room`` after how many
    bytes of payload no more are returned, ``at_end`` says that the segment ends where the chunk ends,
    ``final`` that nobody will append to it any more, ``broken`` that the chunk before ended inside damage.
    ``keep`` answers for a level number whether its frames are wanted.

    In a segment that still grows, bytes are given up only when a valid frame stands behind them: what looks
    broken at the end may be a write that is under way.
    """
    found = Scan()
    frames = found.frames
    add = frames.append
    crc32, new = zlib.crc32, tuple.__new__  # (the class's own constructor takes twice as long)
    wanted: dict[int, bool] = {}
    length_of = len(data)
    last = length_of - HEAD_SIZE
    pos = 0
    while True:
        # The tight loop: valid frames, one behind the other.
        while pos <= last:
            mark, crc, check, length, seq, levelno, serializer, flags = unpack_all(data, pos)
            body = pos + HEAD_SIZE
            stop = body + length
            if mark != MARK or stop > length_of or crc32(data[pos + FACTS_AT : body], salt) != check:
                break
            payload = data[body:stop]
            if crc32(payload, check) != crc:
                break
            if not flags & HEADER_FLAG and (
                wanted[levelno]
                if levelno in wanted
                else wanted.setdefault(levelno, keep is None or keep(levelno))
            ):
                if limit <= 0 or room <= 0:
                    found.consumed = pos
                    return found
                limit -= 1
                room -= length
                add(
                    new(
                        Frame,
                        (segment, base + pos, base + stop, seq, levelno, serializer, flags, crc, payload),
                    )
                )
            broken = False
            pos = stop
        if pos == length_of:
            found.consumed = pos
            found.broken = broken
            return found
        # Something stands here that is no whole valid frame.
        needed = _needed(data, pos, salt)
        if needed > 0 and not at_end:
            found.consumed = pos
            found.wanted = needed
            found.broken = broken
            return found
        following = _find(data, pos + 1, salt, at_end)
        if following < 0:
            if at_end and not final:
                found.consumed = pos
                found.broken = broken
                return found
            # A mark may begin in the last bytes of a chunk that is not the last one.
            following = length_of if at_end else max(pos + 1, length_of - HEAD_SIZE + 1)
            _give_up(found, data, pos, following, broken)
            found.consumed = following
            found.broken = True
            return found
        _give_up(found, data, pos, following, broken)
        broken = True
        pos = following


def count_whole(data: bytes, pos: int, salt: int, keep: Callable[[int], bool] | None) -> tuple[int, int]:
    """Count the wanted frames that stand whole and sound one behind the other from ``pos`` on.

    Returns (how many, where they end). Nothing is made of them, which is several times faster than `scan`.
    """
    view = memoryview(data)
    crc32 = zlib.crc32
    wanted: dict[int, int] = {}
    length_of = len(data)
    last = length_of - HEAD_SIZE
    number = 0
    while pos <= last:
        mark, crc, check, length, _, levelno, _, flags = unpack_all(data, pos)
        body = pos + HEAD_SIZE
        stop = body + length
        if mark != MARK or stop > length_of or crc32(view[pos + FACTS_AT : body], salt) != check:
            break
        if crc32(view[body:stop], check) != crc:
            break
        if not flags & HEADER_FLAG:
            if levelno not in wanted:
                wanted[levelno] = int(keep is None or keep(levelno))
            number += wanted[levelno]
        pos = stop
    return number, pos


def _give_up(found: Scan, data: bytes, start: int, stop: int, broken: bool) -> None:
    """Count the bytes from ``start`` to ``stop`` as damage.

    A frame for each mark in them, but at least one.
    """
    marks = data.count(MARK, start, stop)
    found.damaged += marks if broken else max(1, marks)
    found.damaged_bytes += stop - start


def _needed(data: bytes, pos: int, salt: int) -> int:
    """Return how many bytes from ``pos`` on a frame that begins there needs, 0 when none can begin there.

    Only a frame that is longer than the data is meant: its header must be sound.
    """
    rest = data[pos : pos + HEAD_SIZE]
    if len(rest) < HEAD_SIZE:
        return HEAD_SIZE if rest[:4] == MARK[: len(rest)] else 0
    mark, _, check, length, *_ = unpack_all(rest)
    if mark != MARK or length > MAX_PAYLOAD or zlib.crc32(rest[FACTS_AT:], salt) != check:
        return 0
    size = HEAD_SIZE + int(length)
    return size if pos + size > len(data) else 0


def _find(data: bytes, pos: int, salt: int, at_end: bool) -> int:
    """Return where the next frame begins at or behind ``pos``, or -1.

    A frame counts when its bytes are whole and sound; unless ``at_end``, also when only its header can be
    seen.
    """
    length_of = len(data)
    while True:
        pos = data.find(MARK, pos)
        if pos < 0 or pos + HEAD_SIZE > length_of:
            return -1
        _, crc, check, length, *_ = unpack_all(data, pos)
        stop = pos + HEAD_SIZE + length
        if length <= MAX_PAYLOAD and zlib.crc32(data[pos + FACTS_AT : pos + HEAD_SIZE], salt) == check:
            if stop > length_of:
                if not at_end:
                    return pos
            elif zlib.crc32(data[pos + HEAD_SIZE : stop], check) == crc:
                return pos
        pos += 1
