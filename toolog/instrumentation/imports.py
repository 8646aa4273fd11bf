"""Patching a module when it is imported later: a finder that watches for names and undoes itself.

wrapt's post-import hooks cannot be unregistered, so this is a small one of our own. It finds the module by
all other finders, lets the real loader do its work, and then calls back, inside the import, before any
importer sees the module. The module's spec and loader are the real ones by the time its code runs.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from toolog.counters import contain

Callback = Callable[[ModuleType], None]

_waiting: dict[str, list[Callback]] = {}
_running: set[str] = set()
_finding = threading.local()


class _Watcher:
    """The finder on ``sys.meta_path``; it is there only while somebody waits for a module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module that is waited for by the other finders, and arrange for the call back."""
        if fullname not in _waiting or getattr(_finding, "name", None) == fullname:
            return None
        _finding.name = fullname
        try:
            spec = _find(fullname, path, target)
        finally:
            _finding.name = None
        loader = None if spec is None else spec.loader
        if spec is not None and loader is not None and hasattr(loader, "exec_module"):
            spec.loader = _Loader(loader)  # type: ignore[assignment]
        return spec


def _find(
    fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> importlib.machinery.ModuleSpec | None:
    for finder in list(sys.meta_path):
        if finder is watcher:
            continue
        find: Any = getattr(finder, "find_spec", None)
        spec: importlib.machinery.ModuleSpec | None = None if find is None else find(fullname, path, target)
        if spec is not None:
            return spec
    return None


class _Loader:
    """The real loader of one module, with the call back after it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Create the module as the real loader does."""
        create = getattr(self._loader, "create_module", None)
        return None if create is None else create(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code under its real loader, then call back; its own exception passes through."""
        names = object.__getattribute__(module, "__dict__")
        if names.get("__spec__") is not None:
            names["__spec__"].loader = self._loader
        if names.get("__loader__") is self:
            names["__loader__"] = self._loader
        name = names.get("__name__", "")
        _running.add(name)
        try:
            self._loader.exec_module(module)
        finally:
            _running.discard(name)
        announce(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


watcher = _Watcher()


def announce(module: ModuleType) -> None:
    """Call back whoever waits for this module. What fails in doing so never breaks the import."""
    name = object.__getattribute__(module, "__dict__").get("__name__", "")
    callbacks = _waiting.pop(name, ())
    _retire()
    for callback in callbacks:
        try:
            callback(module)
        except Exception as error:
            contain("instrument on import", error)


def await_module(name: str, callback: Callback) -> None:
    """Call back once when a module of this name has been imported."""
    callbacks = _waiting.setdefault(name, [])
    if callback not in callbacks:
        callbacks.append(callback)
    if watcher not in sys.meta_path:
        sys.meta_path.insert(0, watcher)


def is_running(path: str) -> bool:
    """Whether the module that a dotted name leads to is just being imported, so that it is not whole yet."""
    while path and path not in sys.modules:
        path = path.rpartition(".")[0]
    return path in _running


def forget(callback: Callback) -> None:
    """Stop waiting."""
    for name in list(_waiting):
        _waiting[name] = [held for held in _waiting[name] if held != callback]
        if not _waiting[name]:
            del _waiting[name]
    _retire()


def _retire() -> None:
    if not _waiting and watcher in sys.meta_path:
        sys.meta_path.remove(watcher)


def can_be_found(name: str) -> bool:
    """Whether a top-level module of this name could be imported now; nothing is imported to find out."""
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False
