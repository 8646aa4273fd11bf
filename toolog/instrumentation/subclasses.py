"""Subclasses of instrumented classes: an override of a tool's method is a tool, too, whenever it was defined.

A class whose methods are tools gets an ``__init_subclass__`` that shows us each new subclass (what the class
had there before still runs). Subclasses that exist already are looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import Any

from toolog.instrumentation.choice import Choice
from toolog.instrumentation.class_tools import find_in_class
from toolog.instrumentation.found import Found, Tool, ToolClass
from toolog.instrumentation.importlib_bootstrap_gates import SubclassHook
from toolog.instrumentation.kinds import (
    class_vars,
    is_public,
    kind_of,
    module_of,
    mro,
    root_package,
    why_no_tools,
)
from toolog.instrumentation.spots import Grant, spot_at
from toolog.instrumentation.stacks import ABSENT, put
from toolog.snapshot.state import inherits


class Hook:
    """An ``__init_subclass__`` of ours on one class."""

    __slots__ = ("_adopters", "_placed", "_raw", "holder")

    def __init__(self, holder: type) -> None:
        self.holder = holder
        self._raw = class_vars(holder).get("__init_subclass__", ABSENT)
        self._adopters: dict[int, Callable[[type], None]] = {}
        previous = None if self._raw is ABSENT else self._raw
        self._placed: Any = classmethod(SubclassHook(holder, previous, self._adopt))
        put(holder, "__init_subclass__", self._placed)

    def _adopt(self, cls: type) -> None:
        for adopt in list(self._adopters.values()):
            adopt(cls)

    def add(self, owner: object, adopt: Callable[[type], None]) -> None:
        """Show new subclasses to one more owner."""
        self._adopters[id(owner)] = adopt

    def remove(self, owner: object) -> None:
        """Stop showing them to an owner; with the last one the class is as it was before."""
        self._adopters.pop(id(owner), None)
        if not self._adopters and class_vars(self.holder).get("__init_subclass__") is self._placed:
            put(self.holder, "__init_subclass__", self._raw)
            _hooks.pop(id(self.holder), None)


_hooks: dict[int, Hook] = {}


def watch(owner: object, cls: type, adopt: Callable[[type], None]) -> Hook | None:
    """Show all later subclasses of a class to ``adopt``; None when the class cannot be patched."""
    hook = _hooks.get(id(cls))
    if hook is None or hook.holder is not cls:
        try:
            hook = _hooks[id(cls)] = Hook(cls)
        except TypeError:
            return None
    hook.add(owner, adopt)
    return hook


def overrides(cls: type, owner: object) -> Iterator[Tool]:
    """Give the methods in a class's own namespace that override tools of one owner, as tools."""
    if why_no_tools(cls) is not None:
        return
    for attribute, raw in list(class_vars(cls).items()):
        if not isinstance(attribute, str) or not (is_public(attribute) or attribute.startswith("_")):
            continue
        kind = kind_of(raw)
        if kind is None:
            continue
        for grant in _granted_above(cls, attribute, owner):
            base = grant.tool
            default = f"{base.holder.__name__}.{attribute}"
            gated = (
                f"{base.gate.cls.__name__}.{attribute}"
                if base.gate is not None and base.gate.cls
                else default
            )
            name = f"{cls.__name__}.{attribute}" if base.name in (default, gated) else base.name
            yield Tool(
                cls, attribute, raw, kind, name, base.package, base.nested, None, base.homes, base.region
            )
            break


def _granted_above(cls: type, attribute: str, owner: object) -> Iterator[Grant]:
    for base in mro(cls)[1:]:
        spot = spot_at(base, attribute)
        if spot is None:
            continue
        for grant in spot.grants:
            if grant.owner is not owner:
                continue
            gate = grant.tool.gate
            if gate is None or (gate.cls is not None and inherits(gate.cls, cls)):
                yield grant


def look_at(
    cls: type,
    owner: object,
    parents: dict[int, ToolClass],
    choice: Choice,
    name: str | None,
    known: Set[tuple[int, str]],
) -> Found:
    """Return the tools of a subclass of an owner's classes.

    A class of the same root package, below a class that was found through its package, is looked at as a
    whole (a client package may generate its classes, as botocore does); of any other only the overrides
    count. ``known``: as in `Found`.
    """
    found = Found(known)
    above = [parents[id(base)] for base in mro(cls)[1:] if id(base) in parents]
    if not above or why_no_tools(cls) is not None:
        return found
    home = above[0]
    if home.whole and root_package(module_of(cls)) == home.package:
        find_in_class(cls, choice, found, name=name, nested=home.nested, package=home.package)
        found.tools[:] = [
            tool._replace(homes=home.homes)
            for tool in found.tools
            if tool.holder is cls or not home.generated
        ]
        if home.region is not None:
            found.set_region(home.region)
        return found
    found.tools.extend(overrides(cls, owner))
    found.classes.append(ToolClass(cls, home.package, home.nested, False, True, region=home.region))
    return found


def nearest_roots(classes: list[ToolClass]) -> list[ToolClass]:
    """Return those classes that have no other of them above: one hook there sees every subclass."""
    ids: set[int] = {id(item.cls) for item in classes}
    roots: dict[int, ToolClass] = {}
    for item in classes:
        lone = not any(id(base) in ids for base in mro(item.cls)[1:])
        if lone or "__init_subclass__" in class_vars(item.cls):  # one of its own may not call super()
            roots[id(item.cls)] = item
    return list(roots.values())
