"""Where the wrappers of a framework's table go, and how they come off again.

A table is installed once, however many targets want its calls: each has a `Claim`, for all tools of the
framework or for some objects and classes. With the last claim every namespace is as it was before. Modules of
the framework that are not imported yet are waited for; none is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from toolog.arguments import Arguments
from toolog.instrumentation import imports
from toolog.instrumentation.aliases import repair_aliases
from toolog.instrumentation.found import Tool
from toolog.instrumentation.frameworks import installed_version, is_loaded, is_older
from toolog.instrumentation.frameworks.claims import Claim
from toolog.instrumentation.frameworks.fields import Field
from toolog.instrumentation.frameworks.importlib_bootstrap_asides import make_checked, make_entry, make_field
from toolog.instrumentation.frameworks.table import Adapter, Entry, Request
from toolog.instrumentation.kinds import (
    all_subclasses,
    class_vars,
    find_static,
    is_class,
    kind_of,
    module_vars,
)
from toolog.instrumentation.patch import lock
from toolog.instrumentation.plans import read_parameters
from toolog.instrumentation.stacks import ABSENT, Standing, namespace, original_of, stack_at
from toolog.instrumentation.subclasses import Hook, watch

_FIELDS = ("field", "checked")


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
            of_objects = entry.role in _FIELDS and is_class(holder)
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
        if entry.role in _FIELDS:
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
        checked = entry.role == "checked"
        layer.place(make_checked(entry) if checked else make_field(self, entry, id(holder), attribute))
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


def claim(adapter: Adapter, wish: Claim) -> Installed:
    """Have a target get the calls of a framework; installs the table with the first one."""
    with lock:
        held = _installed.get(adapter.name)
        if held is None:
            held = _installed[adapter.name] = Installed(adapter)
            held.claims.append(wish)
            held.install()
        else:
            held.claims.append(wish)
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
