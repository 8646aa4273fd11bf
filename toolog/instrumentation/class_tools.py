"""The tools of a class, or of one object.

- Of a class: public methods and ``__call__`` over the part of its MRO that its root package defines. A method
  belongs to the class whose namespace holds it, and only the definition that is in force counts.
- Of an instance: its class's methods, for that object alone, and callables in its own namespace.

Nothing is evaluated on the way: see `kinds`.
"""

from __future__ import annotations

from typing import Any

from toolog.instrumentation.choice import Choice
from toolog.instrumentation.found import Found, Tool, ToolClass
from toolog.instrumentation.importlib_bootstrap_gates import Gate
from toolog.instrumentation.kinds import (
    Kind,
    class_vars,
    is_class,
    is_compiled,
    is_public,
    kind_of,
    members,
    module_of,
    object_vars,
    root_package,
    why_no_tools,
)


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
        why = choice.why_not(own, shown) or choice.why_not_unasked(kind.function)
        if why is not None:
            if why != "private":
                found.skip(f"{path}.{attribute}", why)
            continue
        if gate is not None and kind.binding != "method":
            found.skip(f"{path}.{attribute}", "shared by all objects of its class: instrument the class")
            continue
        narrow = gate
        # (a call of a staticmethod does not tell through which class it came)
        if gate is None and holder is not cls and not whole_package and kind.binding != "static":
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


def _note_method(raw: Any, path: str, attribute: str, found: Found) -> None:
    if not is_public(attribute):
        return
    kind = type(raw)
    if kind is property or kind.__name__ in ("cached_property", "property"):
        found.skip(f"{path}.{attribute}", "property: never evaluated")
    elif is_class(raw):
        found.skip(f"{path}.{attribute}", "nested class")
    elif is_compiled(raw):
        found.skip(f"{path}.{attribute}", "function written in C")
