"""The cheapest true snapshot: a value of a few scalars is held as it is, or as a shallow copy, and packed
later.

Strings, numbers, booleans and None never change, so a dict of them needs only a copy of the dict itself (80
ns; packing it costs 500). Most arguments and many results are of that kind. Whatever else there is, is packed
at once.
"""

from __future__ import annotations

from typing import Any

from toolog.snapshot import pack_cut

Held = bytes | dict[str, Any] | str | int | float | bool | None
"""A snapshot: packed bytes, or a plain value that nobody else can change."""

_MOST_ITEMS = 24
_MOST_TEXT = 16384


def is_flat(value: dict[Any, Any]) -> bool:
    """Whether a dict (exactly a dict) holds few, small, plain scalars. Its keys are not looked at."""
    if len(value) > _MOST_ITEMS:
        return False
    room = _MOST_TEXT
    for item in value.values():
        kind = type(item)
        if kind is str:
            room -= len(item)
        elif kind is int or kind is bool or item is None:
            pass
        elif kind is not float or item - item != 0.0:  # a NaN or an infinity is written in another way
            return False
    return room >= 0


def hold(value: Any, path: str) -> tuple[Held, dict[str, dict[str, Any]] | None]:
    """Return a snapshot of any value, and what was cut from it for size (see ``snapshot.pack_cut``). Never
    raises.
    """
    kind = type(value)
    if kind is dict:
        try:
            if is_flat(value):
                return value.copy(), None
        except RuntimeError:  # another thread changes it meanwhile
            pass
    elif kind is str:
        if len(value) <= _MOST_TEXT:
            return value, None
    elif kind is int or kind is bool or value is None:
        return value, None
    return pack_cut(value, path)


def pack_held(
    held: Held, path: str, cuts: dict[str, dict[str, Any]] | None = None
) -> tuple[bytes, dict[str, dict[str, Any]] | None]:
    """Return a snapshot as MessagePack, and what was cut from it (``cuts``, when it is packed already)."""
    return (held, cuts) if type(held) is bytes else pack_cut(held, path)
