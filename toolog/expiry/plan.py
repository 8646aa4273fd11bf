"""What retention found out about the sinks, as plain data: what holds, what would change, what would be
deleted.

A `SinkPlan` is made by looking only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

DAY = 86_400.0
GRACE = 1.5 * DAY
"""Seconds past its age after which what should have been purged is called overdue: a purge runs at least
daily.
"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long a record really lives in a sink.

    ``earliest`` and ``latest`` are seconds; None means that nobody promises it (never deleted, for
    ``earliest``). ``counted`` says from when they are counted, and what may come on top.
    """

    earliest: float | None
    latest: float | None
    counted: str


@dataclass(frozen=True, slots=True)
class Term:
    """What one retention policy means in one sink: ``keep`` as it was asked for (seconds, None: no end),
    ``target`` the data stream, key prefix or file that its records stand in.
    """

    policy: str
    keep: float | None
    target: str
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Change:
    """One setting of a server that is not what the policies say; ``before`` and ``after`` are plain data.

    ``carry_out`` is the step, None where a target makes all its changes in one.
    """

    action: Literal["create", "change", "remove"]
    what: str
    before: Any
    after: Any
    carry_out: Callable[[], object] | None = field(default=None, repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the change as plain data."""
        return {"action": self.action, "what": self.what, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that a purge is concerned with: an index, a file, the rows of some levels.

    ``action``: ``delete``; ``roll over`` (it is written to, and full enough); ``hold`` (old enough, but with
    ``held`` records on hold: it stays); ``stay`` (something else keeps it, see ``why``). ``records`` and
    ``bytes`` are how many it has (None: not known), ``newest`` the time of its newest record in seconds of
    the Unix epoch. ``overdue``: a purge should have done it by now.
    """

    action: Literal["delete", "roll over", "hold", "stay"]
    policy: str
    what: str
    why: str
    records: int | None = None
    bytes: int | None = None
    newest: float | None = None
    held: int = 0
    overdue: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the piece as plain data; times as RFC 3339."""
        newest = None if self.newest is None else datetime.fromtimestamp(self.newest, UTC).isoformat()
        found: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("action", "policy", "what", "why", "records", "bytes", "held", "overdue")
        }
        return {**found, "newest": newest}


@dataclass(slots=True)
class SinkPlan:
    """What retention means for one sink, and what is to be done there.

    ``engine`` is who deletes (``lifecycle rules``, ``ilm``, ``toolog`` ...), ``place`` where the sink writes.
    ``notes`` are sentences for a person, ``foreign`` those on settings of others that work against the
    policies. ``trouble`` says why the server could not be asked; then the plan
    knows nothing else.
    """

    sink: str
    kind: str
    engine: str
    place: str
    terms: list[Term] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    trouble: str = ""

    @property
    def drift(self) -> list[str]:
        """What is not as the policies say, as sentences; empty when all is as it should be."""
        found = [f"{_MISSING[change.action]}: {change.what}" for change in self.changes]
        found += [
            f"overdue: {piece.action} {piece.what} ({piece.why})" for piece in self.pieces if piece.overdue
        ]
        return found + self.foreign

    def due(self, *actions: str) -> Iterator[Piece]:
        """Yield the pieces with one of these actions."""
        return (piece for piece in self.pieces if piece.action in actions)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, for ``--json``."""
        return {
            "sink": self.sink,
            "type": self.kind,
            "engine": self.engine,
            "place": self.place,
            "policies": [
                {
                    "policy": term.policy,
                    "keep": term.keep,
                    "target": term.target,
                    "earliest": term.bounds.earliest,
                    "latest": term.bounds.latest,
                    "counted": term.bounds.counted,
                }
                for term in self.terms
            ],
            "changes": [change.as_dict() for change in self.changes],
            "purge": [piece.as_dict() for piece in self.pieces],
            "notes": self.notes,
            "foreign": self.foreign,
            "drift": self.drift,
            "trouble": self.trouble or None,
        }


_MISSING = {"create": "missing", "change": "different", "remove": "left over"}
