"""The short way of the commonest record: a success with flat content that is known to be clean.

What the stations do one after the other for any record, this does in one function, and in the short form that
only the spool knows. First it asks for the record's *form*: what JSON it would be, with all digits alike. A
form that was clean once is clean always; else names and words are looked at as `sanitize.glance` does. A
record that is anything else goes the ordinary way; nothing is decided here that would be decided otherwise
there (docs/decisions/short-way.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from orjson import dumps
from ormsgpack import packb

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

_MOST_PACKED = 4096


def no_lane(record: SuccessRecord) -> bool:
    """Take nothing: every record goes the ordinary way."""
    return False


def not_short(record: SuccessRecord) -> bytes | None:
    """Make no record short."""
    return None


def make_shorten(policy: Policy) -> Shorten:
    """Return what makes records short as far as this policy (the sanitizer's) is known to change nothing."""
    glance: Glance | None = policy.glance
    if glance is None:
        return not_short
    clean_forms, learn_form = glance.clean_forms, glance.learn_form

    def shorten(record: SuccessRecord) -> bytes | None:
        call = record._call
        given: Any = call.input
        output: Any = record._output
        if type(given) is bytes or type(output) is bytes or record.toolog_sanitizer is not None:
            return None
        bag = call.bag
        if bag.count and bag.cleared_by is not policy:  # the ordinary way looks at a session and tags once
            return None
        if record._sealed is not None:  # another handler's sanitizer was first
            return None
        try:
            both = {"input": given, "output": output}
            packed: bytes = packb(both)
            if len(packed) > _MOST_PACKED:
                return None
            form = dumps(both).translate(DIGITS)
        except Exception:  # keys that are no text, lone surrogates, integers beyond 64 bits
            return None
        if form not in clean_forms and not learn_form(form, given, output):
            return None
        if b"null" in form and may_be_no_number(packed):
            return None
        return record.compact(packed[1:])

    return shorten


def make_lane(pipeline: Pipeline, accepted: Callable[[], int]) -> Lane:
    """Return the short way into the spool of a pipeline that writes MessagePack in process durability.

    ``accepted`` counts a record that was taken.
    """
    outlet, worker, shorten = pipeline.outlet, pipeline.worker, pipeline.shorten
    levelno = SuccessRecord.levelno
    if shorten is not_short:
        return no_lane

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
