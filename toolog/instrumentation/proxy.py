"""How a tool is wrapped: wrapt's FunctionWrapper with what it lacks for tools.

- copy, deepcopy and pickle work as they do for the plain function: a wrapped function or method is pickled as
  its name, a bound one as "this attribute of that object". So the other side needs neither toolog nor
  instrumentation.
- ``Class.method`` is the same object each time, also through a subclass that inherits it: code asks
  ``type(x).method is not Base.method`` to learn whether it is overridden.
- a marker of our own, ``__toolog__``, tells "already instrumented". (An ``isinstance`` check against wrapt's
  class would skip tools that a framework itself wrapped with wrapt.)
- a switch: once undone, a wrapper that somebody still holds passes calls through, in C.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache, partial
from types import FunctionType, MethodType
from typing import Any, cast

from wrapt import BoundFunctionWrapper, FunctionWrapper

from toolog.instrumentation.offers import Named, Offers, kind_for

_bind = FunctionWrapper.__get__
_LruCache = type(lru_cache(lambda: None))


class _Annotations(dict[str, Any]):
    """The annotations of what is wrapped, and, as a dict, those of our own class: none.

    wrapt answers ``__annotations__`` by a descriptor of its base class; but whoever asks one of our classes
    for its own makes Python put an empty dict into that class's namespace, which would hide the descriptor
    from then on. So each class has this, a descriptor that is a dict.
    """

    def __get__(self, wrapper: Any, owner: type) -> Any:
        return self if wrapper is None else wrapper.__wrapped__.__annotations__

    def __set__(self, wrapper: Any, value: Any) -> None:
        wrapper.__wrapped__.__annotations__ = value


class _Functions(Named):
    """The type of `ToolWrapper`."""

    stands_for = FunctionType


class _Methods(Named):
    """The type of `BoundToolWrapper`: called with a function and an object it makes a method of them.

    ``type(method)(function, obj)`` is how weakref.WeakMethod and its like make a method again. The wrappers
    themselves are made past this, by `_make_bound`, because a call in Python costs as much as all of binding.
    """

    stands_for = MethodType

    def __call__(cls, function: Any, obj: Any) -> Any:
        if type(function) is BoundToolWrapper and _bound_to(function) is None:
            return function._self_parent.__get__(obj, type(obj))
        return MethodType(function, obj)


class BoundToolWrapper(Offers, BoundFunctionWrapper, metaclass=_Methods):  # type: ignore[type-arg]
    """A wrapped tool bound to an object or a class, or taken from its class (then not bound)."""

    __slots__ = ()
    __annotations__ = _Annotations()

    @property
    def __toolog__(self) -> Any:
        return self._self_parent.__toolog__

    @property
    def __func__(self) -> Any:
        """What ``Class.method`` is, the same object each time, as for a plain method."""
        parent = self._self_parent
        if parent._self_stable and self._self_instance is not None:
            return parent.__get__(None, type(self._self_instance))
        return cast(Any, self.__wrapped__).__func__

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        owner = _bound_to(self)
        if owner is None or isinstance(owner, type):
            return self
        return self._self_parent.__get__(deepcopy(owner, memo), type(owner))

    def __reduce_ex__(self, protocol: Any) -> Any:
        owner = _bound_to(self)
        if owner is None:
            return _name_of(self._self_parent, protocol)
        return getattr, (owner, self._self_parent._self_attribute)

    def __reduce__(self) -> Any:
        return self.__reduce_ex__(2)


del BoundToolWrapper.__slots__
_make_bound = partial(type.__call__, BoundToolWrapper)


class ToolWrapper(Offers, FunctionWrapper, metaclass=_Functions):  # type: ignore[type-arg]
    """A wrapped tool as it stands in a namespace, in place of the original.

    ``raw`` is the original as it stood there; ``mark`` what ``__toolog__`` answers; ``switch`` a list, empty
    once the wrapper is undone; ``attribute`` the name in the namespace.
    """

    __annotations__ = _Annotations()
    __bound_function_wrapper__ = staticmethod(_make_bound)  # type: ignore[assignment]

    def __init__(
        self,
        wrapped: Any,
        wrapper: Callable[..., Any],
        switch: list[bool],
        mark: Any,
        attribute: str,
        raw: Any,
    ) -> None:
        super().__init__(wrapped, wrapper, switch)  # type: ignore[arg-type]  # any object's truth will do
        self._self_mark = mark
        self._self_attribute = attribute
        self._self_raw = raw
        self._self_unbound: Any = None
        self._self_stable = self._self_binding == "function" or type(wrapped) is _LruCache

    @property
    def __toolog__(self) -> Any:
        return self._self_mark

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None:
            return _bind(self, instance, owner)
        unbound: Any = self._self_unbound
        if unbound is None:
            unbound = _bind(self, None, owner)
            if self._self_stable:
                self._self_unbound = unbound  # a classmethod's depends on the owner
        return unbound

    def __set_name__(self, owner: type, name: str) -> None:
        inner = getattr(type(self.__wrapped__), "__set_name__", None)
        if inner is not None:
            inner(self.__wrapped__, owner, name)
        named = getattr(self._self_mark, "named", None)
        if named is not None:
            named(owner, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if type(self.__wrapped__) is MethodType:  # with its object, as any bound method
            return deepcopy(self.__wrapped__, memo)
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._self_unbound is not None or type(self.__wrapped__) is not FunctionType:
            # Only what pickles a class by value meets this object itself: it gets the original. `typing.cast`
            # is the standard library's function that returns its argument, so the other side needs nothing of
            # ours.
            raw = self._self_raw
            # (a cache is left behind: it pickles as a global name, which is ours now)
            return cast, (None, raw.__wrapped__ if type(raw) is _LruCache else raw)
        return _name_of(self, protocol)

    def __reduce__(self) -> Any:
        return self.__reduce_ex__(2)


class MethodWrapper(ToolWrapper):
    """A wrapped function of a class, as it stands in the class's namespace.

    Called as it is, past its binding, its first argument is the object: ``vars(cls)["run"](obj, 3)``, and
    what ``@classmethod`` does from Python 3.13 on.
    """

    __annotations__ = _Annotations()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:  # noqa: D102
        mark = self._self_mark
        if hasattr(mark, "takes_object") and not (args and mark.takes_object(args[0])):
            return mark.as_function()(*args, **kwargs)
        if args:
            return _bind(self, args[0], type(args[0]))(*args[1:], **kwargs)
        return super().__call__(**kwargs)


# A type's name shows in messages ("'function' object is not iterable"), and some code goes by it.
ToolWrapper.__name__ = MethodWrapper.__name__ = "function"
BoundToolWrapper.__name__ = "method"


def _bound_to(bound: BoundToolWrapper) -> Any:
    """Return the object or class that a bound wrapper acts on, or None when it was taken from its class."""
    instance = bound._self_instance
    if instance is not None:
        return instance
    if bound._self_binding == "classmethod":
        return getattr(bound.__wrapped__, "__self__", None)
    return None


def _name_of(wrapper: ToolWrapper, protocol: Any) -> Any:
    """Return what pickles a wrapper: its global name when it has one, else what pickles the original."""
    name = getattr(wrapper.__wrapped__, "__qualname__", None)
    if isinstance(name, str) and "<" not in name:
        return name
    return wrapper.__wrapped__.__reduce_ex__(protocol)


def dress(
    raw: Any,
    wrapper: Callable[..., Any],
    switch: list[bool],
    mark: Any,
    attribute: str,
    *,
    method: bool = False,
) -> Any:
    """Return what takes the place of ``raw`` in its namespace; ``method`` for a function that takes the
    object.

    A staticmethod stays a real staticmethod, so that it is one object through class and instance.
    """
    if issubclass(type(raw), staticmethod):
        return staticmethod(ToolWrapper(raw.__func__, wrapper, switch, mark, attribute, raw))
    if method and type(raw) is FunctionType:
        return MethodWrapper(raw, wrapper, switch, mark, attribute, raw)
    return kind_for(ToolWrapper, raw)(raw, wrapper, switch, mark, attribute, raw)


def wrapper_in(value: Any) -> ToolWrapper | None:
    """Return our wrapper that a namespace's value is or holds, or None; runs no code of the value."""
    kind = type(value)
    if issubclass(kind, ToolWrapper):
        return value  # type: ignore[no-any-return]
    if kind is staticmethod and type(value.__func__) is ToolWrapper:
        return value.__func__
    return None
