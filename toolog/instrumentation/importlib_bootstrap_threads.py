"""Work that is handed to another thread or process, with the scope it was handed over in.

For the file's name see `toolog.instrumentation.importlib_bootstrap`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolog import propagation
from toolog.context import Scope, current, pop, push


class Carried:
    """A function that runs in the scope it was handed over in; pickled, it carries that scope as text."""

    __slots__ = ("_toolog_function", "_toolog_scope")

    def __init__(self, function: Callable[..., Any], scope: Scope | None) -> None:
        self._toolog_function = function
        self._toolog_scope = scope

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function in its scope; returns and raises what it does."""
        # None is a scope too: the worker may have been started inside a call that is not this work's
        scope = self._toolog_scope
        held = current.get()
        if held is scope:
            return self._toolog_function(*args, **kwargs)
        token = push(scope)  # None stands outside of any scope
        try:
            return self._toolog_function(*args, **kwargs)
        finally:
            pop(token)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_toolog"):  # not there yet: a copy is being made
            raise AttributeError(name)
        return getattr(self._toolog_function, name)

    def __reduce__(self) -> Any:
        scope = self._toolog_scope
        return carried, (self._toolog_function, None if scope is None else propagation.describe(scope))


def carried(function: Callable[..., Any], carrier: dict[str, str] | None) -> Carried:
    """Return what `Carried` was before it was pickled, in the process that unpickles it."""
    return Carried(function, revive(carrier))


def revive(carrier: dict[str, str] | None) -> Scope | None:
    """Return the scope that a carrier describes, below nothing; None for None."""
    if carrier is None:
        return None
    token = push(None)
    try:
        with propagation.attach(carrier, trusted=True) as scope:
            return scope
    finally:
        pop(token)


class Inherited:
    """Rides on a process object that is pickled for a new process: there its scope becomes current."""

    __slots__ = ("_carrier",)

    def __init__(self, carrier: dict[str, str]) -> None:
        self._carrier = carrier

    def __reduce__(self) -> Any:
        return inherit, (self._carrier,)


def inherit(carrier: dict[str, str]) -> Inherited:
    """Make the scope of a carrier current for the rest of this context (a new process' first)."""
    current.set(revive(carrier))
    return Inherited(carrier)


def run_thread(original: Callable[..., Any], thread: Any, scope: Scope | None) -> Any:
    """Run a thread to its end, in the scope of who started it."""
    if scope is None:
        return original(thread)
    current.set(scope)  # the context is the thread's own, and ends with it
    return original(thread)
