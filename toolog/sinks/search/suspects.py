"""Whose fault it is when a server refuses records, or breaks on them: the records', or its own.

What is wrong with a record ends in the dead letters, or it would hold up all that come after it. What is
wrong with the cluster gives no record up, however long it lasts. The two look alike; what tells them apart is
what became of other records:

- Others are stored while one fails, and goes on to fail: it is the record.
- All are refused with the same words and none is stored: it is the cluster (a pipeline that is not there, a
  stream with another mapping).
- Nothing is stored, and there is nothing else to send: nobody can know. After minutes in which the server
  answers everything else, one record is given up, so that the next can show whose fault it was; while nothing
  is stored, the time until the next one doubles. It is a shorter time where records of other policies are
  stored meanwhile: then the cluster is well, although the stream may not be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import NamedTuple

from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks.base import Batch
from toolog.sinks.search.outcome import Cause, Failure, Outcome
from toolog.sinks.search.refusals import unquoted

ALIKE = 3
"""So many records refused with the same type of error, and none stored, are no accident."""
_FRUITLESS = 3
"""After so many writes in a row that failed as a whole, records are sent one by one."""
PARSING = frozenset({"mapper_parsing_exception", "document_parsing_exception", "parsing_exception"})
"""Types of errors that speak of a document, where the stream has our mapping."""


class Patience(NamedTuple):
    """How long a record is tried: so often, and for so many seconds since it first failed: ``proven`` (others
    were stored meanwhile), ``vouched`` (by another sink, in the same cluster), or neither.
    """

    tries: int
    proven: float
    vouched: float
    unproven: float


PATIENCE = {
    Cause.ITEM: Patience(5, 0.0, 10.0, 30.0),
    Cause.WHOLE: Patience(10, 60.0, 60.0, 120.0),
    Cause.BUSY: Patience(10, 120.0, 150.0, 300.0),
    Cause.HELD: Patience(10, 60.0, 300.0, 300.0),
}


class Vitals:
    """When something was last stored in a cluster by any sink of this process (by the sinks' clock)."""

    __slots__ = ("stored_at",)

    def __init__(self) -> None:
        self.stored_at = float("-inf")


_vitals: dict[Hashable, Vitals] = {}


def vitals_of(cluster: Hashable) -> Vitals:
    """Return the vitals that all sinks share which name their cluster in the same way."""
    return _vitals.setdefault(cluster, Vitals())


class _Suspect:
    __slots__ = ("proven", "since", "stored_before", "tries")

    def __init__(self, now: float, stored_before: int) -> None:
        self.since = now
        self.stored_before = stored_before
        self.proven = False
        self.tries = 0


class Suspects:
    """The records on which the server failed, of one sink. ``clock`` gives seconds; its zero does not matter.

    ``where`` names the sink in errors; ``vitals`` are those of its cluster.
    """

    def __init__(
        self, where: str, clock: Callable[[], float] = time.monotonic, vitals: Vitals | None = None
    ) -> None:
        self._where = where
        self._clock = clock
        self._vitals = Vitals() if vitals is None else vitals
        self._known: dict[str, _Suspect] = {}
        self._alike: dict[str, set[str]] = {}
        self._stored = 0
        self._fruitless = 0
        self._given_up = 0  # how many unproven, since anything was stored

    @property
    def looking(self) -> bool:
        """Whether writes failed so often that the record behind it should be looked for."""
        return self._fruitless >= _FRUITLESS

    def tries(self, record_id: str) -> int:
        """Return how often the server failed on a record alone."""
        known = self._known.get(record_id)
        return 0 if known is None else known.tries

    def put_last(self, batch: Batch) -> Batch:
        """Return a batch with those at its end on which the server failed: the others overtake them."""
        return sorted(batch, key=lambda record: self.tries(record.record_id)) if self._known else batch

    def judge(
        self, outcome: Outcome, answers: Callable[[], bool], check: Callable[[], SinkUnavailable | None]
    ) -> None:
        """Decide on what was refused or failed in a write: into ``rejected`` or ``retry`` of its outcome.

        ``answers``: whether the server answers anything else now. ``check``: what is wrong with the streams
        that records are sent to, or None when they have our mapping.
        """
        before = self._stored
        self._stored += outcome.stored
        if outcome.stored:
            self._alike.clear()
            self._given_up = 0
            self._vitals.stored_at = self._clock()
        self._judge_refused(outcome, check)
        self._judge_failed(outcome, answers, before)
        if outcome.stored or outcome.rejected:
            self._fruitless = 0
        elif outcome.vague:
            self._fruitless += 1
        for record_id in [one for one in self._known if one not in outcome.retry]:
            del self._known[record_id]

    def _judge_refused(self, outcome: Outcome, check: Callable[[], SinkUnavailable | None]) -> None:
        if not outcome.stored:
            for record_id, refusal in outcome.refused.items():
                alike = self._alike.setdefault(refusal.kind, set())
                if len(alike) < ALIKE:
                    alike.add(record_id)
        checked: dict[str, SinkUnavailable | None] = {}
        for record_id, (kind, reason) in outcome.refused.items():
            if len(self._alike.get(kind, ())) >= ALIKE and kind not in checked:
                checked[kind] = check() if kind in PARSING else self._held(reason)
            trouble = checked.get(kind)
            if trouble is None:
                outcome.rejected[record_id] = f"400 {reason}"
            else:
                outcome.trouble = outcome.trouble or trouble
                outcome.failed[record_id] = Failure(Cause.HELD, f"400 {reason}")
        outcome.refused.clear()

    def _held(self, reason: str) -> SinkDenied:
        return SinkDenied(
            f"{self._where}: every record is refused with the same error and none is stored: "
            f"{unquoted(reason)}; the records wait until that is put right in the cluster"
        )

    def _judge_failed(self, outcome: Outcome, answers: Callable[[], bool], before: int) -> None:
        now = self._clock()
        overdue: list[tuple[float, str]] = []
        for record_id, failure in outcome.failed.items():
            one = self._known.get(record_id)
            if one is None:
                one = self._known[record_id] = _Suspect(now, before)
            if not one.proven and self._stored > one.stored_before:
                one.proven, one.tries, one.since = True, 0, now  # what failed while all did counts no more
            one.tries += 1
            patience = PATIENCE[failure.cause]
            outcome.retry.add(record_id)
            if one.tries >= patience.tries and now - one.since >= self._longest(one, patience):
                if one.proven:
                    self._give_up(record_id, outcome)
                else:
                    overdue.append((one.since, record_id))
        if overdue and not outcome.rejected and answers():
            self._given_up += 1
            self._give_up(min(overdue)[1], outcome)
        outcome.failed.clear()

    def _longest(self, one: _Suspect, patience: Patience) -> float:
        """Return for how many seconds a record is tried."""
        if one.proven:
            return patience.proven
        seconds = patience.vouched if self._vitals.stored_at > one.since else patience.unproven
        return seconds * 2.0**self._given_up

    @staticmethod
    def _give_up(record_id: str, outcome: Outcome) -> None:
        outcome.retry.discard(record_id)
        outcome.rejected[record_id] = outcome.failed[record_id].reason
