"""Context managers made by ``contextlib.contextmanager`` that a tool returned: their record ends with them.

What such a tool does runs later: up to its ``yield`` when the block is entered, the rest when it is left. So
an HTTP client's ``stream(...)`` fails in ``__enter__``, and a transaction in ``__exit__``. The very object
that the tool returned is given on; only the generator in it is followed, by a proxy like that of any other
generator. The record's output is what the block is given. An exception of the block itself, which passes
through, closes the call: it is not the tool's own.

For the file's name see `toolog.instrumentation.importlib_bootstrap`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import _AsyncGeneratorContextManager, _GeneratorContextManager
from time import perf_counter_ns
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from toolog.call import Call
from toolog.instrumentation.endings import succeed
from toolog.instrumentation.importlib_bootstrap_asyncgen import AsyncGeneratorProxy, Step
from toolog.instrumentation.importlib_bootstrap_streams import GeneratorProxy
from toolog.instrumentation.stream_record import Given, end


def _is_the_blocks(error: BaseException, thrown: BaseException | None) -> bool:
    """Whether an exception is the one that came out of the block; Python wraps it where it would end a
    generator.
    """
    if isinstance(thrown, StopIteration | StopAsyncIteration) and type(error) is RuntimeError:
        error = error.__cause__ or error
    return error is thrown


def _thrown(args: tuple[Any, ...]) -> BaseException | None:
    return next((one for one in args if isinstance(one, BaseException)), None)


class ManagerProxy(GeneratorProxy):
    """The generator of a context manager."""

    __slots__ = ("_toolog_thrown",)

    def __init__(self, call: Call, inner: Any) -> None:
        super().__init__(call, inner)
        self._toolog_items = Given()
        self._toolog_thrown: BaseException | None = None

    def throw(self, *args: Any) -> Any:
        """Raise the block's exception where the original stands."""
        self._toolog_thrown = _thrown(args)
        try:
            return super().throw(*args)
        finally:
            self._toolog_thrown = None

    def _toolog_raised(self, error: BaseException) -> None:
        if self._toolog_over() and _is_the_blocks(error, self._toolog_thrown):
            end(self._toolog_call, self._toolog_items, None)
        else:
            super()._toolog_raised(error)


class AsyncManagerProxy(AsyncGeneratorProxy):
    """The async generator of a context manager."""

    __slots__ = ("_toolog_thrown",)

    def __init__(self, call: Call, inner: Any) -> None:
        super().__init__(call, inner)
        self._toolog_items = Given()
        self._toolog_thrown: BaseException | None = None

    def athrow(self, *args: Any) -> Step:
        """Return the step that raises the block's exception where the original stands."""
        self._toolog_thrown = _thrown(args)
        return super().athrow(*args)

    def _toolog_raised(self, error: BaseException) -> None:
        thrown, self._toolog_thrown = self._toolog_thrown, None
        if self._toolog_over() and _is_the_blocks(error, thrown):
            end(self._toolog_call, self._toolog_items, None)
        else:
            super()._toolog_raised(error)


_FOLLOWED: dict[type, Callable[[Call, Any], Any]] = {
    GeneratorType: ManagerProxy,
    AsyncGeneratorType: AsyncManagerProxy,
}


def follow_manager(call: Call, manager: Any) -> Any:
    """Return a context manager, the very same; the call's record ends when its generator does.

    One that was followed already (a tool that hands on what another one made) is a result like any other.
    """
    inner = vars(manager).get("gen")
    proxy = _FOLLOWED.get(type(inner))
    if proxy is None:
        succeed(call, manager, perf_counter_ns() - call.started)
    else:
        manager.gen = proxy(call, inner)
    return manager


MANAGERS = (_GeneratorContextManager, _AsyncGeneratorContextManager)

for _proxy, _kind in ((ManagerProxy, GeneratorType), (AsyncManagerProxy, AsyncGeneratorType)):
    _proxy.__name__ = _proxy.__qualname__ = _kind.__name__
