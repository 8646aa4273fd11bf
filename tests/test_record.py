"""Records of calls: their ids, stamps, heads and short form."""

from __future__ import annotations

import asyncio
import os
import re

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolog
from tests.helpers import collecting, wrap
from toolog import record as module
from toolog.context import current
from toolog.errors import SerializationError
from toolog.record import SuccessRecord, ToolRecord, new_record_id, stamp
from toolog.serializers.base import COMPACT
from toolog.serializers.compact import expand, unfold
from toolog.settings.resolve import reset_capture


@given(st.integers(min_value=0, max_value=4_102_444_800 * 10**9))
def test_stamps_are_rfc3339(nanoseconds: int) -> None:
    """A stamp is RFC 3339 in UTC with microseconds, and reads back to the same microsecond."""
    from datetime import datetime

    text = stamp(nanoseconds).decode()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text)
    read = datetime.fromisoformat(text)
    assert int(read.timestamp()) == nanoseconds // 10**9
    assert read.microsecond == nanoseconds // 1000 % 10**6


def test_ids_are_unique_also_after_fork() -> None:
    """A forked child makes other ids than its parent."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, b" ".join(new_record_id() for _ in range(100)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        childs = set(pipe.read().split())
    os.waitpid(pid, 0)
    ours = {new_record_id() for _ in range(100)}
    assert len(childs) == len(ours) == 100
    assert not childs & ours
    assert {name[:16] for name in childs}.isdisjoint({name[:16] for name in ours})


def test_heads_are_facts_only() -> None:
    """The head of a record holds no content, so that no rule can touch an id."""
    with collecting() as seen:
        wrap(len)("walnut lamp")
    head, count = seen.records[0].head()
    facts = ormsgpack.unpackb(module._COUNTS[count] + head)
    assert {"input", "output", "error", "tags", "session_id"}.isdisjoint(facts)
    assert current.get() is None


def _short_and_whole(record: ToolRecord) -> tuple[bytes, bytes]:
    assert type(record) is SuccessRecord
    tail, count = record.tail()
    return expand(record.compact(tail, count)), record.assemble(tail, count)


def test_the_short_form_gives_the_document() -> None:
    """Of a root, a child, a call in a session, in a task and of an instance: what the spool holds becomes,
    byte for byte, the document that is assembled at once."""
    reset_capture()  # whatever was configured before: only plain calls make the record that has a short form
    inner = wrap(lambda value: value, "inner")
    outer = wrap(lambda value: inner(value), "outer")
    identity = b"\xb0" + b"a" * 16
    method = wrap(lambda owner, value: value, "method", skip_first=True, identify=lambda owner: identity)

    class Owner:
        find = method

    with collecting() as collector:
        inner("walnut lamp")
        outer({"sku": "A-1001", "price": 19.9, "note": None})
        with toolog.session("order-17", customer="Ada"):
            outer(7)
        Owner().find("value")

        async def task() -> None:
            inner(True)

        asyncio.run(task())
    assert len(collector.records) == 7
    for record in collector.records:
        short, whole = _short_and_whole(record)
        assert short == whole
        toolog.validate(ormsgpack.unpackb(short))


def test_a_damaged_short_form_is_refused() -> None:
    """Fewer bytes than a short form has at least are told as such, not guessed at."""
    with pytest.raises(SerializationError, match="short form"):
        unfold(b"abc", COMPACT)
    assert unfold(b"abc", 1) == (b"abc", 1)
