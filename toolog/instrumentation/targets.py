"""What a user may point at: every shape of target, told apart, and how each is searched for tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import iscoroutinefunction
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from toolog.errors import ConfigError, nearest
from toolog.instrumentation import frameworks
from toolog.instrumentation.choice import Choice
from toolog.instrumentation.class_tools import find_in_class, find_in_instance
from toolog.instrumentation.found import Found, ToolClass
from toolog.instrumentation.frameworks.table import Adapter
from toolog.instrumentation.function_tools import find_function, find_method
from toolog.instrumentation.imports import can_be_found
from toolog.instrumentation.kinds import (
    class_vars,
    find_static,
    is_below,
    is_class,
    kind_of,
    module_of,
    module_vars,
    mro,
    object_vars,
    root_package,
    unwrap,
)
from toolog.instrumentation.module_tools import find_in_module
from toolog.instrumentation.proxy import BoundToolWrapper, wrapper_in

ACCEPTED = (
    'a module, a dotted name ("package.module", "package.module.Class"), a framework\'s name ("langchain"), '
    "a class, an object whose methods are tools, a function, a bound method, or a list of these"
)

COMPANIONS = {"boto3": ("botocore.client.BaseClient", "boto3.resources.base.ServiceResource")}
"""Packages whose tools are methods of classes generated at run time, below these bases."""


BEHIND = {
    "aiohttp": (
        "aiohttp.client",
        "ClientSession",
        {"_request": "request", "_ws_connect": "ws_connect"},
        frozenset({"request"}),
    )
}
"""Packages with methods that hand out something to await at once, long before anything has happened: module
and class of these, the coroutine functions behind them, with the names they are recorded by, and functions of
the package that do no more than call these."""


class Target(NamedTuple):
    """One thing to be instrumented: ``kind`` is module, class, instance, function, method, builtin, pending,
    framework (all tools of a framework), or adapted (a tool, or owner of tools, of a framework)."""

    kind: str
    value: Any
    label: str

    @property
    def rank(self) -> int:
        """How specific a target is: where two cover one tool, the more specific one decides how it is
        recorded."""
        return {"module": 0, "class": 1}.get(self.kind, 2)


def resolve(target: Any) -> list[Target]:
    """Return what a target means; raises ConfigError for what cannot be one."""
    kind = type(target)
    if any(kind is one for one in (list, tuple, set, frozenset)):  # `in` would ask the metaclass of others
        return [found for item in target for found in resolve(item)]
    if kind is str:
        return _resolve_name(target)
    if issubclass(kind, Adapter):
        return [Target("framework", target, target.name)]
    if issubclass(kind, ModuleType):
        name = module_vars(target).get("__name__", "?")
        adapter = frameworks.find_package(name)
        if adapter is not None:
            return [Target("framework", adapter, adapter.name)]
        return [Target("module", target, name)]
    if frameworks.adapter_of(target) is not None:
        shown = target if is_class(target) else kind
        label = f"{shown.__module__}.{shown.__qualname__}"
        return [Target("adapted", target, label if is_class(target) else f"<{label} object>")]
    if issubclass(kind, type):
        return [Target("class", target, f"{target.__module__}.{target.__qualname__}")]
    origin = (object_vars(target) or {}).get("__origin__")
    if kind.__module__ == "typing" and is_class(origin):
        return resolve(origin)  # Tool[int] means Tool
    if kind is BoundToolWrapper:
        if target._self_instance is None and target._self_binding == "function":
            return [Target("function", target._self_parent, target.__qualname__)]
        return [Target("method", target.__wrapped__, target.__qualname__)]
    if kind is MethodType:
        return [Target("method", target, target.__func__.__qualname__)]
    if kind_of(target) is not None:
        return [Target("function", target, str(getattr(target, "__qualname__", kind.__qualname__)))]
    if kind.__name__ in (
        "builtin_function_or_method",
        "method_descriptor",
        "wrapper_descriptor",
        "method-wrapper",
    ):
        return [Target("builtin", target, target.__qualname__)]
    if kind.__module__ == "builtins" or target is None:
        raise ConfigError(f"cannot instrument {target!r}; instrument takes {ACCEPTED}")
    return [Target("instance", target, f"<{kind.__module__}.{kind.__qualname__} object>")]


def _resolve_name(name: str) -> list[Target]:
    if name == frameworks.EVERYTHING and not can_be_found(name):
        return [Target("framework", one, one.name) for one in frameworks.adapters().values()]
    adapter = frameworks.find(name)
    if adapter is not None:
        return [Target("framework", adapter, adapter.name)]
    path = name.replace(":", ".")
    if not all(part.isidentifier() for part in path.split(".")):
        guess = nearest(name, frameworks.known_names())
        hint = f"; did you mean {guess!r}?" if guess else ""
        raise ConfigError(
            f"cannot instrument {name!r}: neither a dotted name nor a framework with an adapter{hint}; "
            f"instrument takes {ACCEPTED}"
        )
    found = find_dotted(path)
    if found is not None:
        return [target._replace(label=path) for target in resolve(found)]
    parent, _, last = path.rpartition(".")
    while parent and (held := find_dotted(parent)) is None:
        parent, _, last = parent.rpartition(".")
    if parent and not _may_come(held, parent, last):
        guess = nearest(last, [key for key in _names_in(held) if not key.startswith("_")])
        hint = f"did you mean {guess!r}?" if guess else "see dir() of it for what is there"
        raise ConfigError(f"{parent} has no {last!r} to instrument; {hint}")
    return [Target("pending", path, path)]


def _may_come(held: Any, path: str, name: str) -> bool:
    """Whether something that is loaded may have a name later: a module that is not imported yet, or one that
    a package makes when it is asked for."""
    if not isinstance(held, ModuleType):
        return False
    return "__getattr__" in module_vars(held) or can_be_found(f"{path}.{name}")


def _names_in(held: Any) -> list[str]:
    if isinstance(held, ModuleType):
        return list(module_vars(held))
    bases = mro(held if is_class(held) else type(held))
    return [*(object_vars(held) or {}), *(name for base in bases for name in class_vars(base))]


def find_dotted(path: str) -> Any:
    """Return what a dotted name stands for among the loaded modules, or None; imports and evaluates
    nothing."""
    parts = path.split(".")
    for size in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:size]))
        if module is None:
            continue
        return find_below(module, ".".join(parts[size:]))
    return None


def find_below(value: Any, path: str) -> Any:
    """Return what a dotted name stands for below a value ("": the value), or None; evaluates nothing."""
    for part in path.split(".") if path else ():
        value = _static_get(value, part)
        if value is None:
            return None
    return value


def _static_get(value: Any, name: str) -> Any:
    if isinstance(value, ModuleType):
        return module_vars(value).get(name)
    if is_class(value):
        for base in type.__dict__["__mro__"].__get__(value):
            if name in class_vars(base):
                raw = class_vars(base)[name]
                kind = kind_of(raw)
                return raw if kind is None or wrapper_in(raw) is not None else kind.function
        return None
    own = object_vars(value) or {}
    if name in own:
        return own[name]
    held = find_static(type(value), name)
    if held is None or not (type(held[1]) is FunctionType or wrapper_in(held[1]) is not None):
        return None
    return held[1].__get__(value, type(value))  # a method of an object that a module holds


def as_adapted(target: Target, adapter: Adapter) -> Target:
    """Return a target whose calls are to be recorded by a framework's table, whatever its class says.

    A module means all tools of the framework. Raises ConfigError for what no table can tell apart.
    """
    if target.kind in ("module", "framework"):
        return Target("framework", adapter, adapter.name)
    if target.kind in ("adapted", "class", "instance", "function"):
        return target._replace(kind="adapted")
    raise ConfigError(
        f"adapter={adapter.name!r} does not go with {target.label}: it takes a framework, or classes and "
        "objects of its tools, that are imported"
    )


def search(target: Target, choice: Choice, found: Found, *, name: str | None, nested: bool | None) -> None:
    """Find the tools of one target."""
    if target.kind in ("framework", "adapted"):
        found.adapted.append(target.value)
        return
    if is_below(_home(target)):
        found.skip(target.label, "recording itself works with it")
        return
    if target.kind == "module":
        find_in_module(target.value, choice, found, name=name, nested=bool(nested))
        _look_behind(target.value, found)
        for cls in companions(target.value):
            found.classes.append(
                ToolClass(cls, root_package(module_of(cls)), bool(nested), True, True, generated=True)
            )
        return
    deep = True if nested is None else nested
    if target.kind == "class":
        find_in_class(target.value, choice, found, name=name, nested=deep)
    elif target.kind == "instance":
        find_in_instance(target.value, choice, found, name=name, nested=deep)
    elif target.kind == "method":
        find_method(target.value, choice, found, name=name, nested=deep)
    elif target.kind == "function":
        find_function(target.value, choice, found, name=name, nested=deep)
    elif target.kind == "builtin":
        found.skip(target.label, "function written in C")


_NOTHING: tuple[str, str, dict[str, str], frozenset[str]] = ("", "", {}, frozenset())


def _home(target: Target) -> str:
    """Return the module that a target is, or that defines it."""
    if target.kind == "module":
        return str(module_vars(target.value).get("__name__", ""))
    if target.kind == "instance":
        return module_of(type(target.value))
    return module_of(target.value.__func__ if target.kind == "method" else target.value)


def _look_behind(module: ModuleType, found: Found) -> None:
    """Take, in place of methods that return at once, the coroutine functions that do their work."""
    home, path, names, shortcuts = BEHIND.get(module_vars(module).get("__name__", ""), _NOTHING)
    cls = find_dotted(f"{home}.{path}")
    if not is_class(cls):
        return
    own = [tool for tool in found.tools if tool.holder is cls]
    here = {tool.attribute: tool for tool in own}
    for hidden, shown in names.items():
        raw, tool = class_vars(cls).get(hidden), here.get(shown)
        kind = kind_of(raw)
        if kind is not None and tool is not None:
            # its own class calls it, so whoever called that is asked by the context only
            found.tools.append(tool._replace(attribute=hidden, raw=raw, kind=kind, homes=None))
    handed_out = {id(tool) for tool in own if not iscoroutinefunction(unwrap(tool.kind.function))}
    handed_out |= {id(tool) for tool in found.tools if tool.holder is module and tool.attribute in shortcuts}
    found.tools[:] = [tool for tool in found.tools if id(tool) not in handed_out]


def companions(module: ModuleType) -> Iterator[type]:
    """Give the base classes of a package's generated tool classes, as far as they are loaded."""
    for path in COMPANIONS.get(module_vars(module).get("__name__", ""), ()):
        cls = find_dotted(path)
        if is_class(cls):
            yield cls
