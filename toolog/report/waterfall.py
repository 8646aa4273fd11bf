"""One trace as a waterfall: each call a bar that begins where it began and is as long as it took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from toolog.report.tree import Call, forest
from toolog.sinks.lines import UNICODE, Line, Marks, cut, duration, error_text, visible, width_of

_NAMES = 34
"""Columns for the names of tools, their indentation included."""


@dataclass(slots=True)
class Span:
    """One call in a waterfall: ``start_ms`` after the beginning of the trace, ``duration_ms`` None while it
    runs.
    """

    record: Mapping[str, Any]
    depth: int
    start_ms: float
    duration_ms: float | None
    failed: bool

    def data(self) -> dict[str, Any]:
        """Return the span as plain data."""
        return {
            "span_id": self.record.get("span_id"),
            "tool_name": self.record.get("tool_name"),
            "status": self.record.get("status"),
            "depth": self.depth,
            "start_ms": self.start_ms,
            "duration_ms": self.duration_ms,
        }


def spans(records: Iterable[Mapping[str, Any]]) -> list[Span]:
    """Return the calls of a trace in the order of the tree, with their place in time."""
    found: list[Span] = []
    roots = [call for session in forest(records) for trace in session.traces for call in trace.calls]
    begin = min((_seconds(call.record) for root in roots for call in root.walk()), default=0.0)
    waiting: list[tuple[Call, int]] = [(root, 0) for root in reversed(roots)]
    while waiting:
        call, depth = waiting.pop()
        took = call.record.get("duration_ms")
        is_number = isinstance(took, int | float) and not isinstance(took, bool)
        start = (_seconds(call.record) - begin) * 1000
        found.append(Span(call.record, depth, start, float(took) if is_number else None, call.failed))  # type: ignore[arg-type]
        waiting += [(child, depth + 1) for child in reversed(call.calls)]
    return found


def _seconds(record: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(record.get("timestamp"))).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def waterfall(
    records: Iterable[Mapping[str, Any]], *, width: int = 100, marks: Marks = UNICODE
) -> Iterator[Line]:
    """Yield the lines of a waterfall that is ``width`` columns wide; failed calls stand out, with their error
    below.
    """
    found = spans(records)
    total = max((span.start_ms + (span.duration_ms or 0) for span in found), default=0.0)
    names = min(_NAMES, max(12, width // 3))
    room = max(10, width - names - 14)
    block, running = ("█", "░") if marks is UNICODE else ("#", ".")
    yield [
        ("dim", "call".ljust(names)),
        ("dim", "0".ljust(room - len(duration(total))) + duration(total)),
        ("dim", "      took"),
    ]
    for span in found:
        name = cut(
            "  " * min(span.depth, 12) + visible(span.record.get("tool_name") or "?"), names - 1, marks.more
        )
        left = min(room - 1, int(span.start_ms / total * room)) if total else 0
        style = "bad" if span.failed else "good"
        if span.duration_ms is None:
            bar, took, style = running * (room - left), "running", "warn"
        else:
            bar = block * max(1, min(room - left, round(span.duration_ms / total * room) if total else 1))
            took = duration(span.duration_ms)
        yield [
            ("bad" if span.failed else "tool", name + " " * (names - width_of(name))),
            (style, " " * left + bar + " " * (room - left - len(bar))),
            ("dim", f" {took:>10}"),
        ]
        if error := error_text(span.record, width - names, marks):
            yield [("text", " " * names), ("bad", error)]
