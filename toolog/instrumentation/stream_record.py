"""What the record of a stream holds, and how it ends: once, with the items seen until then.

A stream is what a tool returned to be run later: a generator, an async generator, a coroutine. Each item is
snapshotted when it passes (it may change afterwards), as many as the limits ``max_items`` and ``max_bytes``
allow; the rest is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import ormsgpack

from toolog.call import Call
from toolog.context import Mode, Scope
from toolog.counters import contain
from toolog.emit import deliver
from toolog.instrumentation.endings import finish, kind_of, succeed
from toolog.record import SuccessRecord
from toolog.settings import capture
from toolog.snapshot import pack_cut
from toolog.snapshot.flat import hold
from toolog.snapshot.texts import MORE
from toolog.snapshot.walk import MAX_NOTES

INFO = 20

PROXIES: dict[type, Callable[[Call, Any], Any]] = {}
"""What follows a result of this type; filled by `toolog.instrumentation.streams`."""


class Items:
    """The items of one stream so far, as bounded snapshots."""

    __slots__ = ("count", "cuts", "full", "parts", "size")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.count = 0
        self.size = 0
        self.full = False
        self.cuts: dict[str, Any] = {}

    def add(self, item: Any, scope: Scope) -> None:
        """Snapshot one item; calls that this makes are ours, not the agent's. Never raises."""
        self.count += 1
        if self.full:
            return
        held = scope.muted
        scope.muted = get_ident()
        try:
            packed, cuts = pack_cut(item, "")
            place = len(self.parts)
            size = self.size + len(packed)
            if place >= capture.max_items or size > capture.max_bytes:
                self.full = True
                return
            self.parts.append(packed)
            self.size = size
            if cuts and len(self.cuts) < MAX_NOTES:
                self.cuts.update({f"output[{place}]{path}": note for path, note in cuts.items()})
        except Exception as trouble:
            contain("stream", trouble)
        finally:
            scope.muted = held

    def packed(self) -> tuple[bytes, dict[str, Any]]:
        """Return the items as one MessagePack array, and what was cut from it."""
        parts, cuts = self.parts, self.cuts
        kept = len(parts)
        if kept < self.count:
            parts = [*parts, ormsgpack.packb({MORE: f"{self.count - kept:,} more items"})]
            cuts = {**cuts, "output": {"size": self.count, "unit": "items", "kept": kept}}
        return array_head(len(parts)) + b"".join(parts), cuts


class Given(Items):
    """The one item of a stream that a context manager gives to its block: it is the output itself."""

    __slots__ = ()

    def packed(self) -> tuple[bytes, dict[str, Any]]:
        """Return the item as MessagePack (nothing: there was none), and what was cut from it."""
        if not self.parts:
            return b"\xc0", {"output": {"size": 1, "unit": "items", "kept": 0}} if self.full else {}
        cuts = {f"output{path.removeprefix('output[0]')}": note for path, note in self.cuts.items()}
        return self.parts[0], cuts


def array_head(number: int) -> bytes:
    """Return the head of a MessagePack array of ``number`` items."""
    if number < 16:
        return bytes((0x90 | number,))
    if number < 1 << 16:
        return b"\xdc" + number.to_bytes(2)
    return b"\xdd" + number.to_bytes(4)


def end(call: Call, items: Items | None, error: BaseException | None, started: bool = True) -> None:
    """Record that a stream is over. Never raises; only the first end of a call counts.

    ``items`` is None for a coroutine. ``error`` is what its code raised (StopIteration and StopAsyncIteration
    mean that it is exhausted, but out of a coroutine are a failure as any other), None that it was closed or
    dropped. ``started`` is False when none of its code ever ran.
    """
    if call.ended:
        return
    held = call.muted
    call.muted = get_ident()
    try:
        duration = perf_counter_ns() - call.started if started else 0
        output, cuts = items.packed() if items is not None else (None, None)
        if error is None or isinstance(error, GeneratorExit):
            finish(call, "tool_call_cancelled", "closed", duration, output, cuts)
        elif items is not None and isinstance(error, (StopIteration, StopAsyncIteration)):
            finish(call, "tool_call_success", "success", duration, output, cuts)
        else:
            event, status = kind_of(error)
            finish(call, event, status, duration, output, cuts, error)
    except Exception as trouble:
        contain("stream", trouble)
    finally:
        call.muted = held


def returned(call: Call, stop: StopIteration) -> bool:
    """Record what a coroutine returned. If that is a stream itself, the record ends with that: True then."""
    if call.ended:
        return False
    value = stop.value
    duration = perf_counter_ns() - call.started
    try:
        proxy = PROXIES.get(type(value))
        if proxy is not None:
            stop.value = proxy(call, value)
            return True
        # the short way of the wrapper in importlib_bootstrap, for the same calls
        if (
            Mode.plain
            and call.cuts is None
            and call.extra is None
            and call.depth <= Mode.max_depth
            and call.plan.cache.get(INFO)
        ):
            output, cuts = hold(value, "output")
            if cuts is None:
                call.ended = True
                call.muted = get_ident()
                deliver(call.plan.logger, SuccessRecord(call, duration, output))
                call.muted = 0
                return False
        succeed(call, value, duration)
    except BaseException as trouble:
        call.muted = 0
        if not isinstance(trouble, Exception):  # Ctrl-C while we recorded is the application's
            raise
        contain("stream", trouble)
    return False
