"""What a formatter, a copy or a pickle shows of a record."""

from __future__ import annotations

import copy
import json
import logging
import logging.handlers
import pickle

import pytest

from tests.helpers import collecting, wrap
from toolog.record import ToolRecord

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
