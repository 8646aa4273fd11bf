"""Other holders of a module's function: what its own name no longer stands for would be called past us, and
could not be pickled.

A module may hold a function of another by ``from x import f``, in a list, tuple or dict (``TOOLS = [search,
pay]``), as what a parameter of a function or method is by default (``def __init__(self, sleep=sleep)``), or
as a staticmethod of a class. All are found by identity in one pass over the namespaces of the loaded modules;
no code of theirs runs. What cannot be changed, a tuple or a staticmethod, is replaced; undo puts the very
object back. For tuples, defaults and classes only the package of the function itself and the user's own
sources are looked through: with all that is installed it took 190 ms instead of 45 where 2,200 modules were
loaded.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

from toolog.instrumentation.kinds import class_vars, is_class, is_installed, module_vars, root_package
from toolog.instrumentation.proxy import wrapper_in
from toolog.instrumentation.stacks import Standing, put, stack_at

_MOST_ENTRIES = 10_000  # of a list or dict of a module that is looked through
_MOST_LAYERS = 8  # of wrappers on one function

Kept = TypeVar("Kept")

_replaced: dict[int, tuple[Any, Any]] = {}
"""By its id, what stands in place of a tuple or staticmethod, and that one."""


def repair_aliases(standings: Iterable[Standing]) -> list[str]:
    """Make every module that holds a function hold what stands at its home now.

    Serves both ways: originals become wrappers, and wrappers that came off become originals. Returns the
    repaired names.
    """
    wanted: dict[int, Any] = {}
    packages: set[str] = set()
    keep: list[Any] = []  # so that no id is used again meanwhile
    for standing in standings:
        if not isinstance(standing.holder, ModuleType):
            continue
        packages.add(_package_of(standing.holder))
        stack = stack_at(standing.holder, standing.attribute)
        if stack:
            now = stack[0].placed
        else:
            now = standing.placed if standing.in_force else standing.raw
        for one in (standing, *stack):
            for stale in (one.raw, *one.placings):
                if stale is not now:
                    wanted[id(stale)] = now
                    keep.append(stale)
    return list(_repair_modules(wanted, packages)) if wanted else []


def _package_of(module: ModuleType) -> str:
    return root_package(str(module_vars(module).get("__name__", "")))


def _repair_modules(wanted: dict[int, Any], packages: set[str]) -> Iterator[str]:
    looked_at: set[int] = set()
    swapped: dict[int, tuple[Any, Any]] = {}  # tuples, and what is to stand in their place
    with_defaults = dict.fromkeys(packages, True)
    loaded: list[Any] = list(sys.modules.values())  # anything may stand there
    for module in loaded:
        if not isinstance(module, ModuleType):
            continue
        names = module_vars(module)
        home = names.get("__name__")
        package = _package_of(module)
        deeply = with_defaults.get(package)
        if deeply is None:
            deeply = with_defaults[package] = not is_installed(package)
        for key, value in list(names.items()):
            if id(value) in wanted:
                names[key] = wanted[id(value)]
                yield f"{home}.{key}"
                continue
            kind = type(value)
            if kind is dict or kind is list:
                if id(value) not in looked_at and value is not names and len(value) <= _MOST_ENTRIES:
                    looked_at.add(id(value))
                    yield from (f"{home}.{key}[{at!r}]" for at in _repair_entries(value, wanted))
            elif not deeply:
                continue
            elif kind is tuple:
                if id(value) not in swapped:
                    swapped[id(value)] = value, _with_entries(value, wanted)
                stands = swapped[id(value)][1]
                if stands is not value:
                    names[key] = stands
                    yield f"{home}.{key}"
            elif is_class(value):
                if id(value) not in looked_at:
                    looked_at.add(id(value))
                    yield from (f"{home}.{key}.{at}()" for at in _repair_methods(value, wanted))
            elif _repair_defaults(value, wanted):
                yield f"{home}.{key}()"


def _repair_entries(container: dict[Any, Any] | list[Any], wanted: dict[int, Any]) -> list[Any]:
    """Put what is wanted in place of stale values; none of the container's entries is compared or called."""
    entries = container.items() if type(container) is dict else enumerate(container)
    stale = [(key, wanted[id(value)]) for key, value in list(entries) if id(value) in wanted]
    for key, value in stale:
        container[key] = value
    return [key for key, _ in stale]


def _with_entries(entries: tuple[Any, ...], wanted: dict[int, Any]) -> tuple[Any, ...]:
    """Return what is to stand in place of a tuple: itself, where none of its entries is stale."""
    if len(entries) > _MOST_ENTRIES or wanted.keys().isdisjoint(map(id, entries)):
        return entries
    now = tuple(wanted.get(id(one), one) for one in entries)
    return _replace(entries, now, lambda one: one)


def _replace(held: Kept, now: Kept, entries: Callable[[Kept], Iterable[Any]]) -> Kept:
    """Return what takes the place of what is held: ``now``, or what stood there before, if that has the same
    entries again."""
    known, before = _replaced.pop(id(held), (None, None))
    if known is not held:
        before = held
    elif all(map(operator.is_, entries(before), entries(now))):
        return cast(Kept, before)
    _replaced[id(now)] = now, before
    return now


def _function_of(method: staticmethod[Any, Any]) -> tuple[Any]:
    return (method.__func__,)


def _repair_methods(cls: type, wanted: dict[int, Any]) -> list[str]:
    """Put what is wanted in place of stale staticmethods and defaults of a class's methods; return their
    names."""
    repaired = []
    for name, raw in list(class_vars(cls).items()):
        if type(raw) is staticmethod and id(raw.__func__) in wanted:
            put(cls, name, _replace(raw, staticmethod(wanted[id(raw.__func__)]), _function_of))
            repaired.append(name)
        elif _repair_defaults(raw, wanted):
            repaired.append(name)
    return repaired


def _function_in(raw: Any) -> FunctionType | None:
    """Return the function that a namespace's value is, or holds as a method of a class or a tool of ours."""
    for _ in range(_MOST_LAYERS):
        kind = type(raw)
        if kind is FunctionType:
            return raw  # type: ignore[no-any-return]
        if kind is staticmethod or kind is classmethod:
            raw = raw.__func__
        elif wrapper_in(raw) is not None:
            raw = raw.__wrapped__
        else:
            return None
    return None


def _repair_defaults(raw: Any, wanted: dict[int, Any]) -> bool:
    """Put what is wanted in place of the stale defaults of a function's parameters; return whether any
    was."""
    function = _function_in(raw)
    if function is None:
        return False
    repaired = False
    held, by_name = function.__defaults__, function.__kwdefaults__
    if held is not None and any(id(value) in wanted for value in held):
        function.__defaults__ = tuple(wanted.get(id(value), value) for value in held)
        repaired = True
    if by_name is not None:
        repaired = bool(_repair_entries(by_name, wanted)) or repaired
    return repaired
