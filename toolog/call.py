"""A call in flight: what is known of it before and while the tool's code runs.

A `Plan` holds what is the same for every call of one tool, prepared once; a `Call` is one execution. The Call
is the current Scope while the tool runs, so whatever the tool calls finds its parent there.
"""

from __future__ import annotations

import inspect
import logging
import os
import weakref
from collections.abc import Callable
from typing import Any

from toolog.arguments import Arguments, read_signature
from toolog.context import EMPTY, Mode, Place, Scope, quiet_repr
from toolog.forks import here, notice
from toolog.ids import Ids, span_of
from toolog.levels import level_name, tool_logger
from toolog.process import on_thread, packed_process
from toolog.settings import capture
from toolog.snapshot import pack, shapes
from toolog.snapshot.flat import Held, pack_held

SCHEMA_VERSION = "1.0"
_COUNTS = [number.to_bytes(1) for number in range(0x80, 0x90)] + [
    b"\xde" + number.to_bytes(2) for number in range(16, 128)
]
"""The head of a MessagePack map of n pairs."""
shapes.ask_repr = quiet_repr


class Plan(Place):
    """What all calls of one tool share: names, signature, logger, and the part of the record that never
    changes.

    ``tool_name`` is what the record calls the tool; ``package`` its root package; with ``nested`` False only
    the outermost call of its ``region`` (by default the package) is recorded. ``identify`` gives the
    MessagePack bytes of an instance's id, or None for "no instance" (set by what captures tool instances).
    ``description`` stands in each record as it is, so whoever makes a plan masks it.
    """

    __slots__ = (
        "__weakref__", "_static", "arguments", "cache", "description", "function", "heads", "identify",
        "logger", "module", "nested", "package_version", "qualname", "type",
    )  # fmt: skip

    tool_name: str

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        tool_name: str,
        module: str = "",
        qualname: str = "",
        package: str | None = None,
        package_version: str | None = None,
        type: str = "function",
        description: str | None = None,
        nested: bool = True,
        region: str | None = None,
        skip_first: bool = False,
        signature: inspect.Signature | None = None,
        identify: Callable[[Any], bytes | None] | None = None,
    ) -> None:
        super().__init__(tool_name, package, None if nested else region or package)
        self.function = function
        self.module = module
        self.qualname = qualname or tool_name
        self.package_version = package_version
        self.type = type
        self.description = description
        self.nested = nested
        self.identify = identify
        self.arguments = Arguments(signature or read_signature(function), skip_first=skip_first)
        self.logger: logging.Logger = tool_logger(tool_name)
        # What isEnabledFor reads; the hot path does so without its call.
        self.cache: dict[int, bool] = self.logger._cache  # type: ignore[attr-defined]
        self._static: dict[tuple[str, str | None, int], tuple[bytes, int]] = {}
        self.heads: list[bytes] = []
        self.prepare()
        _plans.add(self)

    def prepare(self) -> None:
        """Make the unchanging fields anew, after a change of the settings.

        ``heads[n]`` is the beginning of a success with n pairs of content.
        """
        self._static.clear()
        static, count = self.static("tool_call_success", "success", 20)
        self.heads = [_COUNTS[count + 8 + content] + static for content in range(8)]

    @property
    def asking(self) -> bool:
        """Whether this thread asks a tool's logger just now."""
        return bool(getattr(on_thread, "asking", False))

    def enabled(self, level: int) -> bool:
        """Whether the tool's logger takes this level (fills the cache that the hot path reads).

        The logger's own methods may be instrumented: what is called while it is asked is no tool call.
        """
        if self.asking:
            return False
        on_thread.asking = True
        try:
            return self.logger.isEnabledFor(level)
        finally:
            on_thread.asking = False

    def static(self, event: str, status: str | None, levelno: int) -> tuple[bytes, int]:
        """Return the unchanging fields of a record as MessagePack pairs, and how many they are."""
        key = (event, status, levelno)
        held = self._static.get(key)
        if held is None:
            held = self._static[key] = self._make_static(event, status, levelno)
        return held

    def _make_static(self, event: str, status: str | None, levelno: int) -> tuple[bytes, int]:
        tool: dict[str, Any] = {"module": self.module, "qualname": self.qualname, "type": self.type}
        if self.package:
            tool["package"] = self.package
        if self.package_version:
            tool["version"] = self.package_version
        if self.description:
            tool["description"] = self.description
        fields: dict[str, Any] = {"event": event, "level": level_name(levelno)}
        if status is not None:
            fields["status"] = status
        fields["tool_name"] = self.tool_name
        fields["tool"] = tool
        fields.update(common_fields())
        return pack_pairs(fields), len(fields)


_plans: weakref.WeakSet[Plan] = weakref.WeakSet()


def refresh_plans() -> None:
    """Forget prepared fields: call it after a change of service name, levels or the like."""
    for plan in list(_plans):
        plan.prepare()
    Mode.refresh()


def common_fields() -> dict[str, Any]:
    """Return the fields that every record of this process has."""
    fields: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "host": _host()}
    if capture.service:
        fields["service"] = dict(capture.service)
    return fields


def _host() -> str:
    try:
        return os.uname().nodename
    except (OSError, AttributeError):
        return "unknown"


def pack_pairs(fields: dict[str, Any]) -> bytes:
    """Return the key-value pairs of a dict as MessagePack, without the map's head, so that pairs can be
    joined.
    """
    return b"".join([pack(key) + pack(value) for key, value in fields.items()])


class _Span:
    """The attribute ``span`` of a call, made when it is first asked for."""

    def __get__(self, call: Call, owner: type[Call]) -> bytes:
        call.span = span = span_of(call.ident)
        return span


class _Trace:
    """The attribute ``trace`` of a call, made when it is first asked for: its parent's, or one of its own."""

    def __get__(self, call: Call, owner: type[Call]) -> bytes:
        waiting = [call]
        above = call.parent
        while above is not None and "trace" not in vars(above):  # not by recursion: calls may nest deeply
            waiting.append(above)  # type: ignore[arg-type]  # a plain Scope has its trace from the start
            above = above.parent
        trace = None if above is None else above.trace
        for one in reversed(waiting):
            one.trace = trace = trace or one.span[8:] + Ids.prefix + one.span
        return call.trace


class Call(Scope):
    """One execution of a tool, from entry to its end; also the scope of what happens inside.

    Times are nanoseconds: ``wall`` since the epoch, ``started`` on the monotonic clock. ``input`` is the
    snapshot of the arguments, taken before the tool ran. ``ident`` is the number its ids are made of. What
    few calls need is a class-level default, so that making one writes few attributes; the wrapper makes calls
    without the constructor, which does the same.
    """

    plan: Plan
    ident: int
    parent = None
    depth = 0
    bag = EMPTY
    span: bytes = _Span()  # type: ignore[assignment]
    trace: bytes = _Trace()  # type: ignore[assignment]
    process: bytes
    """Pid, thread and task that it ran in, packed."""
    ended = False
    """Set by the first end that is recorded; a call has one."""
    extra: dict[str, Any] | None = None
    """Further content of the record: tool_call_id, attempts, phase ..."""
    cuts: dict[str, Any] | None = None
    """What the snapshot of the arguments cut for size."""
    instance: bytes | None = None
    """The packed id of the tool instance."""
    input: Held
    wall: int
    started: int

    def __init__(self, plan: Plan, parent: Scope | None) -> None:
        self.plan = plan
        if not here[0]:
            notice()
        self.ident = next(Ids.counter)
        if parent is not None:
            self.parent = parent
            self.depth = parent.depth + 1
            self.bag = parent.bag
        self.process = packed_process()

    def packed_input(self) -> bytes:
        """Return the snapshot of the arguments as MessagePack."""
        packed, cuts = pack_held(self.input, "input")
        self.input = packed
        if cuts is not None:
            self.cuts = {**(self.cuts or {}), **cuts}
        return packed

    def heed(self, result: Any) -> None:
        """Look at a result that is to be recorded; a framework's call judges it (see
        ``instrumentation.frameworks``)."""

    def yields_to(self, plan: Plan) -> bool:
        """Whether a wrapped function that is entered inside is this call's own, so makes no record."""
        return False

    def settle(
        self,
        event: str,
        status: str,
        output: bytes | None,
        cuts: dict[str, Any] | None,
        error: BaseException | None,
    ) -> tuple[str, str, bytes | None, dict[str, Any] | None, BaseException | None]:
        """Return what is recorded of an end; a framework's call puts it together from several layers."""
        return event, status, output, cuts, error

    def add(self, **fields: Any) -> None:
        """Add content fields to the record of this call (they are sanitized like all content)."""
        self.extra = {**(self.extra or {}), **fields}
