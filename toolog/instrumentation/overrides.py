"""Tools that override each other as methods: a call that goes up by ``super()`` makes one record."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from toolog.instrumentation.kinds import all_subclasses, class_vars, is_class, mro
from toolog.instrumentation.spots import Spot, spot_at

_namesakes: dict[str, weakref.WeakSet[Spot]] = {}
"""The methods that are or were wrapped, by name: only such of one name can override each other."""


def note_name(spot: Spot) -> None:
    """Note that a method is a tool, so that others of its name are looked at for chains."""
    _namesakes.setdefault(spot.attribute, weakref.WeakSet()).add(spot)


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
    wanted = set(attributes)
    lines: dict[str, list[Spot]] = {}
    for base in mro(cls):
        for attribute in wanted.intersection(class_vars(base)):  # of hundreds of names a class has few
            spot = spot_at(base, attribute)
            if spot is not None:
                lines.setdefault(attribute, []).append(spot)
    for spots in lines.values():
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
    above.overridden.add(below)
    below.heed(above)
    if not below.is_gated and any(grant.plan.nested for grant in below.grants):
        below.place(below.compose())
