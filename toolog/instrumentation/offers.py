"""What a wrapper offers beside its call: what the thing it wraps offers, and nothing else.

Python looks for the special methods behind ``len``, ``with``, ``await`` and the like on an object's class.
The wrappers of wrapt have most of them whatever they wrap, so that a function would count as a sized
container, a context manager and a number; and they lack some, so that a tool that is an object of its own
could not be iterated over any more. Whoever asks by ``hasattr``, or does it, gets here the answer of what is
wrapped, with its own message; abstract classes go by `Named`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from wrapt import FunctionWrapper

from toolog.snapshot.state import class_dict_of, mro_of


class NotOffered(AttributeError, TypeError):
    """What is wrapped does not offer it: ``hasattr`` takes it for the one, ``len`` and the like for the
    other."""


NotOffered.__name__ = NotOffered.__qualname__ = "TypeError"  # as it shows in a traceback
NotOffered.__module__ = "builtins"


class Offer:
    """A special method of a wrapper; ``operation`` is what it stands for."""

    __slots__ = ("_name", "_operation")

    def __init__(self, name: str, operation: Callable[[Any], Any]) -> None:
        self._name = name
        self._operation = operation

    def __get__(self, wrapper: Any, owner: Any = None) -> Any:
        if wrapper is None:
            return self._of_class
        wrapped = wrapper.__wrapped__
        if offers(wrapped, self._name):
            return getattr(wrapped, self._name)
        try:
            self._operation(wrapped)
        except (TypeError, AttributeError) as error:
            raise NotOffered(str(error)) from None
        return partial(self._operation, wrapped)  # Python has another way to do it: ``__index__`` for ``int``

    def _of_class(self, wrapper: Any, /, *args: Any) -> Any:
        return self.__get__(wrapper)(*args)


def offers(value: Any, name: str) -> bool:
    """Whether the class of a value has a special method; none of the value's code runs."""
    for base in mro_of(type(value)):
        names = class_dict_of(base)
        if name in names:
            return names[name] is not None
    return False


def _enter(manager: Any) -> None:
    with manager:
        pass


def _run(steps: Any) -> None:
    try:
        steps.send(None)
    finally:
        steps.close()


async def _await(value: Any) -> None:
    await value


async def _enter_async(manager: Any) -> None:
    async with manager:
        pass


SPECIAL: dict[str, Callable[[Any], Any]] = {
    "__len__": len,
    "__enter__": _enter,
    "__exit__": _enter,
    "__aenter__": lambda value: _run(_enter_async(value)),
    "__aexit__": lambda value: _run(_enter_async(value)),
    "__index__": operator.index,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__iter__": iter,
    "__next__": next,
    "__aiter__": aiter,
    "__anext__": anext,
    "__await__": lambda value: _run(_await(value)),
}
"""What a wrapper is to have where the wrapped has it, and what it stands for. (wrapt's ``__getitem__`` stays:
one in Python would make a wrapper a sequence for the interpreter, to be iterated over by numbers.)"""

LACKING = tuple(name for name in SPECIAL if not hasattr(FunctionWrapper, name))
"""What wrapt's wrappers never have; the rest they have in any case."""


class Offers:
    """A base of wrappers: of what wrapt's have in any case, each offers what the wrapped thing does."""

    __slots__ = ()


for _name in SPECIAL.keys() - {*LACKING, "__iter__"}:  # (where wrapt 1 has it, Python would ask the next)
    setattr(Offers, _name, Offer(_name, SPECIAL[_name]))
del Offers.__slots__  # an attribute of every wrapper, else


class Named(type(FunctionWrapper)):  # type: ignore[misc]
    """A type of wrappers that abstract classes take for ``stands_for``.

    They look through ``type(tool).__mro__`` for special methods, whatever these answer then. (Python itself
    does not go by this attribute, nor do protocols from Python 3.12 on.)
    """

    stands_for: type = object

    @property
    def __mro__(cls) -> Any:
        return cls.stands_for.__mro__


_kinds: dict[tuple[Any, ...], type] = {}


def kind_for(kind: type, wrapped: Any) -> type:
    """Return a type of wrappers: ``kind``, or one like it with those of `LACKING` that the wrapped has."""
    lacking = tuple(name for name in LACKING if offers(wrapped, name))
    if not lacking:
        return kind
    made = _kinds.get((kind, *lacking))
    if made is None:
        names = {name: Offer(name, SPECIAL[name]) for name in lacking}
        names["__annotations__"] = class_dict_of(kind)["__annotations__"]
        made = _kinds[kind, *lacking] = type.__call__(type(kind), kind.__name__, (kind,), names)
    return made
