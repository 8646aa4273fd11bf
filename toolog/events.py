"""Records of events that are no call's own: an instance, a log line, an evaluation, a loss."""

from __future__ import annotations

import logging
import os
import re
import time
from threading import get_ident
from typing import Any

from ormsgpack import packb

from toolog.call import common_fields, pack_pairs
from toolog.context import Scope, current
from toolog.counters import contain
from toolog.faults import describe_error, safe_text
from toolog.levels import ROOT, level_name, level_of
from toolog.process import Names, packed_process
from toolog.record import ToolRecord, new_record_id, stamp
from toolog.snapshot import pack, pack_cut


def make_record(
    event: str,
    levelno: int,
    *,
    logger: str = ROOT,
    facts: dict[str, Any] | None = None,
    content: dict[str, Any] | None = None,
    packed: tuple[str, bytes, dict[str, Any] | None] | None = None,
    scope: Scope | None = None,
    wall: int | None = None,
    process: bytes | None = None,
) -> ToolRecord:
    """Make a record of any event that is not a call's own: an instance, a log line, an evaluation, a loss.

    ``facts`` are the record's own (never scanned: no user's data in them), ``content`` is what a sanitizer
    must read, ``packed`` one more pair of it that was snapshotted before, with what was cut from it;
    ``scope`` gives trace, span, session and tags; ``wall`` nanoseconds since the epoch (default: now),
    ``process`` where it was, packed (default: here).
    """
    record = ToolRecord(None, event, levelno, None, None, b"", 0)
    record.name = logger
    head: dict[str, Any] = {
        **common_fields(),
        "record_id": new_record_id().decode(),
        "event": event,
        "level": level_name(levelno),
        "timestamp": stamp(time.time_ns() if wall is None else wall).decode(),
        **(facts or {}),
    }
    if scope is not None and scope.trace is not None:
        head["trace_id"] = scope.trace_id
        if scope.span is not None:
            head["span_id"] = scope.span_id
        if scope.tool_name is not None:
            head["tool_name"] = scope.tool_name
    try:
        # The pairs without the map's own head, which takes one byte below 16 pairs.
        pairs = packb(head)[1 if len(head) < 16 else 3 :]
    except Exception:  # a logger's name that is no text, a lone surrogate
        pairs = pack_pairs(head)
    record._head = pairs + b"\xa7process" + (packed_process() if process is None else process)
    record._head_count = len(head) + 1
    parts, count, cuts = [], 0, {}
    if packed is not None:
        parts += [packb(packed[0]), packed[1]]
        count += 1
        cuts.update(packed[2] or {})
    for key, value in (content or {}).items():
        if value is None:
            continue
        data, cut = pack_cut(value, key)
        parts += [packb(key), data]
        count += 1
        cuts.update(cut or {})
    if cuts:
        parts += [b"\xa9truncated", packb(cuts)]
        count += 1
    if scope is not None:
        parts.append(scope.bag.packed)
        count += scope.bag.count
    record._tail, record._tail_count = b"".join(parts), count
    return record


_CALL = ("trace_id", "span_id", "tool_name")
"""What ``instrumentation.loglines`` notes on a line: the call that it was logged in, or empty texts."""
_LATEST = 253_402_300_800
"""Seconds since the epoch at which four digits of a year are no longer enough."""
_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_TRACE, _SPAN = re.compile(r"(?!0+$)[0-9a-f]{32}"), re.compile(r"(?!0+$)[0-9a-f]{16}")


def record_from_log(line: logging.LogRecord) -> ToolRecord:
    """Return the ``log`` event of an application's log line. Never raises.

    The thread that logged runs this, or another one later, which got the line from a queue or a buffer.
    """
    scope, noted = _find_call(line)
    attributes = {
        key: value
        for key, value in line.__dict__.items()
        if key not in _OWN and not (key in _CALL and (not value or value == noted.get(key)))
    }
    tool = noted.get("tool_name") if scope is None else None
    ids = {key: noted[key] for key in noted if key != "tool_name"} if scope is None else {}
    if line.stack_info is not None:
        attributes["stack_info"] = str(line.stack_info)
    name = line.name if isinstance(line.name, str) else ROOT
    message, told = _read_message(line)
    return make_record(
        "log",
        level_of(line),
        logger=name,
        facts={"logger": name, **ids},
        content={
            "tool_name": tool,  # of a line from elsewhere: who knows what wrote it there
            "message": message,
            "error": _find_error(line),
            "attributes": {**told, **attributes} or None,
        },
        scope=scope,
        wall=_moment(line.created),
        process=_pack_place(line) if _is_from_elsewhere(line) else None,
    )


def _read_message(line: logging.LogRecord) -> tuple[str, dict[str, Any]]:
    """Return a line's message, and what belongs among its attributes because no text can hold it: arguments
    that do not fit the message, and the items of a table that was logged as the message.
    """
    try:
        text = line.getMessage()
    except Exception as error:
        contain("log arguments", error)  # `logging` tells its own handlers' too
        told: dict[str, Any] = {"args": line.args, "args_error": describe_error(error)["message"]}
        return safe_text(lambda: line.msg), told
    table = line.msg if isinstance(line.msg, dict) and not line.args else {}
    return safe_text(lambda: text), table


def _find_error(line: logging.LogRecord) -> dict[str, Any] | None:
    given: Any = line.exc_info  # from anybody's data, or set by hand, also an exception itself
    error = given[1] if isinstance(given, tuple) and len(given) > 1 else given
    if isinstance(error, BaseException):
        return describe_error(error)
    if line.exc_text:
        return {"type": "", "message": "", "stack": str(line.exc_text)}
    return None


def _moment(created: Any) -> int:
    """Return when a line was made, nanoseconds since the epoch; now, where it does not say so."""
    try:
        if 0 <= created < _LATEST:
            return int(created * 1e9)
    except TypeError:
        pass
    return time.time_ns()


def _find_call(line: logging.LogRecord) -> tuple[Scope | None, dict[str, str]]:
    """Return the scope that a line was logged in, or none, and what is known of the call.

    A line that comes later, through a buffer or from another thread, says itself which call it was: what is
    called here just now is another one.
    """
    scope = current.get()
    here = {name: str(getattr(scope, name) or "") for name in _CALL} if scope is not None else {}
    noted = {name: line.__dict__[name] for name in _CALL if name in line.__dict__}
    if len(noted) < len(_CALL):  # nobody noted anything
        return (None, {}) if _is_from_elsewhere(line) else (scope, here)
    if here and (noted["span_id"] == here["span_id"] or noted == here):  # else somebody's own `trace_id`
        return scope, here
    if not all(type(text) is str for text in noted.values()):
        return (None, {}) if _is_from_elsewhere(line) else (scope, here)
    trace, span = _TRACE.fullmatch(noted["trace_id"]), _SPAN.fullmatch(noted["span_id"])
    if not trace or not (span or not noted["span_id"]):
        return None, {}
    return None, {name: text for name, text in noted.items() if text}


def _is_from_elsewhere(line: logging.LogRecord) -> bool:
    """Whether another thread or process logged a line."""
    return line.process not in (None, os.getpid()) or line.thread not in (None, get_ident())


def _pack_place(line: logging.LogRecord) -> bytes:
    """Return where a line was logged, as it says itself, packed."""
    place: dict[str, Any] = {}
    if type(line.process) is int and line.process >= 0:
        place["pid"] = line.process
    for key, name in (("thread", line.threadName), ("task", getattr(line, "taskName", None))):
        if type(name) is str:
            place[key] = Names.shown(name)
    return pack(place)
