"""Records of events that are no call's own: log lines, losses, evaluations."""

from __future__ import annotations

import json
import logging
import time
from http import HTTPStatus
from typing import Any

import pytest

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


@pytest.mark.parametrize(
    ("message", "args"),
    [
        ("%d items", ("many",)),
        ("order %s of %s", ("A-1",)),
        ("order", ("A-1", 7)),
        ("%(order)s", ({"other": 1},)),
        ("100 %", ("x",)),
    ],
)
def test_what_cannot_be_formatted_is_recorded_with_its_arguments(message: str, args: tuple[Any, ...]) -> None:
    """Of a line whose arguments do not fit its message nothing is missing: both are there, and why."""
    line = logging.LogRecord("app", 20, "", 0, message, args, None)
    document = record_from_log(line).document()
    assert document["message"] == message
    assert document["attributes"]["args"] == (args[0] if isinstance(args[0], dict) else list(args))
    assert document["attributes"]["args_error"]
    toolog.validate(document)


def test_arguments_that_do_not_fit_are_masked() -> None:
    """What stands among the attributes because it is in no message is sanitized like every other value."""
    line = logging.LogRecord("app", 20, "", 0, "%(who)s", ({"password": "hunter22", "phone": PHONE},), None)
    written = json.dumps(record_from_log(line).document())
    assert "hunter22" not in written
    assert PHONE not in written


def test_a_table_that_is_logged_is_kept_as_one() -> None:
    """Of a dictionary that is the message the items are attributes, too; an extra of the same name wins."""
    line = logging.LogRecord("app", 20, "", 0, {"event": "paid", "order": 7, "shard": 1}, (), None)
    line.shard = 2
    document = record_from_log(line).document()
    assert document["attributes"] == {"event": "paid", "order": 7, "shard": 2}
    assert "'order': 7" in document["message"]
    toolog.validate(document)


@pytest.mark.parametrize("created", ["yesterday", None, float("nan"), float("inf"), -1.0, 1e18])
def test_a_line_without_a_usable_time_has_the_present_one(created: Any) -> None:
    """A line made of anybody's data is recorded as of now where its time is none."""
    line = logging.makeLogRecord({"msg": "m", "levelno": 20, "created": created})
    before = stamp(time.time_ns()).decode()
    document = record_from_log(line).document()
    assert before <= document["timestamp"] <= stamp(time.time_ns()).decode()
    toolog.validate(document)


@pytest.mark.parametrize(
    ("number", "name", "level"),
    [("INFO", "INFO", "INFO"), (None, "WARNING", "WARNING"), ("30", "", "WARNING"), (None, None, "ERROR"),
     (HTTPStatus(300), "", "CRITICAL"), (20.0, "INFO", "INFO"), (-5, "odd", "DEBUG")],
)  # fmt: skip
def test_a_level_may_be_said_in_other_ways(number: Any, name: Any, level: str) -> None:
    """A level that is no plain number is found by its name; a line without one counts as an ERROR."""
    line = logging.makeLogRecord({"msg": "m", "levelno": number, "levelname": name})
    document = record_from_log(line).document()
    assert document["level"] == level
    toolog.validate(document)


@pytest.mark.parametrize("given", [KeyError("k"), (KeyError, KeyError("k"), None), (KeyError, KeyError("k"))])
def test_an_exception_is_found_in_every_form(given: Any) -> None:
    """The triple of `logging`, a part of it, and the exception itself are described alike."""
    line = logging.makeLogRecord({"msg": "m", "levelno": 40, "exc_info": given})
    assert record_from_log(line).document()["error"]["type"] == "KeyError"


@pytest.mark.parametrize("given", [True, (None, None, None), (KeyError,), ("KeyError", "k", ""), 5])
def test_what_is_no_exception_is_no_error(given: Any) -> None:
    """Where ``exc_info`` holds no exception, the line is recorded without one."""
    line = logging.makeLogRecord({"msg": "m", "levelno": 40, "exc_info": given})
    document = record_from_log(line).document()
    assert document["message"] == "m"
    assert "error" not in document


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
