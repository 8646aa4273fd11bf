"""The one tool behind a function or a bound method, and where it stands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from toolog.instrumentation.choice import Choice
from toolog.instrumentation.found import Found, Tool, ToolClass
from toolog.instrumentation.importlib_bootstrap_gates import Gate
from toolog.instrumentation.kinds import (
    Kind,
    class_vars,
    find_static,
    is_class,
    kind_of,
    module_of,
    module_vars,
    mro,
    root_package,
    unwrap,
    why_no_tools,
)
from toolog.instrumentation.proxy import wrapper_in


def find_method(method: Any, choice: Choice, found: Found, *, name: str | None, nested: bool) -> None:
    """Find the tool behind a bound method: that one method, for the object (or class) it is bound to."""
    owner, function = method.__self__, unwrap(method.__func__)
    cls = owner if is_class(owner) else type(owner)
    names = [function.__name__, *(key for base in mro(cls) for key in class_vars(base))]
    for attribute in dict.fromkeys(names):
        held = find_static(cls, attribute)
        if held is None:
            continue
        kind = kind_of(held[1])
        if kind is None or unwrap(kind.function) is not function:
            continue
        own = f"{cls.__name__}.{attribute}"
        why = choice.why_not(own, f"{held[0].__name__}.{attribute}")
        if why is not None and why != "private":
            found.skip(own, why)
            return
        gate = Gate.of_class(cls) if is_class(owner) else Gate.of_instance(owner)
        package = root_package(module_of(held[0]))
        if why_no_tools(held[0]) is not None:
            found.skip(own, f"{why_no_tools(held[0])}")
            return
        found.classes.append(ToolClass(cls, package, nested, False, True))
        found.tools.append(Tool(held[0], attribute, held[1], kind, name or own, package, nested, gate))
        # (a module may show this very object as a function)
        places = _places(method, None, attribute)
        _take_first(places, method, choice, found, name=name, nested=nested)
        return
    found.skip(getattr(function, "__qualname__", "method"), "not found on the class of its object")


def find_function(function: Any, choice: Choice, found: Found, *, name: str | None, nested: bool) -> None:
    """Find where a function stands: the namespace of the module or class that defines it."""
    ours = wrapper_in(function)
    inner = unwrap(function)
    module_name = module_of(function)
    path = getattr(inner, "__qualname__", "") or ""
    holder: Any = sys.modules.get(module_name)
    parts = path.split(".")
    for part in parts[:-1]:
        if holder is None:
            break
        held = (
            module_vars(holder).get(part)
            if type(holder) is not type and isinstance(holder, ModuleType)
            else None
        )
        if held is None and is_class(holder):
            held = class_vars(holder).get(part)
        holder = held if is_class(held) else None
    package = root_package(module_name or "__main__")
    # (a partial or a bound method is a tool of its own, whatever function is in it)
    is_plain = type(function if ours is None else ours.__wrapped__) is FunctionType
    places = _places(function, holder, parts[-1])
    if not is_plain and _take_first(places, function, choice, found, name=name, nested=nested):
        return
    if holder is not None and is_class(holder):
        raw = class_vars(holder).get(parts[-1])
        kind = kind_of(raw)
        if kind is not None and unwrap(kind.function) is inner:
            shown = f"{holder.__name__}.{parts[-1]}"
            if _taken(choice, found, shown):
                found.classes.append(ToolClass(holder, package, nested, False, True))
                found.tools.append(Tool(holder, parts[-1], raw, kind, name or shown, package, nested))
            return
    if _take_first(places, function, choice, found, name=name, nested=nested):
        return
    if ours is None:
        found.skip(path or repr(type(function)), "held by no module: decorate it with @toolog.tool instead")


def _take_first(
    places: Iterator[tuple[ModuleType, str]], function: Any, choice: Choice, found: Found,
    *, name: str | None, nested: bool,
) -> bool:  # fmt: skip
    """Take a function at the first of these names of modules as a tool; return whether there is one."""
    for place, key in places:
        raw = module_vars(place)[key]
        kind = kind_of(raw)
        if kind is not None and _taken(choice, found, key):
            package = root_package(module_of(function) or "__main__")
            kind = Kind("static", kind.function)
            found.tools.append(Tool(place, key, raw, kind, name or key, package, nested))
        return True
    return False


def _taken(choice: Choice, found: Found, name: str) -> bool:
    why = choice.why_not(name)
    if why is not None and why != "private":
        found.skip(name, why)
        return False
    return True


def _places(function: Any, home: Any, name: str) -> Iterator[tuple[ModuleType, str]]:
    """Give the modules whose namespace holds this very object, its home first."""
    modules = [home] if isinstance(home, ModuleType) else []
    modules += [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
    for module in modules:
        names = module_vars(module)
        for key, value in [(name, names.get(name)), *names.items()]:
            ours = wrapper_in(value)
            if value is function or (ours is not None and ours.__wrapped__ is function):
                yield module, key
                break
