"""Records of events that are no call's own: log lines, losses, evaluations."""

from __future__ import annotations

import json
import logging

import toolog
from tests.helpers import collecting, wrap
from toolog.emit import emit_event, loss_record
from toolog.events import make_record, record_from_log
from toolog.record import ToolRecord, stamp

PHONE = "138" + "0013" + "8000"


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
