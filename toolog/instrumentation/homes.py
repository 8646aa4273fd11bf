"""Whose calls are a package's own doing, not the agent's: those of the modules that its tools live in.

A property, a subscript or a background thread of a package calls its public methods, too, outside any
recorded call. Modules that define the tools, and those that these are built on, are at home. What stands
above the tools is the agent, as ``app.main`` that calls ``app.tools``.

Of a package that an installer put there, modules that are imported later are at home, too (a dialect of a
database, an extension), although they stand above: of a root package all that there are, of a package inside
it all but those that hold something of it, as an extension that is built on it does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from toolog.instrumentation.kinds import is_class, is_installed, module_of, module_vars, root_package

MOST_NAMES = 4096
"""So many names of modules are known at once: a program has thousands at most, and one may make up names."""


class Homes:
    """The modules whose calls of a package's tools are the package's own.

    title: the name of the package that was instrumented.
    modules: names of the modules that define its tools.
    """

    __slots__ = ("_open", "_package", "_title", "known")

    def __init__(self, title: str, modules: Iterable[str]) -> None:
        self._title = title
        self._package = root_package(title)
        self._open = not is_installed(self._package)
        self.known: dict[Any, bool] = dict.fromkeys(_below(modules, self._package), True)
        """What was found out about modules by their names; read on the way of each call."""

    def look_up(self, module: Any) -> bool:
        """Return whether a module, by its name, is at home; for one that is not in ``known`` yet."""
        if type(module) is not str:
            return False
        at_home = False
        if not self._open and root_package(module) == self._package:
            loaded = sys.modules.get(module)
            names = module_vars(loaded) if isinstance(loaded, ModuleType) else {}
            at_home = self._title == self._package or not any(map(self._is_of_title, list(names.values())))
            if getattr(names.get("__spec__"), "_initializing", False):
                return at_home  # its namespace is not complete
        if len(self.known) >= MOST_NAMES:  # somebody makes up names of modules
            for name in [name for name, held in list(self.known.items()) if not held]:
                self.known.pop(name, None)
        if at_home or len(self.known) < MOST_NAMES:
            self.known[module] = at_home
        return at_home

    def _is_of_title(self, value: Any) -> bool:
        home = _home_of(value)
        return home == self._title or home.startswith(f"{self._title}.")


def _home_of(value: Any) -> str:
    """Return the module that a class or function was defined in, or that a module is, "" for all else."""
    if is_class(value) or type(value) is FunctionType:
        return module_of(value)
    return str(module_vars(value).get("__name__", "")) if type(value) is ModuleType else ""


def _below(modules: Iterable[str], package: str) -> frozenset[str]:
    """Return modules with those of the package that they are built on.

    A module is built on those whose classes, functions or modules stand in its namespace. What imports the
    tools (an application's ``main``) is above them, and so not among these. All submodules stand in the
    namespace of a package, whoever imported them, so those say nothing where a package itself is asked about.
    """
    known = list(modules)
    seen = set(known)
    tops = {*known, package}
    for name in known:  # the list grows on the way
        module = sys.modules.get(name)
        names = module_vars(module) if isinstance(module, ModuleType) else {}
        for value in list(names.values()):
            if type(value) is ModuleType and "__path__" in names and name in tops:
                continue
            below = _home_of(value)
            if below not in seen and below in sys.modules and root_package(below) == package:
                seen.add(below)
                known.append(below)
    return frozenset(known)
