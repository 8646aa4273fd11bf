"""What is no call's end: log records."""

from __future__ import annotations

from typing import Any

import pytest

from tests import documents
from tests.services.collector import plain, table
from toolog.errors import SerializationError
from toolog.sinks.otlp.events import make_logs
from toolog.sinks.otlp.messages import load_messages
from toolog.sinks.otlp.values import Values

MESSAGES = load_messages()


def logs(document: dict[str, Any]) -> list[Any]:
    """Return the log records of a document after a way through their bytes."""
    made = make_logs(document, MESSAGES, Values(MESSAGES))
    return [type(one).FromString(one.SerializeToString()) for one in made]


@pytest.mark.parametrize(
    ("document", "name", "body", "severity"),
    [
        (documents.log(1, "a line"), "toolog.log", "a line", 9),
        (documents.started(2), "toolog.tool_call_start", "search tool call start", 5),
        (documents.instance(3, {"k": 1}, "sha256:1"), "toolog.tool_instance", "Search tool instance", 9),
        (documents.loss(4, 7), "toolog.loss", "7 records lost: queue_full", 13),
        (
            documents.failed(5, "CardError", "refused"),
            "toolog.tool_call_failed",
            "search tool call failed: CardError: refused",
            17,
        ),
    ],
)
def test_each_event_is_a_log_record(document: dict[str, Any], name: str, body: str, severity: int) -> None:
    """The event's name, a sentence for people, the severity and the time are the log record's own."""
    (made,) = logs(document)
    assert (made.event_name, plain(made.body), made.severity_number) == (name, body, severity)
    assert made.severity_text == document["level"]
    assert made.trace_id.hex() == document.get("trace_id", "")
    assert made.time_unix_nano % 10**9 in (0, 500_000_000)
    assert made.observed_time_unix_nano > made.time_unix_nano - 10**18
    assert table(made.attributes)["toolog.record_id"] == document["record_id"]


def test_an_evaluation_is_a_log_record_for_each_score() -> None:
    """A later judgement is told as ``gen_ai.evaluation.result``, with the ids of the call it judges."""
    document = documents.log(1, "", event="evaluation", trace_id=documents.TRACE, span_id="00000000000000aa")
    del document["message"]
    document["evaluation"] = {"overall_score": 1.0, "passed": True, "scores": {"style": 1.0}}
    overall, style = logs(document)
    assert {overall.event_name, style.event_name} == {"gen_ai.evaluation.result"}
    assert overall.span_id.hex() == style.span_id.hex() == "00000000000000aa"
    assert table(overall.attributes)["gen_ai.evaluation.score.label"] == "pass"
    assert table(style.attributes)["gen_ai.evaluation.name"] == "style"


def test_a_failed_call_as_a_log_record_has_its_exception() -> None:
    """For a backend that takes logs only, a failure's log record has what the span would say of it."""
    document = documents.failed(1, "CardError", "refused")
    document["error"]["stack"] = "a\nb"
    found = table(logs(document)[0].attributes)
    assert found["error.type"] == found["exception.type"] == "CardError"
    assert found["exception.stacktrace"] == "a\nb"
    assert found["gen_ai.operation.name"] == "execute_tool"


def test_a_record_without_a_time_is_refused() -> None:
    """A record without a time is no log record."""
    with pytest.raises(SerializationError, match="timestamp"):
        make_logs(documents.log(1, "x", timestamp=None), MESSAGES, Values(MESSAGES))
