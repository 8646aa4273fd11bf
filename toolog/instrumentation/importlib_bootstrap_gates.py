"""Wrappers around the recording wrapper, for the cases that need a decision first: whose call is this?

Like `importlib_bootstrap`, the file's name keeps its frames out of ``warnings.warn(stacklevel=2)`` and of
logging's ``findCaller``.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from functools import update_wrapper
from threading import get_ident
from types import FrameType, MethodType
from typing import Any, cast

from toolog.arguments import Arguments
from toolog.call import Call, Plan
from toolog.context import Place, Scope, current, is_inside, pop, push
from toolog.counters import contain
from toolog.instances import Newborn, abandon, begin, finish
from toolog.instrumentation.endings import step_out
from toolog.instrumentation.homes import MOST_NAMES, Homes
from toolog.snapshot.state import inherits

Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]


class Gate:
    """Whose calls count, where a method is shared with others: those of a class and its subclasses, or of one
    object.

    An object is held weakly where its type allows it.
    """

    __slots__ = ("_ref", "cls", "strong")

    def __init__(self, cls: type | None, ref: Callable[[], Any] | None, strong: bool) -> None:
        self.cls = cls
        self._ref = ref
        self.strong = strong

    @classmethod
    def of_class(cls, wanted: type) -> Gate:
        """Let the calls of a class and its subclasses through."""
        return cls(wanted, None, False)

    @classmethod
    def of_instance(cls, wanted: Any) -> Gate:
        """Let the calls of one object through."""
        try:
            return cls(None, weakref.ref(wanted), False)
        except TypeError:  # __slots__ without __weakref__
            return cls(None, lambda: wanted, True)

    def admits(self, instance: Any) -> bool:
        """Whether a call on this object (or class, for a classmethod) counts."""
        if self._ref is not None:
            return self._ref() is instance
        kind = instance if issubclass(type(instance), type) else type(instance)
        return inherits(self.cls, kind)  # type: ignore[no-any-return]

    @property
    def only(self) -> int | None:
        """The id of the one object whose calls count, as long as that lives."""
        held = None if self._ref is None else self._ref()
        return None if held is None else id(held)

    def same(self, other: Gate | None) -> bool:
        """Whether two gates let the same calls through."""
        if other is None or self.cls is not other.cls:
            return False
        return self._ref is None or (other._ref is not None and self._ref() is other._ref())


def make_gate(choices: Sequence[tuple[Gate, Wrapper]]) -> Wrapper:
    """Return a wrapper that records only the calls that a gate admits; the first that admits decides how.

    Of single objects there may be many: they are found by their id.
    """
    others = [choice for choice in choices if choice[0].cls is not None]
    by_id: dict[int, list[tuple[Gate, Wrapper]]] = {}
    for choice in choices:
        only = choice[0].only
        if only is not None:
            by_id.setdefault(only, []).append(choice)
    for known in by_id.values():
        known += others
    of_one = by_id.get

    def toolog_gate(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        try:
            for gate, record in of_one(id(instance), others):
                if gate.admits(instance):
                    return record(wrapped, instance, args, kwargs)
            return wrapped(*args, **kwargs)
        except BaseException as error:
            step_out(error)
            raise

    return toolog_gate


def make_super_gate(
    record: Wrapper, identify: Callable[[Any], bytes | None], above: dict[int, weakref.ref[Plan]]
) -> Wrapper:
    """Return a wrapper for a method that instrumented subclasses override.

    When an override calls ``super()``, the call is part of the override's own: one record for the chain. Any
    other call, and so true recursion, is recorded. ``above``: the plans of all overriding methods by their
    id, kept up to date by whoever changes them.
    """

    def toolog_super(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        try:
            scope = current.get()
            if isinstance(scope, Call):
                plan = scope.plan
                known = above.get(id(plan))
                if known is not None and known() is plan:
                    inside = scope.instance
                    if inside is None or inside == identify(instance):
                        return wrapped(*args, **kwargs)
            return record(wrapped, instance, args, kwargs)
        except BaseException as error:
            step_out(error)
            raise

    return toolog_super


def make_outermost(record: Wrapper, homes: Homes) -> Wrapper:
    """Return a wrapper that passes through what the modules of a package's own tools call.

    Outside of any recorded call none of that is a tool call of the agent.
    """
    frame, known, look_up = sys._getframe, homes.known, homes.look_up

    def toolog_outermost(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        try:
            try:
                caller = frame(1).f_globals.get("__name__")
                at_home = known.get(caller)
                if at_home is None:
                    at_home = look_up(caller)
            except Exception as trouble:  # the globals of code that somebody made may be anything
                contain("caller", trouble)
                at_home = False
            if at_home:
                return wrapped(*args, **kwargs)
            return record(wrapped, instance, args, kwargs)
        except BaseException as error:
            step_out(error)
            raise

    return toolog_outermost


OWN_LIBRARIES = sys.stdlib_module_names | {
    "click", "jsonschema", "msgpack", "orjson", "ormsgpack", "re2", "rich", "wrapt", "zstandard",
}  # fmt: skip
"""Packages that toolog itself calls: of their tools' calls some are our own doing."""

_PASSING, _OURS, _LIBRARY, _FOREIGN = range(4)
_KNOWN = (_OURS, _FOREIGN)
_homes: dict[Any, int] = {}


def _home(module: Any) -> int:
    """Return what the code of a module, by its name, says of a call that it makes."""
    root = module.partition(".")[0] if type(module) is str else ""
    if root != "toolog":
        home = _LIBRARY if root in OWN_LIBRARIES else _FOREIGN
    elif "importlib_bootstrap" in module or module == "toolog.instrumentation.threads":
        home = _PASSING  # runs what it was given
    else:
        home = _OURS
    if len(_homes) >= MOST_NAMES:
        _homes.clear()
    _homes[module] = home
    return home


def is_own_call(frame: FrameType | None) -> bool:
    """Whether a call that code at this frame makes is toolog's own, directly or by libraries on the way."""
    try:
        while frame is not None:
            module = frame.f_globals.get("__name__")
            home = _homes.get(module)
            if home is None:
                home = _home(module)
            if home in _KNOWN:
                return home == _OURS
            frame = frame.f_back
    except Exception as trouble:  # the globals of code that somebody made may be anything
        contain("caller", trouble)
    return False


def make_not_ours(record: Wrapper) -> Wrapper:
    """Return a wrapper that passes through what toolog itself calls, of a library that it uses."""
    frame = sys._getframe

    def toolog_not_ours(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        try:
            if is_own_call(frame(1)):
                return wrapped(*args, **kwargs)
            return record(wrapped, instance, args, kwargs)
        except BaseException as error:
            step_out(error)
            raise

    return toolog_not_ours


class Region(Place):
    """Inside a constructor of a package: what it calls of the same package is no tool call of the agent."""

    def __init__(self, package: str, region: str | None) -> None:
        super().__init__(None, package, region or package)


def make_constructor(
    holder: type,
    package: str,
    nested: bool,
    region: str | None,
    is_tool_class: Callable[[type], bool],
    arguments: Arguments,
    factories: dict[str, str],
) -> Wrapper:
    """Return the wrapper of a class's ``__init__``: it is no tool call, but it configures a tool instance.

    The arguments are snapshotted before it runs, what ``factories`` make after. With ``nested`` False
    nothing of the same package is recorded inside. An exception passes through, and the instance is
    forgotten.
    """
    place = Region(package, region)
    is_used_by_us = package in OWN_LIBRARIES

    def toolog_constructor(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        newborn: Newborn | None = None
        token = None
        try:
            scope = current.get()
            if scope is None or not scope.muted or scope.muted != get_ident():
                inside = not nested and is_inside(scope, place)
                if is_tool_class(type(instance)) and not (is_used_by_us and is_own_call(sys._getframe(1))):
                    newborn = begin(
                        instance, arguments, args, kwargs,
                        holder=holder, package=package, inside=inside, factories=factories,
                    )  # fmt: skip
                if not nested and not inside:
                    within = Scope(scope)
                    within.plan = place
                    token = push(within)
        except Exception as trouble:
            contain("constructor", trouble)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            if newborn is not None:
                abandon(newborn)
            step_out(error)
            raise
        finally:
            if token is not None:
                pop(token)
        if newborn is not None:
            finish(newborn, instance)
        return result

    return toolog_constructor


class SubclassHook:
    """An ``__init_subclass__`` that does what the class did before, then shows the new subclass to ``adopt``.

    Pickled with its class by value (cloudpickle), it leaves a plain function that does what the class did
    before. Name and docstring are those of what it does, so that ``help`` of the class says the same.
    """

    def __init__(self, holder: type, previous: Any, adopt: Callable[[type], None]) -> None:
        self.holder = holder
        self.previous = previous
        self.adopt = adopt
        if previous is None:
            update_wrapper(self, object.__init_subclass__, updated=())
            del self.__wrapped__  # type: ignore[attr-defined]  # it has no signature
        else:
            update_wrapper(self, getattr(previous, "__func__", previous), updated=())

    def __call__(self, cls: type, /, **kwargs: Any) -> None:  # noqa: D102
        if self.previous is None:
            super(self.holder, cls).__init_subclass__(**kwargs)  # type: ignore[arg-type]
        else:
            self.previous.__get__(None, cls)(**kwargs)
        try:
            self.adopt(cls)
        except Exception as trouble:
            contain("subclass", trouble)

    def __reduce__(self) -> Any:
        return cast, (None, _plain_hook(self.holder) if self.previous is None else self.previous.__func__)


def _plain_hook(holder: type) -> Callable[..., None]:
    def __init_subclass__(cls: type, /, **kwargs: Any) -> None:
        super(holder, cls).__init_subclass__(**kwargs)  # type: ignore[arg-type]

    __init_subclass__.__module__ = "__main__"  # so that it is pickled by value, too
    return __init_subclass__


def hold(value: Any) -> Callable[[], Any]:
    """Return a function that gives a value back, holding it (or a method's object) weakly where its type
    allows it."""
    try:
        return weakref.WeakMethod(value) if type(value) is MethodType else weakref.ref(value)
    except TypeError:
        return lambda: value
