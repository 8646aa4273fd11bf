"""Names that a module makes when somebody asks for them (its ``__getattr__``), waited for by name.

A package that loads its parts late has none of them in its namespace. Nothing is asked for by us: while a
name is waited for, a `Giver` stands where the module's ``__getattr__`` stood, and calls back when the program
itself asks. It takes itself away with the last name that is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from toolog.counters import contain
from toolog.instrumentation.kinds import module_vars

Callback = Callable[[str, str, Any], None]

_HOOK = "__getattr__"
_givers: dict[int, Giver] = {}


class Giver:
    """What stands in place of a module's ``__getattr__``."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.given = module_vars(module)[_HOOK]
        self.waiting: dict[str, list[Callback]] = {}

    def __call__(self, name: str) -> Any:
        """Give what the module gives, once whoever waits for it has seen it."""
        value = self.given(name)
        callbacks = self.waiting.pop(name, ())
        if not callbacks:
            return value
        self.retire()
        names = module_vars(self.module)
        for callback in callbacks:
            try:
                callback(str(names.get("__name__", "")), name, value)
            except Exception as error:
                contain("instrument on import", error)
        return names[name] if name in names else self.given(name)

    def retire(self) -> None:
        """Put the module's own function back when nobody waits any more."""
        names = module_vars(self.module)
        if not self.waiting and names.get(_HOOK) is self:
            names[_HOOK] = self.given
            _givers.pop(id(self.module), None)


def makes_names(module: ModuleType) -> bool:
    """Whether a module (anything may stand in ``sys.modules``) may make a name when it is asked for."""
    return isinstance(module, ModuleType) and _HOOK in module_vars(module)


def await_name(module: ModuleType, name: str, callback: Callback) -> None:
    """Call back once, with the module's name, this name and its value, when the program asks for it."""
    names = module_vars(module)
    giver = _givers.get(id(module))
    if giver is None or names[_HOOK] is not giver:
        giver = names[_HOOK] = _givers[id(module)] = Giver(module)
    callbacks = giver.waiting.setdefault(name, [])
    if callback not in callbacks:
        callbacks.append(callback)


def forget(callback: Callback) -> None:
    """Stop waiting."""
    for giver in list(_givers.values()):
        for name, callbacks in list(giver.waiting.items()):
            giver.waiting[name] = [held for held in callbacks if held != callback]
            if not giver.waiting[name]:
                del giver.waiting[name]
        giver.retire()
