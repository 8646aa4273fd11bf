"""Generators and coroutines that a tool returned: transparent proxies whose record ends with them.

The tool's call is the current scope only while the tool's own code runs: it is set before each step and taken
back after it, in whatever context, task or thread that step runs. What the tool's code left current
(``toolog.bind`` across a ``yield``) is kept for its next step.

A proxy answers ``__class__`` with the original's type, so ``isinstance``, `inspect` and the abstract classes
see that; all attributes come from the original (``gi_frame``, ``cr_await``, ``__name__``). Why these are
Python classes, and what they cost: docs/decisions/stream-proxies.md. For the file's name see
`toolog.instrumentation.importlib_bootstrap`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from copy import copy
from inspect import CO_ITERABLE_COROUTINE
from time import perf_counter_ns
from types import CoroutineType, GeneratorType
from typing import Any

from toolog.call import Call
from toolog.context import HOLD, Scope, current, pop, push
from toolog.counters import contain
from toolog.instrumentation.endings import step_out
from toolog.instrumentation.stream_record import Items, end, returned
from toolog.process import packed_process

_get, _set, _reset = current.get, current.set, current.reset


class Lazy:
    """What the proxies share: the original, its call, and how one step of it is run."""

    __slots__ = ("__weakref__", "_toolog_call", "_toolog_inner", "_toolog_items", "_toolog_scope")

    _toolog_type: type = object
    _toolog_frame = ""  # name of the attribute that is None once the original is over

    def __init__(self, call: Call, inner: Any) -> None:
        self._toolog_call = call
        self._toolog_inner = inner
        self._toolog_scope: Scope | None = (
            None  # what was current when the last step ended; None before the first
        )
        self._toolog_items: Items | None = None

    @property  # type: ignore[misc]  # what isinstance falls back to
    def __class__(self) -> type:
        return self._toolog_type

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_toolog_"):  # a slot of ours that is empty: let go, or not yet filled
            raise AttributeError(name)
        return getattr(self._toolog_inner, name)

    def __dir__(self) -> list[str]:
        return dir(self._toolog_inner)

    def __repr__(self) -> str:
        return repr(self._toolog_inner)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._toolog_inner.__reduce_ex__(protocol)  # raises, as for the original: it cannot be copied

    def _toolog_begin(self) -> Scope:
        return self._toolog_call

    def _toolog_over(self) -> bool:
        return getattr(self._toolog_inner, self._toolog_frame) is None

    def _toolog_raised(self, error: BaseException) -> None:
        """Take note of what a step raised; "already executing" and the like do not end a stream."""
        if self._toolog_over():
            end(self._toolog_call, self._toolog_items, error)

    def _toolog_hand_over(self) -> None:
        self._toolog_call = copy(self._toolog_call)  # the stream that was returned ends the call now, not we
        self._toolog_call.ended = True

    def _toolog_step(self, step: Callable[..., Any], *args: Any) -> Any:
        """Run one step of the tool's code with its call current."""
        token = push(self._toolog_scope or self._toolog_begin())
        try:
            item = step(*args)
            if self._toolog_items is not None:
                self._toolog_items.add(item, _get() or self._toolog_call)
            return item
        except BaseException as error:
            self._toolog_raised(error)
            step_out(error)
            raise
        finally:
            self._toolog_scope = _get() or self._toolog_call
            pop(token)

    def close(self) -> Any:
        """Close the original; the record ends as closed, unless it was over already."""
        started = self._toolog_scope is not None
        items, self._toolog_items = self._toolog_items, None  # what close returns is no item
        try:
            result = self._toolog_step(self._toolog_inner.close)
        except BaseException as error:
            step_out(error)
            raise
        finally:
            self._toolog_items = items
        if self._toolog_over():
            end(self._toolog_call, items, None, started)
        return result

    def throw(self, *args: Any) -> Any:
        """Raise an exception where the original stands."""
        try:
            return self._toolog_step(self._toolog_inner.throw, *args)
        except BaseException as error:
            step_out(error)
            raise

    # What the finalizer calls: when modules are torn down their names are None, and that would be told.
    _toolog_last = (end, push, pop, contain)

    def __del__(self) -> None:
        end, push, pop, contain = self._toolog_last
        try:
            call, scope = self._toolog_call, self._toolog_scope
            if call.ended:
                return
            end(call, self._toolog_items, None, scope is not None)
            if scope is not None:
                # The original dies here, and its last code (`finally`) still runs inside its call. One that
                # never started dies after us: its "never awaited" warning then names the line that dropped
                # it.
                token = push(scope)
                del self._toolog_inner
                pop(token)
        except Exception as trouble:
            contain("stream", trouble)


class GeneratorProxy(Lazy):
    """A generator that a tool returned. Its items are snapshotted as they pass."""

    __slots__ = ()

    _toolog_type = GeneratorType
    _toolog_frame = "gi_frame"

    def __init__(self, call: Call, inner: Any) -> None:
        super().__init__(call, inner)
        self._toolog_items = Items()

    def __iter__(self) -> GeneratorProxy:
        return self

    def __next__(self) -> Any:
        # _toolog_step, written out: this is on the path of every item
        if HOLD:
            held = copy_context()
        token = _set(self._toolog_scope or self._toolog_begin())
        try:
            item = self._toolog_inner.send(None)
        except BaseException as error:
            try:
                self._toolog_raised(error)
            finally:
                pop(token)
                step_out(error)
            raise
        self._toolog_scope = scope = _get() or self._toolog_call
        if self._toolog_items is not None:
            self._toolog_items.add(item, scope)
        if HOLD:
            held = copy_context()  # noqa: F841 - holding it is its purpose, see context.push
        try:
            _reset(token)
        except ValueError:
            pop(token)
        return item

    def send(self, value: Any) -> Any:
        """Give the original a value and run it to its next item."""
        try:
            return self._toolog_step(self._toolog_inner.send, value)
        except BaseException as error:
            step_out(error)
            raise


class CoroutineProxy(Lazy):
    """A coroutine that a tool returned.

    It is its own awaiter: ``await`` and asyncio's Task run it through ``__next__``, without another object
    between. A coroutine cannot be iterated over, but what its ``__await__`` gives can be (``yield from
    call().__await__()``): so the proxy becomes one of ``_toolog_awaited`` when it is awaited.
    """

    __slots__ = ()

    _toolog_type = CoroutineType
    _toolog_frame = "cr_frame"
    _toolog_awaited: type

    def __init_subclass__(cls) -> None:
        if "__iter__" not in vars(cls):
            cls._toolog_awaited = _awaited(cls)

    def _toolog_begin(self) -> Scope:
        call = self._toolog_call
        call.process = packed_process()  # the task that awaits it, perhaps another than the one that called
        call.started = perf_counter_ns()  # the awaited time counts, not what passed before
        return call

    def _toolog_raised(self, error: BaseException) -> None:
        if self._toolog_inner.cr_frame is None:
            if type(error) is StopIteration:
                if returned(self._toolog_call, error):
                    self._toolog_hand_over()
            else:
                end(self._toolog_call, None, error)

    def __await__(self) -> Any:
        inner = self._toolog_inner
        if inner.cr_frame is None:
            return inner.__await__()  # awaited a second time: the original says so
        if inner.cr_await is not None:
            raise RuntimeError("coroutine is being awaited already")
        _become(self, self._toolog_awaited)
        return self

    def __next__(self) -> Any:
        # _toolog_step, written out: this is on the path of every async tool
        if HOLD:
            held = copy_context()
        token = _set(self._toolog_scope or self._toolog_begin())
        try:
            waiting = self._toolog_inner.send(None)
        except StopIteration as stop:
            if self._toolog_inner.cr_frame is None and returned(self._toolog_call, stop):
                self._toolog_hand_over()
            if HOLD:
                held = copy_context()
            try:
                _reset(token)
            except ValueError:
                pop(token)
            raise
        except BaseException as error:
            try:
                self._toolog_raised(error)
            finally:
                pop(token)
                step_out(error)
            raise
        self._toolog_scope = _get() or self._toolog_call
        if HOLD:
            held = copy_context()  # noqa: F841 - holding it is its purpose, see context.push
        try:
            _reset(token)
        except ValueError:
            pop(token)
        return waiting

    def send(self, value: Any) -> Any:
        """Give the original a value and run it to where it waits next."""
        try:
            return self._toolog_step(self._toolog_inner.send, value)
        except BaseException as error:
            step_out(error)
            raise


_become = object.__dict__["__class__"].__set__


def _awaited(cls: type[CoroutineProxy]) -> type:
    """Return a type of proxies, of the same layout, that can be iterated over."""
    return type("coroutine", (cls,), {"__slots__": (), "__iter__": lambda self: self})


CoroutineProxy._toolog_awaited = _awaited(CoroutineProxy)


class AwaitableGeneratorProxy(GeneratorProxy):
    """A generator made with ``types.coroutine``: awaited like a coroutine, and recorded like one."""

    __slots__ = ()

    def __init__(self, call: Call, inner: Any) -> None:
        super().__init__(call, inner)
        self._toolog_items = None

    def _toolog_begin(self) -> Scope:
        self._toolog_call.started = perf_counter_ns()
        return self._toolog_call

    def _toolog_raised(self, error: BaseException) -> None:
        if type(error) is not StopIteration:
            super()._toolog_raised(error)
        elif self._toolog_over() and returned(self._toolog_call, error):
            self._toolog_hand_over()

    def __await__(self) -> AwaitableGeneratorProxy:
        return self


def follow_generator(call: Call, inner: Any) -> Lazy:
    """Return the proxy of a generator, by whether it can be awaited."""
    if inner.gi_code.co_flags & CO_ITERABLE_COROUTINE:
        return AwaitableGeneratorProxy(call, inner)
    return GeneratorProxy(call, inner)


# A type's name shows in error messages ("'coroutine' object is not iterable").
for _proxy in (GeneratorProxy, AwaitableGeneratorProxy, CoroutineProxy):
    _proxy.__name__ = _proxy.__qualname__ = _proxy._toolog_type.__name__
