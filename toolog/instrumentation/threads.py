"""Calls made in threads and pools keep their parent: `instrument_threads` hands the current scope along.

What is touched, each on its class and undone exactly: ``threading.Thread`` (a thread inherits the scope of
who started it), ``ThreadPoolExecutor.submit`` (and with it ``map``, ``loop.run_in_executor`` and
``asyncio.to_thread``), ``ProcessPoolExecutor.submit`` and ``multiprocessing.Pool`` (the scope travels as text
with each piece of work), ``multiprocessing.Process.start`` (a forked child has the scope anyway; a spawned
one gets it with its process object). Modules that are not loaded yet are patched when they are. anyio's
worker threads copy the context by themselves.

A pool's own threads inherit nothing: each piece of work has the scope in which it was handed over, also
"none". So it does not matter whether a pool existed before.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, TracebackType
from typing import Any

from toolog.context import current
from toolog.counters import contain
from toolog.instrumentation.importlib_bootstrap_threads import Carried, Inherited, run_thread
from toolog.propagation import describe

_SCOPE = "_toolog_scope"
_CARRIER = "_toolog_carrier"
_POOL_WORKERS = (("concurrent.futures.thread", "_worker"), ("multiprocessing.pool", "worker"))

Make = Callable[[Callable[..., Any], "ThreadInstrumentation"], Callable[..., Any]]


def _start_thread(original: Callable[..., Any], owner: ThreadInstrumentation) -> Callable[..., Any]:
    @functools.wraps(original)
    def start(self: Any) -> Any:
        scope = current.get() if owner.active else None
        if scope is None or _is_pool_worker(self):
            return original(self)
        vars(self)[_SCOPE] = scope
        try:
            return original(self)
        except BaseException:
            vars(self).pop(_SCOPE, None)
            raise

    return start


def _is_pool_worker(thread: Any) -> bool:
    target = vars(thread).get("_target")
    for module, name in _POOL_WORKERS:
        loaded = sys.modules.get(module)
        if loaded is not None and target is not None and target is vars(loaded).get(name):
            return True
    return False


def _run_thread(original: Callable[..., Any], owner: ThreadInstrumentation) -> Callable[..., Any]:
    @functools.wraps(original)
    def _bootstrap_inner(self: Any) -> Any:
        return run_thread(original, self, vars(self).pop(_SCOPE, None))

    return _bootstrap_inner


def _start_process(original: Callable[..., Any], owner: ThreadInstrumentation) -> Callable[..., Any]:
    @functools.wraps(original)
    def start(self: Any) -> Any:
        scope = current.get() if owner.active else None
        if scope is None:
            return original(self)
        try:
            vars(self)[_CARRIER] = Inherited(describe(scope))
        except Exception as trouble:
            contain("threads", trouble)
        try:
            return original(self)
        finally:
            vars(self).pop(_CARRIER, None)

    return start


def _hand_over(always: bool) -> Make:
    """Return what makes ``submit(self, function, ...)`` carry the scope; ``always``: even none."""

    def make(original: Callable[..., Any], owner: ThreadInstrumentation) -> Callable[..., Any]:
        @functools.wraps(original)
        def submit(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            if owner.active and args and callable(args[0]):
                scope = current.get()
                if always or scope is not None:
                    return original(self, Carried(args[0], scope), *args[1:], **kwargs)
            return original(self, *args, **kwargs)

        return submit

    return make


_PATCHES: tuple[tuple[str, str, str, Make], ...] = (
    ("threading", "Thread", "start", _start_thread),
    ("threading", "Thread", "_bootstrap_inner", _run_thread),
    ("concurrent.futures.thread", "ThreadPoolExecutor", "submit", _hand_over(always=False)),
    ("concurrent.futures.process", "ProcessPoolExecutor", "submit", _hand_over(always=True)),
    ("multiprocessing.process", "BaseProcess", "start", _start_process),
    ("multiprocessing.pool", "Pool", "apply_async", _hand_over(always=True)),
    ("multiprocessing.pool", "Pool", "_map_async", _hand_over(always=True)),
    ("multiprocessing.pool", "Pool", "imap", _hand_over(always=True)),
    ("multiprocessing.pool", "Pool", "imap_unordered", _hand_over(always=True)),
)


class ThreadInstrumentation:
    """What `instrument_threads` did; a context manager. ``patched`` names what is replaced now."""

    def __init__(self) -> None:
        self.active = False
        self._done: list[tuple[type, str, Any, Any]] = []

    @property
    def patched(self) -> list[str]:
        """The replaced methods, as ``module.Class.method``."""
        return [f"{cls.__module__}.{cls.__qualname__}.{name}" for cls, name, _, _ in self._done]

    def _apply(self, module: ModuleType) -> None:
        if not self.active:
            return
        for cls, name, make in _of_module(module):
            if any(done[0] is cls and done[1] == name for done in self._done):
                continue
            original = vars(cls).get(name)
            if original is None:
                contain("threads")
                continue
            replacement = make(original, self)
            setattr(cls, name, replacement)
            self._done.append((cls, name, original, replacement))

    def undo(self) -> None:
        """Put every original back; what somebody else has wrapped meanwhile passes through from now on."""
        global _instrumentation
        self.active = False
        if _instrumentation is self:
            _instrumentation = None
        while self._done:
            cls, name, original, replacement = self._done.pop()
            if vars(cls).get(name) is replacement:
                setattr(cls, name, original)

    def __enter__(self) -> ThreadInstrumentation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<ThreadInstrumentation {', '.join(self.patched) or 'undone'}>"


def _of_module(module: ModuleType) -> Iterator[tuple[type, str, Make]]:
    for name, cls_name, method, make in _PATCHES:
        if name == module.__name__:
            yield vars(module)[cls_name], method, make


_instrumentation: ThreadInstrumentation | None = None
_hooked: set[str] = set()


def instrument_threads() -> ThreadInstrumentation:
    """Let calls in threads, thread pools and process pools keep their parent, without any code of the user's.

    Repeating it changes nothing and returns the same object, whose ``undo()`` (or the end of a ``with``
    block) leaves all classes exactly as they were. Since 0.1.
    """
    global _instrumentation
    if _instrumentation is None:
        _instrumentation = ThreadInstrumentation()
        _instrumentation.active = True
        for name in dict.fromkeys(patch[0] for patch in _PATCHES):
            loaded = sys.modules.get(name)
            if loaded is not None:
                _instrumentation._apply(loaded)
            elif name not in _hooked:
                from wrapt import register_post_import_hook

                _hooked.add(name)
                register_post_import_hook(_imported, name)
    return _instrumentation


def _imported(module: ModuleType) -> None:
    if _instrumentation is not None:
        try:
            _instrumentation._apply(module)
        except Exception as trouble:
            contain("threads", trouble)
