"""Where the wrappers go, and how they come off again.

A `Spot` is one name in one namespace (of a class, a module or an object) where our wrapper stands in place of
the original. However many targets cover it, there is one wrapper, so one record a call: each target holds a
`Grant` on the spot, and the original comes back when the last grant is gone, the very same object, at the
same place in the same order. Nothing is read or written by getattr and setattr: an inherited method stays on
the class that holds it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from toolog.arguments import Arguments, read_signature
from toolog.call import Plan
from toolog.instances import identify
from toolog.instrumentation.discover import Tool, describe
from toolog.instrumentation.importlib_bootstrap import Wrapper, make_wrapper
from toolog.instrumentation.importlib_bootstrap_gates import (
    make_constructor,
    make_gate,
    make_outermost,
    make_super_gate,
)
from toolog.instrumentation.kinds import class_vars, is_class, module_vars, mro, object_vars
from toolog.instrumentation.proxy import ToolWrapper, dress, wrapper_in
from toolog.sanitize import default

lock = threading.RLock()
"""Held while namespaces are changed; never on the way of a call."""

ABSENT = object()


class Grant:
    """One target's claim on a spot, with the plan that its calls would be recorded by."""

    __slots__ = ("owner", "plan", "rank", "tool")

    def __init__(self, owner: object, tool: Tool, plan: Plan, rank: int) -> None:
        self.owner = owner
        self.tool = tool
        self.plan = plan
        self.rank = rank


class Spot:
    """One name in one namespace, and what stands there instead of ``raw``."""

    __slots__ = (
        "__weakref__", "attribute", "grants", "holder", "linked", "overriding", "placings", "plans", "raw",
        "switches",
    )  # fmt: skip

    def __init__(self, holder: Any, attribute: str, raw: Any) -> None:
        self.holder = holder
        self.attribute = attribute
        self.raw = raw
        self.placings: list[Any] = []
        self.switches: list[list[bool]] = []
        self.grants: list[Grant] = []
        self.plans: dict[int, Plan] = {}  # of the grants; read live below
        self.overriding: weakref.WeakSet[Spot] = weakref.WeakSet()
        self.linked = False  # with what overrides it and what it overrides

    @property
    def placed(self) -> Any:
        """What of ours stands at the name, or stood there last."""
        return self.placings[-1] if self.placings else ABSENT

    def current(self) -> Any:
        """Return what stands at the name now, ABSENT for nothing."""
        return namespace(self.holder).get(self.attribute, ABSENT)

    def place(self, wrapper: Wrapper) -> None:
        """Put a wrapper at the name; raises TypeError when the holder refuses (an immutable type)."""
        switch = [True]
        method = is_class(self.holder)
        placed = dress(self.raw, wrapper, switch, self, self.attribute, method=method)
        put(self.holder, self.attribute, placed)
        self.switches.append(switch)
        self.placings.append(placed)

    def restore(self) -> bool:
        """Put the original back and switch our wrappers off.

        When somebody else patched over ours since, theirs stays, and what it still holds of ours passes calls
        through. Returns whether the original stands at the name again.
        """
        for switch in self.switches:
            switch.clear()
        now = self.current()
        if now is self.placed:
            put(self.holder, self.attribute, self.raw)
            return True
        return now is self.raw

    def compose(self) -> Wrapper:
        """Return the wrapper that serves all grants: an open one decides for all calls, else each for its
        own."""
        opened = [grant for grant in self.grants if grant.tool.gate is None]
        if opened:
            best = max(opened, key=lambda grant: grant.rank)
            wrapper = make_wrapper(best.plan)
            if best.tool.homes:
                return make_outermost(wrapper, best.tool.homes)
        else:
            ranked = sorted(self.grants, key=lambda grant: -grant.rank)
            wrapper = make_gate(
                [(grant.tool.gate, make_wrapper(grant.plan)) for grant in ranked if grant.tool.gate]
            )
        plans = [spot.plans for spot in self.overriding]
        return make_super_gate(wrapper, identify, plans) if plans else wrapper

    def note_plans(self) -> None:
        """Keep ``plans`` in step with the grants."""
        now = {id(grant.plan): grant.plan for grant in self.grants}
        self.plans.update(now)
        for key in [key for key in self.plans if key not in now]:
            del self.plans[key]


def namespace(holder: Any) -> Any:
    """Return the namespace of a class, a module or an object."""
    if is_class(holder):
        return class_vars(holder)
    if isinstance(holder, ModuleType):
        return module_vars(holder)
    return object_vars(holder) or {}


def put(holder: Any, attribute: str, value: Any) -> None:
    """Set (or, for ABSENT, remove) a name in a namespace, past any ``__setattr__`` of its owner."""
    if is_class(holder):
        if value is ABSENT:
            type.__delattr__(holder, attribute)
        else:
            type.__setattr__(holder, attribute, value)
        return
    names = namespace(holder)
    if value is ABSENT:
        names.pop(attribute, None)
    else:
        names[attribute] = value


def spot_at(holder: Any, attribute: str) -> Spot | None:
    """Return the spot whose wrapper stands at a name now, or None."""
    ours = wrapper_in(namespace(holder).get(attribute))
    if ours is None or not isinstance(ours._self_mark, Spot):
        return None
    spot: Spot = ours._self_mark
    if spot.holder is holder or (isinstance(spot.holder, ModuleType) and isinstance(holder, ModuleType)):
        return spot
    return None


_namesakes: dict[str, weakref.WeakSet[Spot]] = {}
"""The methods that are or were wrapped, by name: only such of one name can override each other."""


def grant(owner: object, tool: Tool, rank: int) -> Spot | str:
    """Give a target its claim on a tool and see that the wrapper stands there; a text says why it cannot
    be."""
    spot = spot_at(tool.holder, tool.attribute)
    fresh = spot is None
    if spot is None:
        raw = namespace(tool.holder).get(tool.attribute, ABSENT)
        ours = wrapper_in(raw)
        if ours is not None:
            if not isinstance(ours._self_mark, Spot):
                return "already a tool by @toolog.tool"
            raw = ours._self_raw  # a class made from another one's namespace, as dataclass(slots=True) does
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
            if _decisive(spot) != before and spot.current() is spot.placed:
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
    raw = names["__init__"]
    ours = wrapper_in(raw)
    if ours is not None:
        raw = ours._self_raw
    signature = read_signature(raw)
    if type(raw).__name__ not in ("function", "FunctionWrapper") or signature is None:
        return None
    spot = Spot(holder, "__init__", raw)
    try:
        spot.place(make_constructor(package, nested, is_tool_class, Arguments(signature, skip_first=True)))
    except TypeError:
        return None
    return spot


def repair_aliases(spots: Iterable[Spot]) -> list[str]:
    """Make every module that holds a function by ``from x import f`` hold what stands at its home now.

    The same for the lists and dicts of modules (``TOOLS = [search, pay]``): a function that its own name no
    longer stands for would be called past us, and could not be pickled. Serves both ways: originals become
    wrappers, and wrappers of undone spots become originals. One pass over the namespaces of the loaded
    modules, by identity. Returns the repaired names.
    """
    wanted: dict[int, Any] = {}
    keep: list[Any] = []  # so that no id is used again meanwhile
    for spot in spots:
        if not isinstance(spot.holder, ModuleType):
            continue
        now = spot.placed if spot.grants else spot.raw
        for stale in (spot.raw, *spot.placings):
            if stale is not now:
                wanted[id(stale)] = now
                keep.append(stale)
    if not wanted:
        return []
    repaired = []
    looked_at: set[int] = set()
    loaded: list[Any] = list(sys.modules.values())  # anything may stand there
    for module in loaded:
        if not isinstance(module, ModuleType):
            continue
        names = module_vars(module)
        for key, value in list(names.items()):
            if id(value) in wanted:
                names[key] = wanted[id(value)]
                repaired.append(f"{names.get('__name__')}.{key}")
            elif (type(value) is dict or type(value) is list) and id(value) not in looked_at:
                looked_at.add(id(value))
                if value is not names and len(value) <= _MOST_ENTRIES:
                    repaired += [f"{names.get('__name__')}.{key}[{at!r}]" for at in _repair(value, wanted)]
    return repaired


_MOST_ENTRIES = 10_000  # of a list or dict of a module that is looked through


def _repair(container: dict[Any, Any] | list[Any], wanted: dict[int, Any]) -> list[Any]:
    """Put what is wanted in place of stale values; none of the container's entries is compared or called."""
    entries = container.items() if type(container) is dict else enumerate(container)
    stale = [(key, wanted[id(value)]) for key, value in list(entries) if id(value) in wanted]
    for key, value in stale:
        container[key] = value
    return [key for key, _ in stale]


def is_ours(value: Any) -> bool:
    """Whether a namespace's value is a wrapper of ours."""
    return isinstance(wrapper_in(value), ToolWrapper)
