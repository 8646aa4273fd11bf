"""How far a sink has come in each segment, and the ways into it that several policies take.

A sink that is served on several tracks, one for each policy, has a cursor for each of them; together they
have all levels, each one once. They may be divided in another way from one start to the next: a new track
begins where the one among those that had its levels is that is least far.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Mark(NamedTuple):
    """How far a segment is acknowledged.

    ``end``: every byte before it is done with; ``offset`` and ``crc``: place and checksum of the last
    acknowledged frame, by which a reader recognizes that the segment is still the one it was (``offset`` is
    -1 when there is none).
    """

    end: int
    offset: int = -1
    crc: int = 0


class Track(NamedTuple):
    """One of the ways into a sink that is served on several: that of the records of one policy, whose lowest
    level number is ``levelno``.
    """

    policy: str
    levelno: int


WHOLE = Track("", 0)
"""The one track of a sink that is not divided: it has all levels."""

Marks = dict[str, Mark]


def tracks_in(content: Mapping[str, Any]) -> dict[Track, Marks]:
    """Return the tracks that a line tells of, by level. Raises ValueError and the like for nonsense."""
    tables = content.get("tracks")
    if not tables:
        return {WHOLE: _marks_in(content["marks"])}
    found = {Track(str(one["policy"]), int(one["from"])): _marks_in(one["marks"]) for one in tables}
    return dict(sorted(found.items(), key=lambda item: item[0].levelno))


def _marks_in(table: Mapping[str, Any]) -> Marks:
    return {str(name): Mark(*map(int, mark)) for name, mark in table.items()}


def ranges(tracks: Sequence[Track]) -> list[tuple[float, float]]:
    """Return which levels each track has: together all, each one once."""
    lows = [-math.inf, *(float(track.levelno) for track in tracks[1:])]
    return list(zip(lows, [*lows[1:], math.inf], strict=True))


def marks_of(levels: tuple[float, float], there: Mapping[Track, Marks]) -> Marks:
    """Return how far all those tracks are that have any of these levels."""
    if not there:
        return {}
    low, high = levels
    having = [
        marks
        for (begin, end), marks in zip(ranges(list(there)), there.values(), strict=True)
        if begin < high and low < end
    ]
    first, *others = having  # all levels are somebody's
    return {
        name: min([mark, *(marks[name] for marks in others)])
        for name, mark in first.items()
        if all(name in marks for marks in others)
    }
