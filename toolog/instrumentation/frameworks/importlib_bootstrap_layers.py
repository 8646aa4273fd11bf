"""The wrappers of a framework's layers. For the file's name see `toolog.instrumentation.importlib_bootstrap`.

As with every wrapper of ours: the very same result and exception pass through, and nothing of ours raises.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction, signature
from threading import get_ident
from time import perf_counter_ns, time_ns
from types import CoroutineType, FunctionType
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from toolog.arguments import Arguments
from toolog.context import attach, carrier, current, pop, push
from toolog.counters import contain, count
from toolog.errors import CallDepthExceeded
from toolog.instrumentation.endings import fail, prepare, succeed, wanted
from toolog.instrumentation.frameworks.calls import (
    FrameworkCall,
    current_call,
    enclosing,
    in_flight,
    instance_of,
    plan_of,
    raw_arguments,
)
from toolog.instrumentation.frameworks.table import Adapter, Entry, Request
from toolog.instrumentation.importlib_bootstrap import LAZY, Wrapper
from toolog.instrumentation.importlib_bootstrap_streams import CoroutineProxy
from toolog.instrumentation.streams import follow
from toolog.snapshot import pack_cut

ANYTHING = signature(lambda *args, **kwargs: None)
_SPAN = slice(36, 52)  # of a traceparent


class Claims(Protocol):
    """Who wants a framework's calls: see `install.Installed`."""

    adapter: Adapter

    def called(self, request: Request) -> str | None:
        """Return what the records call this tool, None when nobody wants its calls."""


def make_layer(claims: Claims, entry: Entry, arguments: Arguments, place: int, attribute: str) -> Wrapper:
    """Return the wrapper for one place of an entry; ``place`` tells the namespace it stands in."""
    if entry.role == "note":
        return _make_note(entry, arguments)
    if entry.role == "refuse":
        return _make_refusal(claims, entry, arguments)
    if entry.role == "after":
        return _make_after(claims, entry, arguments)
    if entry.role == "made":
        return _make_made(claims, entry, place, attribute)
    key = (place, attribute, claims.adapter.name)

    def toolog_layer(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        call: FrameworkCall | None = None
        opened = False
        try:
            request = entry.read(instance, arguments.named(args, kwargs)) if entry.read else None
            if request is not None and request.refusal is not None:
                _refuse(claims, entry, request)
            elif request is not None:
                call, opened = _meet(claims, entry, request, key)
        except CallDepthExceeded:
            raise
        except Exception as trouble:
            contain("adapter", trouble)
        if call is None:
            return wrapped(*args, **kwargs)
        if entry.send is not None:
            args, kwargs = _address(call, entry, arguments, args, kwargs)
        if opened:
            return _run(call, entry, wrapped, args, kwargs)
        if entry.is_body or claims.adapter.family != call.adapter.family:
            return _run_inside(call, entry, BodyProxy, wrapped, args, kwargs)
        return _run_inside(call, entry, InsideProxy, wrapped, args, kwargs)

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
        if call.over and call.is_same(request):
            call.retry()
        if not call.claimed and (call.is_same(request) or (entry.delegates and same_family)):
            if entry.is_body or claims.adapter.family != call.adapter.family:
                call.entered.add(key)
                call.enter(request)
                return call, False
            if key != call.opener or call.request.has_body:
                call.entered.add(key)
                call.merge(request)
                return call, False
        elif call.claimed and call.is_same(request) and key not in call.entered:
            call.entered.add(key)  # super(), the sync method behind the async one
            return None, False
    called = claims.called(request) if request.name and entry.opens else None
    if called is None:
        return None, False
    return _open(claims.adapter, entry, request, called, key)


def _sender(request: Request) -> str | None:
    """Return the ``traceparent`` that a request came with over a wire."""
    parent = (request.carrier or {}).get("traceparent")
    return parent if isinstance(parent, str) else None


def _other_side(sender: str, request: Request) -> FrameworkCall | None:
    """Return the call of this very process that a request came from over a wire, if it is one."""
    call = in_flight.get(sender[_SPAN].encode())
    return call if call is not None and not call.ended and call.is_same(request) else None


def _open(
    adapter: Adapter, entry: Entry, request: Request, called: str, key: tuple[int, str, str]
) -> tuple[FrameworkCall | None, bool]:
    plan = plan_of(adapter, request, called)
    if not wanted(plan):
        return None, False
    parent = current.get()
    if request.carrier and _sender(request) is not None:
        parent = attach(request.carrier)._make()
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
    return call, True


def _refuse(claims: Claims, entry: Entry, request: Request) -> None:
    """Record a request that a framework refused."""
    scope = current.get()
    called = None if scope is not None and scope.muted == get_ident() else claims.called(request)
    if called is None:
        return
    call, _ = _open(claims.adapter, entry, request, called, (0, "", ""))
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


def _run(call: FrameworkCall, entry: Entry, wrapped: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run the layer that opened a call; the record ends with it."""
    token = push(call)
    try:
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            if entry.is_body:
                call.tool_raised(error, entry)
            fail(call, error)
            raise
        duration = perf_counter_ns() - call.started
        try:
            if type(result) in LAZY:
                return follow(call, result)
            if issubclass(type(result), CoroutineProxy):  # of a layer at the same place, by another table
                return CoroutineProxy(call, result)
            succeed(call, result, duration)
        except Exception as trouble:
            contain("adapter", trouble)
        return result
    finally:
        pop(token)


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
            raise
        if type(result) is CoroutineType or issubclass(type(result), CoroutineProxy):
            return proxy(call, result, entry)
        return proxy.returned(call, result, entry)
    finally:
        if token is not None:
            pop(token)


class InsideProxy(CoroutineProxy):
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
        if isinstance(error, Exception):
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

    def __next__(self) -> Any:
        return self._toolog_step(self._toolog_inner.send, None)

    def close(self) -> Any:
        """Close the original."""
        return self._toolog_step(self._toolog_inner.close)

    def __del__(self) -> None:
        """Let the original tell that it was never awaited."""


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


def _make_refusal(claims: Claims, entry: Entry, arguments: Arguments) -> Wrapper:
    def toolog_refusal(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        refused: list[FrameworkCall] = []
        try:
            requests = entry.refuse(instance, arguments.named(args, kwargs)) if entry.refuse else []
            for request in requests:
                request.known = False
                called = claims.called(request)
                call = (
                    None if called is None else _open(claims.adapter, entry, request, called, (0, "", ""))[0]
                )
                if call is not None:
                    refused.append(call)
        except Exception as trouble:
            contain("adapter", trouble)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            for call in refused:
                fail(call, error)
            raise
        for call in refused:
            call.failure = f"there is no tool {call.request.name!r}"
            succeed(call, None, perf_counter_ns() - call.started)
        return result

    return toolog_refusal


def _make_note(entry: Entry, arguments: Arguments) -> Wrapper:
    def toolog_note(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        result = wrapped(*args, **kwargs)
        try:
            call = current_call()
            if call is not None and entry.note is not None:
                entry.note(call, instance, arguments.named(args, kwargs), result)
        except Exception as trouble:
            contain("adapter", trouble)
        return result

    return toolog_note


def _make_after(claims: Claims, entry: Entry, arguments: Arguments) -> Wrapper:
    def look(instance: Any, given: dict[str, Any], result: Any) -> None:
        try:
            for request in entry.after(instance, given, result) if entry.after else ():
                _refuse(claims, entry, request)
        except Exception as trouble:
            contain("adapter", trouble)

    async def toolog_later(instance: Any, given: dict[str, Any], answer: Any) -> Any:
        result = await answer
        look(instance, given, result)
        return result

    def toolog_after(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        result = wrapped(*args, **kwargs)
        try:
            given = arguments.named(args, kwargs)
        except Exception as trouble:
            contain("adapter", trouble)
            return result
        if type(result) is CoroutineType:
            return toolog_later(instance, given, result)
        look(instance, given, result)
        return result

    return toolog_after


def _make_made(claims: Claims, entry: Entry, place: int, attribute: str) -> Wrapper:
    body = Entry(place=entry.place, role="body", read=entry.read, own=entry.own, opens=False)
    known: WeakKeyDictionary[Any, Callable[..., Any]] = WeakKeyDictionary()

    def toolog_made(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        made = wrapped(*args, **kwargs)
        try:
            if current_call() is None or type(made) is not FunctionType:
                return made
            stand_in = known.get(made)
            if stand_in is None:  # one for each, since frameworks remember what they worked out of a function
                layer = make_layer(claims, body, Arguments(signature(made)), place, attribute)
                stand_in = known[made] = _stand_in(made, layer)
            return stand_in
        except Exception as trouble:
            contain("adapter", trouble)
            return made

    return toolog_made


def _stand_in(function: FunctionType, layer: Wrapper) -> Callable[..., Any]:
    """Return a function like another in all that it says of itself, which runs it through a layer."""
    stand_in: Any
    if iscoroutinefunction(function):

        async def toolog_stand_in(*args: Any, **kwargs: Any) -> Any:
            return await layer(function, None, args, kwargs)

        stand_in = toolog_stand_in
    else:

        def toolog_plain_stand_in(*args: Any, **kwargs: Any) -> Any:
            return layer(function, None, args, kwargs)

        stand_in = toolog_plain_stand_in
    stand_in.__dict__.update(function.__dict__)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        setattr(stand_in, name, getattr(function, name))
    stand_in.__signature__ = signature(function)
    return stand_in  # type: ignore[no-any-return]


def make_field(claims: Claims, entry: Entry, place: int, attribute: str) -> Callable[[Any], Wrapper]:
    """Return what gives the wrapper for the function in a field of an object."""
    layer = make_layer(claims, entry, Arguments(ANYTHING), place, attribute)

    def wrapper_for(owner: Any) -> Wrapper:
        def toolog_field(wrapped: Callable[..., Any], _: Any, args: Any, kwargs: Any) -> Any:
            return layer(wrapped, owner, args, kwargs)

        return toolog_field

    return wrapper_for


for _proxy in (BodyProxy, InsideProxy):
    _proxy.__name__ = _proxy.__qualname__ = "coroutine"
