"""A record in the spool's short form, as a sink sees it."""

from __future__ import annotations

import ormsgpack
from hypothesis import given

from tests.shorts import make_short, shorts
from tests.sinks.search.test_document import values
from toolog.serializers.compact import expand, id_of, made_at
from toolog.sinks.base import MSGPACK, SinkRecord
from toolog.sinks.short import ShortRecord


def test_a_short_record_is_a_record_like_others() -> None:
    """Its bytes, document, id and place are those of the record that it is short for."""
    short = make_short({"input": {"order": 5}, "output": "found"})
    one, other = ShortRecord(short, 20, "info", "segment", 7), SinkRecord(expand(short), 1, 20, "info")
    assert (one.data, one.decode(), one.record_id) == (other.data, other.decode(), other.record_id)
    assert (one.serializer, one.level, one.policy) == (MSGPACK, 20, "info")
    assert (one.segment, one.seq) == ("segment", 7)
    assert repr(one) == repr(other)


@given(shorts(values))
def test_facts_of_a_short_form_are_those_of_its_record(short: bytes) -> None:
    """The id and the time that are read from the short form are those that the record says."""
    record = ormsgpack.unpackb(expand(short))
    assert record["record_id"] == id_of(short)
    assert record["timestamp"].endswith(f".{made_at(short) // 1000 % 1_000_000:06d}Z")
