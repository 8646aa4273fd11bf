"""The table: what each type of value becomes as plain data. ``docs/reference/values.md`` shows it to users.

A shape is a final plain scalar, a `Text` (the head of something long), a `ListShape` or a `MapShape`, whose
children the walker visits in turn. Types are found by identity along the genuine MRO; types of modules that
may not be imported are found by name first and believed only if the loaded module holds that very class.
Methods are called only of the interpreter's and the standard library's own types, unbound, so an override in
a subclass never runs.
"""

from __future__ import annotations

import collections
import enum
import fnmatch
import types
from base64 import b64encode
from collections.abc import Callable
from itertools import islice
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
    if walk.limits.repr_types and id(kind) not in _OWN_IDS and _is_listed(kind, walk.limits.repr_types):
        shape = _asked_repr(value, state.type_name(kind))
    elif found is not None:
        shape = found[1](value, walk)
    else:
        shape = _by_mro(value, kind, walk, unknown)
    if type(shape) is ListShape or type(shape) is MapShape:
        shape.unknown = max(shape.unknown, unknown)
    return shape


def _by_mro(value: Any, kind: type, walk: Walk, unknown: int) -> Shape:
    mro = state.mro_of(kind)
    if enum.Enum in mro:  # before str and int: an enum's member is more than its value
        return _enum(value, walk)
    for base in mro:
        maker = maker_of(base)
        if maker is not None:
            return maker(value, walk)
        if state.class_dict_of(base).get("get_secret_value") is not None and _is_secret(mro):
            return SECRET
        if not _FIELDS.isdisjoint(state.class_dict_of(base)):
            return _fields(value, walk)
    return unknown_object(value, kind, walk, unknown)


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
    return maker


_FIELDS = frozenset({"__dataclass_fields__", "__attrs_attrs__"})


def _is_listed(kind: type, globs: tuple[str, ...]) -> bool:
    name = state.type_name(kind)
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _is_secret(mro: tuple[type, ...]) -> bool:
    return any(state.type_name(cls).rpartition(".")[2].startswith(("Secret", "_Secret")) for cls in mro)


def _asked_repr(value: Any, name: str) -> Shape:
    try:
        text = repr(value)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return described(name, repr_failed=state.type_name(type(error)))
    if type(text) is not str:
        text = str.__str__(text)
    return text if len(text) <= REPR_LENGTH else text[:REPR_LENGTH] + "..."


# -- numbers and text


def _int(value: int, walk: Walk) -> Shape:
    exact = int.__int__(value)
    bits = exact.bit_length()
    if bits <= 63 or (bits == 64 and exact > 0):
        return exact
    if exact == -(1 << 63):
        return exact
    if bits <= 13_000:  # 3,900 digits: below the interpreter's own limit for writing them
        return str(exact)
    if bits <= 1_000_000:
        return hex(exact)  # decimal digits of huge numbers cost quadratic time, hexadecimal ones do not
    return described("int", bits=bits)


def _float(value: float, walk: Walk) -> Shape:
    exact = float.__float__(value)
    if exact - exact == 0.0:
        return exact
    return "NaN" if exact != exact else "Infinity" if exact > 0 else "-Infinity"


def _complex(value: complex, walk: Walk) -> Shape:
    return complex.__repr__(value).strip("()")


def _str(value: str, walk: Walk) -> Shape:
    length = str.__len__(value)
    head = str.__getitem__(value, slice(0, min(length, 1 << 20)))
    if length == len(head):
        return head
    return Text(head[: walk.limits.max_bytes], length, head.encode("utf-8", "backslashreplace"), "characters")


def _buffer(length: int, cut: Callable[[int], bytes], walk: Walk) -> Shape:
    room = walk.limits.max_bytes
    if length <= room:
        return bytes_text(cut(length))
    data = cut(min(length, 1 << 20))
    return Text(bytes_text(data[:room], whole=False), length, data)


def bytes_text(data: bytes, *, whole: bool = True) -> str:
    """Return bytes as text if they are UTF-8, else as ``base64:...``; a head may end inside a character."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if not whole and error.start >= len(data) - 3:
            return data[: error.start].decode()
    return "base64:" + b64encode(data).decode()


def _bytes(value: bytes, walk: Walk) -> Shape:
    return _buffer(bytes.__len__(value), lambda n: bytes.__getitem__(value, slice(0, n)), walk)


def _bytearray(value: bytearray, walk: Walk) -> Shape:
    return _buffer(bytearray.__len__(value), lambda n: bytes(bytearray.__getitem__(value, slice(0, n))), walk)


def _memoryview(value: memoryview, walk: Walk) -> Shape:
    size = value.nbytes
    if value.c_contiguous:
        flat = value.cast("B") if size else value
        return _buffer(size, lambda n: bytes(flat[:n]), walk)
    return described("memoryview", format=value.format, shape=list(value.shape or ()))


# -- containers


def _dict(value: dict[Any, Any], walk: Walk) -> Shape:
    return MapShape(state.head(value, walk.limits.max_items), dict.__len__(value))


def _head(iterate: Callable[[Any], Any], value: Any, limit: int) -> list[Any]:
    for _ in range(5):
        try:
            return list(islice(iterate(value), limit))
        except RuntimeError:  # another thread changed it meanwhile
            continue
    return ["... changed while it was read"]


def _list(value: list[Any], walk: Walk) -> Shape:
    return ListShape(list.__getitem__(value, slice(0, walk.limits.max_items)), list.__len__(value))


def _tuple(value: tuple[Any, ...], walk: Walk) -> Shape:
    items = list(tuple.__getitem__(value, slice(0, walk.limits.max_items)))
    total = tuple.__len__(value)
    if type(value) is not tuple:
        names = state.find_in_mro(type(value), "_fields")
        if type(names) is tuple and len(names) == total and all(type(name) is str for name in names):
            return MapShape(list(zip(names, items, strict=False)), total)
    return ListShape(items, total)


def _set(value: Any, walk: Walk) -> Shape:
    kind: Any = set if set in state.mro_of(type(value)) else frozenset
    total, limit = kind.__len__(value), walk.limits.max_items
    items = _head(kind.__iter__, value, 2 * limit if total <= 2 * limit else limit)
    return ListShape(sorted(items, key=_order)[:limit], total)


def _order(item: Any, depth: int = 0) -> tuple[int, Any]:
    """A sort key for members of a set that runs nothing of theirs: plain scalars by value, others stay at the
    end."""
    kind = type(item)
    if kind is str:
        return (2, item)
    if kind is bytes:
        return (3, item)
    if kind is int or kind is bool or (kind is float and item == item):
        return (1, item)
    if item is None:
        return (0, 0)
    if kind is tuple and depth < 3 and len(item) <= 20:
        return (4, tuple([_order(part, depth + 1) for part in item]))
    return (5, 0)


def _deque(value: Any, walk: Walk) -> Shape:
    kind = collections.deque
    return ListShape(_head(kind.__iter__, value, walk.limits.max_items), kind.__len__(value))


def _view(value: Any, walk: Walk) -> Shape:
    kind = type(value)
    return ListShape(_head(kind.__iter__, value, walk.limits.max_items), kind.__len__(value))


def _mappingproxy(value: Any, walk: Walk) -> Shape:
    import gc  # the one way to what a proxy shows that runs no code of a foreign mapping

    for inner in gc.get_referents(value):
        if dict in state.mro_of(type(inner)):
            return _dict(inner, walk)
    return described("mappingproxy")


def _range(value: range, walk: Walk) -> Shape:
    return described("range", start=value.start, stop=value.stop, step=value.step)


def _slice(value: slice, walk: Walk) -> Shape:
    return described("slice", start=value.start, stop=value.stop, step=value.step)


def _fields(value: Any, walk: Walk) -> Shape:
    """What dataclasses and attrs classes hold, by name."""
    return MapShape(state.state(value, walk.limits.max_items))


def _namespace(value: Any, walk: Walk) -> Shape:
    found = state.instance_dict(value) or {}
    return MapShape(state.head(found, walk.limits.max_items), dict.__len__(found))


def _enum(value: Any, walk: Walk) -> Shape:
    held = state.instance_dict(value) or {}
    return described(state.type_name(type(value)), name=held.get("_name_"), value=held.get("_value_"))


# -- what runs, and what is no data at all

_PARTIAL_PARTS: tuple[str, ...] = ("func", "args", "keywords")


def _exception(value: BaseException, walk: Walk) -> Shape:
    slots: Any = BaseException.__dict__
    args = slots["args"].__get__(value)
    pairs: list[tuple[Any, Any]] = [("type", state.type_name(type(value)))]
    if len(args) == 1 and str in state.mro_of(type(args[0])):
        pairs.append(("message", args[0]))
    elif args:
        pairs.append(("args", list(args)))
    held = state.instance_dict(value)
    if held:
        pairs.append(("state", held))
    mro = state.mro_of(type(value))
    if OSError in mro:
        parts: Any = OSError.__dict__
        pairs.append(("filename", parts["filename"].__get__(value)))
    if BaseExceptionGroup in mro:
        group: Any = BaseExceptionGroup.__dict__
        pairs[1:] = [("message", group["message"].__get__(value))]
        pairs.append(("exceptions", group["exceptions"].__get__(value)))
    cause = slots["__cause__"].__get__(value)
    if cause is not None:
        pairs.append(("cause", cause))
    return MapShape(pairs)


def _named_code(kind: str) -> Maker:
    def make(value: Any, walk: Walk) -> Shape:
        name = type(value).__dict__["__qualname__"].__get__(value)
        return described(kind, name=name)

    return make


def _function(value: Any, walk: Walk) -> Shape:
    return described("function", name=function_name(value))


def function_name(function: Any) -> str:
    """Return ``module.qualname`` of a Python function or a builtin, read from its own slots."""
    kind: Any = type(function)
    if kind is types.FunctionType:
        module = state.class_dict_of(kind)["__globals__"].__get__(function).get("__name__")
        held = function.__module__
        module = held if type(held) is str else module
        return f"{module}.{function.__qualname__}" if type(module) is str else function.__qualname__
    if kind is types.BuiltinFunctionType:
        module, name = function.__module__, function.__name__
        return f"{module}.{name}" if type(module) is str and module != "builtins" else function.__qualname__
    if kind in DESCRIPTORS:
        return f"{state.type_name(function.__objclass__)}.{function.__name__}"
    return state.type_name(kind)


DESCRIPTORS = frozenset(
    {
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
    }
)


def _method(value: Any, walk: Walk) -> Shape:
    function = value.__func__
    kind = type(function)
    plain = kind is types.FunctionType
    return described("method", name=function_name(function) if plain else state.type_name(kind))


def _partial(value: Any, walk: Walk) -> Shape:
    import functools

    members: Any = functools.partial.__dict__
    return described("functools.partial", **{name: members[name].__get__(value) for name in _PARTIAL_PARTS})


def _class(value: Any, walk: Walk) -> Shape:
    return described("class", name=state.type_name(value))


def _module(value: Any, walk: Walk) -> Shape:
    held = state.instance_dict(value) or {}
    name = held.get("__name__")
    return described("module", name=name if type(name) is str else None)


def _opaque(value: Any, walk: Walk) -> Shape:
    return described(state.type_name(type(value)))


def _constant(text: str) -> Maker:
    return lambda value, walk: text


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


def _itself(value: Shape, walk: Walk) -> Shape:
    """A shape inside another shape."""
    return value


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
    if enum.Enum in state.mro_of(kind):
        name = (state.instance_dict(key) or {}).get("_name_")
        return f"{state.type_name(kind)}.{name if type(name) is str else '?'}"
    return f"<{state.type_name(kind)}>"


OPAQUE_ROOTS = frozenset(
    {"_thread", "threading", "asyncio", "_asyncio", "multiprocessing", "_multiprocessing", "concurrent", "queue",
     "_queue", "socket", "_socket", "ssl", "_ssl", "select", "selectors", "logging", "contextvars", "_contextvars",
     "sqlite3", "_sqlite3", "_weakref", "weakref", "contextlib", "subprocess", "_io", "io", "tempfile", "random",
     "_random", "types", "typing", "inspect", "ast", "ctypes", "_ctypes", "functools", "toolog"}
)  # fmt: skip  # locks, handles and machinery: their state says nothing to a reader

_VIEWS = [type({}.keys()), type({}.values()), type({}.items())]

_OWN: dict[Any, Maker] = {
    int: _int, float: _float, complex: _complex, str: _str, bytes: _bytes, bytearray: _bytearray,
    memoryview: _memoryview, dict: _dict, list: _list, tuple: _tuple, set: _set, frozenset: _set, range: _range,
    slice: _slice, collections.deque: _deque, types.MappingProxyType: _mappingproxy, type(...): _constant("..."),
    type(NotImplemented): _constant("NotImplemented"), types.SimpleNamespace: _namespace, enum.Enum: _enum,
    BaseException: _exception, type: _class, types.ModuleType: _module, types.FunctionType: _function,
    types.BuiltinFunctionType: _function, types.MethodType: _method, types.GeneratorType: _named_code("generator"),
    types.CoroutineType: _named_code("coroutine"), types.AsyncGeneratorType: _named_code("async_generator"),
    ListShape: _itself, MapShape: _itself, **dict.fromkeys(DESCRIPTORS, _function), **dict.fromkeys(_VIEWS, _view),
}  # fmt: skip

EXACT: dict[int, tuple[type, Maker]] = {id(cls): (cls, maker) for cls, maker in _OWN.items()}
"""By identity of the class. A class found through its name joins once it was proven genuine."""

_OWN_IDS = frozenset(EXACT)

NAMED: dict[str, Maker] = {"functools.partial": _partial}
"""By qualified name: types of modules that may not be imported (see `toolog.snapshot.stdlib` and
`libraries`)."""

PLACES: dict[str, str] = {}
"""The module where a class really stands, when its own ``__module__`` says another name."""
