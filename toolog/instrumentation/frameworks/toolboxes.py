"""Toolboxes: classes of a framework whose public methods are its tools.

The framework's own call of such a method is recorded by its table. What is called past the framework, the
toolbox's own calls of its other methods above all, is recorded by ordinary wrappers of the methods, under the
names that the model knows; inside the framework's call of the very method they yield.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from toolog.instrumentation import imports
from toolog.instrumentation.choice import Choice
from toolog.instrumentation.class_tools import find_in_class, find_in_instance
from toolog.instrumentation.found import Found
from toolog.instrumentation.frameworks.claims import Claim
from toolog.instrumentation.frameworks.table import Adapter
from toolog.instrumentation.kinds import all_subclasses, is_class, module_of, module_vars, mro, root_package
from toolog.instrumentation.patch import lock
from toolog.instrumentation.subclasses import Hook, watch


class Toolboxes:
    """The toolboxes that one target wants: all of a framework (``pointed_at`` None), or some classes and
    objects.

    ``take`` is handed what is found; classes that are defined later are found, too.
    """

    def __init__(
        self, adapter: Adapter, claim: Claim, pointed_at: Iterable[Any] | None, take: Callable[[Found], None]
    ) -> None:
        self._box = adapter.toolbox
        self._packages = adapter.packages
        self._claim = claim
        self._pointed_at = None if pointed_at is None else list(pointed_at)
        self._take = take
        self._hooks: list[Hook] = []

    def open(self) -> None:
        """Find what is there, and wait for the rest."""
        if self._box is None:
            return
        module, _, name = self._box.place.partition(":")
        if self._pointed_at is None:
            loaded = sys.modules.get(module)
            if isinstance(loaded, ModuleType):
                self._follow(module_vars(loaded)[name])
            else:
                imports.await_module(module, self._imported)
            return
        for value in self._pointed_at:
            cls = value if is_class(value) else type(value)
            if not any((module_of(base), base.__qualname__) == (module, name) for base in mro(cls)):
                continue
            if is_class(value):
                self._follow(value)
            else:
                found = Found()
                find_in_instance(value, Choice(), found, name=None, nested=True)
                self._offer(found, cls)

    def close(self) -> None:
        """Wait no longer."""
        imports.forget(self._imported)
        for hook in self._hooks:
            hook.remove(self)
        self._hooks.clear()

    def _imported(self, module: ModuleType) -> None:
        with lock:
            if self._box is not None:
                self._follow(module_vars(module)[self._box.place.partition(":")[2]])

    def _follow(self, cls: type) -> None:
        for one in (cls, *all_subclasses(cls)):
            self._adopt(one)
        hook = watch(self, cls, self._adopt)
        if hook is not None:
            self._hooks.append(hook)

    def _adopt(self, cls: type) -> None:
        if root_package(module_of(cls)) in self._packages:
            return
        with lock:
            found = Found()
            find_in_class(cls, Choice(), found, name=None, nested=True)
            self._offer(found, cls)

    def _offer(self, found: Found, cls: type) -> None:
        if self._box is None:
            return
        wanted = []
        for tool in found.tools:
            if tool.attribute not in self._box.leave_out:
                called = self._claim.called_by_name(self._box.name(cls, tool.attribute))
                if called is not None:
                    wanted.append(tool._replace(name=called))
        found.tools[:] = wanted
        found.skipped.clear()
        self._take(found)
