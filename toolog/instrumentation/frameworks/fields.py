"""A field of a framework's tool objects that holds the function: read through a descriptor of its class.

So it does not matter when a tool was made, no object is touched, and undoing is one name in one namespace.
What an object holds is always the function itself: a wrapper that is copied into another object (by
``dataclasses.replace``, say) is taken off first.

A field that only the objects have, such as one of a pydantic model, is not there in the class: asking the
class for it is answered as before, and undoing leaves none.

What the class held there before answers as it did: a default of the objects, a descriptor such as that of a
slot, or that of another table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolog.instrumentation.kinds import object_vars
from toolog.instrumentation.proxy import ToolWrapper
from toolog.instrumentation.stacks import ABSENT, Placed, Standing


class Field(Placed):
    """Stands in a class for a field of its objects, in place of what ``mark`` says was there."""

    __slots__ = ("_below", "_name", "_switch", "_wrapper_for")

    def __init__(self, mark: Standing, wrapper_for: Callable[[Any], Any], switch: list[bool]) -> None:
        super().__init__(mark)
        self._below = mark.raw
        self._name = mark.attribute
        self._wrapper_for = wrapper_for
        self._switch = switch

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        held = {} if owner is None else object_vars(owner) or {}
        kind: Any = type(self._below)
        if self._name in held and not hasattr(kind, "__set__"):
            function = held[self._name]
        elif self._below is ABSENT:
            raise self._no_such(owner, cls)
        else:
            function = kind.__get__(self._below, owner, cls) if hasattr(kind, "__get__") else self._below
        if owner is None:
            return function
        function = self._bare(function)
        if not callable(function):
            return function
        return ToolWrapper(function, self._wrapper_for(owner), self._switch, self.mark, self._name, function)

    def __set__(self, owner: Any, value: Any) -> None:
        kind: Any = type(self._below)
        if hasattr(kind, "__set__"):
            kind.__set__(self._below, owner, self._bare(value))
        else:
            object.__getattribute__(owner, "__dict__")[self._name] = self._bare(value)

    def __delete__(self, owner: Any) -> None:
        kind: Any = type(self._below)
        if hasattr(kind, "__delete__"):
            kind.__delete__(self._below, owner)
            return
        held = object.__getattribute__(owner, "__dict__")
        if self._name not in held:
            raise self._no_such(owner, type(owner))
        del held[self._name]

    def _bare(self, value: Any) -> Any:
        """Return a value without the wrapper that reading this field puts around a function."""
        while type(value) is ToolWrapper and value._self_mark is self.mark:
            value = value._self_raw
        return value

    def _no_such(self, owner: Any, cls: Any) -> AttributeError:
        """Return what Python raises for an attribute that is not there."""
        shown = f"type object {cls.__name__!r}" if owner is None else f"{type(owner).__name__!r} object"
        asked = cls if owner is None else owner
        return AttributeError(f"{shown} has no attribute {self._name!r}", name=self._name, obj=asked)
