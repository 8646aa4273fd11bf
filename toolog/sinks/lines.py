"""One record as one readable line, safe to print whatever the tool put into it.

A line is a list of ``(style, text)`` pieces, so that the console sink can colour it with plain escape codes
and the reports with rich, and both read the same. Styles: ``time``, ``good``, ``bad``, ``warn``, ``dim``,
``tool``, ``text``.

Everything that came from a tool passes :func:`visible`: control characters, escape sequences, direction
overrides and unprintable code points are written as backslash escapes, so a tool's output can neither move
the cursor nor pass for a line of ours.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

Line: TypeAlias = list[tuple[str, str]]


class Marks(NamedTuple):
    """The characters that stand for what happened; there is one set for Unicode and one for plain ASCII."""

    success: str
    failed: str
    rejected: str
    cancelled: str
    running: str
    log: str
    loss: str
    instance: str
    evaluation: str
    gives: str
    more: str


UNICODE = Marks("✓", "✗", "⊘", "◌", "▶", "│", "‼", "◇", "★", "→", "…")
ASCII = Marks("+", "x", "!", "~", ">", "|", "!!", "o", "*", "->", "...")

_PLAIN_FAILURE = "execution_error"
"""What a failed call's status is unless something else is said; the mark before the line says so already."""

VALUE_WIDTH = 48
"""Columns one argument or result may take in a line."""

_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord("\x1b"): "\\x1b", ord("\\"): "\\"}
# Format characters that belong inside words and emoji: zero-width joiner and non-joiner.
_HARMLESS = {"\u200d", "\u200c"}


def visible(text: object) -> str:
    """Return text in which every character that a terminal would act on, or not show, is a backslash
    escape.
    """
    string = text if isinstance(text, str) else str(text)
    if string.isascii() and string.isprintable():
        return string
    return "".join(
        char if char.isprintable() or char in _HARMLESS else _escape(char)
        for char in string
    )  # fmt: skip


def _escape(char: str) -> str:
    code = ord(char)
    if code in _ESCAPES:
        return _ESCAPES[code]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width_of(text: str) -> int:
    """Return how many terminal columns a visible text takes (wide characters two, combining ones none)."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or char in _HARMLESS or "\ufe00" <= char <= "\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, columns: int, more: str = "…") -> str:
    """Return ``text`` cut to at most ``columns`` terminal columns, ``more`` at its end when something is
    missing.
    """
    if len(text) <= columns and width_of(text) <= columns:
        return text
    room = columns - width_of(more)
    kept: list[str] = []
    for char in text:
        room -= _columns(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept) + more


def value(data: object, columns: int = VALUE_WIDTH, marks: Marks = UNICODE) -> str:
    """Return plain data short and safe, as Python would write it; never looks at more than it can show."""
    return cut("".join(_pieces(data, columns, 0)), columns, marks.more)


def _pieces(data: object, columns: int, nesting: int) -> Iterator[str]:
    """Yield the text of a value piece by piece; stops soon after ``columns`` characters."""
    if isinstance(data, str):
        short = data[: columns + 1]
        quote = '"' if "'" in short and '"' not in short else "'"
        yield quote + visible(short) + quote
    elif name := _type_name(data):
        yield f"<{visible(name)}>"
    elif isinstance(data, Mapping | list | tuple):
        yield from _items(data, columns, nesting)
    else:
        yield visible(data)[: columns + 1]


def _type_name(data: object) -> str:
    """Return the class name of an object that a record holds by type and state; empty for other data."""
    if isinstance(data, Mapping) and data and not data.keys() - {"type", "state"}:
        name = data.get("type")
        if isinstance(name, str) and "." in name:
            return name.rpartition(".")[2]
    return ""


def _tells_nothing(item: object) -> bool:
    """Whether an argument is most likely a default: None, an empty collection, an object without state."""
    if item is None or (isinstance(item, Mapping | list | tuple) and not item):
        return True
    return isinstance(item, Mapping) and not item.get("state") and bool(_type_name(item))


def _items(
    data: Mapping[Any, Any] | list[Any] | tuple[Any, ...], columns: int, nesting: int
) -> Iterator[str]:
    is_map = isinstance(data, Mapping)
    opening, closing = ("{", "}") if is_map else ("[", "]")
    yield opening
    spent = 1
    items = data.items() if isinstance(data, Mapping) else enumerate(data)
    for position, (key, item) in enumerate(items):
        if spent > columns or nesting > 8:
            yield f"{len(data)} items"
            break
        pieces = [", "] if position else []
        if is_map:
            pieces += [*_pieces(key, columns - spent, nesting + 1), ": "]
        pieces += _pieces(item, max(columns - spent, 1), nesting + 1)
        spent += sum(map(len, pieces))
        yield from pieces
    yield closing


def duration(milliseconds: object) -> str:
    """Return a duration with three significant figures and its unit."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return ""
    if milliseconds < 1:
        return f"{milliseconds * 1000:.0f} us"
    if milliseconds < 1000:
        return f"{milliseconds:.3g} ms" if milliseconds < 999.5 else "1.00 s"
    seconds = milliseconds / 1000
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def clock(record: Mapping[str, Any]) -> str:
    """Return the time of day (UTC, milliseconds) of a record, 12 columns wide."""
    stamp = str(record.get("timestamp", ""))
    return visible(stamp[11:23]) if len(stamp) >= 23 else visible(stamp)[:12].ljust(12)


def date(record: Mapping[str, Any], today: str | None = None) -> str:
    """Return the date (UTC, ``2026-11-30``) of a record; nothing where that is ``today``."""
    day = str(record.get("timestamp", ""))[:10]
    return "" if day == today else visible(day)


def arguments(record: Mapping[str, Any], marks: Marks = UNICODE, columns: int = VALUE_WIDTH) -> str:
    """Return a call's input as it would stand between the parentheses, each value short.

    What is most likely a default is left out; the record has it.
    """
    given = record.get("input")
    if not isinstance(given, Mapping):
        return "" if given is None else value(given, columns, marks)
    parts: list[str] = []
    telling = [(key, item) for key, item in given.items() if not _tells_nothing(item)]
    for position, (key, item) in enumerate(telling):
        if position == 8:
            parts.append(f"{marks.more} {len(telling) - position} more")
            break
        parts.append(f"{cut(visible(key), 32, marks.more)}={value(item, columns, marks)}")
    return ", ".join(parts)


def error_text(record: Mapping[str, Any], columns: int = 160, marks: Marks = UNICODE) -> str:
    """Return ``Type: message`` of a record's error, short and without the type's module, or an empty text."""
    error = record.get("error")
    if not isinstance(error, Mapping):
        return ""
    kind = visible(error.get("type") or "").rpartition(".")[2]
    message = str(error.get("message") or "")
    return cut(f"{kind}: {visible(message[:columns])}" if message else kind, columns, marks.more)


def line(
    record: Mapping[str, Any], *, marks: Marks = UNICODE, indent: bool = True, dated: bool = False
) -> Line:
    """Return one record as the pieces of one line; any mapping will do, missing fields are left out.

    ``indent``: by the call's depth; ``dated``: with the date before the time of day.
    """
    event = record.get("event", "")
    pieces: Line = [("time", f"{date(record)} {clock(record)} " if dated else clock(record) + " ")]
    depth = record.get("depth")
    margin = "  " * min(depth, 20) if indent and isinstance(depth, int) and depth > 0 else ""
    describe = _DESCRIBE.get(str(event), _other)
    style, mark, rest = describe(record, marks)
    pieces.append((style, f"{mark} "))
    if margin:
        pieces.append(("text", margin))
    return pieces + rest


def printed(record: Mapping[str, Any], limit: int = 20, marks: Marks = UNICODE) -> list[Line]:
    """Return what a tool printed during its call, a line for each, at most ``limit`` lines of each stream."""
    found: list[Line] = []
    for stream, style in (("stdout", "dim"), ("stderr", "warn")):
        text = record.get(stream)
        if not isinstance(text, str) or not text:
            continue
        rows = text.splitlines()
        found += [
            [("dim", f"{marks.log} "), (style, cut(visible(row[:400]), 160, marks.more))]
            for row in rows[:limit]
        ]
        if len(rows) > limit:
            found.append([("dim", f"{marks.log} {marks.more} {len(rows) - limit} more lines")])
    return found


def plain(pieces: Line) -> str:
    """Return the pieces of a line as plain text."""
    return "".join(text for _, text in pieces)


_Described: TypeAlias = tuple[str, str, Line]


def _tool(record: Mapping[str, Any], marks: Marks) -> Line:
    name = cut(visible(record.get("tool_name") or "?"), 60, marks.more)
    return [("tool", name), ("text", f"({arguments(record, marks)})")]


def _ended(record: Mapping[str, Any]) -> str:
    took = duration(record.get("duration_ms"))
    tries = record.get("retry_count")
    return f" {took}{f' after {tries} retries' if isinstance(tries, int) and tries else ''}" if took else ""


def _success(record: Mapping[str, Any], marks: Marks) -> _Described:
    slow = record.get("level") == "WARNING"
    rest = _tool(record, marks)
    if "output" in record:
        rest.append(("text", f" {marks.gives} {value(record['output'], VALUE_WIDTH, marks)}"))
    rest.append(("warn" if slow else "dim", _ended(record) + (" slow" if slow else "")))
    return ("warn" if slow else "good"), marks.success, rest


def _failed(record: Mapping[str, Any], marks: Marks) -> _Described:
    return "bad", marks.failed, _unhappy(record, marks, "bad")


def _rejected(record: Mapping[str, Any], marks: Marks) -> _Described:
    return "warn", marks.rejected, _unhappy(record, marks, "warn")


def _cancelled(record: Mapping[str, Any], marks: Marks) -> _Described:
    return "warn", marks.cancelled, _unhappy(record, marks, "warn")


def _unhappy(record: Mapping[str, Any], marks: Marks, style: str) -> Line:
    # The error stands before the arguments, which may be long: a narrow terminal cuts the line's end.
    name, given = _tool(record, marks)
    status = str(record.get("status") or "failed")
    rest = [name] if status == _PLAIN_FAILURE else [name, (style, f" {visible(status)}")]
    rest.append(("dim", _ended(record)))
    if error := error_text(record, marks=marks):
        rest.append((style, f" {error}"))
    elif reason := record.get("reason"):
        rest.append((style, f" {cut(visible(reason), 80, marks.more)}"))
    return rest if given[1] == "()" else [*rest, ("dim", f" {given[1]}")]


def _started(record: Mapping[str, Any], marks: Marks) -> _Described:
    running = [("dim", " running")] if record.get("status") == "running" else []
    return "dim", marks.running, [*_tool(record, marks), *running]


def _log(record: Mapping[str, Any], marks: Marks) -> _Described:
    level = str(record.get("level", ""))
    style = "bad" if level in {"ERROR", "CRITICAL"} else "warn" if level == "WARNING" else "dim"
    message = cut(visible(str(record.get("message", ""))[:400]), 200, marks.more)
    return style, marks.log, [("dim", f"{visible(record.get('logger') or '')}: "), (style, message)]


def _loss(record: Mapping[str, Any], marks: Marks) -> _Described:
    sink = f" on the way to {visible(record['sink'])}" if record.get("sink") else ""
    text = f"{visible(record.get('count', '?'))} records dropped: {visible(record.get('reason', '?'))}{sink}"
    return "bad", marks.loss, [("bad", text)]


def _instance(record: Mapping[str, Any], marks: Marks) -> _Described:
    tool = record.get("tool")
    name = tool.get("qualname") if isinstance(tool, Mapping) else None
    config = record.get("config")
    if isinstance(config, Mapping):
        config = {key: item for key, item in config.items() if not _tells_nothing(item)}
    text = f"{visible(name or '?')} {value(config, 80, marks)}"
    return "dim", marks.instance, [("dim", f"instance {text}")]


def _evaluation(record: Mapping[str, Any], marks: Marks) -> _Described:
    found = record.get("evaluation")
    judged: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    passed = judged.get("passed")
    style = "bad" if passed is False else "good"
    outcome = "not passed" if passed is False else "passed" if passed else "judged"
    name = cut(visible(record.get("tool_name") or "result"), 60, marks.more)
    return (
        style,
        marks.evaluation,
        [("tool", name), (style, f" {outcome}, score {visible(judged.get('overall_score'))}")],
    )


def _other(record: Mapping[str, Any], marks: Marks) -> _Described:
    return "dim", "?", [("text", visible(record.get("event") or "a record without an event"))]


_DESCRIBE = {
    "tool_call_start": _started,
    "tool_call_success": _success,
    "tool_call_failed": _failed,
    "tool_call_rejected": _rejected,
    "tool_call_cancelled": _cancelled,
    "tool_instance": _instance,
    "evaluation": _evaluation,
    "log": _log,
    "loss": _loss,
}
