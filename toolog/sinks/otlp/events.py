"""Any record as log records: what is no span, or all of them for a backend that takes logs only."""

from __future__ import annotations

import time
from typing import Any

from toolog.sinks.otlp import fields
from toolog.sinks.otlp.fields import CALLS, Document, Pair
from toolog.sinks.otlp.messages import Messages
from toolog.sinks.otlp.values import Values

EVALUATION = "gen_ai.evaluation.result"
_SEVERITIES = {"DEBUG": 5, "INFO": 9, "WARNING": 13, "ERROR": 17, "CRITICAL": 21}
_HANDLED = frozenset({"message", "error", "evaluation"})
_SAMPLED = 1


def make_logs(document: Document, messages: Messages, values: Values) -> list[Any]:
    """Return the log records of a record: one, or for an evaluation one for each score. Raises
    SerializationError for a record without a time.
    """
    event = str(document.get("event"))
    pairs: list[Pair] = list(fields.attributes(document, _HANDLED))
    if event in CALLS:
        pairs.insert(0, ("gen_ai.operation.name", fields.OPERATION))
    if type(error := document.get("error")) is dict:
        pairs += [("error.type", fields.error_type(document)), *fields.exception(error)]
    level = str(document.get("level"))
    trace, span = fields.id_of(document, "trace_id", 16), fields.id_of(document, "span_id", 8)
    name, each = f"toolog.{event}", [pairs]
    if type(evaluation := document.get("evaluation")) is dict:
        results = list(fields.evaluations(evaluation))
        if event == "evaluation":
            name, each = EVALUATION, [[*pairs, *found] for found in results]
        else:
            pairs.append(("toolog.evaluation", evaluation))
    moment = fields.moment(document)
    return [
        messages.LogRecord(
            time_unix_nano=moment,
            observed_time_unix_nano=time.time_ns(),
            severity_number=_SEVERITIES.get(level, 0),
            severity_text=level,
            event_name=name,
            body=values.make(_sentence(document, event)),
            attributes=values.pairs(some),
            trace_id=trace,
            span_id=span,
            flags=_SAMPLED if trace else 0,
        )
        for some in each
    ]


def _sentence(document: Document, event: str) -> str:
    """Return what a person reads of a record in a list of log lines."""
    if (message := document.get("message")) is not None:
        return str(message)
    words = event.replace("_", " ")
    if event == "loss":
        return f"{document.get('count')} records lost: {document.get('reason')}"
    tool = document.get("tool")
    name = document.get("tool_name") or (tool.get("qualname") if type(tool) is dict else None)
    error = document.get("error")
    why = f": {error.get('type')}: {error.get('message')}" if type(error) is dict else ""
    return f"{name} {words}{why}" if name else f"{words}{why}"
