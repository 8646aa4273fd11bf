"""Shapes of the interpreter's own types: numbers, text, containers, and what is code rather than data."""

from __future__ import annotations

import collections
import enum
import functools
import types
from base64 import b64encode
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from toolog.snapshot import state
from toolog.snapshot.shapes import (
    EXACT,
    NAMED,
    OWN,
    ListShape,
    Maker,
    MapShape,
    Shape,
    Text,
    described,
    enum_member,
)

if TYPE_CHECKING:
    from toolog.snapshot.walk import Walk


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
    kind: Any = set if state.inherits(set, type(value)) else frozenset
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
        if state.inherits(dict, type(inner)):
            return _dict(inner, walk)
    return described("mappingproxy")


def _range(value: range, walk: Walk) -> Shape:
    return described("range", start=value.start, stop=value.stop, step=value.step)


def _slice(value: slice, walk: Walk) -> Shape:
    return described("slice", start=value.start, stop=value.stop, step=value.step)


def _namespace(value: Any, walk: Walk) -> Shape:
    found = state.instance_dict(value) or {}
    return MapShape(state.head(found, walk.limits.max_items), dict.__len__(found))


# -- what runs, and what is no data at all

_PARTIAL_PARTS: tuple[str, ...] = ("func", "args", "keywords")


def _exception(value: BaseException, walk: Walk) -> Shape:
    slots: Any = BaseException.__dict__
    args = slots["args"].__get__(value)
    pairs: list[tuple[Any, Any]] = [("type", state.type_name(type(value)))]
    if len(args) == 1 and state.inherits(str, type(args[0])):
        pairs.append(("message", args[0]))
    elif args:
        pairs.append(("args", list(args)))
    held = state.instance_dict(value)
    if held:
        pairs.append(("state", held))
    kind = type(value)
    if state.inherits(OSError, kind):
        parts: Any = OSError.__dict__
        pairs.append(("filename", parts["filename"].__get__(value)))
    if state.inherits(BaseExceptionGroup, kind):
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
    if any(kind is each for each in DESCRIPTORS):
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
    members: Any = functools.partial.__dict__
    return described("functools.partial", **{name: members[name].__get__(value) for name in _PARTIAL_PARTS})


def _class(value: Any, walk: Walk) -> Shape:
    return described("class", name=state.type_name(value))


def _module(value: Any, walk: Walk) -> Shape:
    held = state.instance_dict(value) or {}
    name = held.get("__name__")
    return described("module", name=name if type(name) is str else None)


def _constant(text: str) -> Maker:
    return lambda value, walk: text


def _itself(value: Shape, walk: Walk) -> Shape:
    """A shape inside another shape."""
    return value


_VIEWS = [type({}.keys()), type({}.values()), type({}.items())]

_OWN: dict[Any, Maker] = {
    int: _int,
    float: _float,
    complex: _complex,
    str: _str,
    bytes: _bytes,
    bytearray: _bytearray,
    memoryview: _memoryview,
    dict: _dict,
    list: _list,
    tuple: _tuple,
    set: _set,
    frozenset: _set,
    range: _range,
    slice: _slice,
    collections.deque: _deque,
    types.MappingProxyType: _mappingproxy,
    type(...): _constant("..."),
    type(NotImplemented): _constant("NotImplemented"),
    types.SimpleNamespace: _namespace,
    enum.Enum: enum_member,
    BaseException: _exception,
    type: _class,
    types.ModuleType: _module,
    types.FunctionType: _function,
    types.BuiltinFunctionType: _function,
    types.MethodType: _method,
    types.GeneratorType: _named_code("generator"),
    types.CoroutineType: _named_code("coroutine"),
    types.AsyncGeneratorType: _named_code("async_generator"),
    ListShape: _itself,
    MapShape: _itself,
    **dict.fromkeys(DESCRIPTORS, _function),
    **dict.fromkeys(_VIEWS, _view),
}

EXACT.update({id(cls): (cls, maker) for cls, maker in _OWN.items()})
OWN.update(EXACT)
NAMED["functools.partial"] = _partial
