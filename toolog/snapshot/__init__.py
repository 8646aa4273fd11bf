"""Values become plain data here, and nowhere else; ``docs/reference/values.md`` shows what becomes of each
type.

Plain data is None, bool, integers of 64 bits, finite floats, valid text, lists, and dicts with text keys:
what JSON and MessagePack both hold and read back alike. Making it never raises, never consumes an iterator,
never changes a value, runs no code of a foreign object (no ``repr``, ``==``, ``len``, ``getattr``), and is
bounded in time and size.

`pack` is on the path of every tool call. A cheap look (``_is_simple``) finds values that are plain already
and small; those are written by one call in C. All else takes the walk of `toolog.snapshot.walk`. Both give
the same bytes.
"""

from __future__ import annotations

from typing import Any

import ormsgpack

from toolog.counters import contain
from toolog.settings import capture
from toolog.snapshot import builtin as _builtin
from toolog.snapshot import libraries as _libraries
from toolog.snapshot import state
from toolog.snapshot import stdlib as _stdlib
from toolog.snapshot.cut import fit
from toolog.snapshot.modest import is_doubtful, is_modest
from toolog.snapshot.texts import MAX_KEY
from toolog.snapshot.walk import MAX_NESTING, MAX_NODES, Limits, Walk

__all__ = ["Limits", "pack", "pack_cut", "plain"]

_packb = ormsgpack.packb
# What the packer could write by itself, but in a form of its own, is left to the walk.
_EXACT = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_TABLES = (_builtin, _libraries, _stdlib)  # importing them fills the table of types


def plain(value: Any, *, limits: Limits | None = None) -> Any:
    """Return a value as plain data: new containers, never the caller's own.

    ``limits`` replaces the configured bounds. Never raises.
    """
    return _walked(value, limits)[0]


def pack(value: Any) -> bytes:
    """Return a value as plain data in MessagePack; never raises, never longer than ``max_bytes``."""
    packed = _fast(value)
    return _walked(value, None)[1] if packed is None else packed


def pack_cut(
    value: Any, path: str, limits: Limits | None = None
) -> tuple[bytes, dict[str, dict[str, Any]] | None]:
    """Return what `pack` returns, and what was cut: ``{path: {"size", "unit", "hash"}}``, or None.

    ``path`` is where the value stands in the record ("input", "output"); paths below it look like
    ``input.rows[3].name``. ``limits`` replaces the configured bounds where those would cut.
    """
    packed = _fast(value)
    if packed is not None:
        return packed, None
    _, packed, cuts = _walked(value, limits)
    return packed, {path + place: note for place, note in cuts.items()} if cuts else None


def _fast(value: Any) -> bytes | None:
    """Write a value at once if it holds nothing but plain builtins within the limits, else return None.

    No foreign code runs. What the packer itself refuses (keys that are no text, surrogates, too large
    integers) is not looked for.
    """
    kind = type(value)
    limits = capture
    try:
        if kind is dict:
            if len(value) > 24 or len(value) > limits.max_items:
                return _pack_nested(value)
            else:  # the arguments of a call, most often: one flat dict of scalars
                room = 16384
                for item in value.values():
                    kind = type(item)
                    if kind is str:
                        room -= len(item)
                    elif kind is int or item is None or kind is bool:
                        continue
                    elif kind is not float or item - item != 0.0:
                        room = -1
                        break
                if room < 0 or len("".join(value)) > MAX_KEY:
                    return _pack_nested(value)
        elif kind is str:
            if len(value) > limits.max_bytes:
                return None
        elif kind is list:
            return _pack_nested(value)
        elif kind is float:
            if value - value != 0.0:
                return None
        elif kind is not int and value is not None and kind is not bool:
            return None
        packed: bytes = _packb(value, None, _EXACT)
    except (TypeError, RuntimeError):  # refused by the packer, or another thread changed a dict meanwhile
        return None
    return packed if len(packed) <= limits.max_bytes else None


def _pack_nested(value: Any) -> bytes | None:
    """Do for a dict or list with others in it what `_fast` does; the errors are the same."""
    limits = capture
    nesting = min(limits.max_nesting, MAX_NESTING)
    if not is_modest(value, limits.max_items, nesting, MAX_NODES, limits.max_bytes):
        return None
    packed: bytes = _packb(value, None, _EXACT)
    if len(packed) > limits.max_bytes:
        return None
    if not is_doubtful(packed):
        return packed
    if not _is_simple(value):
        return None
    packed = _packb(value, None, _EXACT)  # anew: what was looked at, if another thread changed it meanwhile
    return packed if len(packed) <= limits.max_bytes else None


def _is_simple(value: Any) -> bool:
    """Whether a dict or list holds nothing but plain builtins within the limits, level by level."""
    room, widest, nodes = capture.max_bytes, capture.max_items, MAX_NODES
    level = [value]
    for _ in range(min(capture.max_nesting, MAX_NESTING)):
        deeper: list[Any] = []
        for container in level:
            count = len(container)
            nodes -= count
            if count > widest or nodes < 0:
                return False
            if type(container) is dict:
                if len("".join(container)) > MAX_KEY:
                    return False
                container = container.values()
            for item in container:
                kind = type(item)
                if kind is str:
                    room -= len(item)
                elif kind is int or item is None or kind is bool:
                    continue
                elif kind is dict or kind is list or kind is tuple:
                    deeper.append(item)
                elif kind is not float or item - item != 0.0:
                    return False
            if room < 0:
                return False
        if not deeper:
            return True
        level = deeper
    return False


def _walked(value: Any, limits: Limits | None) -> tuple[Any, bytes, dict[str, dict[str, Any]]]:
    if limits is None:
        nesting = min(capture.max_nesting, MAX_NESTING)
        limits = Limits(capture.max_bytes, capture.max_items, nesting, tuple(capture.repr_types))
    walk = Walk(limits)
    try:
        tree, packed = fit(walk.run(value), walk)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a fault of ours must not become one of the caller's
        contain("snapshot", error)
        tree = {"type": state.type_name(type(value)), "failed": type(error).__name__}
        packed, walk.cuts = _packb(tree), {}
    return tree, packed, walk.cuts
