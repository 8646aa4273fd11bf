"""What one call of `instrument` put on, and how it comes off again."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from types import ModuleType, TracebackType
from typing import Any

from toolog.errors import CLOSE, ConfigError, nearest
from toolog.instances import leave_config_out
from toolog.instrumentation import imports, lazynames
from toolog.instrumentation.aliases import repair_aliases
from toolog.instrumentation.choice import Choice
from toolog.instrumentation.found import Found, Skipped, ToolClass
from toolog.instrumentation.frameworks.claims import Claim, gates_of, names_of, sort_by_adapter
from toolog.instrumentation.frameworks.install import Installed, claim, disclaim
from toolog.instrumentation.frameworks.table import Adapter
from toolog.instrumentation.frameworks.toolboxes import Toolboxes
from toolog.instrumentation.importlib_bootstrap_gates import hold
from toolog.instrumentation.kinds import all_subclasses, is_class, module_of, mro, root_package
from toolog.instrumentation.overrides import chainable, link_line, link_overrides
from toolog.instrumentation.patch import grant, grant_constructor, lock, release, release_constructor
from toolog.instrumentation.room import give_back
from toolog.instrumentation.spots import Spot
from toolog.instrumentation.stacks import original_of
from toolog.instrumentation.subclasses import Hook, look_at, nearest_roots, watch
from toolog.instrumentation.targets import Target, find_below, find_dotted, resolve, search

_active: list[Instrumentation] = []

_NAMED = ("pending", "module", "framework")
"""Kinds of targets that are one by their name; several objects, functions or classes may have the same."""

# Its constructor takes machinery and credentials, no settings.
leave_config_out("botocore.client", "BaseClient")


NAME_IT = "name the module that defines them"
"""What to do where a target holds no tools."""


class Instrumentation:
    """What `instrument` did: the tools it wrapped, what it skipped and why. Undoes itself as a context
    manager.

    ``wrapped`` holds tool names, ``skipped`` pairs of name and reason, ``waiting`` names of modules that will
    be instrumented when they are imported. It is what `instrument` returns, and not made otherwise. Since
    0.1.
    """

    def __init__(
        self,
        targets: list[Target],
        label: str,
        *,
        choice: Choice,
        name: str | None,
        nested: bool | None,
        adapter: Adapter | None = None,
    ) -> None:
        self.wrapped: list[str] = []
        self._named: set[str] = set()  # the same
        self.skipped: list[Skipped] = []
        self.waiting: list[str] = []
        self.label = label
        self._choice = choice
        self._name = name
        self._nested = nested
        self._adapter = adapter
        self.adapted: dict[str, Installed] = {}
        self._targets = [(target.kind, target.label, hold(target.value)) for target in targets]
        self._spots: dict[int, Spot] = {}
        self._constructors: dict[int, Spot] = {}
        self._adopted: weakref.WeakSet[Spot] = weakref.WeakSet()
        self._hooks: list[Hook] = []
        self._toolboxes: list[Toolboxes] = []
        self._classes: dict[int, ToolClass] = {}
        self._watched: dict[int, tuple[weakref.ref[type], bool]] = {}
        """By the class's id: hashing a class may run code of its metaclass."""

    # -- putting it on

    def _install(self, targets: Iterable[Target]) -> None:
        fresh: list[Spot] = []
        for target in targets:
            if target.kind == "pending":
                self.waiting.append(target.value)
                if not imports.can_be_found(target.value.partition(".")[0]):
                    self.skipped.append(Skipped(target.value, _not_found(target.value)))
                self._await(target.value)
                continue
            found = Found()
            search(target, self._choice, found, name=self._name, nested=self._nested)
            if target.kind == "module":
                found.set_region(target.label)
            fresh += self._take(found, target.rank)
            self._follow_subclasses(found, target.rank)
            if found.adapted:
                self._adapt(found.adapted)
        repair_aliases(fresh)

    def _adapt(self, values: list[Any]) -> None:
        """Have the calls of frameworks recorded by their tables: of all their tools, or of those pointed
        at."""
        for adapter, pointed_at in sort_by_adapter(values, self._adapter):
            gates = None if pointed_at is None else gates_of(adapter, pointed_at)
            wish = Claim(self, self._choice, self._name, gates)
            held = claim(adapter, wish)
            boxes = Toolboxes(adapter, wish, pointed_at, self._take_adopted)
            self._toolboxes.append(boxes)
            boxes.open()
            self.skipped += [Skipped(name, reason) for name, reason in held.complaints()]
            self.adapted[adapter.name] = held
            for name in names_of(adapter, pointed_at):
                self._note_wrapped(name)

    def _note_wrapped(self, name: str) -> None:
        if name not in self._named:
            self._named.add(name)
            self.wrapped.append(name)

    def _await(self, path: str) -> None:
        """Wait for the module of this name, and for those above it: the end may be a class or a function,
        also one that a module makes when it is asked for."""
        name = ""
        while path:
            module = sys.modules.get(path)
            if module is None:
                imports.await_module(path, self._imported)
            elif name and lazynames.makes_names(module):
                lazynames.await_name(module, name, self._given)
                return
            path, _, name = path.rpartition(".")

    def _given(self, module: str, name: str, value: Any) -> None:
        with lock:
            if self not in _active:
                return
            prefix = f"{module}.{name}"
            for path in [one for one in self.waiting if f"{one}.".startswith(f"{prefix}.")]:
                found = find_below(value, path[len(prefix) + 1 :])
                self.waiting.remove(path)
                if found is None:
                    self.skipped.append(Skipped(path, f"{prefix} has no such name"))
                else:
                    self._install([target._replace(label=path) for target in resolve(found)])
            self._settle()

    def _imported(self, module: ModuleType) -> None:
        with lock:
            if self not in _active:
                return
            for path in list(self.waiting):
                if find_dotted(path) is None or imports.is_running(path):
                    continue
                self.waiting.remove(path)
                self.skipped = [item for item in self.skipped if item.name != path]
                self._install(resolve(path))
            self._settle()

    def _settle(self) -> None:
        """Go on waiting, or look whether each glob matched something in all that came."""
        for path in self.waiting:
            self._await(path)
        if self.waiting:
            return
        imports.forget(self._imported)
        lazynames.forget(self._given)
        try:
            if not self.adapted:
                self._choice.check(self.label)
        except ConfigError as error:  # too late to raise: an import must not fail for it
            self.skipped.append(Skipped(self.label, str(error)))

    def _take(self, found: Found, rank: int, spots: Any = None) -> list[Spot]:
        fresh: list[Spot] = []
        self.skipped += found.skipped
        asked = self._name is not None or self._nested is not None
        for tool in found.tools:
            spot = grant(self, tool, rank, asked=asked)
            if isinstance(spot, str):
                self.skipped.append(Skipped(tool.path, spot))
                continue
            if spots is not None:
                spots.add(spot)
            elif is_class(tool.holder) or isinstance(tool.holder, ModuleType):
                self._spots[id(spot)] = spot
            else:
                self._adopted.add(spot)  # an object holds it, in its own namespace
            fresh.append(spot)
            self._note_wrapped(tool.name)
        link_overrides(fresh)
        for item in found.classes:
            if spots is None:
                self._classes[id(item.cls)] = item
            for base in mro(item.cls):
                if base is item.cls or id(base) in self._classes or _same_package(base, item):
                    self._wrap_constructor(base, item, spots)
        return fresh

    def _take_adopted(self, found: Found) -> None:
        self._take(found, 1, self._adopted)

    def _wrap_constructor(self, cls: type, item: ToolClass, spots: Any) -> None:
        made = grant_constructor(self, cls, item, self._is_tool_class)
        if made is None:
            return
        if spots is None:
            self._constructors[id(made)] = made
        else:
            spots.add(made)

    def _is_tool_class(self, cls: type) -> bool:
        key = id(cls)
        ref, known = self._watched.get(key, (None, False))
        if ref is None or ref() is not cls:
            known = any(id(base) in self._classes and self._classes[id(base)].has_tools for base in mro(cls))
            watched = self._watched
            watched[key] = weakref.ref(cls, lambda _: watched.pop(key, None)), known
        return known

    def _follow_subclasses(self, found: Found, rank: int) -> None:
        known = {(id(spot.holder), spot.attribute) for spot in self._spots.values()}

        def take(cls: type) -> None:
            seen = look_at(cls, self, self._classes, self._choice, self._name, known)
            if seen.tools:
                seen.skipped.clear()
                self._take(seen, rank, self._adopted)

        def adopt(cls: type) -> None:
            with lock:
                take(cls)
                self._link([cls])

        for item in nearest_roots([item for item in found.classes if item.has_tools]):
            hook = watch(self, item.cls, adopt)
            if hook is not None:
                self._hooks.append(hook)
            later = [cls for cls in all_subclasses(item.cls) if id(cls) not in self._classes]
            for cls in later:
                take(cls)
            self._link(later)

    def _link(self, classes: Iterable[type]) -> None:
        """Link the methods of siblings that meet in one of these classes."""
        joining = [cls for cls in classes if len(cls.__bases__) > 1]
        if joining:
            chained = chainable({spot.attribute for spot in self.spots()})
            for cls in joining:
                link_line(cls, chained)

    # -- taking it off

    def undo(self) -> None:
        """Put every original back; every namespace is as it was. Doing it again changes nothing."""
        with lock:
            if self not in _active:
                return
            _active.remove(self)
            imports.forget(self._imported)
            lazynames.forget(self._given)
            for hook in self._hooks:
                hook.remove(self)
            for boxes in self._toolboxes:
                boxes.close()
            spots = [*self._spots.values(), *self._adopted]
            for place in [*release(self, spots), *disclaim(self)]:
                self.skipped.append(Skipped(place, "patched over by somebody else, so left as it is now"))
            keep = [item._constructors for item in _active]
            for key, spot in self._constructors.items():
                if not any(key in held for held in keep):
                    release_constructor(spot)
            for spot in list(self._adopted):
                if spot.attribute == "__init__":
                    release_constructor(spot)
            self._spots.clear()
            self._constructors.clear()
            self._hooks.clear()
            self._toolboxes.clear()
            self._classes.clear()
            self.waiting.clear()
            if not _active:
                give_back()

    def _covers(self, target: Target) -> bool:
        return any(self._is_same(held, target) for held in self._targets)

    def _is_of_objects(self) -> bool:
        return all(kind in ("instance", "method") for kind, _, _ in self._targets)

    def _is_over(self) -> bool:
        return all(value() is None for _, _, value in self._targets)

    @staticmethod
    def _is_same(held: tuple[str, str, Any], target: Target) -> bool:
        kind, label, value = held
        if kind != target.kind or kind in _NAMED:
            return label == target.label
        if kind == "method":  # made anew each time that it is asked for
            return bool(value() == target.value)
        return original_of(value()) is original_of(target.value)

    def leave(self, target: Target) -> None:
        """Undo what was done for one target; the others of the same list stay instrumented."""
        with lock:
            rest = [held for held in self._targets if not self._is_same(held, target)]
            self.undo()
            if not rest:
                return
            self._targets = rest
            self.label = ", ".join(label for _, label, _ in rest)
            for noted in (self.wrapped, self._named, self.skipped, self.adapted, self._watched):
                noted.clear()
            _active.append(self)
            for kind, label, value in rest:
                if kind == "pending" and find_dotted(label) is not None:
                    self._install(resolve(label))
                elif value() is not None:
                    self._install([Target(kind, value(), label)])

    def __enter__(self) -> Instrumentation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

    def spots(self) -> list[Spot]:
        """Return where the wrappers stand (for `doctor`)."""
        return [*self._spots.values(), *self._adopted]

    @property
    def active(self) -> bool:
        """Whether it is in force (not undone)."""
        return self in _active

    @property
    def found_nothing(self) -> bool:
        """Whether there was nothing to record in what it was pointed at, nor anything to wait for."""
        return bool(self._targets) and not (self.wrapped or self.waiting or self.adapted)

    def __repr__(self) -> str:
        parts = [f"{len(self.wrapped)} wrapped", f"{len(self.skipped)} skipped"]
        if self.waiting:
            parts.append(f"waiting for {', '.join(self.waiting)}")
        if not self.active:
            parts.append("undone")
        return f"<Instrumentation of {self.label}: {', '.join(parts)}>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1]]
        lines += [f"  + {name}" for name in self.wrapped]
        lines += [f"  - {name}: {reason}" for name, reason in self.skipped]
        return "\n".join(lines)


def _same_package(base: type, item: ToolClass) -> bool:
    return root_package(module_of(base)) == item.package


def _not_found(path: str) -> str:
    root = path.partition(".")[0]
    loaded = [name for name in sys.modules if "." not in name and not name.startswith("_")]
    guess = nearest(root, loaded, cutoff=CLOSE)
    hint = f"; did you mean {guess!r}?" if guess else ""
    return f"not found now, waits for its import{hint}"


def put_on(made: Instrumentation, targets: list[Target]) -> None:
    """Put an instrumentation in force, whole or not at all.

    Raises ConfigError for a glob that matches nothing in its targets.
    """
    with lock:
        _let_go()
        _active.append(made)
        try:
            made._install(targets)
            if not made.waiting and not made.adapted:
                made._choice.check(made.label)
        except BaseException:
            made.undo()
            raise


class _Objects:
    """How many instrumentations of single objects there are before it is looked which objects are gone."""

    least = limit = 64


def _let_go() -> None:
    """Undo what was made for objects that are gone, now and then: a program may instrument all it makes."""
    objects = [made for made in _active if made._is_of_objects()]
    if len(objects) >= _Objects.limit:
        gone = [made for made in objects if made._is_over()]
        for made in gone:
            made.undo()
        _Objects.limit = max(_Objects.least, 2 * (len(objects) - len(gone)))


def covering(target: Target) -> list[Instrumentation]:
    """Return the instrumentations in force that were made for this very target."""
    return [made for made in _active if made._covers(target)]


def active() -> list[Instrumentation]:
    """Return what is in force, oldest first."""
    return list(_active)
