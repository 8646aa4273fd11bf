"""What of ours stands at a name, and on what: wrappers can stand on wrappers.

A `Standing` is one wrapper at one name of one namespace (of a class, a module or an object). Where a
framework's table and a plain target want the same method there are several, one on top of the other, and each
can come off first: whatever stood on it then stands on what it stood on, and with the last of them the very
original is at the name again, at the same place in the same order. Nothing is read or written by getattr and
setattr.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from toolog.instrumentation.importlib_bootstrap_gates import hold
from toolog.instrumentation.kinds import class_vars, is_class, module_vars, object_vars
from toolog.instrumentation.proxy import dress, wrapper_in

ABSENT = object()


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


class Placed:
    """What stands at a name for a standing (``mark``), where that is no wrapper of a function."""

    __slots__ = ("mark",)

    def __init__(self, mark: Standing) -> None:
        self.mark = mark


class Standing:
    """One wrapper of ours at a name, in place of ``raw``: the original, or the wrapper of ours below."""

    __slots__ = ("__weakref__", "_former", "_switch", "attribute", "holder", "placed", "raw", "wrapper")

    def __init__(self, holder: Any, attribute: str, raw: Any) -> None:
        self.holder = holder
        self.attribute = attribute
        self.raw = raw
        self.placed: Any = ABSENT
        """What of ours stands at the name, or stood there last."""
        self._switch: list[bool] = []
        self._former: list[
            tuple[Callable[[], Any], list[bool]]
        ] = []  # what stood there before, and is held yet

    @property
    def in_force(self) -> bool:
        """Whether it was put on and not taken off again."""
        return bool(self._switch) or any(switch for _, switch in self._former)

    @property
    def placings(self) -> list[Any]:
        """All of ours that stood at the name and that somebody may still hold, the last one last."""
        if self.placed is ABSENT:
            return []
        held = (former() for former, _ in self._former)
        return [*(one for one in held if one is not None), self.placed]

    def current(self) -> Any:
        """Return what stands at the name now, ABSENT for nothing."""
        return namespace(self.holder).get(self.attribute, ABSENT)

    def stands(self) -> bool:
        """Whether calls by the name come here: nobody else patched over it."""
        return self.current() is self.placed or self in stack_at(self.holder, self.attribute)

    def dress(self, wrapper: Callable[..., Any], switch: list[bool]) -> Any:
        """Return what is to stand at the name."""
        return dress(self.raw, wrapper, switch, self, self.attribute, method=is_class(self.holder))

    def place(self, wrapper: Callable[..., Any]) -> None:
        """Put a wrapper where ``raw``, or the wrapper before this one, stands; raises TypeError when the
        holder refuses (an immutable type).
        """
        above = self._above()
        switch = [True]
        placed = self.dress(wrapper, switch)
        if above is None:
            put(self.holder, self.attribute, placed)
        self.wrapper = wrapper
        if self.placed is not ABSENT:
            self._former = [one for one in self._former if one[0]() is not None]
            self._former.append((hold(self.placed), self._switch))
        self.placed, self._switch = placed, switch
        if above is not None:
            above._stand_on(placed)

    def restore(self) -> bool:
        """Take our wrappers off and switch them off.

        When somebody else patched over ours since, theirs stays, and what it still holds of ours passes calls
        through. Returns whether nothing of ours is left in the namespace.
        """
        for switch in (self._switch, *(switch for _, switch in self._former)):
            switch.clear()
        now = self.current()
        if any(now is one for one in self.placings):
            put(self.holder, self.attribute, self.raw)
            return True
        above = self._above()
        if above is not None:
            above._stand_on(self.raw)
            return True
        return now is self.raw

    def _stand_on(self, below: Any) -> None:
        self.raw = below
        self.place(self.wrapper)

    def _above(self) -> Standing | None:
        """Return the wrapper of ours that stands on this one (or on what this one is to stand on)."""
        below = self.placings or [self.raw]
        for one in stack_at(self.holder, self.attribute):
            if one is not self and any(one.raw is item for item in below):
                return one
        return None


def standing_in(value: Any) -> Standing | None:
    """Return the standing whose wrapper a namespace's value is, or None; no code of the value runs."""
    if issubclass(type(value), Placed):
        return value.mark  # type: ignore[no-any-return]
    ours = wrapper_in(value)
    mark = None if ours is None else ours._self_mark
    return mark if isinstance(mark, Standing) else None


def stack_at(holder: Any, attribute: str) -> list[Standing]:
    """Return what of ours stands at a name, the uppermost first."""
    found: list[Standing] = []
    one = standing_in(namespace(holder).get(attribute))
    while one is not None and one not in found and _same_place(one.holder, holder):
        found.append(one)
        one = standing_in(one.raw)
    return found


def _same_place(home: Any, holder: Any) -> bool:
    return home is holder or (isinstance(home, ModuleType) and isinstance(holder, ModuleType))


def original_of(value: Any) -> Any:
    """Return what a namespace's value was before any wrapper of an instrumentation was put around it."""
    one = standing_in(value)
    while one is not None:
        value = one.raw
        one = standing_in(value)
    return value
