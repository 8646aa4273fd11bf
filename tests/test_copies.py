"""Copies of tool calls' records that come back to a handler, and log lines that come later than they were
logged.
"""

from __future__ import annotations

import copy
import json
import logging
import logging.handlers
import pickle
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolog
from tests.helpers import collecting, wrap
from tests.pipeline.handlers import Make, making
from toolog.copies import record_from_copy
from toolog.events import record_from_log
from toolog.instrumentation import loglines
from toolog.record import ToolRecord

PHONE = "138" + "0013" + "8000"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """What makes handlers with a file as their sink."""
    out = {"out": {"type": "file", "path": str(tmp_path / "out.jsonl"), "batch": {"max_age": 0.01}}}
    with making(tmp_path, sinks=out) as made:
        yield made


@pytest.fixture
def noting() -> Iterator[None]:
    """Log lines say which call they were logged in."""
    loglines.install()
    yield
    loglines.undo()


def fail(text: str) -> None:
    """Raise what was asked for."""
    raise ValueError(text)


def failed() -> ToolRecord:
    """Return the record of a failed call in a session."""
    session = toolog.session("order-1", stage="payment")
    with collecting() as seen, session, pytest.raises(ValueError, match="call"):
        wrap(fail)(f"call {PHONE}")
    return seen.records[0]


def stored(folder: Path) -> list[dict[str, Any]]:
    """Return the documents in the sink's file."""
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_a_copy_is_the_same_record_again() -> None:
    """A copy or a pickle of a record gives the same document, with what was masked counted once."""
    record = failed()
    for line in (
        copy.copy(record),
        pickle.loads(pickle.dumps(record)),
        logging.handlers.QueueHandler(queue.Queue()).prepare(record),
        logging.makeLogRecord(
            pickle.loads(logging.handlers.SocketHandler("127.0.0.1", 1).makePickle(record)[4:])
        ),
    ):
        again = record_from_copy(line)
        assert again is not None
        assert again.document() == record.document()
        assert again.levelno == logging.ERROR
        assert PHONE not in repr(vars(again))


def test_what_another_sanitizer_masks_counts_too() -> None:
    """A copy is sanitized by whoever gets it; its own counts and those of the copy add up."""
    record = failed()
    before = dict(record.document()["masked"])
    line = copy.copy(record)
    toolog.Sanitizer(keys_add=["stage"]).filter(line)  # as a filter of the handler does
    again = record_from_copy(line)
    assert again is not None
    document = again.document()
    assert "payment" not in json.dumps(document["tags"])
    assert sum(document["masked"].values()) == sum(before.values()) + 1
    toolog.validate(document)


@pytest.mark.parametrize(
    "given",
    [
        None, 5, "text", {}, {"record_id": "x"}, {"record_id": "a" * 32, "event": "tool_call_success"},
        {"a": object()},
    ],
)  # fmt: skip
def test_what_only_looks_like_a_copy_is_a_log_line(given: object) -> None:
    """An application's own ``extra={"toolog": ...}`` stays what it is: an attribute of a line."""
    line = logging.makeLogRecord({"name": "app", "msg": "m", "levelno": 20, "toolog": given})
    assert record_from_copy(line) is None
    document = record_from_log(line).document()
    assert document["event"] == "log"
    assert "toolog" in document["attributes"]
    toolog.validate(document)


def test_calls_arrive_through_a_queue_and_a_buffer(make: Make, tmp_path: Path) -> None:
    """Behind a QueueHandler or a MemoryHandler the handler stores tool calls as what they are."""
    _, handler = make()
    lines: queue.Queue[Any] = queue.Queue()
    listener = logging.handlers.QueueListener(lines, handler, respect_handler_level=True)
    listener.start()
    buffer = logging.handlers.MemoryHandler(100, target=handler)
    before = [failed(), failed()]
    logging.handlers.QueueHandler(lines).handle(before[0])
    listener.stop()
    buffer.handle(before[1])
    buffer.close()
    assert handler.flush(60)
    assert stored(tmp_path) == [record.document() for record in before]


def test_a_line_that_comes_later_names_the_call_it_was_logged_in(
    make: Make, tmp_path: Path, noting: None
) -> None:
    """Through a queue or a buffer a line keeps its call, its process and its thread, whatever is called when
    it arrives.
    """
    _, handler = make()
    app = logging.Logger("app", logging.INFO)
    lines: queue.Queue[Any] = queue.Queue()
    buffer = logging.handlers.MemoryHandler(100, flushLevel=100)
    app.handlers = [logging.handlers.QueueHandler(lines), buffer]

    def work() -> None:
        app.info("inside")

    def late() -> None:
        buffer.setTarget(handler)
        buffer.flush()

    with collecting() as seen:
        app.info("outside")
        wrap(work)()
        wrap(late)()
    thread = threading.Thread(target=lambda: [handler.handle(lines.get()) for _ in range(2)])
    thread.start()
    thread.join()
    assert handler.flush(60)
    call = seen.documents[0]
    found = stored(tmp_path)
    assert [one["message"] for one in found] == ["outside", "inside"] * 2
    for one in found:
        ids = {key: one.get(key) for key in ("trace_id", "span_id", "tool_name")}
        inside = one["message"] == "inside"
        assert ids == {key: call[key] if inside else None for key in ids}
        assert one["process"] == call["process"]
        assert "attributes" not in one
        toolog.validate(one)


def test_a_trace_id_of_the_applications_own_is_kept(noting: None) -> None:
    """What an application calls ``trace_id`` or ``tool_name`` is an attribute; the record's is the call's."""
    made: list[ToolRecord] = []
    app = logging.Logger("app", logging.INFO)
    app.addHandler(handler := logging.Handler())
    handler.emit = lambda line: made.append(record_from_log(line))  # type: ignore[method-assign]

    def work() -> None:
        app.info("m", extra={"trace_id": "abc", "tool_name": "hammer"})

    with collecting() as seen:
        wrap(work)()
    app.info("m", extra={"trace_id": 5, "span_id": "x"})
    inside, outside = (record.document() for record in made)
    assert inside["trace_id"] == seen.only()["trace_id"]
    assert inside["tool_name"] == "work"
    assert inside["attributes"] == {"trace_id": "abc", "tool_name": "hammer"}
    assert outside["attributes"] == {"trace_id": 5, "span_id": "x"}
    assert "trace_id" not in outside
    toolog.validate(outside)
