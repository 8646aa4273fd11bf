"""Records as trees: sessions, in them traces, in them calls under the calls that made them.

Records may come in any order and with gaps. A call whose caller is not among the records stands at the top of
its trace and says so; a call that only has its start is running; a record that came twice is shown once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolog.sinks.lines import UNICODE, Line, Marks, date, line, printed, visible

Record = Mapping[str, Any]

_ENDED = {"tool_call_success", "tool_call_failed", "tool_call_rejected", "tool_call_cancelled"}
_SAD = {"tool_call_failed", "tool_call_rejected"}


@dataclass(slots=True)
class Call:
    """A call and what belongs to it. ``orphan``: its caller is not among the records."""

    record: Record
    calls: list[Call] = field(default_factory=list)
    notes: list[Record] = field(default_factory=list)
    orphan: bool = False

    @property
    def failed(self) -> bool:
        """Whether the call failed or was rejected."""
        return self.record.get("event") in _SAD

    def walk(self) -> Iterator[Call]:
        """Yield this call and all calls below it."""
        waiting = [self]
        while waiting:
            call = waiting.pop()
            yield call
            waiting += reversed(call.calls)

    def data(self) -> dict[str, Any]:
        """Return the call as plain data: its record with ``calls`` and ``notes`` added."""
        done: dict[int, dict[str, Any]] = {}
        for call in reversed(list(self.walk())):
            below = [done[id(child)] for child in call.calls]
            done[id(call)] = {**call.record, "notes": [dict(note) for note in call.notes], "calls": below}
        return done[id(self)]


@dataclass(slots=True)
class Trace:
    """The calls of one trace that no other call of it made, and the records of the trace that belong to no
    call.
    """

    trace_id: str
    calls: list[Call] = field(default_factory=list)
    notes: list[Record] = field(default_factory=list)

    def all_calls(self) -> list[Call]:
        """Return every call of the trace."""
        return [call for root in self.calls for call in root.walk()]


@dataclass(slots=True)
class Session:
    """The traces of one session (``session_id`` empty: of none), and its records outside any trace."""

    session_id: str
    traces: list[Trace] = field(default_factory=list)
    notes: list[Record] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """Return the session as plain data."""
        traces = [
            {
                "trace_id": trace.trace_id,
                "calls": [call.data() for call in trace.calls],
                "notes": [dict(note) for note in trace.notes],
            }
            for trace in self.traces
        ]
        return {
            "session_id": self.session_id or None,
            "traces": traces,
            "notes": [dict(note) for note in self.notes],
        }


def forest(records: Iterable[Record]) -> list[Session]:
    """Return records as sessions of traces of calls, everything in the order of time."""
    by_trace: dict[str, list[Record]] = {}
    sessions: dict[str, Session] = {}
    seen: set[str] = set()
    for record in sorted(records, key=_time):
        record_id = record.get("record_id")
        if isinstance(record_id, str):
            if record_id in seen:
                continue
            seen.add(record_id)
        trace_id = record.get("trace_id")
        if isinstance(trace_id, str) and trace_id:
            by_trace.setdefault(trace_id, []).append(record)
        else:
            _session(sessions, record.get("session_id")).notes.append(record)
    for trace_id, members in by_trace.items():
        named = next((record["session_id"] for record in members if record.get("session_id")), None)
        _session(sessions, named).traces.append(_trace(trace_id, members))
    return list(sessions.values())


def _session(sessions: dict[str, Session], session_id: object) -> Session:
    name = session_id if isinstance(session_id, str) else ""
    return sessions.setdefault(name, Session(name))


def _time(record: Record) -> str:
    return str(record.get("timestamp", ""))


def _trace(trace_id: str, records: list[Record]) -> Trace:
    calls: dict[str, Call] = {}
    for record in records:
        span = record.get("span_id")
        event = record.get("event")
        if not isinstance(span, str):
            continue
        if event in _ENDED:
            calls[span] = Call(record)
        elif event == "tool_call_start" and span not in calls:
            calls[span] = Call({**record, "status": "running"})
    trace = Trace(trace_id)
    for record in records:
        if record.get("event") in _ENDED or record.get("event") == "tool_call_start":
            continue
        span = record.get("span_id")
        owner = calls.get(span) if isinstance(span, str) else None
        (trace if owner is None else owner).notes.append(record)
    for span, call in calls.items():
        parent = call.record.get("parent_id")
        caller = calls.get(parent) if isinstance(parent, str) else None
        if caller is None or _is_above(calls, span, parent):
            call.orphan = bool(parent)
            trace.calls.append(call)
        else:
            caller.calls.append(call)
    for call in calls.values():
        call.calls.sort(key=lambda child: _time(child.record))
    trace.calls.sort(key=lambda child: _time(child.record))
    return trace


def _is_above(calls: Mapping[str, Call], span: str, parent: object) -> bool:
    """Return whether a call is its own caller's caller: records that lie must not make an endless tree."""
    steps = 0
    while isinstance(parent, str) and parent in calls and steps <= len(calls):
        if parent == span:
            return True
        parent = calls[parent].record.get("parent_id")
        steps += 1
    return steps > len(calls)


def tree(
    records: Iterable[Record], *, marks: Marks = UNICODE, printed_lines: int = 20, today: str | None = None
) -> Iterator[Line]:
    """Yield records as the lines of a tree; ``printed_lines`` of what each tool printed are shown.

    ``today`` (``2026-11-30``): traces that began on another day tell their date; None: none does.
    """
    for session in forest(records):
        yield [("tool", f"session {visible(session.session_id)}" if session.session_id else "no session")]
        for note in session.notes:
            yield [("text", "  "), *line(note, marks=marks, indent=False)]
        for trace in session.traces:
            yield from _trace_lines(trace, marks, printed_lines, today)


def _trace_lines(trace: Trace, marks: Marks, limit: int, today: str | None) -> Iterator[Line]:
    calls = trace.all_calls()
    failed = sum(call.failed for call in calls)
    what = f" {len(calls)} call{'' if len(calls) == 1 else 's'}"
    first = min([*(call.record for call in trace.calls), *trace.notes], key=_time, default={})
    day = "" if today is None else date(first, today)
    yield [
        ("dim", "  trace "),
        ("text", visible(trace.trace_id)),
        ("dim", what),
        *([("bad", f" {failed} failed")] if failed else []),
        *([("time", f" {day}")] if day else []),
    ]
    for note in trace.notes:
        yield [("text", "  "), *line(note, marks=marks, indent=False)]
    guides = _GUIDES[marks is UNICODE]
    # Depth first without recursion: a tree may be thousands of calls deep.
    waiting: list[tuple[Call | Record, str, bool]] = _level(trace.calls, [], "  ")
    while waiting:
        entry, margin, last = waiting.pop()
        branch = guides.last if last else guides.more
        if isinstance(entry, Call):
            below = margin + (guides.none if last else guides.through)
            yield [*_call_line(entry, margin + branch, marks)]
            for row in printed(entry.record, limit, marks):
                yield [("time", " " * 13), ("dim", below), *row]
            waiting += _level(entry.calls, entry.notes, below)
        else:
            pieces = line(entry, marks=marks, indent=False)
            yield [pieces[0], ("dim", margin + branch), *pieces[1:]]


def _level(calls: list[Call], notes: list[Record], margin: str) -> list[tuple[Call | Record, str, bool]]:
    """Return what stands at one level, last first (a stack), by time."""
    entries: list[tuple[str, Call | Record]] = [(_time(call.record), call) for call in calls]
    entries += [(_time(note), note) for note in notes]
    entries.sort(key=lambda entry: entry[0])
    return [(entry, margin, position == len(entries) - 1) for position, (_, entry) in enumerate(entries)][
        ::-1
    ]


def _call_line(call: Call, margin: str, marks: Marks) -> Line:
    pieces = line(call.record, marks=marks, indent=False)
    if call.failed:  # stands out as a whole
        pieces = [pieces[0], *(("bad", piece) for _, piece in pieces[1:])]
    if call.orphan:
        parent = visible(call.record.get("parent_id"))
        pieces.append(("warn", f" (called by {parent}, which is not here)"))
    return [pieces[0], ("dim", margin), *pieces[1:]]


@dataclass(frozen=True, slots=True)
class _Guides:
    more: str
    last: str
    through: str
    none: str = "   "


_GUIDES = (_Guides("|- ", "`- ", "|  "), _Guides("├─ ", "└─ ", "│  "))
