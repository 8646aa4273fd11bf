"""The frozen record: a light `logging.LogRecord` that holds raw snapshots privately and shows sanitized views
only.

A `ToolRecord` is made on the caller's thread from what is already bytes, so making one costs a few attribute
writes. Its document is assembled later, once, by whoever first needs it: the handler's worker for whole
batches, or a formatter at once. It is two MessagePack fragments: the *head* (the record's own facts: ids,
times, level, never scanned) and the *tail* (content: arguments, result, error, output, tags, messages), which
the sanitizer reads.

A formatter of anybody's that asks for ``record.__dict__``, ``getMessage()`` or ``repr`` gets the sanitized
document.
"""

from __future__ import annotations

import logging
import os
import struct
import time
from collections.abc import Callable
from typing import Any, ClassVar

import ormsgpack
from ormsgpack import packb

from toolog.call import (
    _COUNTS,
    MASK,
    Call,
    Ids,
    common_fields,
    new_span,
    pack_pairs,
    packed_process,
)
from toolog.context import Scope, current, getrandbits
from toolog.faults import describe_error, safe_text
from toolog.levels import ROOT, level_name
from toolog.snapshot import pack_cut
from toolog.snapshot.flat import Held, pack_flat, pack_held

pack_double = struct.Struct(">d").pack

_INFO = 20
_DURATION = b"\xabduration_ms\xcb"
# One bytes.__mod__ costs half of joining the same pieces.
_FACTS = (
    b"%b\xa9record_id\xd9\x20%b%b\xa9timestamp\xbb%b%06dZ"
    b"\xa8trace_id\xd9\x20%b\xa7span_id\xb0%b%b\xa7process%b"
)
SUCCESS = _FACTS + _DURATION + b"%b%b"
_CONTENT = b"\xa5input%b\xa6output%b%b"
ROOT_LINEAGE = b"\xa9parent_id\xc0\xa5depth\x00"


def new_record_id() -> bytes:
    """Return a new record id: 32 hex digits, unique across processes and hosts."""
    return _PREFIXES[0] + new_span()


_PREFIXES: list[bytes] = []


def _reseed() -> None:
    _PREFIXES[:] = [b"%016x" % getrandbits(64) for _ in range(3)]


_reseed()
os.register_at_fork(after_in_child=_reseed)


_second: tuple[int, bytes] = (-1, b"")


def write_date(seconds: int) -> bytes:
    """Return ``YYYY-MM-DDTHH:MM:SS.`` in UTC; computed once a second."""
    global _second
    _second = (seconds, time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(seconds)).encode())
    return _second[1]


def stamp(nanoseconds: int) -> bytes:
    """Return RFC 3339 in UTC with microseconds, 27 bytes, from nanoseconds since the epoch."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return b"%b%06dZ" % (write_date(seconds), rest // 1000)


_SMALL = [number.to_bytes(1) for number in range(128)]
"""Integers below 128 are their own MessagePack."""


_NOTHING: dict[str, Any] = {
    "args": None, "pathname": "", "filename": "", "module": "", "lineno": 0, "funcName": None,
    "exc_info": None, "exc_text": None, "stack_info": None, "thread": None, "processName": "MainProcess",
}  # fmt: skip
"""What a LogRecord has and a tool call's has not: no formatter may miss it."""


class _Standard:
    """A standard attribute of a LogRecord, computed when somebody asks for it; assigning one replaces it.

    (``__getattr__`` would do the same, and make every attribute of a record ten times slower to read.)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, record: ToolRecord | None, owner: type) -> Any:
        return self if record is None else record._standard()[self.name]


class ToolRecord(logging.LogRecord):
    """One event of toolog on its way through `logging`.

    ``toolog_event`` is the event's name; ``toolog_sanitizer`` the sanitizer that a filter stamped on it, if
    any. What most records never need is a class-level default, so that making one writes few attributes.
    """

    sealer: ClassVar[Callable[[ToolRecord], bytes] | None] = None
    """Makes the sanitized document; set by ``toolog.sanitize.seal``. Without it content is withheld."""

    toolog_sanitizer: Any = None
    _sealed: bytes | None = None
    _flagged_by: Any = None  # the policy whose scan saw something in it: need not be asked again
    _output: Held = None
    _head: bytes = b""
    _head_count: int = 0

    def __init__(
        self,
        call: Call | None,
        event: str,
        levelno: int,
        status: str | None,
        duration: int | None,
        tail: bytes,
        count: int,
    ) -> None:
        """Make the record of a call; ``tail`` holds its ``count`` packed content pairs beside ``input``.

        ``duration`` is nanoseconds, None for a start. Records without a call are made by `make_record`.
        """
        self._call = call
        self.toolog_event = event
        self.levelno = levelno
        self._status = status
        self._duration = duration
        self._tail = tail
        self._tail_count = count

    # -- assembling ------------------------------------------------------------------------------------------

    def tail(self) -> tuple[bytes, int]:
        """Return the raw content as MessagePack pairs, and their number. Only a sanitizer may look at it."""
        call = self._call
        if call is None:
            return self._tail, self._tail_count
        bag = call.bag
        return b"\xa5input" + call.packed_input() + self._tail + bag.packed, 1 + self._tail_count + bag.count

    def head(self) -> tuple[bytes, int]:
        """Return the record's own facts as MessagePack pairs, and their number."""
        call = self._call
        if call is None:
            return self._head, self._head_count
        static, count = call.plan.static(self.toolog_event, self._status, self.levelno)
        duration = self._duration
        seconds, rest = divmod(call.wall, 1_000_000_000)
        head = _FACTS % (
            static,
            _PREFIXES[2 if duration is None else 1], call.span,
            _second[1] if _second[0] == seconds else write_date(seconds), rest // 1000,
            call.trace,
            call.span,
            _lineage(call),
            call.process,
        )  # fmt: skip
        count += 7
        if duration is not None:
            head += _DURATION + pack_double(duration / 1e6)
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

    # -- sanitized views -------------------------------------------------------------------------------------

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

    def getMessage(self) -> str:
        """Return one readable line about the event, sanitized."""
        document = self.document()
        if document.get("message") is not None:
            return str(document["message"])
        parts = [document["event"]]
        if "tool_name" in document:
            parts.append(document["tool_name"])
        if isinstance(document.get("input"), dict):
            parts.append(
                "(" + ", ".join(f"{key}={value!r:.80}" for key, value in document["input"].items()) + ")"
            )
        if "duration_ms" in document:
            parts.append(f"{document['duration_ms']:.3f} ms")
        if document.get("error"):
            parts.append(f"{document['error'].get('type')}: {document['error'].get('message')}")
        return " ".join(parts)

    def _standard(self) -> dict[str, Any]:
        """Return the attributes of a plain LogRecord, from the sanitized document."""
        document = self.document()
        process = document.get("process") or {}
        seconds = _seconds(document["timestamp"])
        return {
            **_NOTHING,
            "name": self._logger_name(),
            "msg": self.getMessage(),
            "levelname": logging.getLevelName(self.levelno),
            "levelno": self.levelno,
            "created": seconds,
            "msecs": (seconds - int(seconds)) * 1000,
            "relativeCreated": (seconds - _STARTED) * 1000,
            "threadName": process.get("thread"),
            "process": process.get("pid"),
            "taskName": process.get("task"),
            "trace_id": document.get("trace_id", ""),
            "span_id": document.get("span_id", ""),
            "tool_name": document.get("tool_name", ""),
            "toolog": document,
        }

    def _logger_name(self) -> str:
        given = _real_dict(self).get("name")
        return given or (ROOT if self._call is None else self._call.plan.logger.name)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The attributes that a formatter sees: the standard ones, sanitized, and ``toolog``, the whole
        document.
        """
        added = {key: value for key, value in _real_dict(self).items() if not key.startswith("_")}
        return {**self._standard(), **added}

    def __repr__(self) -> str:
        return f"<ToolRecord {self.toolog_event} {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy or a pickle (QueueHandler, SocketHandler) leaves this process's care: it carries sanitized
        # data only.
        return logging.makeLogRecord, (dict(self.__dict__),)


def _lineage(call: Call) -> bytes:
    """Return the pairs ``parent_id`` and ``depth``."""
    parent, depth = call.parent, call.depth
    span = b"\xc0" if parent is None or parent.span is None else b"\xb0" + parent.span
    return b"\xa9parent_id%b\xa5depth%b" % (span, _SMALL[depth] if depth < 128 else ormsgpack.packb(depth))


class SuccessRecord(ToolRecord):
    """The commonest record, a plain success at level INFO: fewer attributes to write, one form to fill in.

    The wrapper makes it without the constructor, which does the same.
    """

    toolog_event = "tool_call_success"
    levelno = _INFO
    _status = "success"
    _call: Call
    _duration: int

    def __init__(self, call: Call, duration: int, output: Held) -> None:
        self._call = call
        self._duration = duration
        self._output = output

    def tail(self) -> tuple[bytes, int]:
        """Return what `ToolRecord.tail` does; input and output are packed at once where both are flat."""
        call, output = self._call, self._output
        bag = call.bag
        if type(call.input) is not bytes and type(output) is not bytes:
            packed = pack_flat(call.input, output)
            if packed is not None:
                return packed + bag.packed, 2 + bag.count
        self._output, cuts = pack_held(output, "output")  # no longer flat, in any case
        tail = _CONTENT % (call.packed_input(), self._output, bag.packed)
        cuts = {**(call.cuts or {}), **(cuts or {})}
        if cuts:
            call.cuts = cuts
            return tail + b"\xa9truncated" + packb(cuts), 3 + bag.count
        return tail, 2 + bag.count

    def compact(self, tail: bytes, count: int) -> bytes:
        """Return the record in the spool's short form, that ``serializers.compact`` makes the document of.

        ``tail`` and ``count`` as from `tail`. Half as long, and made in a third of the time.
        """
        call = self._call
        instance, process = call.instance, call.process
        lineage = b"" if call.parent is None else call.trace + _lineage(call)
        if instance is None:
            head = call.plan.heads[count]
        else:
            head = call.plan.heads[count + 1]
            process = b"%b\xabinstance_id%b" % (process, instance)
        return b"%b%b%b%b%b" % (
            _pack_short(
                call.wall, self._duration, call.ident & MASK, _PREFIXES[1], Ids.prefix,
                len(head), len(lineage), len(process),
            ),
            head, lineage, process, tail,
        )  # fmt: skip

    def assemble(self, tail: bytes, count: int, masked: dict[str, int] | None = None) -> bytes:
        """Return what `ToolRecord.assemble` does."""
        if masked is not None:
            return super().assemble(tail, count, masked)
        call = self._call
        instance = call.instance
        seconds, rest = divmod(call.wall, 1_000_000_000)
        second = _second
        return SUCCESS % (
            call.plan.heads[count + (instance is not None)], _PREFIXES[1], call.span,
            second[1] if second[0] == seconds else write_date(seconds), rest // 1000, call.trace, call.span,
            ROOT_LINEAGE if call.parent is None else _lineage(call),
            call.process if instance is None else call.process + b"\xabinstance_id" + instance,
            pack_double(self._duration / 1e6), tail,
        )  # fmt: skip


SHORT = struct.Struct("<qqQ16s8sIII")
"""The head of the short form: time, duration, id, two prefixes of ids, and the lengths of three parts."""
_pack_short = SHORT.pack


for _name in (
    *_NOTHING, "name", "msg", "levelname", "created", "msecs", "relativeCreated", "threadName", "process",
    "taskName", "trace_id", "span_id", "tool_name", "toolog",
):  # fmt: skip
    setattr(ToolRecord, _name, _Standard(_name))

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

    ``facts`` are the record's own (never scanned: no user's data in them), ``content`` is what a sanitizer
    must read, ``scope`` gives trace, span, session and tags; ``wall`` nanoseconds since the epoch (default:
    now).
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
    record._head = pairs + b"\xa7process" + packed_process()
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
    """Return the ``log`` event of an application's log line, on the thread that logged. Never raises."""
    attributes = {key: value for key, value in line.__dict__.items() if key not in _OWN}
    if line.stack_info is not None:
        attributes["stack_info"] = str(line.stack_info)
    name = line.name if isinstance(line.name, str) else ROOT
    error = None
    if line.exc_info and isinstance(line.exc_info, tuple) and line.exc_info[1] is not None:
        error = describe_error(line.exc_info[1])
    elif line.exc_text:
        error = {"type": "", "message": "", "stack": str(line.exc_text)}
    return make_record(
        "log",
        line.levelno,
        logger=name,
        facts={"logger": name},
        content={
            "message": safe_text(line.getMessage),
            "error": error,
            "attributes": attributes or None,
        },
        scope=current.get(),
        wall=int(line.created * 1e9),
    )
