"""The wrapper around a tool's function: the hot path.

The file's name is on purpose: ``warnings.warn(stacklevel=2)`` and logging's ``findCaller`` skip frames whose file name
contains both "importlib" and "_bootstrap". So the one Python frame that wrapping adds is not blamed for a tool's
warnings and log lines (see docs/decisions/wrapper-frame.md).

What the wrapper must keep: the tool's own result and exception pass through, the very same objects; nothing of ours
raises; one call gives one record.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from threading import get_ident
from time import perf_counter_ns
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from toolog import context, emit
from toolog.call import Call, Plan
from toolog.context import HOLD, current, pop
from toolog.instrumentation import capture_output
from toolog.instrumentation.endings import fail, reentered, start, succeed, too_deep
from toolog.instrumentation.streams import follow
from toolog.record import ToolRecord
from toolog.settings import capture
from toolog.snapshot import pack_cut
from toolog.stats import contain

Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]

LAZY = frozenset({GeneratorType, AsyncGeneratorType, CoroutineType})
"""Results that are still to run: their record ends with them. Decided by the result, never by the function."""

DEBUG, INFO, ERROR = 10, 20, 40


def make_wrapper(plan: Plan) -> Wrapper:
    """Return the wrapper of a tool, in wrapt's form ``(wrapped, instance, args, kwargs)``."""
    enabled = plan.cache.get
    check = plan.enabled
    package = plan.package
    nested = plan.nested
    logger = plan.logger
    get = current.get
    settings = capture
    of_call = ToolRecord.of_call
    deliver = emit.deliver

    def toolog_wrapper(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        try:
            # Nothing is recorded when not even a failure would be; the cache is the one that isEnabledFor reads.
            if not (enabled(ERROR) or (enabled(ERROR) is None and check(ERROR))):
                return_plain = True
            else:
                parent = get()
                return_plain = False
                if parent is not None:
                    if parent.muted and parent.muted == get_ident():
                        reentered(parent)
                        return_plain = True
                    elif not nested and parent.plan.package is package:
                        return_plain = True
            if not return_plain:
                call = Call(plan, parent)
                if HOLD:
                    held = copy_context()
                token = current.set(call)
                try:
                    if context.bridge is not None:
                        _join(call, parent)
                    if settings.capture_output:
                        capture_output.collect(call)
                    call.take(instance, args, kwargs)
                    if enabled(DEBUG) or (enabled(DEBUG) is None and check(DEBUG)):
                        start(call)
                    refusal = too_deep(call) if call.depth > settings.max_depth else None
                except BaseException:
                    pop(token)
                    raise
        except Exception as trouble:
            contain("capture", trouble)
            return_plain = True
        if return_plain:
            return wrapped(*args, **kwargs)
        if refusal is not None:
            pop(token)
            raise refusal
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            call.muted = get_ident()
            fail(call, error)
            call.muted = 0
            pop(token)
            raise
        duration = perf_counter_ns() - call.started
        if type(result) in LAZY:
            pop(token)
            return follow(call, result)
        try:
            call.muted = get_ident()
            if (
                call.extra is None
                and call.output is None
                and call.cuts is None
                and settings.slow_ms is None
                and call.depth <= settings.max_depth
                and not settings.levels
            ):
                if enabled(INFO) or (enabled(INFO) is None and check(INFO)):
                    output, cuts = pack_cut(result, "output")
                    if cuts is None:
                        call.ended = True
                        deliver(
                            logger,
                            of_call(call, "tool_call_success", INFO, "success", duration, b"\xa6output" + output, 1),
                        )
                    else:
                        succeed(call, result, duration)
            else:
                succeed(call, result, duration)
            call.muted = 0
        except Exception as trouble:
            contain("record", trouble)
            call.muted = 0
        if HOLD:
            held = copy_context()  # noqa: F841 - holding it is its purpose, see context.push
        try:
            current.reset(token)
        except ValueError:
            pop(token)
        return result

    return toolog_wrapper


def _join(call: Call, parent: Any) -> None:
    bridge = context.bridge
    assert bridge is not None
    outside = bridge.parent(parent)
    if outside is not None:
        call.trace, call.parent = outside[0], _Outside(parent, outside)


class _Outside(context.Scope):
    """A span of another tracing library, as the parent of a call."""

    __slots__ = ()

    def __init__(self, parent: context.Scope | None, ids: tuple[bytes, bytes]) -> None:
        super().__init__(parent)
        self.trace, self.span = ids
