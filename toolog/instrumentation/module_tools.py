"""The tools of a module or a package that nobody described to us.

The rule (measured: wrapping everything public gives 17 records for one ``requests.Session.get``):

- Of a module: the classes and public functions in its own namespace that its root package defines, so that a
  package which only re-exports is covered too. No submodule is entered, ``__all__`` is not read, no lazy name
  is touched.
- Of a package also the public classes that stand beside an exported one, in the module that defines it, and
  those that a tool says it returns: what ``Database["table"]`` or ``TinyDB.table`` hands out is a class that
  nobody exports.

Nothing is evaluated on the way: see `kinds`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

from toolog.instrumentation.choice import Choice
from toolog.instrumentation.class_tools import find_in_class
from toolog.instrumentation.found import Found, Tool
from toolog.instrumentation.frameworks import adapter_of
from toolog.instrumentation.homes import Homes
from toolog.instrumentation.kinds import (
    Kind,
    is_class,
    is_compiled,
    kind_of,
    module_of,
    module_vars,
    root_package,
    unwrap,
    why_no_tools,
)
from toolog.instrumentation.proxy import BoundToolWrapper


def find_in_module(
    module: ModuleType, choice: Choice, found: Found, *, name: str | None, nested: bool
) -> None:
    """Find the tools of a module's own namespace."""
    names = module_vars(module)
    title = str(names.get("__name__", "?"))
    package = root_package(title)
    if type(module).__name__ == "_LazyModule":
        found.skip(title, "lazy module: not loaded yet, and not made to load")
        return
    if "__path__" in names and names.get("__file__") is None:
        found.skip(title, "namespace package: it defines nothing itself, name one of the packages in it")
    if "__getattr__" in names:
        found.skip(f"{title}.*", "lazy module: names that are not loaded yet are not looked at")
    seen: set[int] = set()
    for attribute, value in list(names.items()):
        if id(value) in seen:
            continue
        if is_class(value):
            seen.add(id(value))
            if attribute.startswith("_") or root_package(module_of(value)) != package:
                continue
            if adapter_of(value) is not None:
                found.adapted.append(value)
                continue
            find_in_class(value, choice, found, name=name, nested=nested, package=package)
            continue
        made = [one for one in _framework_tools(value) if id(one) not in seen]
        if made:
            seen.update(id(one) for one in made)
            if not attribute.startswith("_"):
                found.adapted += made
            continue
        kind = kind_of(value)
        if kind is None:
            if is_compiled(value) and not attribute.startswith("_"):
                found.skip(f"{title}.{attribute}", "function written in C")
            continue
        if type(value) is BoundToolWrapper:
            continue  # a method that is a tool already, shown as a function
        home = root_package(module_of(value) or title)
        if home != package:
            if not attribute.startswith("_"):
                found.skip(f"{title}.{attribute}", f"defined by {home}, not by {package}")
            continue
        seen.add(id(value))
        why = choice.why_not(attribute) or choice.why_not_unasked(kind.function)
        if why is not None:
            if why != "private":
                found.skip(f"{title}.{attribute}", why)
            continue
        tool_name = attribute if name is None else f"{name}.{attribute}"
        found.tools.append(
            Tool(module, attribute, value, Kind("static", kind.function), tool_name, package, nested)
        )
    if "__path__" in names:
        _look_beside(title, package, choice, found, name=name, nested=nested, seen=seen)
        if not (found.classes or found.tools or found.adapted):
            _name_parts(title, names, found)


def _name_parts(title: str, names: dict[str, Any], found: Found) -> None:
    """Say of a package that offers nothing itself which of its modules may."""
    parts = [
        f"{title}.{attribute}"
        for attribute, value in names.items()
        if type(value) is ModuleType and module_vars(value).get("__name__") == f"{title}.{attribute}"
        and not attribute.startswith("_")
    ]  # fmt: skip
    if parts:
        found.skip(title, f"offers no tools itself; name a module of it: {', '.join(sorted(parts))}")


def _framework_tools(value: Any) -> Iterator[Any]:
    """Give the tools of agent frameworks that a module's value is, or that a list, tuple or dict holds."""
    kind = type(value)
    if id(kind) in _PLAIN:
        return
    if kind is list or kind is tuple:
        values: Iterable[Any] = value
    elif kind is dict:
        values = value.values()
    else:
        values = (value,)
    for one in values:
        if id(type(one)) not in _PLAIN and not is_class(one) and adapter_of(one) is not None:
            yield one


_PLAIN = frozenset(map(id, (str, int, float, bool, bytes, type(None), FunctionType, ModuleType, MethodType)))
"""By id: hashing a class may run code of its metaclass."""


def _look_beside(
    title: str, package: str, choice: Choice, found: Found, *, name: str | None, nested: bool, seen: set[int]
) -> None:  # fmt: skip
    """Find the public classes beside those that a package exports, and note which modules define its
    tools."""
    homes = dict.fromkeys(module_of(item.cls) for item in found.classes)
    homes.update(dict.fromkeys(module_of(tool.kind.function) for tool in found.tools))
    for home in homes:
        names = module_vars(sys.modules[home]) if home in sys.modules else {}
        for attribute, value in list(names.items()):
            if (
                not is_class(value)
                or id(value) in seen
                or attribute.startswith("_")
                or module_of(value) != home
            ):
                continue
            seen.add(id(value))
            if why_no_tools(value) is None:
                find_in_class(value, choice, found, name=name, nested=nested, package=package)
    _look_at_what_is_returned(package, choice, found, name=name, nested=nested, seen=seen)
    if not nested:
        homes.update(dict.fromkeys(module_of(item.cls) for item in found.classes))
        inner = Homes(title, homes)
        found.tools[:] = [tool._replace(homes=inner) for tool in found.tools]
        found.classes[:] = [item._replace(homes=inner) for item in found.classes]


def _look_at_what_is_returned(
    package: str, choice: Choice, found: Found, *, name: str | None, nested: bool, seen: set[int]
) -> None:  # fmt: skip
    """Find the public classes of a package that its tools say they return. No annotation is evaluated."""
    for tool in found.tools:  # the list grows on the way
        function = unwrap(tool.kind.function)
        if type(function) is not FunctionType:
            continue
        hint: Any = function.__annotations__.get("return")
        if isinstance(hint, str):
            home = sys.modules.get(module_of(function))
            hint = None if home is None else module_vars(home).get(hint.strip("\"'"))
        if not is_class(hint) or id(hint) in seen or hint.__name__.startswith("_"):
            continue
        seen.add(id(hint))
        if root_package(module_of(hint)) == package and why_no_tools(hint) is None:
            find_in_class(hint, choice, found, name=name, nested=nested, package=package)
