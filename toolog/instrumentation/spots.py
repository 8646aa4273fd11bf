"""The places where our wrappers stand, and who has a claim on them.

A `Spot` is one name in one namespace (of a class, a module or an object) where our wrapper stands in place of
the original. However many targets cover it, there is one wrapper, so one record a call: each target holds a
`Grant` on the spot.
"""

from __future__ import annotations

import weakref
from typing import Any

from toolog.call import Plan
from toolog.instances import identify
from toolog.instrumentation.found import Tool
from toolog.instrumentation.importlib_bootstrap import Wrapper, make_wrapper
from toolog.instrumentation.importlib_bootstrap_gates import (
    OWN_LIBRARIES,
    make_gate,
    make_not_ours,
    make_outermost,
    make_super_gate,
)
from toolog.instrumentation.stacks import Standing, stack_at


class Grant:
    """One target's claim on a spot, with the plan that its calls would be recorded by."""

    __slots__ = ("_wrapper", "asked", "owner", "plan", "rank", "tool")

    def __init__(self, owner: object, tool: Tool, plan: Plan, rank: int, asked: bool) -> None:
        self.owner = owner
        self.tool = tool
        self.plan = plan
        self.rank = rank
        self.asked = asked  # for this name, or this way of nesting
        self._wrapper: Wrapper | None = None

    @property
    def wrapper(self) -> Wrapper:
        """What records calls by its plan."""
        if self._wrapper is None:
            self._wrapper = make_wrapper(self.plan)
        return self._wrapper


def by_age(grants: list[Grant]) -> list[Grant]:
    """Return grants, those that a name or `nested` was given for before others, the newest of them first."""
    asked = [grant for grant in grants if grant.asked]
    return asked[::-1] + [grant for grant in grants if not grant.asked]


def decisive(grants: list[Grant]) -> Grant:
    """Return the grant that decides how calls are recorded: the most specific one, as it was asked for."""
    return max(by_age(grants), key=lambda grant: grant.rank)


class Spot(Standing):
    """One name in one namespace, and who has a claim on its calls."""

    __slots__ = ("above", "grants", "is_gated", "linked", "overridden", "overriding")

    def __init__(self, holder: Any, attribute: str, raw: Any) -> None:
        super().__init__(holder, attribute, raw)
        self.grants: list[Grant] = []
        self.overriding: weakref.WeakSet[Spot] = weakref.WeakSet()
        self.overridden: weakref.WeakSet[Spot] = weakref.WeakSet()  # by this one
        self.above: dict[int, weakref.ref[Plan]] = {}
        """By id the plans of all that override this method; one dict for good, as a wrapper reads it."""
        self.is_gated = False  # the wrapper looks at ``above``
        self.linked = False  # with what overrides it and what it overrides

    def compose(self) -> Wrapper:
        """Return the wrapper that serves all grants: an open one decides for all calls, else each for its
        own."""
        opened = [grant for grant in self.grants if grant.tool.gate is None]
        if opened:
            best = decisive(opened)
            wrapper = self._for_others(best.wrapper)
            if best.tool.homes:
                return make_outermost(wrapper, best.tool.homes)
        else:
            ranked = sorted(by_age(self.grants), key=lambda grant: -grant.rank)
            wrapper = self._for_others(
                make_gate([(grant.tool.gate, grant.wrapper) for grant in ranked if grant.tool.gate])
            )
        self.is_gated = len(self.overriding) > 0
        return make_super_gate(wrapper, identify, self.above) if self.is_gated else wrapper

    def _for_others(self, wrapper: Wrapper) -> Wrapper:
        """Leave our own calls out, of a library that toolog itself uses.

        Below the other gates, of which one looks at its caller's frame.
        """
        used = any(grant.plan.package in OWN_LIBRARIES for grant in self.grants)
        return make_not_ours(wrapper) if used else wrapper

    def note_plans(self) -> None:
        """Tell the methods that this one overrides by which plans its calls are recorded."""
        for below in self.overridden:
            below.heed(self)

    def heed(self, above: Spot) -> None:
        """Note by which plans the calls of an overriding method are recorded; those of former grants and of
        classes that are gone go by themselves."""
        known = self.above
        for grant in above.grants:
            key = id(grant.plan)

            def forget(ref: weakref.ref[Plan], key: int = key) -> None:
                if known.get(key) is ref:
                    del known[key]

            known[key] = weakref.ref(grant.plan, forget)


def spot_at(holder: Any, attribute: str) -> Spot | None:
    """Return the spot whose wrapper stands at a name now, also under a framework's table, or None."""
    for one in stack_at(holder, attribute):
        if isinstance(one, Spot):
            return one
    return None
