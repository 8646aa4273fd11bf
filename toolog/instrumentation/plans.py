"""What all calls of one tool share: the plan that its wrapper records them by."""

from __future__ import annotations

import functools
import inspect
import sys
from types import MethodType
from typing import Any

from toolog.arguments import read_signature
from toolog.call import Plan
from toolog.instances import identify
from toolog.instrumentation.found import Tool, describe
from toolog.instrumentation.kinds import module_vars
from toolog.sanitize import default

_DESCRIPTION = 200  # characters of a docstring's first line in each record


def make_plan(tool: Tool, raw: Any) -> Plan:
    """Return the plan of a tool: everything about its calls that can be prepared."""
    module, qualname, description = describe(tool)
    signature, skip_first = read_parameters(tool, raw)
    return Plan(
        tool.kind.function,
        tool_name=tool.name,
        module=module,
        qualname=qualname,
        package=tool.package,
        package_version=version_of(tool.package),
        description=None if description is None else str(default().sanitize(description[:_DESCRIPTION])),
        nested=tool.nested,
        region=tool.region,
        skip_first=skip_first,
        signature=signature,
        identify=identify if tool.kind.binding == "method" or type(raw) is MethodType else None,
    )


def read_parameters(tool: Tool, raw: Any) -> tuple[inspect.Signature | None, bool]:
    """Return the signature that a tool's callers see, and whether its first parameter is the object or
    class."""
    if issubclass(type(raw), functools.partialmethod):
        inner = functools.partial(
            raw.func, *((None,) if _binds_first(raw.func) else ()), *raw.args, **raw.keywords
        )
        return read_signature(inner), False
    return read_signature(tool.kind.function), tool.kind.binding in ("method", "class")


def _binds_first(function: Any) -> bool:
    return not issubclass(type(function), (staticmethod, classmethod))


_versions: dict[str, str | None] = {}


def version_of(package: str) -> str | None:
    """Return the version of a package as it says itself, or as its distribution of the same name says."""
    if package not in _versions:
        loaded = sys.modules.get(package)
        version = None if loaded is None else module_vars(loaded).get("__version__")
        if not isinstance(version, str):
            from importlib.metadata import PackageNotFoundError
            from importlib.metadata import version as installed

            try:
                version = installed(package)
            except (PackageNotFoundError, ValueError, OSError):
                version = None
        _versions[package] = version
    return _versions[package]
