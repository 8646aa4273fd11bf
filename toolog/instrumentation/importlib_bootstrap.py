"""The wrapper around a tool's function: the hot path.

The file's name is on purpose: ``warnings.warn(stacklevel=2)`` and logging's ``findCaller`` skip frames whose
file name contains both "importlib" and "_bootstrap". So the one Python frame that wrapping adds is not blamed
for a tool's warnings and log lines (see docs/decisions/wrapper-frame.md).

What the wrapper must keep: the tool's own result and exception pass through, the very same objects; nothing
of ours raises; one call gives one record.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from threading import get_ident
from time import perf_counter_ns, time_ns
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from toolog.call import Call, Plan
from toolog.context import HOLD, Mode, current, is_inside, pop
from toolog.counters import contain
from toolog.emit import deliver, first
from toolog.errors import CallDepthExceeded
from toolog.forks import here, notice
from toolog.ids import Ids
from toolog.instances import known_objects
from toolog.instrumentation.endings import fail, finish, prepare, reentered, step_out, succeed, wanted
from toolog.instrumentation.importlib_bootstrap_managers import MANAGERS
from toolog.instrumentation.streams import follow
from toolog.process import on_thread, packed_process, running_loop
from toolog.record import SuccessRecord
from toolog.snapshot import pack_cut
from toolog.snapshot.flat import MOST_ITEMS, MOST_TEXT, hold, pack_held

Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]

LAZY = frozenset({GeneratorType, AsyncGeneratorType, CoroutineType, *MANAGERS})
"""Results that are still to run: their record ends with them. Decided by the result, never by the function.
"""

DEBUG, INFO, ERROR = 10, 20, 40

make = object.__new__


def make_wrapper(plan: Plan) -> Wrapper:
    """Return the wrapper of a tool, in wrapt's form ``(wrapped, instance, args, kwargs)``.

    What other modules do in functions of their own is written out here for the commonest call: `Call` and
    `SuccessRecord` without their constructors, ``Arguments.named``, ``snapshot.flat.is_flat``, and
    ``instances.identify`` for an object that was seen before.
    """
    enabled = plan.cache.get  # what Logger.isEnabledFor reads, without its call
    package = None if plan.nested else plan.package
    names, tails, by_name = plan.arguments.names, plan.arguments.tails, plan.arguments.bind
    template, size = plan.arguments.template, plan.arguments.size
    identify = plan.identify
    seen = known_objects.get
    handle = plan.logger.handle
    get, put, back = current.get, current.set, current.reset

    def toolog_wrapper(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        call = None
        try:
            if enabled(INFO) or (
                (enabled(INFO) is None or enabled(ERROR) is not False or not Mode.plain) and wanted(plan)
            ):
                parent = get()
                if parent is None or not (
                    (parent.plan.package is package and package is not None and is_inside(parent, plan))
                    or (parent.muted and reentered(parent, plan))
                ):
                    call = make(Call)
                    call.plan = plan
                    if not here[0]:
                        notice()
                    call.ident = next(Ids.counter)
                    if parent is not None:
                        call.parent = parent
                        call.depth = parent.depth + 1
                        call.bag = parent.bag
                    try:
                        call.process = on_thread.packed if running_loop() is None else packed_process()
                    except AttributeError:  # the thread's first call
                        call.process = packed_process()
                    call.wall = time_ns()
                    if not kwargs:
                        tail = tails.get(len(args))
                        named = (
                            by_name(args, kwargs)
                            if tail is None
                            else dict(zip(names, args + tail, strict=False))
                        )
                    elif args or template is None or len(named := {**template, **kwargs}) != size:
                        named = by_name(args, kwargs)
                    flat = len(named) <= MOST_ITEMS
                    for item in named.values():
                        kind = type(item)
                        if kind is str:
                            if len(item) > MOST_TEXT:
                                flat = False
                                break
                        elif kind is not int and kind is not float and kind is not bool and item is not None:
                            flat = False
                            break
                    if flat:
                        call.input = named
                    else:
                        call.input, call.cuts = pack_cut(named, "input")
                    if identify is not None and instance is not None:
                        known = seen(id(instance))
                        call.instance = (
                            known.packed if known is not None and known.steady else identify(instance)
                        )
                    if not Mode.simple or enabled(DEBUG) is not False or call.depth > Mode.max_depth:
                        prepare(call)
                    if HOLD:
                        held = copy_context()
                    token = put(call)
                    call.started = perf_counter_ns()
        except CallDepthExceeded:
            raise
        except Exception as trouble:
            contain("capture", trouble)
            call = None
        if call is None:
            try:
                return wrapped(*args, **kwargs)
            except BaseException as error:
                step_out(error)
                raise
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            try:
                fail(call, error)
            finally:
                pop(token)
                step_out(error)
            raise
        duration = perf_counter_ns() - call.started
        try:
            kind = type(result)
            if kind in LAZY:
                result = follow(call, result)
            elif enabled(INFO) and Mode.plain and call.extra is None and call.depth <= Mode.max_depth:
                output: Any = None
                cuts = None
                if kind is dict and len(result) <= MOST_ITEMS:
                    output = result.copy()  # first: another thread may change it between two looks at it
                    for item in output.values():
                        kind = type(item)
                        if kind is str:
                            if len(item) > MOST_TEXT:
                                output, cuts = pack_cut(output, "output")
                                break
                        elif kind is not int and kind is not float and kind is not bool and item is not None:
                            output, cuts = pack_cut(output, "output")
                            break
                elif result is not None:
                    output, cuts = hold(result, "output")
                if cuts is None and call.cuts is None:
                    call.ended = True
                    call.muted = get_ident()  # what a handler calls on this thread is no call of the agent
                    record = make(SuccessRecord)
                    record._call = call
                    record._duration = duration
                    record._output = output
                    if first:
                        deliver(plan.logger, record)
                    else:
                        handle(record)
                    call.muted = 0
                else:
                    finish(call, "tool_call_success", "success", duration, *pack_held(output, "output", cuts))
            else:
                succeed(call, result, duration)
            if HOLD:
                held = copy_context()  # noqa: F841 - holding it is its purpose, see context.push
            back(token)
        except BaseException as trouble:
            call.muted = 0
            pop(token)
            if not isinstance(trouble, Exception):  # Ctrl-C while we recorded is the application's
                raise
            if call.ended:
                contain("record", trouble)
            else:  # a class of which nobody can ask whether it is one of `LAZY`
                succeed(call, result, duration)
        return result

    return toolog_wrapper
