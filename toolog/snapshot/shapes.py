"""The table: what each type of value becomes as plain data. ``docs/reference/values.md`` shows it to users.

A shape is a final plain scalar, a `Text` (the head of something long), a `ListShape` or a `MapShape`, whose
children the walker visits in turn. Types are found by identity along the genuine MRO; types of modules that
may not be imported are found by name first and believed only if the loaded module holds that very class.
Methods are called only of the interpreter's and the standard library's own types, unbound, so an override in
a subclass never runs.
"""

from __future__ import annotations

import enum
import fnmatch
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolog.snapshot import state

if TYPE_CHECKING:
    from toolog.snapshot.walk import Walk

MAX_ATTRIBUTES = 100  # of one unknown object
MAX_UNKNOWN = 200  # unknown objects whose state is read, in one snapshot
UNKNOWN_DEPTH = 3  # unknown objects inside each other
REPR_LENGTH = 2000
SECRET = "[MASKED:secret_type]"


class ListShape:
    """A JSON array to be: the children that are looked at, and how many there were."""

    __slots__ = ("items", "total", "unknown")

    def __init__(self, items: list[Any], total: int | None = None, unknown: int = 0) -> None:
        self.items, self.total, self.unknown = items, len(items) if total is None else total, unknown


class MapShape:
    """A JSON object to be: pairs whose keys may be of any type, and how many there were."""

    __slots__ = ("items", "total", "unknown")

    def __init__(self, items: list[tuple[Any, Any]], total: int | None = None, unknown: int = 0) -> None:
        self.items, self.total, self.unknown = items, len(items) if total is None else total, unknown


class Text:
    """The head of a longer text or of bytes: ``size`` of the whole in ``unit``, and the bytes that are
    hashed."""

    __slots__ = ("hashed", "size", "text", "unit")

    def __init__(self, text: str, size: int, hashed: bytes, unit: str = "bytes") -> None:
        self.text, self.size, self.hashed, self.unit = text, size, hashed, unit


Shape = Any
Maker = Callable[[Any, "Walk"], Shape]


def described(kind: str, **fields: Any) -> MapShape:
    """The common form of what is no data: ``{"type": kind, ...}``."""
    return MapShape([("type", kind), *fields.items()])


def shape_of(value: Any, walk: Walk, unknown: int = 0) -> Shape:
    """Return the shape of any value; ``unknown`` is how many unknown objects are around it."""
    kind = type(value)
    found = EXACT.get(id(kind))
    if walk.limits.repr_types and id(kind) not in OWN and _is_listed(kind, walk.limits.repr_types):
        shape = _asked_repr(value, state.type_name(kind))
    elif found is not None:
        shape = found[1](value, walk)
    else:
        shape = _by_mro(value, kind, walk, unknown)
    if type(shape) is ListShape or type(shape) is MapShape:
        shape.unknown = max(shape.unknown, unknown)
    return shape


def _by_mro(value: Any, kind: type, walk: Walk, unknown: int) -> Shape:
    held = _READERS.get(id(kind))
    if held is not None and held[0]() is kind:
        maker = held[1]
    else:
        maker = _find_reader(kind)
        if len(_READERS) >= 4096:  # classes made by the thousand
            _READERS.clear()
        _READERS[id(kind)] = (weakref.ref(kind), maker)
    return unknown_object(value, kind, walk, unknown) if maker is None else maker(value, walk)


_READERS: dict[int, tuple[weakref.ref[type], Maker | None]] = {}
"""What reads the instances of a class; by identity, since a metaclass may have a hash of its own."""


def _find_reader(kind: type) -> Maker | None:
    """Return what makes the shapes of a class' instances; None when it is known by none of its bases."""
    mro = state.mro_of(kind)
    if state.inherits(enum.Enum, kind):  # before str and int: an enum's member is more than its value
        return enum_member
    for base in mro:
        maker = maker_of(base)
        if maker is not None:
            return maker
        held = state.class_dict_of(base)
        if held.get("get_secret_value") is not None and _is_secret(mro):
            return _secret
        if "__dataclass_fields__" in held or "__attrs_attrs__" in held:
            return _fields
    return None


def _secret(value: Any, walk: Walk) -> Shape:
    return SECRET


def maker_of(cls: type) -> Maker | None:
    """Return what makes the shape of a known class itself (not of its bases), or None."""
    found = EXACT.get(id(cls))
    if found is not None and found[0] is cls:
        return found[1]
    try:
        module, name = state.module_of(cls), state.qualname_of(cls)
    except AttributeError:
        return None
    if type(module) is not str or type(name) is not str:
        return None
    maker = NAMED.get(f"{module}.{name}")
    if maker is None or not state.is_genuine(cls, PLACES.get(f"{module}.{name}", module), name):
        return None
    EXACT[id(cls)] = (cls, maker)  # a module's own class, as lasting as the module
    if f"{module}.{name}" in NAMED_LEAVES:
        LEAVES[id(cls)] = NAMED_LEAVES[f"{module}.{name}"]
    return maker


def _is_listed(kind: type, globs: tuple[str, ...]) -> bool:
    name = state.type_name(kind)
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _is_secret(mro: tuple[type, ...]) -> bool:
    return any(state.type_name(cls).rpartition(".")[2].startswith(("Secret", "_Secret")) for cls in mro)


ask_repr: Callable[[Any], str] = repr
"""How a listed type's `repr` is asked; capture sees to it that tools called there are not recorded."""


def _asked_repr(value: Any, name: str) -> Shape:
    try:
        text = ask_repr(value)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return described(name, repr_failed=state.type_name(type(error)))
    if type(text) is not str:
        text = str.__str__(text)
    return text if len(text) <= REPR_LENGTH else text[:REPR_LENGTH] + "..."


def _fields(value: Any, walk: Walk) -> Shape:
    """What dataclasses and attrs classes hold, by name."""
    return MapShape(state.state(value, walk.limits.max_items))


def enum_member(value: Any, walk: Walk) -> Shape:
    """An enum's member: its class, name and value."""
    held = state.instance_dict(value) or {}
    return described(state.type_name(type(value)), name=held.get("_name_"), value=held.get("_value_"))


def unknown_object(value: Any, kind: type, walk: Walk, unknown: int) -> Shape:
    """The fallback: the type, and the state as far as that can be read without running anything."""
    name = state.type_name(kind)
    if unknown >= UNKNOWN_DEPTH or walk.unknown <= 0 or state.root_module(kind) in OPAQUE_ROOTS:
        return described(name)
    walk.unknown -= 1
    held = state.state(value, MAX_ATTRIBUTES + 1)
    if not held:
        return described(name)
    inner = MapShape(held[:MAX_ATTRIBUTES], len(held))
    return MapShape([("type", name), ("state", inner)], unknown=unknown + 1)


def key_text(key: Any, walk: Walk, depth: int = 0) -> str:
    """Return the text of a dict key of any type; objects show as their type only."""
    kind = type(key)
    if kind is str:
        return str(key[:1025].encode("utf-8", "backslashreplace"), "utf-8")
    if key is None:
        return "null"
    if kind is bool:
        return "true" if key else "false"
    if kind is tuple and depth < 3:
        parts = [key_text(part, walk, depth + 1) for part in key[:20]]
        return f"({', '.join(parts)})" if len(key) <= 20 else f"({', '.join(parts)}, ...)"
    try:
        shape = shape_of(key, walk, UNKNOWN_DEPTH)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        shape = None
    if type(shape) is Text:
        shape = shape.text
    if type(shape) is str:
        return key_text(shape, walk)
    if type(shape) is int or type(shape) is float:
        return repr(shape)
    if state.inherits(type, kind):
        return state.type_name(key)
    if state.inherits(enum.Enum, kind):
        name = (state.instance_dict(key) or {}).get("_name_")
        return f"{state.type_name(kind)}.{name if type(name) is str else '?'}"
    return f"<{state.type_name(kind)}>"


# Locks, handles and machinery: their state says nothing to a reader.
OPAQUE_ROOTS = frozenset(
    {"_thread", "threading", "asyncio", "_asyncio", "multiprocessing", "_multiprocessing",
     "concurrent", "queue", "_queue", "socket", "_socket", "ssl", "_ssl", "select", "selectors",
     "logging", "contextvars", "_contextvars", "sqlite3", "_sqlite3", "_weakref", "weakref",
     "contextlib", "subprocess", "_io", "io", "tempfile", "random", "_random", "types", "typing",
     "inspect", "ast", "ctypes", "_ctypes", "functools", "toolog"}
)  # fmt: skip

EXACT: dict[int, tuple[type, Maker]] = {}
"""By identity of the class. A class found through its name joins once it was proven genuine."""

NAMED_LEAVES: dict[str, Callable[[Any], str]] = {}
"""By qualified name: what writes direct instances of a class, no subclass', as a short plain text at once."""

LEAVES: dict[int, Callable[[Any], str]] = {}
"""The same by identity of the class, once it was proven genuine: the commonest values of table rows."""

OWN: set[int] = set()
"""Identities of builtin types, whose `repr` is never asked: it asks those of what they hold."""

NAMED: dict[str, Maker] = {}
"""By qualified name: types of modules that may not be imported (see `toolog.snapshot.stdlib` and
`libraries`)."""

PLACES: dict[str, str] = {}
"""The module where a class really stands, when its own ``__module__`` says another name."""
