"""The frozen record: a light `logging.LogRecord` that holds raw snapshots privately and shows sanitized views only.

A `ToolRecord` is made on the caller's thread from what is already bytes, so making one costs a few attribute writes.
Its document is assembled later, once, by whoever first needs it: the handler's worker for whole batches, or a
formatter at once. It is two MessagePack fragments: the *head* (the record's own facts: ids, times, level, never
scanned) and the *tail* (content: arguments, result, error, output, tags, messages), which the sanitizer reads.

A formatter of anybody's that asks for ``record.__dict__``, ``getMessage()`` or ``repr`` gets the sanitized document.
"""

from __future__ import annotations

import itertools
import logging
import os
import struct
import time
from collections.abc import Callable
from typing import Any, ClassVar

import ormsgpack

from toolog.call import Call, common_fields, pack_pairs, packed_process
from toolog.context import Scope, current, getrandbits
from toolog.faults import describe_error, safe_text
from toolog.levels import ROOT, level_name
from toolog.snapshot import pack_cut

_pack_double = struct.Struct(">d").pack
_COUNTS = [number.to_bytes(1) for number in range(0x80, 0x90)] + [
    b"\xde" + number.to_bytes(2) for number in range(16, 128)
]
"""The head of a MessagePack map of n pairs."""

_CALL = (
    b"\xa9record_id\xd9\x20%b\xa9timestamp\xbb%b\xa8trace_id\xd9\x20%b\xa7span_id\xb0%b\xa9parent_id%b"
    b"\xa5depth%b\xa7process%b"
)
_NIL = b"\xc0"


class _Ids:
    """Record ids: 80 random bits for the process, then a counter (``next`` on it is atomic)."""

    prefix = b"%020x" % getrandbits(80)
    counter = itertools.count(1)

    @classmethod
    def reseed(cls) -> None:
        cls.prefix = b"%020x" % getrandbits(80)
        cls.counter = itertools.count(1)


os.register_at_fork(after_in_child=_Ids.reseed)


def new_record_id() -> bytes:
    """Return a new record id: 32 hex digits, unique across processes and hosts."""
    return b"%b%012x" % (_Ids.prefix, next(_Ids.counter))


_second: tuple[int, bytes] = (-1, b"")


def stamp(nanoseconds: int) -> bytes:
    """Return RFC 3339 in UTC with microseconds, 27 bytes, from nanoseconds since the epoch."""
    global _second
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    cached = _second
    if cached[0] != seconds:
        cached = _second = (seconds, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode())
    return b"%b.%06dZ" % (cached[1], rest // 1000)


def _small(number: int) -> bytes:
    return number.to_bytes(1) if 0 <= number < 128 else ormsgpack.packb(number)


class ToolRecord(logging.LogRecord):
    """One event of toolog on its way through `logging`.

    ``toolog_event`` is the event's name; ``toolog_sanitizer`` the sanitizer that a filter stamped on it, if any.
    """

    __slots__ = (
        "_call", "_cuts", "_duration", "_extra", "_head", "_head_count", "_sealed", "_status", "_tail", "_tail_count",
        "levelno", "name", "toolog_event", "toolog_sanitizer",
    )  # fmt: skip

    sealer: ClassVar[Callable[[ToolRecord], bytes] | None] = None
    """Makes the sanitized document; set by ``toolog.sanitize.seal``. Without it content is withheld."""

    def __init__(self, name: str, levelno: int, event: str) -> None:
        self.name = name
        self.levelno = levelno
        self.toolog_event = event
        self.toolog_sanitizer: Any = None
        self._sealed: bytes | None = None
        self._call: Call | None = None
        self._head = self._tail = b""
        self._head_count = self._tail_count = 0

    @classmethod
    def of_call(
        cls, call: Call, event: str, levelno: int, status: str | None, duration: int | None, tail: bytes, count: int
    ) -> ToolRecord:
        """Make the record of a call. ``tail`` holds its ``count`` packed content pairs beside ``input``.

        ``duration`` is nanoseconds, None for a start.
        """
        self = cls.__new__(cls)
        plan = call.plan
        self.name = plan.logger.name
        self.levelno = levelno
        self.toolog_event = event
        self.toolog_sanitizer = None
        self._sealed = None
        self._call = call
        self._status = status
        self._duration = duration
        self._tail = tail
        self._tail_count = count
        return self

    # -- assembling ---------------------------------------------------------------------------------------------

    def tail(self) -> tuple[bytes, int]:
        """Return the raw content as MessagePack pairs, and their number. Only a sanitizer may look at it."""
        call = self._call
        if call is None:
            return self._tail, self._tail_count
        bag = call.bag
        return b"\xa5input" + call.input + self._tail + bag.packed, 1 + self._tail_count + bag.count

    def head(self) -> tuple[bytes, int]:
        """Return the record's own facts as MessagePack pairs, and their number."""
        call = self._call
        if call is None:
            return self._head, self._head_count
        static, count = call.plan.static(self.toolog_event, self._status, self.levelno)
        parent = call.parent
        parent_span = _NIL if parent is None or parent.span is None else b"\xb0" + parent.span
        head = static + _CALL % (
            new_record_id(), stamp(call.wall), call.trace, call.span, parent_span, _small(call.depth), call.process,
        )  # fmt: skip
        count += 7
        if self._duration is not None:
            head += b"\xabduration_ms\xcb" + _pack_double(self._duration / 1e6)
            count += 1
        if call.instance is not None:
            head += b"\xabinstance_id" + call.instance
            count += 1
        return head, count

    def assemble(self, tail: bytes, count: int, masked: dict[str, int] | None = None) -> bytes:
        """Return the whole document as one MessagePack map, from a sanitized tail of ``count`` pairs."""
        head, head_count = self.head()
        if masked:
            tail += b"\xa6masked" + ormsgpack.packb(masked)
            count += 1
        return _COUNTS[head_count + count] + head + tail

    # -- sanitized views ----------------------------------------------------------------------------------------

    def sealed(self) -> bytes:
        """Return the sanitized document as MessagePack bytes; made once, then kept."""
        if self._sealed is None:
            sealer = ToolRecord.sealer
            if sealer is None:  # fail closed: without a sanitizer no content leaves
                head, count = self.head()
                self._sealed = _COUNTS[count] + head
            else:
                self._sealed = sealer(self)
        return self._sealed

    def document(self) -> dict[str, Any]:
        """Return the sanitized document as plain data."""
        document: dict[str, Any] = ormsgpack.unpackb(self.sealed())
        return document

    def getMessage(self) -> str:  # noqa: N802 - logging's name
        """Return one readable line about the event, sanitized."""
        document = self.document()
        if document.get("message") is not None:
            return str(document["message"])
        parts = [document["event"]]
        if "tool_name" in document:
            parts.append(document["tool_name"])
        if isinstance(document.get("input"), dict):
            parts.append("(" + ", ".join(f"{key}={value!r:.80}" for key, value in document["input"].items()) + ")")
        if "duration_ms" in document:
            parts.append(f"{document['duration_ms']:.3f} ms")
        if document.get("error"):
            parts.append(f"{document['error'].get('type')}: {document['error'].get('message')}")
        return " ".join(parts)

    def __getattr__(self, name: str) -> Any:
        """Give the standard attributes of a LogRecord when somebody asks; the hot path never does."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._standard()[name]
        except KeyError:
            raise AttributeError(name) from None

    def _standard(self) -> dict[str, Any]:
        document = self.document()
        process = document.get("process") or {}
        seconds = _seconds(document["timestamp"])
        return {
            "name": self.name, "msg": self.getMessage(), "args": None, "levelname": logging.getLevelName(self.levelno),
            "levelno": self.levelno, "pathname": "", "filename": "", "module": "", "lineno": 0, "funcName": None,
            "exc_info": None, "exc_text": None, "stack_info": None, "created": seconds,
            "msecs": (seconds - int(seconds)) * 1000, "relativeCreated": (seconds - _STARTED) * 1000,
            "thread": None, "threadName": process.get("thread"), "processName": "MainProcess",
            "process": process.get("pid"), "taskName": process.get("task"), "trace_id": document.get("trace_id", ""),
            "span_id": document.get("span_id", ""), "tool_name": document.get("tool_name", ""), "toolog": document,
        }  # fmt: skip

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The attributes that a formatter sees: the standard ones, sanitized, and ``toolog``, the whole document."""
        return {**self._standard(), **_real_dict(self)}

    def __repr__(self) -> str:
        return f"<ToolRecord {self.toolog_event} {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy or a pickle (QueueHandler, SocketHandler) leaves this process's care: it carries sanitized data only.
        return logging.makeLogRecord, (dict(self.__dict__),)


_real_dict = logging.LogRecord.__dict__["__dict__"].__get__
_STARTED = time.time()


def _seconds(timestamp: str) -> float:
    from calendar import timegm

    return timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S")) + float(timestamp[19:-1] or 0)


def make_record(
    event: str,
    levelno: int,
    *,
    logger: str = ROOT,
    facts: dict[str, Any] | None = None,
    content: dict[str, Any] | None = None,
    scope: Scope | None = None,
    wall: int | None = None,
) -> ToolRecord:
    """Make a record of any event that is not a call's own: an instance, a log line, an evaluation, a loss.

    ``facts`` are the record's own (never scanned: no user's data in them), ``content`` is what a sanitizer must read,
    ``scope`` gives trace, span, session and tags; ``wall`` nanoseconds since the epoch (default: now).
    """
    record = ToolRecord(logger, levelno, event)
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
    record._head = pack_pairs(head) + b"\xa7process" + packed_process()
    record._head_count = len(head) + 1
    parts, count, cuts = [], 0, {}
    for key, value in (content or {}).items():
        if value is None:
            continue
        packed, cut = pack_cut(value, key)
        parts += [ormsgpack.packb(key), packed]
        count += 1
        cuts.update(cut or {})
    if cuts:
        parts += [b"\xa9truncated", ormsgpack.packb(cuts)]
        count += 1
    if scope is not None:
        parts.append(scope.bag.packed)
        count += scope.bag.count
    record._tail, record._tail_count = b"".join(parts), count
    return record


_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message", "asctime", "taskName", "trace_id", "span_id", "tool_name", "toolog",
}  # fmt: skip


def record_from_log(line: logging.LogRecord) -> ToolRecord:
    """Return the ``log`` event of an application's log line; call it on the thread that logged. Never raises."""
    attributes = {key: value for key, value in line.__dict__.items() if key not in _OWN}
    error = None
    if line.exc_info and isinstance(line.exc_info, tuple) and line.exc_info[1] is not None:
        error = describe_error(line.exc_info[1])
    elif line.exc_text:
        error = {"type": "", "message": "", "stack": line.exc_text}
    return make_record(
        "log",
        line.levelno,
        logger=line.name,
        facts={"logger": line.name},
        content={
            "message": safe_text(line.getMessage),
            "error": error,
            "attributes": attributes or None,
            "stack_info": line.stack_info,
        },
        scope=current.get(),
        wall=int(line.created * 1e9),
    )
