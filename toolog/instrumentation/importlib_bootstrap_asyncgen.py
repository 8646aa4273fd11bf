"""Async generators that a tool returned: a transparent proxy, and one for each of its awaitable steps.

The original registers itself with ``sys.set_asyncgen_hooks`` as it always does: an event loop that closes it
(after a ``break``, at its own end) closes the original. When the proxy is dropped its record ends as
``closed``, and the original is let go with its call current: asyncio copies the context for the task that
closes it, so what the tool's cleanup calls is still a child of its call.
"""

from __future__ import annotations

from types import AsyncGeneratorType
from typing import Any

from toolog.call import Call
from toolog.context import current, pop, push
from toolog.instrumentation.endings import step_out
from toolog.instrumentation.importlib_bootstrap_streams import Lazy
from toolog.instrumentation.stream_record import Items, end


class AsyncGeneratorProxy(Lazy):
    """An async generator that a tool returned. Its items are snapshotted as they pass."""

    __slots__ = ()

    _toolog_type = AsyncGeneratorType
    _toolog_frame = "ag_frame"

    def __init__(self, call: Call, inner: Any) -> None:
        super().__init__(call, inner)
        self._toolog_items = Items()

    close: Any = property(
        lambda self: self._toolog_inner.close
    )  # an async generator has none: AttributeError
    throw: Any = property(lambda self: self._toolog_inner.throw)

    def __aiter__(self) -> AsyncGeneratorProxy:
        return self

    def __anext__(self) -> Step:
        return Step(self, self._toolog_inner.__anext__())

    def asend(self, value: Any) -> Step:
        """Return the step that gives the original a value and runs it to its next item."""
        return Step(self, self._toolog_inner.asend(value))

    def athrow(self, *args: Any) -> Step:
        """Return the step that raises an exception where the original stands."""
        return Step(self, self._toolog_inner.athrow(*args))

    def aclose(self) -> Step:
        """Return the step that closes the original; the record then ends as closed."""
        return Step(self, self._toolog_inner.aclose(), closing=True)


class Step:
    """One awaitable step of an async generator: what ``__anext__``, ``asend`` and their like return."""

    __slots__ = ("__weakref__", "_closing", "_inner", "_stream")

    def __init__(self, stream: AsyncGeneratorProxy, inner: Any, *, closing: bool = False) -> None:
        self._stream = stream
        self._inner = inner
        self._closing = closing

    @property  # type: ignore[misc]  # what isinstance falls back to
    def __class__(self) -> type:
        return type(self._inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __repr__(self) -> str:
        return repr(self._inner)

    def __await__(self) -> Step:
        return self

    def __iter__(self) -> Step:
        return self

    def __next__(self) -> Any:
        try:
            return self._run(self._inner.send, None)
        except BaseException as error:
            step_out(error)
            raise

    def send(self, value: Any) -> Any:
        """Give the original a value and run it to where it waits next."""
        try:
            return self._run(self._inner.send, value)
        except BaseException as error:
            step_out(error)
            raise

    def throw(self, *args: Any) -> Any:
        """Raise an exception where the original waits."""
        try:
            return self._run(self._inner.throw, *args)
        except BaseException as error:
            step_out(error)
            raise

    def close(self) -> Any:
        """Give up this step."""
        try:
            return self._run(self._inner.close)
        except BaseException as error:
            step_out(error)
            raise

    def _run(self, step: Any, *args: Any) -> Any:
        stream = self._stream
        call = stream._toolog_call
        token = push(stream._toolog_scope or call)
        try:
            return step(*args)
        except StopIteration as stop:  # the step is done: its value is an item
            if self._closing:
                end(call, stream._toolog_items, None, stream._toolog_scope is not None)
            elif stream._toolog_items is not None:
                stream._toolog_items.add(stop.value, current.get() or call)
            raise
        except BaseException as error:
            stream._toolog_raised(error)
            step_out(error)
            raise
        finally:
            stream._toolog_scope = current.get() or call
            pop(token)


AsyncGeneratorProxy.__name__ = AsyncGeneratorProxy.__qualname__ = "async_generator"
