"""A field of a framework's tool objects that holds the function: read through a descriptor of its class.

So it does not matter when a tool was made, no object is touched, and undoing is one name in one namespace.
What an object holds is always the function itself: a wrapper that is copied into another object (by
``dataclasses.replace``, say) is taken off first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolog.instrumentation.kinds import object_vars
from toolog.instrumentation.proxy import ToolWrapper


class Field:
    """Stands in a class for a field of its objects. ``default`` is what the class held there before."""

    __slots__ = ("_default", "_mark", "_name", "_switch", "_wrapper_for")

    def __init__(
        self, name: str, default: Any, wrapper_for: Callable[[Any], Any], switch: list[bool], mark: Any
    ) -> None:
        self._name = name
        self._default = default
        self._wrapper_for = wrapper_for
        self._switch = switch
        self._mark = mark

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        if owner is None:
            return self._default
        held = object_vars(owner) or {}
        function = held.get(self._name, self._default)
        if not callable(function):
            return function
        return ToolWrapper(function, self._wrapper_for(owner), self._switch, self._mark, self._name, function)

    def __set__(self, owner: Any, value: Any) -> None:
        if type(value) is ToolWrapper and value._self_mark is self._mark:
            value = value._self_raw
        object.__getattribute__(owner, "__dict__")[self._name] = value

    def __delete__(self, owner: Any) -> None:
        held = object.__getattribute__(owner, "__dict__")
        if self._name not in held:
            raise AttributeError(self._name)
        del held[self._name]
