"""Which tools of a framework a target wants, all or those that it pointed at, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from toolog.instrumentation.choice import Choice
from toolog.instrumentation.frameworks import adapter_of
from toolog.instrumentation.frameworks.plans import unwrap_function
from toolog.instrumentation.frameworks.table import Adapter, Request
from toolog.instrumentation.importlib_bootstrap_gates import Gate
from toolog.instrumentation.kinds import is_class, object_vars


class Claim:
    """One target's wish for calls of a framework: of all its tools, or of those that a gate admits."""

    def __init__(self, owner: object, choice: Choice, name: str | None, gates: list[Gate] | None) -> None:
        self.owner = owner
        self.gates = gates
        self._choice = choice
        self._name = name
        self._answers: dict[str, str | None] = {}

    def called(self, request: Request) -> str | None:
        """Return what the records call this tool, None when this target does not want it."""
        if self.gates is not None and not any(
            gate.admits(value)
            for gate in self.gates
            for value in (request.tool, *request.owners, request.function, unwrap_function(request.function))
            if value is not None
        ):
            return None
        return self.called_by_name(request.name)

    def called_by_name(self, name: str) -> str | None:
        """Return what the records call a tool that the model knows by this name, None when it is left out."""
        if name not in self._answers:
            if len(self._answers) > 10_000:  # names that a model invented
                self._answers.clear()
            self._answers[name] = self._name_of(name)
        return self._answers[name]

    def _name_of(self, name: str) -> str | None:
        tools, exclude = self._choice.tools, self._choice.exclude
        if tools is not None and not any(fnmatchcase(name, glob) for glob in tools):
            return None
        if any(fnmatchcase(name, glob) for glob in exclude or ()):
            return None
        return name if self._name is None else f"{self._name}.{name}"


def gates_of(adapter: Adapter, values: Iterable[Any]) -> list[Gate]:
    """Return the gates for what a user pointed at: classes of tools, tools, owners of tools, functions."""
    gates = []
    for value in values:
        if is_class(value):
            gates.append(Gate.of_class(value))
            continue
        for one in adapter.expand(value) if adapter.expand is not None else (value,):
            gates.append(Gate.of_instance(one))
    return gates


def sort_by_adapter(values: Iterable[Any], wanted: Adapter | None) -> list[tuple[Adapter, list[Any] | None]]:
    """Return each table that is meant, and what of its framework was pointed at (None: all of it).

    ``wanted`` is the table that the user named, for what does not tell its framework itself.
    """
    found: dict[str, tuple[Adapter, list[Any] | None]] = {}
    for value in values:
        whole = isinstance(value, Adapter)
        adapter = value if whole else wanted or adapter_of(value)
        if adapter is None:
            continue
        _, pointed_at = found.setdefault(adapter.name, (adapter, None if whole else []))
        if whole:
            found[adapter.name] = (adapter, None)
        elif pointed_at is not None:
            pointed_at.append(value)
    return list(found.values())


def names_of(adapter: Adapter, values: Iterable[Any] | None) -> list[str]:
    """Return how `Instrumentation.wrapped` names tools of a framework; the model's names are known at a call
    only."""
    if values is None:
        return [f"{adapter.name}:*"]
    return [
        f"{adapter.name}:{value.__qualname__ if is_class(value) else _shown_name(value)}" for value in values
    ]


def _shown_name(value: Any) -> str:
    name = (object_vars(value) or {}).get("name")
    return name if isinstance(name, str) else type(value).__qualname__
