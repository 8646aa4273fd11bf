"""What the fields of a record are called in OpenTelemetry: the gen-ai conventions, else ``toolog.<field>``.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/#execute-tool-span
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from toolog.errors import SerializationError

Document = Mapping[str, Any]
Pair = tuple[str, Any]

CALLS = frozenset({"tool_call_success", "tool_call_failed", "tool_call_rejected", "tool_call_cancelled"})
"""The events that end a call: these become spans."""
OPERATION = "execute_tool"

NAMES = {
    "session_id": "session.id",
    "tool_call_id": "gen_ai.tool.call.id",
    "tool_name": "gen_ai.tool.name",
}
"""Fields that another name says whole."""
OBJECTS = {"input": "gen_ai.tool.call.arguments", "output": "gen_ai.tool.call.result"}
"""The same for those of any shape, which there are objects."""

ELSEWHERE = frozenset({"host", "level", "parent_id", "service", "span_id", "timestamp", "trace_id"})
"""Fields that an attribute would only repeat: they are the message's own, or its resource's."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def attributes(document: Document, handled: frozenset[str]) -> Iterator[Pair]:
    """Yield the attributes of a record, but for the fields in ``handled`` and those that are empty."""
    for field, value in document.items():
        if value is None or field in handled or field in ELSEWHERE:
            continue
        if field in NAMES:
            yield NAMES[field], value
        elif field in OBJECTS:
            yield OBJECTS[field], value if type(value) is dict else {"value": value}
        elif field == "tool" and type(value) is dict:
            yield from _tool(value)
        elif field == "process" and type(value) is dict:
            yield from _process(value)
        elif field == "tags" and type(value) is dict:
            yield from ((f"toolog.tags.{name}", tag) for name, tag in value.items())
        else:
            yield f"toolog.{field}", value


def _tool(tool: Document) -> Iterator[Pair]:
    module, name = tool.get("module"), tool.get("qualname")
    if name is not None:
        yield "code.function.name", f"{module}.{name}" if module else name
    for field, value in tool.items():
        if value is None or field in ("module", "qualname"):
            continue
        yield (f"gen_ai.tool.{field}" if field in ("type", "description") else f"toolog.tool.{field}"), value


def _process(process: Document) -> Iterator[Pair]:
    for field, value in process.items():
        if value is not None and field != "pid":  # that is the resource's
            yield ("thread.name" if field == "thread" else f"toolog.process.{field}"), value


def error_type(document: Document) -> str:
    """Return what ``error.type`` is of a call that failed: the exception's class, else its status."""
    error = document.get("error")
    named = error.get("type") if type(error) is dict else None
    return str(named or document.get("status") or "_OTHER")


def exception(error: Document) -> Iterator[Pair]:
    """Yield the attributes of the event ``exception``."""
    names = {"type": "exception.type", "message": "exception.message", "stack": "exception.stacktrace"}
    for field, value in error.items():
        if value is not None:
            yield names.get(field, f"toolog.error.{field}"), value


def evaluations(evaluation: Document) -> Iterator[list[Pair]]:
    """Yield the attributes of each event ``gen_ai.evaluation.result``: the overall score, and each rule's."""
    details = evaluation.get("details")
    details = details if type(details) is dict else {}
    overall: list[Pair] = [("gen_ai.evaluation.name", "overall")]
    if (score := evaluation.get("overall_score")) is not None:
        overall.append(("gen_ai.evaluation.score.value", score))
    if (passed := evaluation.get("passed")) is not None:
        overall.append(("gen_ai.evaluation.score.label", "pass" if passed else "fail"))
    known = {"overall_score", "passed", "details", "scores"}
    overall += [
        (f"toolog.evaluation.{k}", v) for k, v in evaluation.items() if k not in known and v is not None
    ]
    scores = evaluation.get("scores")
    scores = scores if type(scores) is dict else {}
    overall += [(f"toolog.evaluation.details.{k}", v) for k, v in details.items() if k not in scores]
    yield overall
    for name, score in scores.items():
        found: list[Pair] = [("gen_ai.evaluation.name", name)]
        if score is not None:
            found.append(("gen_ai.evaluation.score.value", score))
        if name in details:
            said = details[name]
            found.append(("gen_ai.evaluation.explanation", said))
        yield found


def moment(document: Document) -> int:
    """Return when a record happened, in nanoseconds of the epoch. Raises SerializationError."""
    text = document.get("timestamp")
    try:
        found = datetime.fromisoformat(text)  # type: ignore[arg-type]
        since = (found if found.tzinfo else found.replace(tzinfo=UTC)) - _EPOCH
    except (TypeError, ValueError):
        raise SerializationError("its timestamp is none") from None
    if since < timedelta(0):
        raise SerializationError("it is older than OTLP's times, which begin in 1970")
    return since // _MICROSECOND * 1000


def id_of(document: Document, field: str, size: int) -> bytes:
    """Return an id as bytes; b"" when there is none, or it is not one of the W3C's."""
    text = document.get(field)
    if type(text) is not str or len(text) != 2 * size:
        return b""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return b""
    return found if any(found) and len(found) == size else b""
