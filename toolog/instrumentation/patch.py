"""Where the wrappers go, and how they come off again.

A `Spot` is one name in one namespace (of a class, a module or an object) where our wrapper stands in place of
the original. However many targets cover it, there is one wrapper, so one record a call: each target holds a
`Grant` on the spot, and the original comes back when the last grant is gone, the very same object, at the
same place in the same order (see `stacks`). An inherited method stays on the class that holds it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from toolog.arguments import Arguments, read_signature
from toolog.call import Plan
from toolog.instances import identify
from toolog.instrumentation.callers import looks_at_caller
from toolog.instrumentation.discover import Tool, describe
from toolog.instrumentation.importlib_bootstrap import Wrapper, make_wrapper
from toolog.instrumentation.importlib_bootstrap_gates import (
    OWN_LIBRARIES,
    make_constructor,
    make_gate,
    make_not_ours,
    make_outermost,
    make_super_gate,
)
from toolog.instrumentation.kinds import class_vars, is_class, module_vars, mro
from toolog.instrumentation.proxy import wrapper_in
from toolog.instrumentation.stacks import ABSENT, Standing, namespace, original_of, repair_aliases, stack_at
from toolog.sanitize import default

lock = threading.RLock()
"""Held while namespaces are changed; never on the way of a call."""


class Grant:
    """One target's claim on a spot, with the plan that its calls would be recorded by."""

    __slots__ = ("owner", "plan", "rank", "tool")

    def __init__(self, owner: object, tool: Tool, plan: Plan, rank: int) -> None:
        self.owner = owner
        self.tool = tool
        self.plan = plan
        self.rank = rank


class Spot(Standing):
    """One name in one namespace, and who has a claim on its calls."""

    __slots__ = ("grants", "linked", "overriding", "plans")

    def __init__(self, holder: Any, attribute: str, raw: Any) -> None:
        super().__init__(holder, attribute, raw)
        self.grants: list[Grant] = []
        self.plans: dict[int, Plan] = {}  # of the grants; read live below
        self.overriding: weakref.WeakSet[Spot] = weakref.WeakSet()
        self.linked = False  # with what overrides it and what it overrides

    def compose(self) -> Wrapper:
        """Return the wrapper that serves all grants: an open one decides for all calls, else each for its
        own."""
        opened = [grant for grant in self.grants if grant.tool.gate is None]
        if opened:
            best = max(opened, key=lambda grant: grant.rank)
            wrapper = self._for_others(make_wrapper(best.plan))
            if best.tool.homes:
                return make_outermost(wrapper, best.tool.homes)
        else:
            ranked = sorted(self.grants, key=lambda grant: -grant.rank)
            wrapper = self._for_others(
                make_gate(
                    [(grant.tool.gate, make_wrapper(grant.plan)) for grant in ranked if grant.tool.gate]
                )
            )
        plans = [spot.plans for spot in self.overriding]
        return make_super_gate(wrapper, identify, plans) if plans else wrapper

    def _for_others(self, wrapper: Wrapper) -> Wrapper:
        """Leave our own calls out, of a library that toolog itself uses.

        Below the other gates, of which one looks at its caller's frame.
        """
        used = any(grant.plan.package in OWN_LIBRARIES for grant in self.grants)
        return make_not_ours(wrapper) if used else wrapper

    def note_plans(self) -> None:
        """Keep ``plans`` in step with the grants."""
        now = {id(grant.plan): grant.plan for grant in self.grants}
        self.plans.update(now)
        for key in [key for key in self.plans if key not in now]:
            del self.plans[key]


def spot_at(holder: Any, attribute: str) -> Spot | None:
    """Return the spot whose wrapper stands at a name now, also under a framework's table, or None."""
    for one in stack_at(holder, attribute):
        if isinstance(one, Spot):
            return one
    return None


_namesakes: dict[str, weakref.WeakSet[Spot]] = {}
"""The methods that are or were wrapped, by name: only such of one name can override each other."""


def grant(owner: object, tool: Tool, rank: int) -> Spot | str:
    """Give a target its claim on a tool and see that the wrapper stands there; a text says why it cannot
    be."""
    spot = spot_at(tool.holder, tool.attribute)
    fresh = spot is None
    if spot is None:
        # Below a framework's table; a class made from another one's namespace, as dataclass(slots=True) does,
        # holds that one's wrappers.
        raw = original_of(namespace(tool.holder).get(tool.attribute, ABSENT))
        if wrapper_in(raw) is not None:
            return "already a tool by @toolog.tool"
        spot = Spot(tool.holder, tool.attribute, raw)
    for held in spot.grants:
        if held.owner is owner and _same_gate(held.tool, tool):
            return spot
    claim = Grant(owner, tool, make_plan(tool, spot.raw), rank)
    before = _decisive(spot)
    spot.grants.append(claim)
    spot.linked = False
    spot.note_plans()
    try:
        if fresh or _decisive(spot) != before:
            spot.place(spot.compose())
            if not fresh:
                repair_aliases([spot])
    except TypeError as error:
        spot.grants.remove(claim)
        spot.note_plans()
        return f"cannot be patched: {error}"
    if is_class(tool.holder):
        _namesakes.setdefault(tool.attribute, weakref.WeakSet()).add(spot)
    return spot


def _same_gate(one: Tool, two: Tool) -> bool:
    return one.gate is two.gate or (one.gate is not None and one.gate.same(two.gate))


def _decisive(spot: Spot) -> list[int]:
    """Tell which grants decide about a spot's calls, to see whether a new one changes anything."""
    opened = [grant for grant in spot.grants if grant.tool.gate is None]
    if opened:
        return [id(max(opened, key=lambda grant: grant.rank))]
    return [id(grant) for grant in spot.grants]


def link_overrides(spots: Iterable[Spot]) -> None:
    """See to it that methods which call each other by ``super()``, all instrumented, make one record a chain:
    these, and what overrides them or is overridden by them."""
    holders: dict[str, list[type]] = {}
    for spot in spots:
        if not spot.linked:
            spot.linked = True
            if is_class(spot.holder):
                holders.setdefault(spot.attribute, []).append(spot.holder)
    for attribute in chainable(holders):
        held_by = holders[attribute]
        for cls in {id(cls): cls for one in held_by for cls in (one, *all_subclasses(one))}.values():
            link_line(cls, (attribute,))


def link_line(cls: type, attributes: Iterable[str]) -> None:
    """Link the methods in the MRO of one class: siblings meet only there. Every definition of a name
    overrides the ones behind it."""
    line = mro(cls)
    for attribute in attributes:
        spots = [spot for base in line if (spot := spot_at(base, attribute)) is not None]
        for place, above in enumerate(spots):
            for below in spots[place + 1 :]:
                _add_overriding(below, above)


def chainable(attributes: Iterable[str]) -> list[str]:
    """Return those names of methods of which one may be recorded inside another: of a client's hundreds of
    commands nearly none, and with nested=False the package rule leaves the inner call out already."""
    found = []
    for attribute in attributes:
        namesakes = _namesakes.get(attribute, ())
        if len(namesakes) > 1 and any(grant.plan.nested for spot in namesakes for grant in spot.grants):
            found.append(attribute)
    return found


def _add_overriding(below: Spot, above: Spot) -> None:
    if above in below.overriding:
        return
    below.overriding.add(above)
    if any(grant.plan.nested for grant in below.grants):
        below.place(below.compose())


def all_subclasses(cls: type) -> Iterable[type]:
    """Give all subclasses of a class that exist now, each once."""
    seen: set[int] = set()
    todo: list[type] = list(type.__subclasses__(cls))
    while todo:
        sub = todo.pop()
        if id(sub) not in seen:
            seen.add(id(sub))
            todo += type.__subclasses__(sub)
            yield sub


def release(owner: object, spots: Iterable[Spot]) -> list[str]:
    """Take a target's grants back; originals return where no grant is left. Gives the places somebody patched
    over."""
    restored: list[Spot] = []
    covered: list[str] = []
    for spot in spots:
        before = _decisive(spot)
        spot.grants = [grant for grant in spot.grants if grant.owner is not owner]
        spot.note_plans()
        if spot.grants:
            if _decisive(spot) != before and spot.stands():
                spot.place(spot.compose())
                repair_aliases([spot])
            continue
        if not spot.restore():
            covered.append(f"{getattr(spot.holder, '__name__', type(spot.holder).__name__)}.{spot.attribute}")
        restored.append(spot)
    repair_aliases(restored)
    return covered


_DESCRIPTION = 200  # characters of a docstring's first line in each record


def make_plan(tool: Tool, raw: Any) -> Plan:
    """Return the plan of a tool: everything about its calls that can be prepared."""
    module, qualname, description = describe(tool)
    signature, skip_first = read_parameters(tool, raw)
    return Plan(
        tool.kind.function,
        tool_name=tool.name,
        module=module,
        qualname=qualname,
        package=tool.package,
        package_version=version_of(tool.package),
        description=None if description is None else str(default().sanitize(description[:_DESCRIPTION])),
        nested=tool.nested,
        skip_first=skip_first,
        signature=signature,
        identify=identify if tool.kind.binding == "method" else None,
    )


def read_parameters(tool: Tool, raw: Any) -> tuple[inspect.Signature | None, bool]:
    """Return the signature that a tool's callers see, and whether its first parameter is the object or
    class."""
    if issubclass(type(raw), functools.partialmethod):
        inner = functools.partial(
            raw.func, *((None,) if _binds_first(raw.func) else ()), *raw.args, **raw.keywords
        )
        return read_signature(inner), False
    return read_signature(tool.kind.function), tool.kind.binding in ("method", "class")


def _binds_first(function: Any) -> bool:
    return not issubclass(type(function), (staticmethod, classmethod))


_versions: dict[str, str | None] = {}


def version_of(package: str) -> str | None:
    """Return the version of a package as it says itself, or as its distribution of the same name says."""
    if package not in _versions:
        loaded = sys.modules.get(package)
        version = None if loaded is None else module_vars(loaded).get("__version__")
        if not isinstance(version, str):
            from importlib.metadata import PackageNotFoundError
            from importlib.metadata import version as installed

            try:
                version = installed(package)
            except (PackageNotFoundError, ValueError, OSError):
                version = None
        _versions[package] = version
    return _versions[package]


def grant_constructor(
    owner: object, holder: type, package: str, nested: bool, is_tool_class: Callable[[type], bool]
) -> Spot | None:
    """Wrap a class's own ``__init__``, if it has one written in Python: it configures instances, but is no
    tool."""
    names = class_vars(holder)
    if "__init__" not in names:
        return None
    spot = spot_at(holder, "__init__")
    if spot is not None:
        return spot
    raw = original_of(names["__init__"])
    signature = read_signature(raw)
    if type(raw).__name__ not in ("function", "FunctionWrapper") or signature is None:
        return None
    if looks_at_caller(raw):  # it would find us: its objects are then captured from their state
        return None
    spot = Spot(holder, "__init__", raw)
    try:
        spot.place(make_constructor(package, nested, is_tool_class, Arguments(signature, skip_first=True)))
    except TypeError:
        return None
    return spot
