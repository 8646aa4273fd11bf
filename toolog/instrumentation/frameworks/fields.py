"""A field of a framework's tool objects that holds the function: read through a descriptor of its class.

So it does not matter when a tool was made, no object is touched, and undoing is one name in one namespace.
What an object holds is always the function itself: a wrapper that is copied into another object (by
``dataclasses.replace``, say) is taken off first.

A field that only the objects have, such as one of a pydantic model, is not there in the class: asking the
class for it is answered as before, and undoing leaves none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolog.instrumentation.kinds import object_vars
from toolog.instrumentation.proxy import ToolWrapper
from toolog.instrumentation.stacks import ABSENT


class Field:
    """Stands in a class for a field of its objects. ``default``: what the class held there, or ABSENT."""

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
        held = {} if owner is None else object_vars(owner) or {}
        function = held.get(self._name, self._default)
        if function is ABSENT:
            raise AttributeError(f"{getattr(cls, '__name__', cls)!r} has no attribute {self._name!r}")
        if owner is None:
            return function
        if self._is_ours(function):
            function = function._self_raw
        if not callable(function):
            return function
        return ToolWrapper(function, self._wrapper_for(owner), self._switch, self._mark, self._name, function)

    def __set__(self, owner: Any, value: Any) -> None:
        if self._is_ours(value):
            value = value._self_raw
        object.__getattribute__(owner, "__dict__")[self._name] = value

    def _is_ours(self, value: Any) -> bool:
        """Whether a value is a function with our wrapper around it, as reading the field gives it."""
        return type(value) is ToolWrapper and value._self_mark is self._mark

    def __delete__(self, owner: Any) -> None:
        held = object.__getattribute__(owner, "__dict__")
        if self._name not in held:
            raise AttributeError(self._name)
        del held[self._name]
