"""How a call ends: one record for it, whichever way it ends, and never an error of ours to the caller."""

from __future__ import annotations

import sys
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import ormsgpack

from toolog import context
from toolog.call import Call, Plan
from toolog.context import DEEP, NOWHERE, Scope, quiet
from toolog.counters import contain, count
from toolog.emit import deliver, level_of
from toolog.errors import CallDepthExceeded
from toolog.faults import describe_error
from toolog.instrumentation import capture_output
from toolog.instrumentation.room import make_room
from toolog.record import ToolRecord
from toolog.settings import capture
from toolog.snapshot import pack_cut
from toolog.snapshot.walk import Limits

WARNING = 30

# Slots of BaseException: a subclass may put a property over them.
_get_traceback = BaseException.__dict__["__traceback__"].__get__
_set_traceback = BaseException.__dict__["__traceback__"].__set__


def start(call: Call) -> None:
    """Record that a call was entered (level DEBUG): what has no end after a crash is thereby visible."""
    try:
        level = level_of("tool_call_start")
        if call.plan.enabled(level):
            tail, number = _content(call, {})
            record = ToolRecord(call, "tool_call_start", level, None, None, tail, number)
            with quiet(call):  # a handler that calls tools would else begin calls without end
                deliver(call.plan.logger, record)
    except Exception as error:
        contain("record", error)


def succeed(call: Call, result: Any, duration: int) -> None:
    """Record a result; ``duration`` in nanoseconds. The result is snapshotted here and not kept."""
    try:
        call.heed(result)
        packed, cuts = pack_cut(result, "output")
        finish(call, "tool_call_success", "success", duration, packed, cuts)
    except Exception as error:
        contain("record", error)


def finish(
    call: Call,
    event: str,
    status: str,
    duration: int,
    output: bytes | None = None,
    cuts: dict[str, Any] | None = None,
    error: BaseException | None = None,
) -> None:
    """Record the end of a call, once; later ends of the same call are ignored. Never raises.

    ``output`` is a packed result (or the items of a stream so far), ``cuts`` what was cut from it.
    """
    if call.ended:
        return
    call.ended = True
    call.muted = get_ident()  # what is called from here on, on this thread, is our own doing
    try:
        event, status, output, cuts, error = call.settle(event, status, output, cuts, error)
        level = level_of(event)
        if capture.slow_ms is not None and event == "tool_call_success" and duration > capture.slow_ms * 1e6:
            level = max(level, WARNING)
        if call.depth > capture.max_depth:
            level = max(level, WARNING)
        if not call.plan.enabled(level):
            return
        content: dict[str, Any] = {}
        if error is not None:
            content["error"] = describe_error(error)
        tail, number = _content(call, content, cuts)
        if output is not None:
            tail = b"\xa6output" + output + tail
            number += 1
        deliver(call.plan.logger, ToolRecord(call, event, level, status, duration, tail, number))
    except Exception as trouble:
        contain("record", trouble)
    finally:
        call.muted = 0


def fail(call: Call, error: BaseException, duration: int | None = None) -> None:
    """Record that the tool raised: failed, cancelled, closed or timed out, by the kind of the exception."""
    if duration is None:
        duration = perf_counter_ns() - call.started
    event, status = kind_of(error)
    finish(call, event, status, duration, error=error)


def step_out(error: BaseException) -> None:
    """Take the frame that caught an exception out of its traceback: the user sees the tool's frames and the
    caller's, as without us. A bare ``raise`` must follow, which adds no frame of its own.
    """
    trace = _get_traceback(error)
    if trace is not None:
        _set_traceback(error, trace.tb_next)


def kind_of(error: BaseException) -> tuple[str, str]:
    """Return the event and the status that an exception out of a tool means."""
    kind = type(error)  # `isinstance` would ask the object, too
    if issubclass(kind, TimeoutError):
        return "tool_call_failed", "timeout"
    if issubclass(kind, GeneratorExit):
        return "tool_call_cancelled", "closed"
    if issubclass(kind, KeyboardInterrupt) or _is_cancellation(kind):
        return "tool_call_cancelled", "cancelled"
    return "tool_call_failed", "execution_error"


def _is_cancellation(kind: type[BaseException]) -> bool:
    for module, name in (
        ("asyncio", "CancelledError"),
        ("trio", "Cancelled"),
        ("concurrent.futures", "CancelledError"),
    ):
        loaded = sys.modules.get(module)
        wanted = None if loaded is None else vars(loaded).get(name)
        if isinstance(wanted, type) and issubclass(kind, wanted):
            return True
    return False


def too_deep(call: Call) -> CallDepthExceeded | None:
    """Return the error to raise when calls nest deeper than ``max_depth`` and raising was asked for.

    The refused call is recorded as rejected. None when it should merely be recorded (its record names the
    chain).
    """
    try:
        if capture.on_max_depth != "raise":
            return None
        shown = " > ".join(call.shown_chain())
        error = CallDepthExceeded(
            f"tool calls are nested deeper than max_depth={capture.max_depth}: {shown}", call.chain()
        )
        call.add(phase="validation")
        finish(call, "tool_call_rejected", "context_error", 0, error=error)
    except Exception as trouble:
        contain("depth", trouble)
        return None
    return error


def reentered(scope: Scope, plan: Plan) -> bool:
    """Whether recording itself makes this call (a handler that uses an instrumented client, say): counted,
    not recorded. So is the function of a tool that a framework calls: the framework's call is its record.

    Only on the thread that records: another thread that works for the same call is the agent's.
    """
    if scope.muted < 0:
        above: Scope | None = scope
        while above is not None and not isinstance(above, Call):  # a session, a tag
            above = above.parent
        return above is not None and above.yields_to(plan)
    if scope.muted != get_ident():
        return False
    count("reentrant")
    return True


def wanted(plan: Plan) -> bool:
    """Whether a call must be watched: its failure would be recorded. Also fills the cache that the hot path
    reads; what is called while it is filled (by a signal handler, by a logger's own methods) is counted.
    """
    if plan.asking:
        count("reentrant")
        return False
    known = plan.cache.get
    for level in (20, 40):
        answer = known(level)
        if plan.enabled(level) if answer is None else answer:
            return True
    return bool(capture.levels and plan.enabled(50))


def prepare(call: Call) -> None:
    """Do before a call what only some settings ask for.

    Raises CallDepthExceeded instead of letting the call happen, where that was asked for.
    """
    bridge = context.bridge
    if bridge is not None:
        outside = bridge.parent(call.parent)
        if outside is not None:
            call.parent = Outside(call.parent, outside)
            call.trace = outside[0]
    if call.depth > DEEP:
        make_room(call.depth)
        above = call.parent
        while above is not None and not isinstance(above, Call):  # a session, a tag
            above = above.parent
        if call.parent is not None and above is not None and above.ended:
            call.parent = Former(call.parent)
    start(call)
    if capture.capture_output:  # not before: the record of the start would take what is collected
        capture_output.collect(call)
    if call.depth > capture.max_depth:
        refusal = too_deep(call)
        if refusal is not None:
            raise refusal


class Former(Scope):
    """A parent that is over, without what was above it.

    A tool that arranges for its own next call (a timer, a task) is the parent of that call though it has
    ended; so each call would keep all calls before it alive.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.parent = None


class Outside(Scope):
    """A span of another tracing library, as the parent of a call."""

    def __init__(self, parent: Scope | None, ids: tuple[bytes, bytes]) -> None:
        super().__init__(parent)
        self.trace, self.span = ids
        self.plan = NOWHERE  # it is no tool of ours


_OURS = frozenset({"error", "depth_exceeded", "attempts"})
_NAME = 200  # characters of a name in a chain of calls


def _content(call: Call, content: dict[str, Any], cuts: dict[str, Any] | None = None) -> tuple[bytes, int]:
    """Return further content of a call's record as packed pairs: error, extras, output lines, cuts, depth
    chain.
    """
    if call.depth > capture.max_depth:
        content["depth_exceeded"] = [name[:_NAME] for name in call.shown_chain()]
    if call.output is not None:
        content.update(call.output.take())
    if call.extra is not None:
        content.update(call.extra)
    cuts = {**(call.cuts or {}), **(cuts or {})}
    parts: list[bytes] = []
    for key, value in content.items():
        if value is None:
            continue
        # How many items of a user's values are kept says nothing of our own fields: the schema does.
        packed, cut = pack_cut(value, key, Limits(capture.max_bytes) if key in _OURS else None)
        parts += [ormsgpack.packb(key), packed]
        cuts.update(cut or {})
    number = len(parts) // 2
    if cuts:
        parts += [b"\xa9truncated", ormsgpack.packb(cuts)]
        number += 1
    return b"".join(parts), number
