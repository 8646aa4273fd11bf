"""The wrappers of a framework's layers. For the file's name see `toolog.instrumentation.importlib_bootstrap`.

As with every wrapper of ours: the very same result and exception pass through, and nothing of ours raises.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns, time_ns
from types import CoroutineType
from typing import Any, Protocol

from toolog.arguments import Arguments
from toolog.context import current, pop, push
from toolog.counters import contain, count
from toolog.errors import CallDepthExceeded
from toolog.instrumentation.endings import fail, prepare, step_out, succeed, wanted
from toolog.instrumentation.frameworks.calls import FrameworkCall, current_call, enclosing, in_flight
from toolog.instrumentation.frameworks.plans import instance_of, plan_of, raw_arguments
from toolog.instrumentation.frameworks.table import Adapter, Entry, Request
from toolog.instrumentation.frameworks.verdicts import is_cancelled
from toolog.instrumentation.importlib_bootstrap import LAZY, Wrapper
from toolog.instrumentation.importlib_bootstrap_streams import CoroutineProxy
from toolog.instrumentation.streams import follow
from toolog.propagation import attach, carrier
from toolog.snapshot import pack_cut

_SPAN = slice(36, 52)  # of a traceparent


class Claims(Protocol):
    """Who wants a framework's calls: see `install.Installed`."""

    adapter: Adapter

    def called(self, request: Request) -> str | None:
        """Return what the records call this tool, None when nobody wants its calls."""


def make_layer(claims: Claims, entry: Entry, arguments: Arguments, place: int, attribute: str) -> Wrapper:
    """Return the wrapper for one place of an entry; ``place`` tells the namespace it stands in."""
    key = (place, attribute, claims.adapter.name)

    def toolog_layer(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        call: FrameworkCall | None = None
        opened = False
        try:
            request = entry.read(instance, arguments.named(args, kwargs)) if entry.read else None
            if request is not None and request.refusal is not None:
                refuse(claims, entry, request)
            elif request is not None:
                call, opened = _meet(claims, entry, request, key)
        except CallDepthExceeded:
            raise
        except Exception as trouble:
            contain("adapter", trouble)
        try:
            if call is None:
                return wrapped(*args, **kwargs)
            if entry.send is not None:
                args, kwargs = _address(call, entry, arguments, args, kwargs)
            if opened:
                return _run(call, entry, wrapped, args, kwargs, instance)
            inside = entry.is_body or claims.adapter.family != call.adapter.family
            return _run_inside(call, entry, BodyProxy if inside else InsideProxy, wrapped, args, kwargs)
        except BaseException as error:
            step_out(error)
            raise

    return toolog_layer


def _meet(
    claims: Claims, entry: Entry, request: Request, key: tuple[int, str, str]
) -> tuple[FrameworkCall | None, bool]:
    """Find the call that a layer speaks of, or open one (True). None: nothing is to be done here."""
    scope = current.get()
    if scope is not None and scope.muted == get_ident():
        count("reentrant")
        return None, False
    call = current_call()
    sender = _sender(request)
    if sender is not None and (call is None or _sender(call.request) != sender):
        call = _other_side(sender, request)  # what is current here is not what the request came from
    if call is not None:
        same_family = claims.adapter.family == call.adapter.family
        same = call.is_same(request)
        other = not same and same_family and call.answers(request)
        if call.over and (same or other):
            call.retry()
        handed_on = entry.delegates and same_family and call.request.hands_on
        if not call.claimed and (same or other or handed_on):
            if other:
                call.redirect(request)
            if entry.is_body or claims.adapter.family != call.adapter.family:
                call.entered.add(key)
                call.enter(request)
                return call, False
            if key != call.opener or call.request.has_body:
                call.entered.add(key)
                call.merge(request)
                return call, False
        elif call.claimed and same and key not in call.entered:
            call.entered.add(key)  # super(), the sync method behind the async one
            return None, False
    called = claims.called(request) if request.name and entry.opens else None
    if called is None:
        return None, False
    call = open_call(claims.adapter, entry, request, called, key)
    return call, call is not None


def _sender(request: Request) -> str | None:
    """Return the ``traceparent`` that a request came with over a wire."""
    parent = (request.carrier or {}).get("traceparent")
    return parent if isinstance(parent, str) else None


def _other_side(sender: str, request: Request) -> FrameworkCall | None:
    """Return the call of this very process that a request came from over a wire, if it is one."""
    call = in_flight.get(sender[_SPAN].encode(errors="replace"))  # from outside: it may be anything
    return call if call is not None and not call.ended and call.is_same(request) else None


def open_call(
    adapter: Adapter, entry: Entry, request: Request, called: str, key: tuple[int, str, str]
) -> FrameworkCall | None:
    """Open a call: its scope, its arguments as known here, its start. None: the tool is switched off."""
    plan = plan_of(adapter, request, called)
    if not wanted(plan):
        return None
    parent = current.get()
    if request.carrier and _sender(request) is not None:
        with attach(request.carrier) as parent:
            pass
    call = FrameworkCall(plan, parent, adapter, entry, request)
    call.wall = time_ns()
    call.entered.add(key)
    call.opener = key
    if entry.is_body:
        call.enter(request)
    else:
        call.input, call.cuts = pack_cut(raw_arguments(request), "input")
    call.instance = instance_of(request)
    prepare(call)
    call.started = perf_counter_ns()
    return call


def refuse(claims: Claims, entry: Entry, request: Request) -> None:
    """Record a request that a framework refused."""
    scope = current.get()
    called = None if scope is not None and scope.muted == get_ident() else claims.called(request)
    if called is None:
        return
    call = open_call(claims.adapter, entry, request, called, (0, "", ""))
    if call is None:
        return
    call.refused = request.status or ("validation_error" if request.known else "unknown_tool")
    if isinstance(request.refusal, BaseException):
        fail(call, request.refusal)
    else:
        call.failure = request.refusal
        succeed(call, None, perf_counter_ns() - call.started)


def _address(
    call: FrameworkCall, entry: Entry, arguments: Arguments, args: Any, kwargs: Any
) -> tuple[Any, Any]:
    """Put our context into a call that goes over a wire. When that fails, it goes as it is."""
    try:
        token = push(call)
        try:
            sent = carrier()
        finally:
            pop(token)
        changed = entry.send(arguments, args, kwargs, sent) if entry.send else None
        in_flight[call.span] = call
        return changed or (args, kwargs)
    except Exception as trouble:
        contain("adapter", trouble)
        return args, kwargs


def _run(
    call: FrameworkCall, entry: Entry, wrapped: Callable[..., Any], args: Any, kwargs: Any, instance: Any
) -> Any:
    """Run the layer that opened a call; the record ends with it, or with the stream that it gives."""
    token = push(call)
    try:
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            if entry.is_body:
                call.tool_raised(error, entry)
            fail(call, error)
            step_out(error)
            raise
        duration = perf_counter_ns() - call.started
        try:
            if entry.stream is not None:
                if type(result) is CoroutineType:
                    return HoldingProxy(call, result, entry, instance)
                if _follow_held(call, entry, instance, result):
                    return result
            if type(result) in LAZY:
                return follow(call, result)
            if issubclass(type(result), CoroutineProxy):  # of a layer at the same place, by another table
                return CoroutineProxy(call, result)
            succeed(call, result, duration)
        except Exception as trouble:
            if call.ended:
                contain("adapter", trouble)
            else:  # a class of which nobody can ask whether it is one of `LAZY`
                succeed(call, result, duration)
        return result
    finally:
        pop(token)


def _follow_held(call: FrameworkCall, entry: Entry, instance: Any, result: Any) -> bool:
    """Whether a result holds a stream; the call's record then ends with that."""
    return entry.stream is not None and entry.stream(instance, result, lambda held: follow(call, held))


def _run_inside(
    call: FrameworkCall,
    entry: Entry,
    proxy: type[InsideProxy],
    wrapped: Callable[..., Any],
    args: Any,
    kwargs: Any,
) -> Any:
    """Run a layer inside the call that a request opened: the tool (`BodyProxy`), or another request."""
    token = None if enclosing(current.get()) is call else push(call)
    try:
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            proxy.raised(call, error, entry)
            step_out(error)
            raise
        if type(result) is CoroutineType or issubclass(type(result), CoroutineProxy):
            return proxy(call, result, entry)
        return proxy.returned(call, result, entry)
    finally:
        if token is not None:
            pop(token)


class SteppedProxy(CoroutineProxy):
    """A coroutine each of whose steps may be told of by `_toolog_raised`."""

    __slots__ = ()

    def __next__(self) -> Any:
        try:
            return self._toolog_step(self._toolog_inner.send, None)
        except BaseException as error:
            step_out(error)
            raise


class InsideProxy(SteppedProxy):
    """The coroutine of a request inside a request: tells the call how it ended."""

    __slots__ = ("_toolog_entry",)

    def __init__(self, call: FrameworkCall, inner: Any, entry: Entry) -> None:
        super().__init__(call, inner)
        self._toolog_entry = entry

    @staticmethod
    def returned(call: FrameworkCall, result: Any, entry: Entry) -> Any:
        """Tell the call what the layer returned; give what is passed on."""
        call.passed(result, entry)
        return result

    @staticmethod
    def raised(call: FrameworkCall, error: BaseException, entry: Entry) -> None:
        """Tell the call what the layer raised."""
        if isinstance(error, Exception) or (
            call.claimed and is_cancelled(error)
        ):  # may be swallowed further out
            call.note_error(entry.behind(error))
            if entry.meaning is not None and call.verdict is None:
                call.verdict = entry.meaning(error)

    def _toolog_begin(self) -> Any:
        scope = current.get()
        return scope if enclosing(scope) is self._toolog_call else self._toolog_call

    def _toolog_raised(self, error: BaseException) -> None:
        if self._toolog_inner.cr_frame is not None:
            return
        call: Any = self._toolog_call
        if type(error) is StopIteration:
            error.value = self.returned(call, error.value, self._toolog_entry)
        else:
            self.raised(call, error, self._toolog_entry)

    def close(self) -> Any:
        """Close the original."""
        try:
            return self._toolog_step(self._toolog_inner.close)
        except BaseException as error:
            step_out(error)
            raise

    def __del__(self) -> None:
        """Let the original tell that it was never awaited."""


class HoldingProxy(SteppedProxy):
    """The coroutine of a layer that opened a call, and whose result may hold a stream."""

    __slots__ = ("_toolog_entry", "_toolog_instance")

    def __init__(self, call: FrameworkCall, inner: Any, entry: Entry, instance: Any) -> None:
        super().__init__(call, inner)
        self._toolog_entry = entry
        self._toolog_instance = instance

    def _toolog_raised(self, error: BaseException) -> None:
        if type(error) is StopIteration and self._toolog_inner.cr_frame is None:
            call: Any = self._toolog_call
            try:
                if _follow_held(call, self._toolog_entry, self._toolog_instance, error.value):
                    self._toolog_hand_over()
                    return
            except Exception as trouble:
                contain("adapter", trouble)
        super()._toolog_raised(error)


class BodyProxy(InsideProxy):
    """The coroutine of an async tool itself, as its body gave it."""

    __slots__ = ()

    @staticmethod
    def returned(call: FrameworkCall, result: Any, entry: Entry) -> Any:
        """Tell the call what the tool returned; give what is passed on (a stream's proxy)."""
        return call.tool_returned(result, entry)

    @staticmethod
    def raised(call: FrameworkCall, error: BaseException, entry: Entry) -> None:
        """Tell the call what the tool raised."""
        call.tool_raised(error, entry)


for _proxy in (BodyProxy, HoldingProxy, InsideProxy):
    _proxy.__name__ = _proxy.__qualname__ = "coroutine"
