"""The frozen record and what it shows."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import logging.handlers
import os
import pickle
import re

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolog
from tests.helpers import collecting, wrap
from toolog import record as module
from toolog.context import current
from toolog.emit import emit_event, loss_record
from toolog.errors import SerializationError
from toolog.record import (
    SuccessRecord,
    ToolRecord,
    make_record,
    new_record_id,
    record_from_log,
    stamp,
)
from toolog.serializers.base import COMPACT
from toolog.serializers.compact import expand, unfold

PHONE = "138" + "0013" + "8000"


def call(phone: str) -> str:
    """Return text with the number in it."""
    return f"dialled {phone}"


@pytest.fixture
def record() -> ToolRecord:
    """A record whose content holds a phone number."""
    with collecting() as seen:
        wrap(call)(PHONE)
    return seen.records[0]


def test_every_view_is_masked(record: ToolRecord) -> None:
    """Whatever a formatter, a copy, a pickle or a repr shows of a record, the raw value is not in it."""
    views = [
        record.getMessage(),
        repr(record),
        str(record.__dict__),
        json.dumps(record.document()),
        logging.Formatter("%(message)s %(levelname)s %(name)s %(trace_id)s %(toolog)s").format(record),
        repr(copy.copy(record).__dict__),
        repr(copy.deepcopy(record).__dict__),
        repr(pickle.loads(pickle.dumps(record)).__dict__),
        repr(vars(record)),
        logging.handlers.SocketHandler("127.0.0.1", 1).makePickle(record).decode("latin-1"),
    ]
    for view in views:
        assert PHONE not in view
    assert "****" in record.getMessage() or "MASKED" in record.getMessage()


def test_a_queue_handler_carries_it(record: ToolRecord) -> None:
    """The standard QueueHandler can prepare our record, and what it queues is masked."""
    prepared = logging.handlers.QueueHandler(None).prepare(record)  # type: ignore[arg-type]
    assert "call" in prepared.getMessage()
    assert PHONE not in repr(prepared.__dict__)


def test_standard_attributes_are_there(record: ToolRecord) -> None:
    """A formatter finds every attribute that a LogRecord has, and our ids."""
    line = "%(asctime)s %(created)f %(filename)s %(funcName)s %(levelno)s %(lineno)d %(module)s %(msecs)d"
    line += (
        " %(pathname)s %(process)d %(processName)s %(relativeCreated)d %(thread)s %(threadName)s %(span_id)s"
    )
    assert record.document()["span_id"] in logging.Formatter(line).format(record)
    assert abs(record.created - __import__("time").time()) < 60
    with pytest.raises(AttributeError):
        _ = record.nothing_of_the_kind


def test_attributes_set_by_a_filter_are_kept(record: ToolRecord) -> None:
    """A filter may add attributes to a record; formatters see them."""
    record.request = "r-1"
    assert logging.Formatter("%(request)s").format(record) == "r-1"


def test_without_a_sanitizer_content_is_withheld(record: ToolRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that nobody can sanitize shows its facts only."""
    monkeypatch.setattr(ToolRecord, "sealer", None)
    document = record.document()
    assert "input" not in document
    assert document["tool_name"] == "call"


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


def test_a_log_line_becomes_a_log_event() -> None:
    """An application's log line is a record of its own, with its logger, level, message, error and extras."""
    try:
        raise KeyError("gone")
    except KeyError:
        import sys

        line = logging.LogRecord("app.db", logging.ERROR, "a.py", 3, "lost %s", ("row",), sys.exc_info())
    line.shard = 7
    document = record_from_log(line).document()
    assert (document["event"], document["logger"], document["message"]) == ("log", "app.db", "lost row")
    assert document["error"]["type"] == "KeyError"
    assert document["attributes"] == {"shard": 7}
    toolog.validate(document)


def test_a_log_line_inside_a_call_names_it() -> None:
    """A log line made during a call carries the call's trace, span and tool."""
    made: list[ToolRecord] = []

    def work() -> None:
        made.append(record_from_log(logging.makeLogRecord({"name": "x", "msg": "m", "levelno": 20})))

    with collecting() as seen:
        wrap(work)()
    assert made[0].document()["span_id"] == seen.only()["span_id"]
    assert made[0].document()["tool_name"] == "work"


def test_a_line_that_cannot_be_formatted_is_still_recorded() -> None:
    """Wrong %-arguments give a note instead of an error."""
    line = logging.LogRecord("app", 20, "", 0, "%d %d", ("x",), None)
    assert record_from_log(line).document()["message"].startswith("[no text: TypeError")


def test_loss_records_are_valid() -> None:
    """A loss says how many were dropped, why, since when."""
    now = stamp(1).decode()
    document = loss_record("queue_full", 3, first=now, last=now, level="DEBUG", sink="store").document()
    assert (document["event"], document["reason"], document["count"]) == ("loss", "queue_full", 3)
    toolog.validate(document)


def test_events_go_through_the_door() -> None:
    """An event that is no call's own reaches the handlers of toolog.calls, and its content is masked."""
    with collecting() as seen:
        emit_event("evaluation", facts={"trace_id": "a" * 32, "span_id": "b" * 16},
                   content={"evaluation": {"overall_score": 0.5, "details": f"call {PHONE}"}})  # fmt: skip
    assert PHONE not in json.dumps(seen.only())
    assert seen.only()["masked"]


def test_heads_are_facts_only(record: ToolRecord) -> None:
    """The head of a record holds no content, so that no rule can touch an id."""
    head, count = record.head()
    facts = ormsgpack.unpackb(module._COUNTS[count] + head)
    assert {"input", "output", "error", "tags", "session_id"}.isdisjoint(facts)
    assert current.get() is None


def test_a_record_of_many_fields_is_assembled() -> None:
    """A map's head is right on both sides of sixteen pairs."""
    for number in (1, 5, 6, 7, 8, 40):
        content = {f"field{n}": n for n in range(number)}
        document = make_record("log", 20, content=content).document()
        assert {key: document[key] for key in content} == content


def test_a_line_with_odd_attributes_is_valid() -> None:
    """A line with a name, stack or exception text of another type still makes a valid record."""
    line = logging.makeLogRecord({"name": None, "msg": "m", "levelno": 20, "stack_info": 5, "exc_text": 5})
    toolog.validate(record_from_log(line).document())


def _short_and_whole(record: ToolRecord) -> tuple[bytes, bytes]:
    assert type(record) is SuccessRecord
    tail, count = record.tail()
    return expand(record.compact(tail, count)), record.assemble(tail, count)


def test_the_short_form_gives_the_document() -> None:
    """Of a root, a child, a call in a session, in a task and of an instance: what the spool holds becomes,
    byte for byte, the document that is assembled at once."""
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
