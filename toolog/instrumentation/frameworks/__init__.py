"""Adapters for agent frameworks: each is a table (see `table`), in a module of its own.

    table     the form of a table
    calls     a call whose facts are spread over a framework's layers
    verdicts  what is recorded of it, judged at its end
    claims    which tools of a framework a target wants
    install   where the wrappers of a table go, and how they come off again

To add a framework: write its module with ``ADAPTER = Adapter(...)`` and name it in `MODULES`.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from toolog.counters import contain
from toolog.errors import ConfigError, nearest
from toolog.instrumentation.frameworks.table import Adapter
from toolog.instrumentation.kinds import class_vars, is_class, mro, root_package

MODULES = (
    "ag2",
    "agno",
    "anthropic",
    "autogen",
    "crewai",
    "dspy",
    "fastmcp",
    "google_adk",
    "haystack",
    "langchain",
    "llama_index",
    "llm",
    "mcp",
    "openai",
    "openai_agents",
    "pydantic_ai",
    "semantic_kernel",
    "smolagents",
)
"""The modules of this package that hold a table."""

EVERYTHING = "frameworks"
"""The name by which `instrument` means every framework there is a table for."""


@lru_cache(maxsize=1)
def adapters() -> dict[str, Adapter]:
    """Return all tables by name: ours, and those that installed packages offer in the entry point group
    ``toolog.adapters``.
    """
    found: dict[str, Adapter] = {}
    for name in MODULES:
        adapter: Adapter = import_module(f"{__name__}.{name}").ADAPTER
        found[adapter.name] = adapter
    for point in entry_points(group="toolog.adapters"):
        try:
            offered = point.load()
            if not isinstance(offered, Adapter):
                raise TypeError(f"{point.value} is no toolog Adapter")
            found.setdefault(offered.name, offered)
        except Exception as error:  # somebody else's package must not break ours
            contain("adapter entry point", error)
    return found


@lru_cache(maxsize=1)
def _names() -> dict[str, Adapter]:
    names: dict[str, Adapter] = {}
    for adapter in adapters().values():
        for name in (adapter.name, adapter.distribution, *adapter.aliases):
            names.setdefault(name, adapter)
    return names


def find(name: str) -> Adapter | None:
    """Return the table that a name stands for: the framework's, its distribution's or its package's."""
    return _names().get(name) or find_package(name)


def find_package(name: str) -> Adapter | None:
    """Return the table of the framework whose root package has this name, if it is that which is installed.

    A package of the user's may have the same name ("agents").
    """
    for adapter in adapters().values():
        if name in adapter.packages and installed_version(adapter) is not None:
            return adapter
    return None


def known_names() -> list[str]:
    """Return the names of the frameworks that there is a table for."""
    return sorted(adapters())


def wanted(adapter: Any) -> Adapter | None:
    """Return what ``adapter=`` means: a table, or the name of one. Raises ConfigError for anything else."""
    if adapter is None or isinstance(adapter, Adapter):
        return adapter
    found = find(adapter) if isinstance(adapter, str) else None
    if found is None:
        guess = nearest(adapter, list(_names())) if isinstance(adapter, str) else None
        hint = f"did you mean {guess!r}?" if guess else f"there are: {', '.join(known_names())}"
        raise ConfigError(f"adapter takes a framework's name or an Adapter, not {adapter!r}; {hint}")
    return found


@lru_cache(maxsize=1)
def _tool_classes() -> dict[tuple[str, str], Adapter]:
    return {
        (module, path): adapter
        for adapter in adapters().values()
        for module, _, path in (place.partition(":") for place in adapter.tools)
    }


def adapter_of(value: Any) -> Adapter | None:
    """Return the table of the framework whose tool (or owner of tools) a class or object is, or None.

    Told from the names in its MRO, so no framework is imported and no code of the value runs.
    """
    for base in mro(value if is_class(value) else type(value)):
        if base is object:
            break
        module = class_vars(base).get("__module__")
        if isinstance(module, str):
            known = _tool_classes().get((module, base.__qualname__))
            if known is not None:
                return known
    return None


def is_framework_class(cls: type) -> bool:
    """Whether a class is a framework's own, not a user's that derives from it."""
    module = class_vars(cls).get("__module__")
    known = adapter_of(cls)
    return known is not None and isinstance(module, str) and root_package(module) in known.packages


def installed_version(adapter: Adapter) -> str | None:
    """Return the version of a framework's distribution that is installed here, or None."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(adapter.distribution)
    except (PackageNotFoundError, ValueError, OSError):
        return None


def is_older(version: str, minimum: str) -> bool:
    """Whether a version is below another, by their leading numbers."""
    return _numbers(version) < _numbers(minimum)


def _numbers(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def is_loaded(adapter: Adapter) -> bool:
    """Whether a framework has been imported in this process."""
    return any(package in sys.modules for package in adapter.packages)
