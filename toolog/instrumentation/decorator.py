"""The decorator for a user's own tools: ``@toolog.tool``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any, TypeVar, overload

from toolog.counters import contain
from toolog.errors import ConfigError
from toolog.instrumentation.entry import instrument
from toolog.instrumentation.found import Tool, ToolClass
from toolog.instrumentation.importlib_bootstrap import make_wrapper
from toolog.instrumentation.kinds import (
    Kind,
    class_vars,
    is_class,
    kind_of,
    module_of,
    mro,
    root_package,
    unwrap,
    why_no_tools,
)
from toolog.instrumentation.patch import decorated_in, grant_constructor
from toolog.instrumentation.plans import make_plan
from toolog.instrumentation.proxy import BoundToolWrapper, dress, wrapper_in
from toolog.instrumentation.stacks import original_of

Some = TypeVar("Some")


@overload
def tool(function: Some, /) -> Some: ...
@overload
def tool(*, name: str | None = None) -> Callable[[Some], Some]: ...
def tool(function: Any = None, /, *, name: str | None = None) -> Any:
    """Make a function of one's own a tool: ``@toolog.tool`` or ``@toolog.tool(name="weather")``.

    Each call becomes one record. Works for functions, methods, class- and staticmethods, sync and async; on a
    class it instruments the class in place and returns it. ``name``: what the records call it. What is a tool
    already is returned as it is, and under another name as a tool of its own. Raises ConfigError for what is
    neither, and for a class that can hold no tools (an exception, an enum). Since 0.1.
    """
    if name is not None and not (isinstance(name, str) and name):
        raise ConfigError(f"name takes a text, not {name!r}")
    if function is None:
        return lambda decorated: _decorate(decorated, name)
    return _decorate(function, name)


class _Decorated:
    """The mark of a wrapper that a decorator made."""

    __slots__ = ("_function", "_tool", "_where", "plan")

    def __init__(self, tool: Tool, path: str) -> None:
        self.plan = make_plan(tool, tool.raw)
        self.plan.qualname = path
        self._tool = tool
        self._where = (
            module_of(tool.raw),
            path.rpartition(".")[0],
        )  # the class that the function's name tells
        self._function: Any = None

    def takes_object(self, first: Any) -> bool:
        """Whether this first argument is the object or class that the method acts on.

        A decorator above ours calls the function with it; ``@staticmethod`` above ours calls with none.
        """
        for base in mro(first if is_class(first) else type(first)):
            if (module_of(base), base.__qualname__) == self._where:
                return not issubclass(type(class_vars(base).get(self._tool.attribute)), staticmethod)
        return False

    def as_function(self) -> Any:
        """Return the wrapper that takes all arguments for the tool's own."""
        if self._function is None:
            tool = self._tool._replace(kind=Kind("static", self._tool.kind.function))
            plan = make_plan(tool, tool.raw)
            plan.qualname = self.plan.qualname
            self._function = dress(tool.raw, make_wrapper(plan), [True], self, tool.attribute)
        return self._function

    def named(self, owner: type, name: str) -> None:
        """Learn which class the method stands in: its constructor configures the tool's instances."""
        try:
            self.plan.qualname = f"{owner.__qualname__}.{name}"
            found = ToolClass(owner, root_package(module_of(owner)), True, False, True)
            grant_constructor(self, owner, found, lambda cls: True)
        except Exception as error:  # a class must not fail to be made because of us
            contain("decorator", error)


def _below_ours(function: Any) -> Any:
    """Return what a function is without the wrapper that makes it a tool already: it gets one of its own,
    with its own name, and no end by the undo of an instrumentation."""
    if type(function) is BoundToolWrapper:
        return function.__wrapped__
    ours = wrapper_in(function)
    return function if ours is None else original_of(ours._self_raw)


def _decorate(function: Any, name: str | None) -> Any:
    if is_class(function):
        reason = why_no_tools(function)
        if reason is not None:
            raise ConfigError(f"@toolog.tool finds no tools in {function.__qualname__}: {reason}")
        instrument(function, name=name)
        return function
    known = decorated_in(function)
    if known is not None and name in (None, known._self_mark.plan.tool_name):
        return function
    function = _below_ours(function)
    if decorated_in(function) is not None:
        raise ConfigError(
            f"{function!r} calls a tool that has a name; name={name!r} belongs where that is made"
        )
    kind = kind_of(function)
    if kind is None:
        in_c = isinstance(function, BuiltinFunctionType | MethodDescriptorType | WrapperDescriptorType)
        hint = "; it is written in C, so decorate a function of your own that calls it" if in_c else ""
        raise ConfigError(f"@toolog.tool takes a function or a class, not {function!r}{hint}")
    inner = unwrap(kind.function)
    path = getattr(inner, "__qualname__", "") or getattr(inner, "__name__", "tool")
    parts = path.rpartition("<locals>.")[2].split(".")
    binding = kind.binding if kind.binding != "method" or len(parts) > 1 else "static"
    kind = Kind(binding, kind.function)
    module = module_of(function)
    package = root_package(module or "__main__")
    tool = Tool(
        sys.modules.get(module), parts[-1], function, kind, name or ".".join(parts[-2:]), package, True
    )
    mark = _Decorated(tool, path)
    return dress(function, make_wrapper(mark.plan), [True], mark, parts[-1], method=binding == "method")
