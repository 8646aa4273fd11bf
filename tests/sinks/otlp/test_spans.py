"""What becomes of a call's record: a span by the gen-ai conventions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import documents
from tests.services.collector import plain, table
from toolog.errors import SerializationError
from toolog.sinks.otlp.messages import load_messages
from toolog.sinks.otlp.spans import make_span
from toolog.sinks.otlp.values import DEEPEST, Values

MESSAGES = load_messages()
VALUES = Values(MESSAGES)

RICH = {
    "tool": {
        "module": "shop.search", "qualname": "Search.find", "package": "shop", "version": "1.2",
        "type": "datastore", "description": "Finds shoes.",
    },
    "tool_call_id": "call_1",
    "session_id": "order-1",
    "instance_id": "i1",
    "parent_id": "00000000000000aa",
    "depth": 1,
    "tags": {"order": "o-1", "urgent": True},
    "service": {"name": "agent", "version": "2", "environment": "prod"},
    "process": {"pid": 4711, "thread": "MainThread", "task": "Task-1"},
    "host": "web-1",
    "stdout": "looking",
    "masked": {"phone": 2},
    "evaluation": {
        "overall_score": 0.5, "passed": False, "scores": {"length": 0.5, "style": None},
        "details": {"length": "too short"},
    },
}  # fmt: skip


def span(document: dict[str, Any]) -> Any:
    """Return the span of a document after a way through its bytes."""
    made = make_span(document, MESSAGES, VALUES)
    return type(made).FromString(made.SerializeToString())


def test_a_call_is_a_span_with_the_names_of_the_conventions() -> None:
    """Ids, times, name and kind are the span's own; arguments and result are objects, a list is wrapped."""
    made = span(documents.call(7, **RICH))
    assert made.name == "execute_tool search"
    assert made.trace_id.hex() == documents.TRACE
    assert (made.span_id.hex(), made.parent_span_id.hex()) == ("0000000000000008", "00000000000000aa")
    assert made.kind == 1
    assert made.start_time_unix_nano == 1796040007 * 10**9
    assert made.end_time_unix_nano - made.start_time_unix_nano == 12_500_000
    assert made.status.code == 0
    assert table(made.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.type": "datastore",
        "gen_ai.tool.description": "Finds shoes.",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": {"query": "shoes 7"},
        "gen_ai.tool.call.result": {"value": [{"id": 7, "name": "Läufer 日本 🥿"}]},
        "code.function.name": "shop.search.Search.find",
        "session.id": "order-1",
        "thread.name": "MainThread",
        "toolog.depth": 1,
        "toolog.event": "tool_call_success",
        "toolog.instance_id": "i1",
        "toolog.masked": {"phone": 2},
        "toolog.process.task": "Task-1",
        "toolog.record_id": f"{7:032x}",
        "toolog.schema_version": "1.0",
        "toolog.status": "success",
        "toolog.stdout": "looking",
        "toolog.tags.order": "o-1",
        "toolog.tags.urgent": True,
        "toolog.tool.package": "shop",
        "toolog.tool.version": "1.2",
    }


def test_an_evaluation_is_an_event_for_each_score() -> None:
    """The overall score and that of each rule are events ``gen_ai.evaluation.result``."""
    made = span(documents.call(1, **RICH))
    assert [event.name for event in made.events] == ["gen_ai.evaluation.result"] * 3
    assert [table(event.attributes) for event in made.events] == [
        {
            "gen_ai.evaluation.name": "overall",
            "gen_ai.evaluation.score.value": 0.5,
            "gen_ai.evaluation.score.label": "fail",
        },
        {
            "gen_ai.evaluation.name": "length",
            "gen_ai.evaluation.score.value": 0.5,
            "gen_ai.evaluation.explanation": "too short",
        },
        {"gen_ai.evaluation.name": "style"},
    ]


def test_a_failure_says_its_error_as_status_attribute_and_event() -> None:
    """A failed call has the status error, ``error.type``, and an event ``exception`` with the stack."""
    document = documents.failed(3, "CardError", "refused")
    document["error"] = {
        "type": "CardError",
        "message": "refused",
        "stack": "a\nb",
        "chain": [{"type": "OSError"}],
    }
    made = span(document)
    assert (made.status.code, made.status.message) == (2, "refused")
    assert table(made.attributes)["error.type"] == "CardError"
    (event,) = made.events
    assert event.name == "exception"
    assert event.time_unix_nano == made.end_time_unix_nano
    assert table(event.attributes) == {
        "exception.type": "CardError",
        "exception.message": "refused",
        "exception.stacktrace": "a\nb",
        "toolog.error.chain": [{"type": "OSError"}],
    }


@pytest.mark.parametrize(
    ("event", "status", "code", "kind"),
    [
        ("tool_call_rejected", "unknown_tool", 2, "unknown_tool"),
        ("tool_call_failed", "timeout", 2, "timeout"),
        ("tool_call_cancelled", "closed", 0, None),
    ],
)
def test_an_end_without_an_exception_is_told_by_its_status(
    event: str, status: str, code: int, kind: str | None
) -> None:
    """Rejected calls and timeouts are errors by their status; what was cancelled is none."""
    made = span(documents.call(1, event=event, status=status, level="WARNING"))
    assert made.status.code == code
    assert table(made.attributes).get("error.type") == kind
    assert table(made.attributes)["toolog.status"] == status


def test_a_record_without_ids_or_a_time_is_no_span() -> None:
    """What has no trace, no span or no time of this epoch is refused with the reason."""
    for fields in ({"trace_id": None}, {"span_id": "x" * 16}, {"trace_id": "0" * 32}, {"timestamp": "soon"}):
        with pytest.raises(SerializationError):
            make_span(documents.call(1, **fields), MESSAGES, VALUES)
    with pytest.raises(SerializationError, match="1970"):
        make_span(documents.call(1, timestamp="1969-12-31T23:59:59.000000Z"), MESSAGES, VALUES)


def test_an_absurd_duration_ends_the_span_where_it_begins() -> None:
    """A duration beyond all measure does not break the span."""
    made = span(documents.call(1, duration_ms=1e300))
    assert made.end_time_unix_nano == made.start_time_unix_nano


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(PLAIN)
def test_a_plain_value_reads_back_the_same(value: Any) -> None:
    """Any plain value within the depth that is written as such comes back from its bytes as it was."""
    made = VALUES.make(value)
    assert plain(type(made).FromString(made.SerializeToString())) == value


def test_what_lies_deeper_than_readers_go_is_a_text() -> None:
    """Readers of protobuf give up at a hundred messages in each other: below 16 containers stands JSON."""
    value: Any = 1
    for _ in range(60):
        value = [value]
    made = VALUES.make(value)
    found = plain(type(made).FromString(made.SerializeToString()))
    for _ in range(DEEPEST):
        found = found[0]
    assert found == "[" * (60 - DEEPEST) + "1" + "]" * (60 - DEEPEST)


def test_a_number_beyond_64_bits_is_a_text_of_its_digits() -> None:
    """OTLP's integers have a sign: the larger half of the unsigned ones is written as text."""
    assert plain(VALUES.make(2**64 - 1)) == str(2**64 - 1)
