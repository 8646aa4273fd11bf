"""The record of a call as a span."""

from __future__ import annotations

from typing import Any

from toolog.errors import SerializationError
from toolog.sinks.otlp import fields
from toolog.sinks.otlp.fields import Document
from toolog.sinks.otlp.messages import Messages
from toolog.sinks.otlp.values import Values

INTERNAL = 1
ERROR = 2
SAMPLED = 1
_FAILED = frozenset({"tool_call_failed", "tool_call_rejected"})
_HANDLED = frozenset({"duration_ms", "error", "evaluation"})
_LONGEST = 1 << 62


def make_span(document: Document, messages: Messages, values: Values) -> Any:
    """Return the span ``execute_tool <name>`` of a call's record. Raises SerializationError for a record
    without ids or a time.
    """
    trace, span = fields.id_of(document, "trace_id", 16), fields.id_of(document, "span_id", 8)
    if not trace or not span:
        raise SerializationError("a span needs a trace_id and a span_id")
    start = fields.moment(document)
    duration = document.get("duration_ms")
    spent = int(duration * 1e6) if isinstance(duration, (int, float)) and 0 <= duration < 1e12 else 0
    failed = document.get("event") in _FAILED
    pairs = [("gen_ai.operation.name", fields.OPERATION), *fields.attributes(document, _HANDLED)]
    error = document.get("error")
    if failed:
        pairs.append(("error.type", fields.error_type(document)))
    events = []
    if type(error) is dict:
        events.append(("exception", list(fields.exception(error))))
    if type(evaluation := document.get("evaluation")) is dict:
        events += [("gen_ai.evaluation.result", found) for found in fields.evaluations(evaluation)]
    end = min(start + spent, _LONGEST)
    make_event = messages.Span.Event
    return messages.Span(
        trace_id=trace,
        span_id=span,
        parent_span_id=fields.id_of(document, "parent_id", 8),
        flags=SAMPLED,
        name=f"{fields.OPERATION} {document.get('tool_name') or 'unknown'}",
        kind=INTERNAL,
        start_time_unix_nano=start,
        end_time_unix_nano=end,
        attributes=values.pairs(pairs),
        events=[
            make_event(time_unix_nano=end, name=name, attributes=values.pairs(found))
            for name, found in events
        ],
        status=messages.Status(code=ERROR, message=_why(document)) if failed else None,
    )


def _why(document: Document) -> str:
    error = document.get("error")
    message = error.get("message") if type(error) is dict else None
    return str(message or document.get("status") or "")
