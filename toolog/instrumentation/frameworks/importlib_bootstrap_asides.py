"""The wrappers of what is no layer of a call itself: what tells of calls, and what makes their functions.

For the file's name see `toolog.instrumentation.importlib_bootstrap`.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction, signature
from time import perf_counter_ns
from types import CoroutineType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from toolog.arguments import Arguments
from toolog.counters import contain
from toolog.instrumentation.endings import fail, step_out, succeed
from toolog.instrumentation.frameworks.calls import FrameworkCall, current_call
from toolog.instrumentation.frameworks.importlib_bootstrap_layers import Claims, make_layer, open_call, refuse
from toolog.instrumentation.frameworks.plans import unwrap_function
from toolog.instrumentation.frameworks.table import Entry, Request
from toolog.instrumentation.importlib_bootstrap import Wrapper

ANYTHING = signature(lambda *args, **kwargs: None)


def make_entry(claims: Claims, entry: Entry, arguments: Arguments, place: int, attribute: str) -> Wrapper:
    """Return the wrapper for one place of an entry, by its role."""
    if entry.role == "note":
        return _make_note(entry, arguments)
    if entry.role == "refuse":
        return _make_refusal(claims, entry, arguments)
    if entry.role == "after":
        return _make_after(claims, entry, arguments)
    if entry.role == "made":
        return _make_made(claims, entry, arguments, place, attribute)
    return make_layer(claims, entry, arguments, place, attribute)


def _make_refusal(claims: Claims, entry: Entry, arguments: Arguments) -> Wrapper:
    def toolog_refusal(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        refused: list[FrameworkCall] = []
        try:
            requests = entry.refuse(instance, arguments.named(args, kwargs)) if entry.refuse else []
            for request in requests:
                request.known = False
                called = claims.called(request)
                if called is None:
                    continue
                call = open_call(claims.adapter, entry, request, called, (0, "", ""))
                if call is not None:
                    refused.append(call)
        except Exception as trouble:
            contain("adapter", trouble)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            for call in refused:
                fail(call, error)
            step_out(error)
            raise
        for call in refused:
            call.failure = f"there is no tool {call.request.name!r}"
            succeed(call, None, perf_counter_ns() - call.started)
        return result

    return toolog_refusal


def _make_note(entry: Entry, arguments: Arguments) -> Wrapper:
    def toolog_note(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            step_out(error)
            raise
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
                refuse(claims, entry, request)
        except Exception as trouble:
            contain("adapter", trouble)

    async def toolog_later(instance: Any, given: dict[str, Any], answer: Any) -> Any:
        try:
            result = await answer
        except BaseException as error:
            if entry.raised and isinstance(error, Exception):
                look(instance, given, error)
            step_out(error)
            raise
        look(instance, given, result)
        return result

    def toolog_after(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        given: dict[str, Any] | None = None
        try:
            given = arguments.named(args, kwargs)
        except Exception as trouble:
            contain("adapter", trouble)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            if given is not None and entry.raised and isinstance(error, Exception):
                look(instance, given, error)
            step_out(error)
            raise
        if given is None:
            return result
        if type(result) is CoroutineType:
            return toolog_later(instance, given, result)
        look(instance, given, result)
        return result

    return toolog_after


def _make_made(claims: Claims, entry: Entry, arguments: Arguments, place: int, attribute: str) -> Wrapper:
    body = Entry(place=entry.place, role="body", read=entry.read, own=entry.own, opens=False)
    # By id: a stand-in keeps its function alive, and the framework the stand-in.
    known: WeakValueDictionary[int, Callable[..., Any]] = WeakValueDictionary()

    def toolog_made(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        try:
            made = wrapped(*args, **kwargs)
        except BaseException as error:
            step_out(error)
            raise
        try:
            if current_call() is None or type(made) is not FunctionType:
                return made
            if entry.makes is not None and not entry.makes(arguments.named(args, kwargs)):
                return made
            stand_in = known.get(id(made))
            if stand_in is None:  # one for each, since frameworks remember what they worked out of a function
                layer = make_layer(claims, body, Arguments(signature(made)), place, attribute)
                stand_in = known[id(made)] = _stand_in(made, layer)
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
            try:
                return await layer(function, None, args, kwargs)
            except BaseException as error:
                step_out(error)
                raise

        stand_in = toolog_stand_in
    else:

        def toolog_plain_stand_in(*args: Any, **kwargs: Any) -> Any:
            try:
                return layer(function, None, args, kwargs)
            except BaseException as error:
                step_out(error)
                raise

        stand_in = toolog_plain_stand_in
    stand_in.__dict__.update(function.__dict__)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        setattr(stand_in, name, getattr(function, name))
    stand_in.__signature__ = signature(function)
    return stand_in  # type: ignore[no-any-return]


def make_checked(entry: Entry) -> Callable[[Any], Wrapper]:
    """Return what gives the wrapper for a function that checks the arguments and runs the tool's own.

    What checks is made once more, around a stand-in for the function: so it still checks once, by the same
    rules, and the stand-in sees what came of it. Where that cannot be made, the arguments stay the model's.
    """
    known: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # None: it cannot be made

    def remade(checked: Any) -> Any:
        if checked not in known:
            known[checked] = None
            try:
                known[checked] = entry.check(_stand_in(checked.raw_function, _tell)) if entry.check else None
            except Exception:  # types that were known only where the tool was made: `input` is the model's
                pass
        made = known[checked]
        return checked if made is None else made

    def toolog_checked(wrapped: Callable[..., Any], _: Any, args: Any, kwargs: Any) -> Any:
        call = current_call()
        try:
            return (remade(wrapped) if call is not None and call.claimed else wrapped)(*args, **kwargs)
        except BaseException as error:
            step_out(error)
            raise

    return lambda owner: toolog_checked


def _tell(function: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """Tell the call in flight what its tool's function gets, and run that."""
    try:
        call = current_call()
        if call is not None and call.function is unwrap_function(function):
            mine = call.request
            if not mine.whole:
                named = Request(name="", function=function, arguments=kwargs, args=args)
                named.injected = mine.injected
                call.take_input(named)
    except Exception as trouble:
        contain("adapter", trouble)
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        step_out(error)
        raise


def make_field(claims: Claims, entry: Entry, place: int, attribute: str) -> Callable[[Any], Wrapper]:
    """Return what gives the wrapper for the function in a field of an object."""
    layer = make_layer(claims, entry, Arguments(ANYTHING), place, attribute)

    def wrapper_for(owner: Any) -> Wrapper:
        def toolog_field(wrapped: Callable[..., Any], _: Any, args: Any, kwargs: Any) -> Any:
            try:
                return layer(wrapped, owner, args, kwargs)
            except BaseException as error:
                step_out(error)
                raise

        return toolog_field

    return wrapper_for
