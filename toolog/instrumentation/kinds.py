"""What kind of thing a namespace holds: told from its type alone, so that no code of a third party runs.

Reading an attribute of an unknown object can fetch a page, load 1,400 modules or raise; so everything here
goes by ``type(x)``, ``type.__mro__`` and ``__dict__``, never by ``getattr`` or ``isinstance`` (a proxy may
lie about its ``__class__``).
"""

from __future__ import annotations

import enum
import functools
import logging
import os
import sys
from asyncio import BaseProtocol
from collections.abc import Iterator
from pathlib import PurePath
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

from toolog.instrumentation.proxy import BoundToolWrapper, wrapper_in
from toolog.snapshot.state import class_dict_of, inherits, mro_of

_flags = type.__dict__["__flags__"].__get__
_LruCache = type(functools.lru_cache(lambda: None))
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_STANDARD = os.path.dirname(os.__file__)  # of the standard library
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE

_LOGGING = "part of logging, by which records leave"
_NO_TOOLS = (
    (BaseException, "exception"), (enum.Enum, "enum"), (type, "metaclass"),
    (BaseProtocol, "protocol of an event loop: that calls it, not the agent"),
    (logging.Logger, _LOGGING), (logging.Handler, _LOGGING), (logging.Filter, _LOGGING),
    (logging.Formatter, _LOGGING),
)  # fmt: skip
"""Base classes whose subclasses hold no tools, and why."""
_BELOW = frozenset({"logging", "threading"})


class Kind(NamedTuple):
    """A callable of a namespace: how it binds (method, class, static) and the function that runs in the
    end."""

    binding: str
    function: Any


def mro(cls: type) -> tuple[type, ...]:
    """Return a class's MRO, whatever its metaclass says."""
    return mro_of(cls)  # type: ignore[no-any-return]


def class_vars(cls: type) -> MappingProxyType[str, Any]:
    """Return a class's own namespace, whatever its metaclass says."""
    return cast(MappingProxyType[str, Any], class_dict_of(cls))


def module_vars(module: ModuleType) -> dict[str, Any]:
    """Return a module's namespace; a lazy module is not made to load.

    What stands in ``sys.modules`` need be no module: some extensions put objects there that have no
    namespace at all, and have none here.
    """
    return object_vars(module) or {}


def object_vars(value: Any) -> dict[str, Any] | None:
    """Return an object's own namespace, or None when it has none; none of its code runs."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return None
    return found if type(found) is dict else None


def is_class(value: Any) -> bool:
    """Whether a value is a class."""
    return issubclass(type(value), type)


def kind_of(raw: Any) -> Kind | None:
    """Return how a namespace's value can be called as a tool, or None for what is no Python callable.

    Functions, classmethods, staticmethods, what functools makes of them, and what a decorator made of them
    when it tells by ``__wrapped__``. Never a property, a class, or a function written in C.
    """
    kind = type(raw)
    if kind is FunctionType:
        return Kind("method", raw)
    if issubclass(kind, staticmethod):
        inner = kind_of(raw.__func__)
        return None if inner is None else Kind("static", inner.function)
    if issubclass(kind, classmethod):
        inner = kind_of(raw.__func__)
        return None if inner is None else Kind("class", inner.function)
    if issubclass(kind, functools.partial):
        inner = kind_of(functools.partial.func.__get__(raw))
        return None if inner is None else Kind("static", raw)  # a partial does not bind
    if issubclass(kind, (functools.partialmethod, functools.singledispatchmethod)):
        parts = object_vars(raw) or {}
        inner = kind_of(parts.get("func"))
        if inner is None:
            return None
        binding = "class" if issubclass(type(parts.get("func")), classmethod) else "method"
        return Kind(binding, inner.function)
    if kind is _LruCache:
        inner = kind_of((object_vars(raw) or {}).get("__wrapped__"))
        return None if inner is None else Kind("method", inner.function)
    if kind is MethodType:  # bound already; of a tool of ours it is recorded by that
        inner = raw.__func__
        if wrapper_in(inner) is not None or type(inner) is BoundToolWrapper or kind_of(inner) is None:
            return None
        return Kind("static", raw)
    if is_proxy(kind):
        inner = kind_of(raw.__wrapped__)
        return inner if inner is None else Kind(inner.binding, raw)
    if callable(raw) and not issubclass(kind, type):  # callable() asks the type only
        held = object_vars(raw)
        if held is not None and "__wrapped__" in held:
            inner = kind_of(held["__wrapped__"])
            if inner is not None:
                return Kind("method" if find_static(kind, "__get__") else "static", inner.function)
    return None


_COMPILED = frozenset({
    "builtin_function_or_method", "method_descriptor", "wrapper_descriptor", "classmethod_descriptor",
    "cython_function_or_method", "fused_cython_function", "nb_func", "nb_method", "instancemethod", "ufunc",
})  # fmt: skip
"""Types of functions that are no Python functions: CPython's own (mypyc and PyO3 make these, too), those of
Cython, nanobind, pybind11 and NumPy."""


def is_compiled(value: Any) -> bool:
    """Whether a value is a function or method that is not written in Python."""
    return type(value).__name__ in _COMPILED


def is_proxy(kind: type) -> bool:
    """Whether a type is one of wrapt's wrappers (a framework's decorator, say); ours count too."""
    wrapt = sys.modules.get("wrapt")
    return wrapt is not None and issubclass(kind, wrapt.FunctionWrapper | wrapt.BoundFunctionWrapper)


def unwrap(function: Any) -> Any:
    """Return the innermost function behind decorators that tell by ``__wrapped__``; bounded."""
    for _ in range(64):
        if type(function) is FunctionType:
            inner = function.__dict__.get("__wrapped__")
        elif issubclass(type(function), functools.partial):
            inner = functools.partial.func.__get__(function)
        elif type(function) is MethodType:
            inner = function.__func__
        elif is_proxy(type(function)):
            inner = function.__wrapped__
        else:
            inner = (object_vars(function) or {}).get("__wrapped__")
        if inner is None:
            return function
        function = inner
    return function


def layers(function: Any) -> Iterator[Any]:
    """Give a callable and what it stands on, the innermost last: behind binding, what functools makes of a
    function, and decorators that tell by ``__wrapped__``; bounded."""
    for _ in range(64):
        yield function
        kind = type(function)
        if issubclass(kind, classmethod | staticmethod) or kind is MethodType:
            function = function.__func__
        elif issubclass(kind, functools.partial):
            function = functools.partial.func.__get__(function)
        elif is_proxy(kind):
            function = function.__wrapped__
        else:
            held = object_vars(function) or {}
            function = held.get("__wrapped__", held.get("func"))
            if function is None or kind_of(function) is None:
                return


def why_no_tools(cls: type) -> str | None:
    """Return why a class holds no tools (exception, enum, C type ...), or None when it may."""
    flags = _flags(cls)
    if not flags & _HEAP or flags & _IMMUTABLE:
        return "C type: it cannot be patched"
    for base, reason in _NO_TOOLS:
        if inherits(base, cls):
            return reason
    names = class_vars(cls)
    if inherits(tuple, cls) and any({"_fields", "_make"} <= class_vars(base).keys() for base in mro(cls)):
        return "named tuple"
    if type(cls).__name__ == "_TypedDictMeta":
        return "TypedDict"
    if names.get("_is_protocol") is True:
        return "protocol"
    return None


def is_below(module: str) -> bool:
    """Whether a module is what recording itself stands on: to record its calls, it would be called."""
    return module.partition(".")[0] in _BELOW


def module_of(cls_or_function: Any) -> str:
    """Return the name of the module that defined a class or function, "" when it does not tell."""
    if is_class(cls_or_function):
        found = class_vars(cls_or_function).get(
            "__module__", "builtins"
        )  # a type of the interpreter has none
    elif type(cls_or_function) is FunctionType:
        found = cls_or_function.__module__
    else:
        inner = unwrap(cls_or_function)
        found = inner.__module__ if type(inner) is FunctionType else None
    return found if isinstance(found, str) else ""


def root_package(module: str) -> str:
    """Return the root package of a dotted module name, interned: "requests" of "requests.sessions".

    A namespace package holds unrelated distributions (``google.cloud...``), so the first regular package
    below it counts.
    """
    parts = module.split(".")
    name = parts[0]
    for part in parts[1:]:
        loaded = sys.modules.get(name)
        if (
            loaded is None
            or module_vars(loaded).get("__file__") is not None
            or "__path__" not in module_vars(loaded)
        ):
            break
        name = f"{name}.{part}"
    return sys.intern(name)


_INSTALLED = frozenset({"site-packages", "dist-packages"})


def is_installed(package: str) -> bool:
    """Whether a loaded package came from where an installer (or Python itself) puts packages, and so is no
    source of the user's own."""
    loaded = sys.modules.get(package)
    file = None if loaded is None else module_vars(loaded).get("__file__")
    if not isinstance(file, str):
        return False
    path = PurePath(file)
    return bool(_INSTALLED.intersection(path.parts)) or path.is_relative_to(_STANDARD)


def find_static(cls: type, name: str) -> tuple[type, Any] | None:
    """Return the class of the MRO whose namespace holds a name, and the value there; no descriptor runs."""
    for base in mro(cls):
        names = class_vars(base)
        if name in names:
            return base, names[name]
    return None


def members(cls: type, package: str) -> Iterator[tuple[str, type, Any]]:
    """Give what a class or its bases within a package define and what is in force: name, the class that holds
    it, and the value there, each name once. What a base of another package has before it is left out."""
    seen: set[str] = set()
    for base in mro(cls):
        within = root_package(module_of(base)) == package
        for name, raw in list(class_vars(base).items()):
            if name not in seen:
                seen.add(name)
                if within:
                    yield name, base, raw


def all_subclasses(cls: type) -> Iterator[type]:
    """Give all subclasses of a class that exist now, each once."""
    seen: set[int] = set()
    todo: list[type] = list(type.__subclasses__(cls))
    while todo:
        sub = todo.pop()
        if id(sub) not in seen:
            seen.add(id(sub))
            todo += type.__subclasses__(sub)
            yield sub


def is_public(name: str) -> bool:
    """Whether a name is offered to others: no leading underscore, or the call operator."""
    return not name.startswith("_") or name == "__call__"
