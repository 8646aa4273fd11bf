"""The frozen record: a light `logging.LogRecord` that holds raw snapshots privately and shows sanitized views
only.

A `ToolRecord` is made on the caller's thread from what is already bytes, so making one costs a few attribute
writes. Its document is assembled later, once, by whoever first needs it: the handler's worker for whole
batches, or a formatter at once. It is two MessagePack fragments: the *head* (the record's own facts: ids,
times, level, never scanned) and the *tail* (content: arguments, result, error, output, tags, messages), which
the sanitizer reads.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any, ClassVar

import ormsgpack
from ormsgpack import packb

from toolog.call import _COUNTS, Call
from toolog.context import getrandbits
from toolog.forks import after_in_child
from toolog.ids import MASK, Ids, new_span
from toolog.levels import ROOT
from toolog.masked import MaskedRecord
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
    span = new_span()  # first: it notices a fork
    return _PREFIXES[0] + span


_PREFIXES: list[bytes] = []


def _reseed() -> None:
    _PREFIXES[:] = [b"%016x" % getrandbits(64) for _ in range(3)]


_reseed()
after_in_child(_reseed)


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


class ToolRecord(MaskedRecord):
    """One event of toolog on its way through `logging`.

    ``toolog_event`` is the event's name; ``toolog_sanitizer`` the sanitizer that a filter stamped on it, else
    one that hangs above all tools, if any. What most records never need is a class-level default, so that
    making one writes few attributes.
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

    def logger_name(self) -> str:
        """Return the logger of the tool, or the one above all tools."""
        return ROOT if self._call is None else self._call.plan.logger.name

    def __repr__(self) -> str:
        return f"<ToolRecord {self.toolog_event} {self.name}>"


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
