"""Which records are one object. The bounds are fixed before the first try and saved, so that whoever repeats
it makes the same object under the same key, whatever its batch limits, policies and prefix are by then.

A batch becomes one object for each policy and segment in it. Bounds name the segment, the first and the last
record by their serial numbers, and the levels that are in between: within a segment records always come in
the same order, and which policy a level has is a matter of configuration. Segments are recognized by what
stays of their name when some of their records are given up and the rest is carried over to a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from toolog.sinks.base import SinkRecord
from toolog.sinks.s3 import names

_MOST = 1024
"""Bounds that are kept although their records do not come again: somebody deleted the segment by hand."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one object, as they are saved: ``levels`` are level numbers, ``records`` how many."""

    key: str
    segment: str
    first: int
    last: int
    levels: tuple[int, ...]
    records: int

    def to_state(self) -> list[Any]:
        """Return plain data."""
        return [self.key, self.segment, self.first, self.last, list(self.levels), self.records]

    @classmethod
    def from_state(cls, state: Any) -> Bounds | None:
        """Return the bounds in plain data, or None for what is none."""
        try:
            key, segment, first, last, levels, records = state
            numbers = tuple(int(level) for level in levels)
            found = cls(str(key), str(segment), int(first), int(last), numbers, int(records))
        except (TypeError, ValueError):
            return None
        return found if names.is_segment(found.segment) and names.parse(found.key) else None


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

    def to_state(self) -> list[Any]:
        """Return plain data: what `load` takes."""
        return [bounds.to_state() for bounds in self._open]

    def load(self, state: Any) -> None:
        """Take up the bounds that another process fixed; what is none is left out."""
        given = state if isinstance(state, list) else []
        self._open = [found for one in given if (found := Bounds.from_state(one)) is not None]

    def goes_on(self, segment: str, seq: int) -> bool:
        """Return whether some object was begun at this record and goes on behind it."""
        return any(
            bounds.first <= seq < bounds.last and names.origin(bounds.segment) == names.origin(segment)
            for bounds in self._open
        )

    def divide(self, batch: Sequence[SinkRecord], prefix: str, form: str) -> list[Share]:
        """Return the objects that a batch becomes: first what has bounds already, the rest with new ones.

        Every record of the batch must name a segment.
        """
        segments: dict[tuple[str, ...], list[SinkRecord]] = {}
        for record in batch:
            segments.setdefault(names.origin(record.segment), []).append(record)
        shares: list[Share] = []
        for origin, records in segments.items():
            rest = records
            for bounds in self._open:
                if names.origin(bounds.segment) == origin:
                    inside, rest = _part(bounds, rest)
                    if inside:
                        shares.append(Share(bounds, inside))
            shares += _fix(rest, prefix, form)
        known = set(self._open)
        self._open += [share.bounds for share in shares if share.bounds not in known]
        return shares

    def finish(self, batch: Sequence[SinkRecord]) -> None:
        """Forget the bounds whose last record was in a batch that is settled, and what is long overdue."""
        reached: dict[tuple[str, ...], int] = {}
        for record in batch:
            origin = names.origin(record.segment)
            reached[origin] = max(reached.get(origin, 0), record.seq)
        left = [one for one in self._open if reached.get(names.origin(one.segment), -1) < one.last]
        self._open = left[-_MOST:]


def _part(bounds: Bounds, records: list[SinkRecord]) -> tuple[list[SinkRecord], list[SinkRecord]]:
    """Divide a segment's records into those within the bounds and the rest, by their places.

    Serial numbers need not rise with the places, as threads take the one and write the other at their own
    pace. Where the first or last record is missing (given up, or damaged), the numbers have to do.
    """
    places = {record.seq: place for place, record in enumerate(records) if record.level in bounds.levels}
    first, last = places.get(bounds.first), places.get(bounds.last)
    inside: list[SinkRecord] = []
    outside: list[SinkRecord] = []
    for place, record in enumerate(records):
        is_in = (
            first <= place <= last
            if first is not None and last is not None
            else bounds.first <= record.seq <= bounds.last
        )
        (inside if is_in and record.level in bounds.levels else outside).append(record)
    return inside, outside


def _fix(records: Sequence[SinkRecord], prefix: str, form: str) -> list[Share]:
    """Return the objects of records that have no bounds yet, which all are of one segment's origin."""
    groups: dict[tuple[str, str], list[SinkRecord]] = {}
    for record in records:
        groups.setdefault((record.segment, record.policy), []).append(record)
    return [
        Share(_bounds(segment, policy, group, prefix, form), group)
        for (segment, policy), group in groups.items()
    ]


def _bounds(segment: str, policy: str, group: Sequence[SinkRecord], prefix: str, form: str) -> Bounds:
    first, last = group[0].seq, group[-1].seq
    key = names.key(prefix, policy, segment, first, last, form)
    levels = tuple(sorted({record.level for record in group}))
    return Bounds(key, segment, first, last, levels, len(group))
