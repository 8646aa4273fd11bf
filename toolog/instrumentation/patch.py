"""How the wrappers are put in place, and how they come off again.

Each target holds a grant on the spots that it covers. The original comes back when the last grant is gone,
the very same object, at the same place in the same order (see `stacks`). An inherited method stays on the
class that holds it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from toolog.arguments import Arguments, read_signature
from toolog.instances import factories_of
from toolog.instrumentation.aliases import repair_aliases
from toolog.instrumentation.callers import looks_as_told, looks_at_caller
from toolog.instrumentation.found import Tool, ToolClass
from toolog.instrumentation.importlib_bootstrap_gates import make_constructor
from toolog.instrumentation.kinds import (
    Kind,
    all_subclasses,
    class_vars,
    is_class,
    is_public,
    kind_of,
    layers,
    members,
    module_of,
)
from toolog.instrumentation.overrides import note_name
from toolog.instrumentation.plans import make_plan
from toolog.instrumentation.proxy import BoundToolWrapper, ToolWrapper, wrapper_in
from toolog.instrumentation.spots import Grant, Spot, by_age, decisive, spot_at
from toolog.instrumentation.stacks import ABSENT, Standing, namespace, original_of, put

lock = threading.RLock()
"""Held while namespaces are changed; never on the way of a call."""


def grant(owner: object, tool: Tool, rank: int, *, asked: bool = False) -> Spot | str:
    """Give a target its claim on a tool and see that the wrapper stands there; a text says why it cannot be.

    ``asked``: for this name, or this way of nesting, which so goes before those that stand there."""
    spot = spot_at(tool.holder, tool.attribute)
    fresh = spot is None
    if spot is None:
        # Below a framework's table; a class made from another one's namespace, as dataclass(slots=True) does,
        # holds that one's wrappers.
        raw = original_of(namespace(tool.holder).get(tool.attribute, ABSENT))
        if decorated_in(raw) is not None:
            return "already a tool by @toolog.tool"
        spot = Spot(tool.holder, tool.attribute, raw)
    for held in spot.grants:
        if held.owner is owner and _same_gate(held.tool, tool):
            return spot
    below = kind_of(spot.raw)
    if below is not None:  # not our wrapper, as the search found it: that would be kept for it
        tool = tool._replace(raw=spot.raw, kind=Kind(tool.kind.binding, below.function))
    claim = Grant(owner, tool, make_plan(tool, spot.raw), rank, asked)
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
        note_name(spot)
    return spot


def _same_gate(one: Tool, two: Tool) -> bool:
    return one.gate is two.gate or (one.gate is not None and one.gate.same(two.gate))


def _decisive(spot: Spot) -> list[int]:
    """Tell which grants decide about a spot's calls, to see whether a new one changes anything."""
    opened = [grant for grant in spot.grants if grant.tool.gate is None]
    if opened:
        return [id(decisive(opened))]
    return [id(grant) for grant in by_age(spot.grants)]


def decorated_in(raw: Any) -> ToolWrapper | None:
    """Return the wrapper of ``@toolog.tool`` that records the calls of what stands in a namespace: it, or one
    that it calls in the end, below other decorators."""
    for one in layers(raw):
        ours = one._self_parent if type(one) is BoundToolWrapper else wrapper_in(one)
        if ours is not None and not isinstance(ours._self_mark, Standing):
            return ours
    return None


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


def _shows_us(constructor: Any, holder: type, package: str) -> bool:
    """Whether frames are counted through a constructor, so that ours would be found.

    Where a method of the class looks as many frames up as it is told, what tells it may be anything that the
    constructor sets off: pydantic's models look for names where they are made, from a stand-in for what could
    not be built before.
    """
    if looks_at_caller(constructor):
        return True
    kinds = (kind_of(raw) for name, _, raw in members(holder, package) if is_public(name))
    return any(kind is not None and looks_as_told(kind.function) for kind in kinds)


def grant_constructor(
    owner: object, holder: type, item: ToolClass, is_tool_class: Callable[[type], bool]
) -> Spot | None:
    """Wrap a class's own ``__init__``, if it has one written in Python: it configures instances, but is no
    tool. ``item`` is the class that was found, this one or one below it."""
    names = class_vars(holder)
    if "__init__" not in names:
        return None
    spot = spot_at(holder, "__init__")
    if spot is not None:
        return spot
    raw = original_of(names["__init__"])
    signature = read_signature(raw)
    if signature is None or not (type(raw) is FunctionType or type(raw).__name__ == "FunctionWrapper"):
        return None
    if _shows_us(raw, holder, item.package):  # its objects are then captured from their state
        return None
    if names.get("_is_protocol") is True and module_of(raw) != module_of(holder):
        return None  # typing's own, which it knows by identity, and replaces when the first object is made
    spot = Spot(holder, "__init__", raw)
    try:
        arguments = Arguments(signature, skip_first=True)
        wrapper = make_constructor(
            holder, item.package, item.nested, item.region, is_tool_class, arguments, factories_of(holder)
        )
        spot.place(wrapper)
    except TypeError:
        return None
    return spot


def release_constructor(spot: Spot) -> None:
    """Put a class's own ``__init__`` back, also in subclasses that took it over: `typing` gives the
    implementation of a protocol the constructor that comes next in its MRO."""
    spot.restore()
    for cls in all_subclasses(spot.holder):
        if any(class_vars(cls).get("__init__") is one for one in spot.placings):
            put(cls, "__init__", spot.raw)
