"""Which records are one object. The bounds are fixed before the first try and saved, so that whoever repeats
it makes the same object under the same key, whatever its batch limits, policies and prefix are by then.

A batch becomes one object for each policy and segment in it. Bounds name the segment, the first and the last
record by their serial numbers, and the levels that are in between: within a segment records always come in
the same order, and which policy a level has is a matter of configuration. Serial numbers need not rise with
the places, as threads take the one and write the other at their own pace; so it is places that decide, and
the lowest and highest number in between only say how far to look. Segments are recognized by what stays of
their name when some of their records are given up and the rest is carried over to a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

from toolog.sinks.base import SinkRecord
from toolog.sinks.s3 import names

_MOST = 256
"""Bounds that are kept although their records do not come again: somebody deleted the segment by hand."""
_LATE = 4096
"""Serial numbers that may be written before one that was taken earlier."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one object: ``levels`` are level numbers, ``records`` how many. ``low`` and
    ``high`` are the lowest and highest serial number among all records of the batch of this segment.
    """

    key: str
    segment: str
    first: int
    last: int
    levels: tuple[int, ...]
    records: int
    low: int
    high: int


@dataclass(slots=True)
class Share:
    """The records of a batch that are one object. ``rejected`` is what was no record; ``stored`` says that
    the rest is in the bucket, ``again`` how many of them were before this process tried."""

    bounds: Bounds
    records: list[SinkRecord]
    stored: bool = False
    rejected: dict[str, str] = field(default_factory=dict)
    again: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether these are all the records for which the bounds were fixed."""
        return len(self.records) == self.bounds.records


class Ledger:
    """The bounds that are fixed and whose objects are not acknowledged yet."""

    def __init__(self) -> None:
        self._open: list[Bounds] = []

    def __len__(self) -> int:
        return len(self._open)

    def to_state(self) -> dict[str, Any]:
        """Return plain data: what `load` takes. It is short, as it must find room on a full disk."""
        kinds: dict[tuple[Any, ...], int] = {}
        segments: dict[str, list[list[int]]] = {}
        for one in self._open:
            facts = names.parse(one.key)
            assert facts is not None
            kind = (facts.prefix, facts.policy, facts.format, one.levels)
            numbers = [kinds.setdefault(kind, len(kinds)), one.first, one.last, one.records]
            segments.setdefault(one.segment, []).append([*numbers, one.low, one.high])
        return {"kinds": [[*kind[:3], list(kind[3])] for kind in kinds], "segments": segments}

    def load(self, state: Any) -> None:
        """Take up the bounds that another process fixed; what is none is left out."""
        self._open = []
        try:
            kinds, segments = list(state["kinds"]), dict(state["segments"])
        except (TypeError, ValueError, KeyError):
            return
        for segment, rows in segments.items():
            for row in rows if isinstance(rows, list) else ():
                found = _from_state(kinds, segment, row)
                if found is not None:
                    self._open.append(found)

    def goes_on(self, segment: str, seq: int) -> bool:
        """Return whether some object was begun that may go on behind this record.

        It says so once too often rather than once too little: whatever comes with it has bounds of its own.
        """
        return any(
            bounds.low <= seq <= bounds.high
            and seq != bounds.last
            and names.origin(bounds.segment) == names.origin(segment)
            for bounds in self._open
        )

    def divide(self, batch: Sequence[SinkRecord], prefix: str, form: str) -> list[Share]:
        """Return the objects that a batch becomes: first what has bounds already, the rest with new ones.

        Every record of the batch must name a segment.
        """
        shares: list[Share] = []
        for origin, records in _by_origin(batch).items():
            known = [bounds for bounds in self._open if names.origin(bounds.segment) == origin]
            parts, rest = _part(known, records)
            shares += parts
            shares += _fix(rest, prefix, form)
        there = set(self._open)
        self._open += [share.bounds for share in shares if share.bounds not in there]
        return shares

    def finish(self, batch: Sequence[SinkRecord]) -> None:
        """Forget the bounds whose last record was in a batch that is settled, or must have been."""
        settled = {
            origin: {record.seq for record in records} for origin, records in _by_origin(batch).items()
        }
        left = [one for one in self._open if not _is_behind(one, settled.get(names.origin(one.segment)))]
        self._open = left[-_MOST:]


def _by_origin(batch: Sequence[SinkRecord]) -> dict[tuple[str, ...], list[SinkRecord]]:
    """Return the records of a batch by the origin of their segments; most come in long runs of one."""
    segments: dict[tuple[str, ...], list[SinkRecord]] = {}
    for segment, run in groupby(batch, key=attrgetter("segment")):
        segments.setdefault(names.origin(segment), []).extend(run)
    return segments


def _is_behind(bounds: Bounds, settled: set[int] | None) -> bool:
    """Whether nothing of an object is to come once these records of its segment are settled."""
    return settled is not None and (bounds.last in settled or max(settled) > bounds.high + _LATE)


def _part(known: list[Bounds], records: list[SinkRecord]) -> tuple[list[Share], list[SinkRecord]]:
    """Divide a segment's records into those within bounds and the rest, by their places.

    Where the first or last record is missing (given up, or damaged), the serial numbers have to do, for what
    is in no other object.
    """
    if not known:
        return [], records
    places = {record.seq: place for place, record in enumerate(records)}
    owners: list[Bounds | None] = [None] * len(records)
    for is_exact in (True, False):
        for bounds in known:
            first, last = places.get(bounds.first), places.get(bounds.last)
            if (first is not None and last is not None) is not is_exact:
                continue
            for place in range(first or 0, len(records) if last is None else last + 1):
                record = records[place]
                is_near = is_exact or bounds.low <= record.seq <= bounds.high
                if is_near and owners[place] is None and record.level in bounds.levels:
                    owners[place] = bounds
    inside: dict[Bounds, list[SinkRecord]] = {bounds: [] for bounds in known}
    outside: list[SinkRecord] = []
    for record, owner in zip(records, owners, strict=True):
        (outside if owner is None else inside[owner]).append(record)
    return [Share(bounds, found) for bounds, found in inside.items() if found], outside


def _fix(records: Sequence[SinkRecord], prefix: str, form: str) -> list[Share]:
    """Return the objects of records that have no bounds yet, which all are of one segment's origin."""
    groups: dict[tuple[str, str], list[SinkRecord]] = {}
    numbers: dict[str, list[int]] = {}
    for place, run in groupby(records, key=attrgetter("segment", "policy")):
        found = list(run)
        groups.setdefault(place, []).extend(found)
        numbers.setdefault(place[0], []).extend([record.seq for record in found])
    shares: list[Share] = []
    for (segment, policy), group in groups.items():
        first, last = group[0].seq, group[-1].seq
        key = names.key(prefix, policy, segment, first, last, form)
        levels = tuple(sorted({record.level for record in group}))
        low, high = min(numbers[segment]), max(numbers[segment])
        shares.append(Share(Bounds(key, segment, first, last, levels, len(group), low, high), group))
    return shares


def _from_state(kinds: list[Any], segment: Any, row: Any) -> Bounds | None:
    """Return the bounds in plain data, or None for what is none."""
    try:
        kind, first, last, records, low, high = map(int, row)
        prefix, policy, form, levels = kinds[kind]
        key = names.key(str(prefix), str(policy), str(segment), first, last, str(form))
        numbers = tuple(int(level) for level in levels)
    except (TypeError, ValueError, IndexError):
        return None
    return Bounds(key, segment, first, last, numbers, records, low, high) if names.parse(key) else None
