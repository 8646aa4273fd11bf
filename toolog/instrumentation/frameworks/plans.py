"""What all calls of one tool share, and how its arguments get their names.

A framework's tool is known by what its table tells: a name, a description, the function behind it. From these
a `Plan` is made at the first call and kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import orjson

from toolog.arguments import Arguments, read_signature
from toolog.call import Plan
from toolog.instances import identify
from toolog.instrumentation.frameworks.table import Adapter, Request
from toolog.instrumentation.kinds import is_class, is_proxy, module_of, root_package, unwrap
from toolog.instrumentation.plans import version_of
from toolog.sanitize import default

_DESCRIPTION = 200  # characters of a tool's description in each record
_MOST_PLANS = 2000


def unwrap_function(function: Any) -> Any:
    """Return the function in the end of bound methods, partials, decorators and our own wrappers."""
    if function is None:
        return None
    found = unwrap(getattr(function, "__func__", function))
    return found if type(found) is FunctionType else function


def undecorated(function: Any) -> Any:
    """Return the function or bound method behind decorators that tell by ``__wrapped__``, and our own."""
    for _ in range(64):
        if type(function) is FunctionType:
            inner = vars(function).get("__wrapped__")
        else:
            inner = function.__wrapped__ if is_proxy(type(function)) else None
        if inner is None:
            break
        function = inner
    return function


def bound_to(function: Any) -> Any:
    """Return the object whose method a function is, or None."""
    owner = getattr(function, "__self__", None)
    return None if owner is None or is_class(owner) or type(owner).__name__ == "module" else owner


class Prepared:
    """What all calls of one tool of a framework share."""

    __slots__ = ("keep", "plan")

    def __init__(self, plan: Plan, keep: Any) -> None:
        self.plan = plan
        self.keep = keep  # so that no id is used again


_prepared: dict[tuple[Any, ...], Prepared] = {}
_arguments: dict[tuple[int, bool, frozenset[str]], tuple[Any, Arguments]] = {}


def plan_of(adapter: Adapter, request: Request, called: str) -> Plan:
    """Return the plan of a tool, prepared at its first call. ``called``: what the records call it."""
    function = unwrap_function(request.function)
    kind: Any = function if function is not None else type(request.tool)
    key = (adapter.name, called, id(kind), request.description)
    held = _prepared.get(key)
    if held is None:
        if len(_prepared) >= _MOST_PLANS:
            _prepared.clear()
        held = _prepared[key] = Prepared(_make_plan(adapter, request, called, kind), kind)
    return held.plan


def _make_plan(adapter: Adapter, request: Request, called: str, kind: Any) -> Plan:
    text = request.description
    description = None
    if isinstance(text, str) and text.strip():
        description = str(default().sanitize(text.strip().splitlines()[0][:_DESCRIPTION]))
    if kind is type(None):
        module, qualname = adapter.packages[0], called
    else:
        module = module_of(kind) or adapter.packages[0]
        qualname = getattr(kind, "__qualname__", called)
    package = root_package(module)
    return Plan(
        _nothing,
        tool_name=called,
        module=module,
        qualname=qualname if isinstance(qualname, str) else called,
        package=package,
        package_version=version_of(package),
        type=request.type,
        description=description,
    )


def _nothing() -> None:
    """Stand for the function of a plan whose arguments are read by a table."""


def instance_of(request: Request) -> bytes | None:
    """Return the packed id of the tool instance: the toolbox that the function is bound to, else the tool."""
    owner = bound_to(request.function)
    if owner is None:
        owner = request.tool
    return None if owner is None else identify(owner)


def name_arguments(request: Request, function: Any) -> Any:
    """Return the arguments by name, defaults filled in, without what the framework injects."""
    given = request.arguments
    if isinstance(given, str | bytes):
        given = _read_json(given)
    named = dict(given) if isinstance(given, Mapping) else {} if given is None else {"input": given}
    if function is None or request.whole:
        if request.args:
            named = {"args": list(request.args), **named}
        return {name: value for name, value in named.items() if name not in request.injected}
    named = {name: value for name, value in named.items() if name not in request.injected}
    return _arguments_of(function, request.injected).named(request.args, named)


def is_json(text: str) -> bool:
    """Whether a text is JSON, as the standard library reads it."""
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def _read_json(text: str | bytes) -> Any:
    try:
        return orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return text


def raw_arguments(request: Request) -> dict[str, Any]:
    """Return the arguments as the model gave them, for a call that is refused or has not been validated."""
    return name_arguments(request, None)  # type: ignore[no-any-return]


def _arguments_of(function: Any, injected: frozenset[str]) -> Arguments:
    inner = unwrap_function(function)
    bound = bound_to(function) is not None or is_class(getattr(function, "__self__", None))
    key = (id(inner), bound, injected)
    held = _arguments.get(key)
    if held is None or held[0] is not inner:
        signature = read_signature(function)  # of a bound method, without its object
        if signature is not None:
            kept = [one for one in signature.parameters.values() if one.name not in injected]
            signature = signature.replace(parameters=kept)
        if len(_arguments) >= _MOST_PLANS:
            _arguments.clear()
        held = _arguments[key] = (inner, Arguments(signature))
    return held[1]
