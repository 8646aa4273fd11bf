"""The short way of the commonest record: a success with flat content that is known to be clean.

What the stations do one after the other for any record, this does in one function: names, words and digits
are looked at as `sanitize.glance` does, the rest is done by the same functions as ever. It saves the calls of
eight Python functions on the caller's way in process durability (docs/decisions/short-way.md). A record that
is anything else goes the ordinary way; nothing is decided here that would be decided otherwise there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolog.errors import SpoolError
from toolog.record import SuccessRecord
from toolog.sanitize.glance import BETWEEN, RUN, WORDS
from toolog.sanitize.policy import Policy
from toolog.snapshot.flat import pack_flat

if TYPE_CHECKING:
    from toolog.pipeline import Pipeline

Lane = Callable[[SuccessRecord], bool]
"""Takes a record as far as the disk; False when it must go the ordinary way."""

_LARGE = b"\xcf"
"""Begins an integer of 64 bits in MessagePack: a telephone number, perhaps."""


def no_lane(record: SuccessRecord) -> bool:
    """Take nothing: every record goes the ordinary way."""
    return False


def make_lane(pipeline: Pipeline, policy: Policy, accepted: Callable[[], int]) -> Lane:
    """Return the short way into the spool of a pipeline that writes MessagePack in process durability.

    ``policy`` is that of its sanitizer, ``accepted`` counts a record that was taken.
    """
    glance = policy.glance
    if glance is None:
        return no_lane
    outlet, worker = pipeline.outlet, pipeline.worker
    levelno, code = SuccessRecord.levelno, pipeline.serializer.code
    are_clean_keys = glance.clean_keys.issuperset
    are_clean_words = glance.clean_words.issuperset

    def lane(record: SuccessRecord) -> bool:
        call, texts = record._call, record._texts
        more, bag, writer = call.texts, call.bag, outlet.writer
        if texts is None or more is None or record.toolog_sanitizer is not None:
            return False
        if bag.count and bag.cleared_by is not policy:  # the ordinary way looks at a session and tags once
            return False
        if writer is None or outlet.degraded or pipeline.closed or not worker.alive:
            return False
        if record._sealed is not None:  # another handler's sanitizer was first
            return False
        given: Any = call.input
        output: Any = record._output
        packed = pack_flat(given, output)  # first: it refuses keys that are no plain text
        if packed is None or _LARGE in packed:
            return False
        if not are_clean_keys(given) or (type(output) is dict and not are_clean_keys(output)):
            return False
        text = BETWEEN.join(more + texts)
        if not text.isascii():
            return False
        words = text.encode().translate(WORDS).split()
        if not are_clean_words(words) or RUN in b"".join(words).replace(b"-", b""):
            return False
        record._sealed = sealed = record.assemble(packed + bag.packed, 2 + bag.count)
        try:
            outlet.appended = writer.append(levelno, code, sealed)
        except SpoolError as error:
            outlet.fail(error)
            return False
        outlet.written += 1
        accepted()
        return True

    return lane
