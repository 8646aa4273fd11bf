"""What became of the records of one write: stored, refused, to be tried again, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from toolog.errors import SinkUnavailable


class Cause(Enum):
    """How a server failed on a record that was alone in it: which says how sure it is that it is the record.

    ITEM: it answered with an error for this one. WHOLE: the request with this one failed. BUSY: it said that
    the request with this one is too much for it now. HELD: it refused this one as it refused all others.
    """

    ITEM = 1
    WHOLE = 2
    BUSY = 3
    HELD = 4


class Failure(NamedTuple):
    """What was said when a server failed on one record alone."""

    cause: Cause
    reason: str


class Refusal(NamedTuple):
    """A 400 for one record: the type of the error, and the whole of it in one line."""

    kind: str
    reason: str


@dataclass
class Outcome:
    """What became of records: ``stored`` (a number), of them ``again``; the others by their ids.

    ``refused`` and ``failed`` are still to be judged: see `Suspects`. ``vague``: a request failed as a whole,
    perhaps for one of the records in it. ``throttled``: the server said 429. ``reason`` is what it said of
    one in ``retry``, ``trouble`` why some there had no answer at all, ``denied`` the same for the records of
    one stream, ``broke`` an error of ours. ``requests``: how many were sent side by side.
    """

    requests: int = 0
    stored: int = 0
    again: int = 0
    rejected: dict[str, str] = field(default_factory=dict)
    refused: dict[str, Refusal] = field(default_factory=dict)
    failed: dict[str, Failure] = field(default_factory=dict)
    retry: set[str] = field(default_factory=set)
    vague: bool = False
    throttled: bool = False
    trouble: SinkUnavailable | None = None
    denied: dict[str, SinkUnavailable] = field(default_factory=dict)
    reason: str = ""
    broke: Exception | None = None

    def add(self, other: Outcome) -> None:
        """Take over what became of other records."""
        self.requests += other.requests
        self.stored += other.stored
        self.again += other.again
        for mine, theirs in self._tables(other):
            mine.update(theirs)
        self.retry |= other.retry
        self.vague = self.vague or other.vague
        self.throttled = self.throttled or other.throttled
        self.trouble = self.trouble or other.trouble
        self.reason = self.reason or other.reason
        self.broke = self.broke or other.broke

    def _tables(self, other: Outcome) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
        for name in ("rejected", "refused", "failed", "denied"):
            yield getattr(self, name), getattr(other, name)
