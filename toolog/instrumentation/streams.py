"""Results that are still to run: `follow` returns a proxy of a generator, an async generator or a coroutine.

Which, is decided by the result's type alone; a plain function may return any of them. A context manager made
by ``contextlib.contextmanager`` runs a generator, too, and is followed by that; it stays the very same
object. Tasks, futures, other context managers and iterators are results like any other.
"""

from __future__ import annotations

from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from toolog.call import Call
from toolog.counters import contain
from toolog.instrumentation import unended as _ends_what_is_open  # noqa: F401 - when the process ends
from toolog.instrumentation.importlib_bootstrap_asyncgen import AsyncGeneratorProxy, Step
from toolog.instrumentation.importlib_bootstrap_managers import (
    MANAGERS,
    AsyncManagerProxy,
    ManagerProxy,
    follow_manager,
)
from toolog.instrumentation.importlib_bootstrap_streams import (
    AwaitableGeneratorProxy,
    CoroutineProxy,
    GeneratorProxy,
    Lazy,
    follow_generator,
)
from toolog.instrumentation.stream_record import PROXIES
from toolog.snapshot.shapes import EXACT, Shape, described
from toolog.snapshot.walk import Walk

PROXIES.update(
    {GeneratorType: follow_generator, AsyncGeneratorType: AsyncGeneratorProxy, CoroutineType: CoroutineProxy}
)
PROXIES.update(dict.fromkeys(MANAGERS, follow_manager))


def follow(call: Call, result: Any) -> Any:
    """Return the proxy of a stream that a tool returned; the call's record ends when the stream does.

    ``result`` is of one of the types in `PROXIES`; anything else is returned as it is. Never raises.
    """
    try:
        proxy = PROXIES.get(type(result))
        return result if proxy is None else proxy(call, result)
    except Exception as trouble:
        contain("stream", trouble)
        return result


def _shape(value: Lazy, walk: Walk) -> Shape:
    return described(type(value).__name__, name=value.__qualname__)


# A proxy that is an argument of another tool is written as the original would be, and not looked into.
_coroutines = (CoroutineProxy, CoroutineProxy._toolog_awaited)
_generators = (GeneratorProxy, AwaitableGeneratorProxy, AsyncGeneratorProxy)
for _cls in (*_coroutines, *_generators, ManagerProxy, AsyncManagerProxy):
    EXACT[id(_cls)] = (_cls, _shape)
EXACT[id(Step)] = (Step, lambda value, walk: described("async_generator_asend"))
