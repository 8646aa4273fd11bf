"""Where the wrappers of a framework's table go, and how they come off again.

A table is installed once, however many targets want its calls: each has a `Claim`, for all tools of the
framework or for some objects and classes. With the last claim every namespace is as it was before. Modules of
the framework that are not imported yet are waited for; none is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any

from toolog.arguments import Arguments
from toolog.instrumentation import imports
from toolog.instrumentation.aliases import repair_aliases
from toolog.instrumentation.choice import Choice
from toolog.instrumentation.discover import Tool
from toolog.instrumentation.frameworks import adapter_of, installed_version, is_loaded, is_older
from toolog.instrumentation.frameworks.calls import unwrap_function
from toolog.instrumentation.frameworks.fields import Field
from toolog.instrumentation.frameworks.importlib_bootstrap_asides import make_entry, make_field
from toolog.instrumentation.frameworks.table import Adapter, Entry, Request
from toolog.instrumentation.importlib_bootstrap_gates import Gate
from toolog.instrumentation.kinds import class_vars, find_static, is_class, kind_of, module_vars, object_vars
from toolog.instrumentation.patch import all_subclasses, lock, read_parameters
from toolog.instrumentation.stacks import ABSENT, Standing, namespace, original_of, stack_at
from toolog.instrumentation.subclasses import Hook, watch


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


class Layer(Standing):
    """One place where a wrapper of a table stands."""

    __slots__ = ()


class FieldLayer(Layer):
    """A place that is a field of objects, not a method: see `fields`."""

    __slots__ = ()

    def dress(self, wrapper: Any, switch: list[bool]) -> Any:
        """Return a descriptor for the class of the objects."""
        return Field(self, wrapper, switch)


class Installed:
    """A table in force."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.claims: list[Claim] = []
        self.layers: list[Layer] = []
        self.missing: list[str] = []
        """Places that this version of the framework has not."""
        self.waiting: list[str] = []
        """Modules that have not been imported yet."""
        self._hooks: list[tuple[Hook, Callable[[type], None]]] = []

    def called(self, request: Request) -> str | None:
        """Return what the records call this tool, None when nobody wants its calls."""
        for claim in self.claims:
            name = claim.called(request)
            if name is not None:
                return name
        return None

    def complaints(self) -> Iterator[tuple[str, str]]:
        """Give what keeps this table from working here, as pairs of name and reason."""
        adapter = self.adapter
        version = installed_version(adapter)
        if version is None and not is_loaded(adapter):
            yield adapter.name, f"{adapter.distribution} is not installed; waits for its import"
        elif version is not None and is_older(version, adapter.minimum):
            yield (
                adapter.name,
                f"{adapter.distribution} {version} is older than {adapter.minimum}, the oldest that the "
                "adapter knows",
            )
        requests = {entry.place for entry in adapter.entries if entry.role in ("request", "body", "field")}
        if requests and requests <= set(self.missing):
            yield adapter.name, "none of the places where its calls pass is in this version"

    def install(self) -> None:
        """Put the wrappers where the framework's modules are; wait for the others."""
        fresh: list[Layer] = []
        for module in sorted(self.adapter.modules):
            loaded = sys.modules.get(module)
            if isinstance(loaded, ModuleType):
                fresh += self._hook(module)
            else:
                self.waiting.append(module)
                imports.await_module(module, self._imported)
        repair_aliases(fresh)

    def _imported(self, module: ModuleType) -> None:
        with lock:
            name = module_vars(module).get("__name__", "")
            if name in self.waiting:
                self.waiting.remove(name)
                repair_aliases(self._hook(name))

    def _hook(self, module: str) -> list[Layer]:
        fresh: list[Layer] = []
        for entry in self.adapter.entries:
            if entry.module != module:
                continue
            holder: Any = sys.modules[module]
            *outer, attribute = entry.path.split(".")
            for part in outer:
                holder = namespace(holder).get(part)
            of_objects = entry.role == "field" and is_class(holder)
            if is_class(holder):
                held = find_static(holder, attribute)
                holder = held[0] if held is not None else holder if of_objects else None
            if holder is None or not (of_objects or attribute in namespace(holder)):
                self.missing.append(entry.place)
                continue
            fresh += self._place(holder, attribute, entry)
            if is_class(holder):
                fresh += self._follow(holder, attribute, entry)
        return fresh

    def _follow(self, cls: type, attribute: str, entry: Entry) -> list[Layer]:
        def adopt(sub: type) -> None:
            with lock:
                if attribute in class_vars(sub):
                    self._place(sub, attribute, entry)

        fresh: list[Layer] = []
        for sub in all_subclasses(cls):
            if attribute in class_vars(sub):
                fresh += self._place(sub, attribute, entry)
        hook = watch(adopt, cls, adopt)
        if hook is not None:
            self._hooks.append((hook, adopt))
        return fresh

    def _place(self, holder: Any, attribute: str, entry: Entry) -> list[Layer]:
        raw = namespace(holder).get(attribute, ABSENT)
        stack = stack_at(holder, attribute)
        if any(one in self.layers for one in stack):
            return []
        if entry.role == "field":
            return self._place_field(holder, attribute, raw, entry)
        if not stack:
            raw = original_of(raw)  # a class made from another one's namespace holds that one's wrappers
        kind = kind_of(raw)
        if kind is None:
            return []
        if not is_class(holder):
            kind = kind._replace(binding="static")
        tool = Tool(holder, attribute, raw, kind, attribute, "", True)
        signature, skip_first = read_parameters(tool, raw)
        layer = Layer(holder, attribute, raw)
        arguments = Arguments(signature, skip_first=skip_first)
        try:
            layer.place(make_entry(self, entry, arguments, id(holder), attribute))
        except TypeError:
            self.missing.append(entry.place)
            return []
        self.layers.append(layer)
        return [layer]

    def _place_field(self, holder: Any, attribute: str, raw: Any, entry: Entry) -> list[Layer]:
        layer = FieldLayer(holder, attribute, raw)
        layer.place(make_field(self, entry, id(holder), attribute))
        self.layers.append(layer)
        return [layer]

    def remove(self) -> list[str]:
        """Take everything off; gives the places that somebody patched over."""
        imports.forget(self._imported)
        for hook, adopt in self._hooks:
            hook.remove(adopt)
        covered = [
            f"{getattr(layer.holder, '__qualname__', '?')}.{layer.attribute}"
            for layer in reversed(self.layers)
            if not layer.restore()
        ]
        repair_aliases(self.layers)
        self.layers.clear()
        self.waiting.clear()
        self._hooks.clear()
        return covered


_installed: dict[str, Installed] = {}


def claim(adapter: Adapter, claim: Claim) -> Installed:
    """Have a target get the calls of a framework; installs the table with the first one."""
    with lock:
        held = _installed.get(adapter.name)
        if held is None:
            held = _installed[adapter.name] = Installed(adapter)
            held.claims.append(claim)
            held.install()
        else:
            held.claims.append(claim)
        return held


def disclaim(owner: object) -> list[str]:
    """Take a target's claims back; gives the places that somebody patched over."""
    covered: list[str] = []
    with lock:
        for name, held in list(_installed.items()):
            before = len(held.claims)
            held.claims[:] = [one for one in held.claims if one.owner is not owner]
            if len(held.claims) < before and not held.claims:
                covered += held.remove()
                del _installed[name]
    return covered


def installed() -> list[Installed]:
    """Return the tables in force (for `doctor`)."""
    return list(_installed.values())


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
