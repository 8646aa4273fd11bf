"""The short way of the commonest record: a success in which nothing is to be masked.

What the stations do one after the other for any record, this does in one function, and in the short form that
only the spool knows. First it asks for the record's *form*: what JSON it would be, with all digits alike. A
form that was clean once is clean always; else names and words are looked at as `sanitize.glance` does, and
where that does not know, the scan decides. A record that may have to be masked goes the ordinary way; nothing
is decided here that would be decided otherwise there (docs/decisions/short-way.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from orjson import dumps
from ormsgpack import packb

from toolog.breath import breathe, breathing
from toolog.context import Bag
from toolog.errors import SpoolError
from toolog.record import SuccessRecord
from toolog.sanitize.glance import DIGITS, Glance
from toolog.sanitize.policy import Policy
from toolog.serializers.base import COMPACT
from toolog.snapshot.flat import may_be_no_number

if TYPE_CHECKING:
    from toolog.pipeline import Pipeline

Lane = Callable[[SuccessRecord], bool]
"""Takes a record as far as the disk; False when it must go the ordinary way."""
Shorten = Callable[[SuccessRecord], bytes | None]
"""Returns a record in the short form, None when it must go the ordinary way."""
ShortenMany = Callable[[Sequence[SuccessRecord]], list[bytes | None]]
"""Does the same for several records at once."""
Waiting = tuple[int, SuccessRecord, bytes, int]
"""A record that waits for the scan: its place among the others, itself, its pairs and how many they are."""

_MOST_GLANCED = 4096
"""Bytes of MessagePack up to which the form and the words of a record are looked at."""
_TOGETHER = 8
"""How many records are scanned as one: where that hits, each is scanned again."""
_MANY_BYTES = 4096
"""Bytes from which on a scan is long enough to be worth its start."""


def no_lane(record: SuccessRecord) -> bool:
    """Take nothing: every record goes the ordinary way."""
    return False


def not_short(records: Sequence[SuccessRecord]) -> list[bytes | None]:
    """Make no record short."""
    return [None] * len(records)


class Shortener:
    """Makes records short as far as a policy (the sanitizer's, for every tool) changes nothing in them."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._glance: Glance | None = policy.glance

    def prepare(self, record: SuccessRecord) -> tuple[bytes, int, bool] | None:
        """Return the record's pairs from ``input`` on, how many they are, and whether they are known to be
        clean; None when the record is not for the short way.
        """
        if record._sealed is not None or record.toolog_sanitizer is not None:  # another handler's was first
            return None
        call = record._call
        given: Any = call.input
        output: Any = record._output
        glance = self._glance
        if glance is not None and type(given) is not bytes and type(output) is not bytes:
            try:
                both = {"input": given, "output": output}
                packed: bytes = packb(both)
                if len(packed) <= _MOST_GLANCED:
                    form = dumps(both).translate(DIGITS)
                    if b"null" not in form or not may_be_no_number(packed):
                        known = form in glance.clean_forms or glance.learn_form(form, given, output)
                        bag = call.bag
                        if not bag.count:
                            return packed[1:], 2, known
                        known = known and (bag.cleared_by is self._policy or self._clears(bag))
                        return packed[1:] + bag.packed, 2 + bag.count, known
            except Exception:  # keys that are no text, lone surrogates, integers beyond 64 bits
                pass
        tail, count = record.tail()
        return tail, count, False

    def _clears(self, bag: Bag) -> bool:
        """Tell whether a session and tags are known to be clean; they are looked at once."""
        policy = self._policy
        if bag.texts is None or not policy.clears(bag.texts, bag.tags):
            return False
        bag.cleared_by = policy
        return True

    def shorten(self, record: SuccessRecord) -> bytes | None:
        """Return a record in the short form, None when it must go the ordinary way. Never raises."""
        try:
            prepared = self.prepare(record)
            if prepared is None:
                return None
            tail, count, known = prepared
            if not known and self._policy.flags(tail):
                record._flagged_by = self._policy
                return None
            return record.compact(tail, count)
        except Exception:  # the ordinary way fails closed, and counts it
            return None

    def shorten_many(self, records: Sequence[SuccessRecord]) -> list[bytes | None]:
        """Do what `shorten` does for each of several records; those that are not known share a scan."""
        short: list[bytes | None] = []
        waiting: list[Waiting] = []
        for place, record in enumerate(breathing(records)):
            short.append(None)
            try:
                prepared = self.prepare(record)
                if prepared is not None:
                    tail, count, known = prepared
                    if known:
                        short[place] = record.compact(tail, count)
                    else:
                        waiting.append((place, record, tail, count))
            except Exception:
                continue
        for some in _portions(waiting):
            breathe()
            try:
                clean = not self._policy.flags(b"".join([tail for _, _, tail, _ in some]))
                for place, record, tail, count in some:
                    if clean or (len(some) > 1 and not self._policy.flags(tail)):
                        short[place] = record.compact(tail, count)
                    else:
                        record._flagged_by = self._policy
            except Exception:
                continue
        return short


def _portions(waiting: Sequence[Waiting]) -> Iterator[list[Waiting]]:
    """Yield what waits for a scan in portions that are scanned as one: few records and few bytes."""
    some: list[Waiting] = []
    size = 0
    for one in waiting:
        some.append(one)
        size += len(one[2])
        if len(some) == _TOGETHER or size >= _MANY_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def make_lane(pipeline: Pipeline, shorten: Shorten, accepted: Callable[[], int]) -> Lane:
    """Return the short way into the spool of a pipeline that writes MessagePack in process durability.

    ``accepted`` counts a record that was taken.
    """
    outlet, worker = pipeline.outlet, pipeline.worker
    levelno = SuccessRecord.levelno

    def lane(record: SuccessRecord) -> bool:
        writer = outlet.writer
        if writer is None or outlet.degraded or pipeline.closed or not worker.alive:
            return False
        short = shorten(record)
        if short is None:
            return False
        try:
            outlet.appended = writer.append(levelno, COMPACT, short)
        except SpoolError as error:
            outlet.fail(error)
            return False
        outlet.written += 1
        accepted()
        return True

    return lane
