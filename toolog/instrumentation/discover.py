"""What is a tool in an unknown module, class or object.

The rule (measured: wrapping everything public gives 17 records for one ``requests.Session.get``):

- of a module: the classes and public functions in its own namespace that its root package defines, so that a
  package which only re-exports is covered too. No submodule is entered, ``__all__`` is not read, no lazy name
  is touched.
- of a package also the public classes that stand beside an exported one, in the module that defines it, and
  those that a tool says it returns: what ``Database["table"]`` or ``TinyDB.table`` hands out is a class that
  nobody exports.
- of a class: public methods and ``__call__`` over the part of its MRO that its root package defines. A method
  belongs to the class whose namespace holds it, and only the definition that is in force counts.
- of an instance: its class's methods, for that object alone, and callables in its own namespace.

Nothing is evaluated on the way: see `kinds`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Set
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from toolog.instrumentation.callers import looks_at_caller
from toolog.instrumentation.choice import Choice
from toolog.instrumentation.frameworks import adapter_of
from toolog.instrumentation.homes import Homes
from toolog.instrumentation.importlib_bootstrap_gates import Gate
from toolog.instrumentation.kinds import (
    Kind,
    class_vars,
    find_static,
    is_class,
    is_public,
    kind_of,
    members,
    module_of,
    module_vars,
    mro,
    object_vars,
    root_package,
    unwrap,
    why_no_tools,
)
from toolog.instrumentation.proxy import wrapper_in


class Tool(NamedTuple):
    """A callable to be wrapped: where it stands, what stands there, and what its calls are named."""

    holder: Any
    attribute: str
    raw: Any
    kind: Kind
    name: str
    package: str
    nested: bool
    gate: Gate | None = None
    homes: Homes | None = None  # modules whose own calls are the package's doing, not the agent's

    @property
    def path(self) -> str:
        """Where it stands, as ``module.Class.method``."""
        return f"{_holder_name(self.holder)}.{self.attribute}"


class Skipped(NamedTuple):
    """A name that was looked at and left alone, and why."""

    name: str
    reason: str


class ToolClass(NamedTuple):
    """A class whose constructor and later subclasses matter; ``whole`` when it was found through its
    package."""

    cls: type
    package: str
    nested: bool
    whole: bool
    has_tools: bool
    homes: Homes | None = None
    generated: bool = False  # the base of classes made at run time: only what they hold themselves are tools


class Found:
    """What a search gave: the tools, what was skipped, and the classes whose constructors and subclasses
    matter.

    ``known``: where tools stand that are wrapped already: id of the class that holds one, and attribute.
    """

    def __init__(self, known: Set[tuple[int, str]] = frozenset()) -> None:
        self.tools: list[Tool] = []
        self.skipped: list[Skipped] = []
        self.classes: list[ToolClass] = []
        self.places: set[tuple[int, str]] = set()
        """Where the tools of classes stand, as in ``known``."""
        self.known = known
        self.adapted: list[Any] = []
        """Frameworks' tables, and tools (or owners of tools) of frameworks: their calls are an adapter's."""

    def skip(self, name: str, reason: str) -> None:
        """Note that a name was left alone."""
        self.skipped.append(Skipped(name, reason))


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
            _note_builtin(value, f"{title}.{attribute}", attribute, found)
            continue
        if wrapper_in(value) is None and type(value) is MethodType:
            continue  # a bound method of some object, shown as a function: its class is the place
        home = root_package(module_of(value) or title)
        if home != package:
            if not attribute.startswith("_"):
                found.skip(f"{title}.{attribute}", f"defined by {home}, not by {package}")
            continue
        seen.add(id(value))
        why = choice.why_not(attribute) or _why_not_framed(kind, choice)
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
    if kind in _PLAIN:
        return
    if kind in (list, tuple):
        values: Iterable[Any] = value
    elif kind is dict:
        values = value.values()
    else:
        values = (value,)
    for one in values:
        if type(one) not in _PLAIN and not is_class(one) and adapter_of(one) is not None:
            yield one


_PLAIN = frozenset({str, int, float, bool, bytes, type(None), FunctionType, ModuleType, MethodType})


def _why_not_framed(kind: Kind, choice: Choice) -> str | None:
    """Return why a callable is better left alone although it is a tool, unless ``tools=`` asks for it."""
    if choice.tools is None and looks_at_caller(kind.function):
        return "looks at its caller's frame, and would find ours; tools= wraps it all the same"
    return None


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


def find_in_class(
    cls: type, choice: Choice, found: Found, *, name: str | None, nested: bool, package: str | None = None,
    gate: Gate | None = None,
) -> None:  # fmt: skip
    """Find the tools of a class: public methods over its MRO within its root package.

    With ``gate``, or for a method that a base class shares with classes nobody named, only the calls of the
    class (or object) itself count.
    """
    reason = why_no_tools(cls)
    path = f"{module_of(cls)}.{cls.__qualname__}"
    if reason is not None:
        found.skip(path, reason)
        return
    whole_package = package is not None
    package = package or root_package(module_of(cls))
    every = whole_package and gate is None and choice.is_everything
    has_tools = False
    for attribute, holder, raw in members(cls, package):
        place = (id(holder), attribute)
        if every and (place in found.places or place in found.known):
            has_tools = True  # a base's, found through another class of the package
            continue
        if not (choice.takes_private or is_public(attribute)):
            continue
        if attribute in class_vars(holder).get("__dataclass_fields__", {}):
            continue
        kind = kind_of(raw)
        if kind is None:
            _note_method(raw, path, attribute, found)
            continue
        own, shown = f"{cls.__name__}.{attribute}", f"{holder.__name__}.{attribute}"
        why = choice.why_not(own, shown) or _why_not_framed(kind, choice)
        if why is not None:
            if why != "private":
                found.skip(f"{path}.{attribute}", why)
            continue
        narrow = gate
        if gate is None and holder is not cls and not whole_package:
            narrow = Gate.of_class(cls)
        if name is not None:
            tool_name = f"{name}.{own if whole_package else attribute}"
        else:
            tool_name = shown if narrow is None else own
        found.tools.append(Tool(holder, attribute, raw, kind, tool_name, package, nested, narrow))
        found.places.add(place)
        has_tools = True
    found.classes.append(ToolClass(cls, package, nested, whole_package, has_tools))


def find_in_instance(value: Any, choice: Choice, found: Found, *, name: str | None, nested: bool) -> None:
    """Find the tools of one object: its class's methods, and the callables in its own namespace."""
    cls = type(value)
    own = object_vars(value)
    reason = why_no_tools(cls)
    if reason is None:
        find_in_class(cls, choice, found, name=name, nested=nested, gate=Gate.of_instance(value))
    for attribute, raw in list((own or {}).items()):
        kind = kind_of(raw)
        if kind is None or not isinstance(attribute, str):
            continue
        if choice.why_not(f"{cls.__name__}.{attribute}") is None:
            tool_name = f"{name or cls.__name__}.{attribute}"
            package = root_package(module_of(raw) or module_of(cls))
            kind = Kind("static", kind.function)
            found.tools.append(Tool(value, attribute, raw, kind, tool_name, package, nested))
    if reason is not None and not found.tools:
        found.skip(f"{module_of(cls)}.{cls.__qualname__}", reason)


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
    if holder is not None and is_class(holder):
        raw = class_vars(holder).get(parts[-1])
        kind = kind_of(raw)
        if kind is not None and unwrap(kind.function) is inner:
            shown = f"{holder.__name__}.{parts[-1]}"
            if _taken(choice, found, shown):
                found.classes.append(ToolClass(holder, package, nested, False, True))
                found.tools.append(Tool(holder, parts[-1], raw, kind, name or shown, package, nested))
            return
    for place, attribute in _places(function, holder, parts[-1]):
        if _taken(choice, found, attribute):
            kind = Kind("static", inner)
            raw = module_vars(place)[attribute]
            found.tools.append(Tool(place, attribute, raw, kind, name or attribute, package, nested))
        return
    if ours is None:
        found.skip(path or repr(type(function)), "held by no module: decorate it with @toolog.tool instead")


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


def _note_method(raw: Any, path: str, attribute: str, found: Found) -> None:
    if not is_public(attribute):
        return
    kind = type(raw)
    if kind is property or kind.__name__ in ("cached_property", "property"):
        found.skip(f"{path}.{attribute}", "property: never evaluated")
    elif is_class(raw):
        found.skip(f"{path}.{attribute}", "nested class")
    elif kind.__name__ in _COMPILED:
        found.skip(f"{path}.{attribute}", "function written in C")


_COMPILED = frozenset({
    "builtin_function_or_method", "method_descriptor", "wrapper_descriptor", "classmethod_descriptor",
    "cython_function_or_method", "fused_cython_function", "nb_func", "nb_method", "instancemethod", "ufunc",
})  # fmt: skip
"""Types of functions that are no Python functions: CPython's own (mypyc and PyO3 make these, too), those of
Cython, nanobind, pybind11 and NumPy."""


def _note_builtin(value: Any, path: str, attribute: str, found: Found) -> None:
    if type(value).__name__ in _COMPILED and not attribute.startswith("_"):
        found.skip(path, "function written in C")


def _holder_name(holder: Any) -> str:
    if is_class(holder):
        return f"{module_of(holder)}.{holder.__qualname__}"
    if isinstance(holder, ModuleType):
        return holder.__name__
    return f"<{type(holder).__name__} object>"


def describe(tool: Tool) -> tuple[str, str, str | None]:
    """Return module, qualified name and the first line of the docstring of a tool's function."""
    function = unwrap(tool.kind.function)
    module = function.__module__ if type(function) is FunctionType else ""
    qualname = function.__qualname__ if type(function) is FunctionType else tool.attribute
    if is_class(tool.holder):
        module = module_of(tool.holder) or module
        qualname = f"{tool.holder.__qualname__}.{tool.attribute}"
    elif isinstance(tool.holder, ModuleType) and qualname.rpartition(".")[2] != tool.attribute:
        qualname = tool.attribute  # a partial, or a function shown under another name
    doc = function.__doc__ if type(function) is FunctionType else None
    text = doc.strip().splitlines() if isinstance(doc, str) and doc.strip() else []
    return module or _holder_name(tool.holder), qualname, text[0].strip() if text else None
