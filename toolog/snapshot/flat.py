"""The cheapest true snapshot: a value of a few scalars is held as it is, or as a shallow copy, and packed
later.

Strings, numbers, booleans and None never change, so a dict of them needs only a copy of the dict itself (80
ns; packing it costs 500). Most arguments and many results are of that kind. Whatever else there is, is packed
at once.
"""

from __future__ import annotations

from typing import Any

from ormsgpack import packb

from toolog.snapshot import pack_cut

Held = bytes | dict[str, Any] | str | int | float | bool | None
"""A snapshot: packed bytes, or a plain value that nobody else can change."""

_MOST_ITEMS = 24
_MOST_TEXT = 16384
_MOST_PACKED = 65536  # longer ones have absurd keys, which are cut


def texts_of(value: dict[Any, Any]) -> list[str] | None:
    """Return the texts in a dict (exactly a dict) of few, small scalars; None when it is no such dict.

    Its keys are not looked at, nor its numbers: `pack_flat` does.
    """
    if len(value) > _MOST_ITEMS:
        return None
    texts: list[str] = []
    room = _MOST_TEXT
    for item in value.values():  # (iterators that run in C are slower for so few items)
        kind = type(item)
        if kind is str:
            texts.append(item)
            room -= len(item)
        elif kind is not int and kind is not float and kind is not bool and item is not None:
            return None
    return texts if room >= 0 else None


def pack_flat(given: Held, output: Held) -> bytes | None:
    """Return the pairs ``input`` and ``output``, both flat, as MessagePack.

    None for what must be written in another way: a key that is no text, a lone surrogate, a number beyond 64
    bits, a NaN or an infinity, or too much of it.
    """
    try:
        packed: bytes = packb({"input": given, "output": output})
    except Exception:
        return None
    if len(packed) > _MOST_PACKED or b"\xcb\x7f" in packed or b"\xcb\xff" in packed:
        return None
    return packed[1:]


def hold(value: Any, path: str) -> tuple[Held, list[str] | None, dict[str, dict[str, Any]] | None]:
    """Return a snapshot of any value, the texts in it where it is flat, and what was cut from it for size.

    (See ``snapshot.pack_cut``.) Never raises.
    """
    kind = type(value)
    if kind is dict:
        if len(value) <= _MOST_ITEMS:
            held = value.copy()  # first: another thread may change the value between two looks at it
            texts = texts_of(held)
            if texts is not None:
                return held, texts, None
    elif kind is str:
        if len(value) <= _MOST_TEXT:
            return value, [value], None
    elif kind is int or kind is bool or value is None:
        return value, [], None
    packed, cuts = pack_cut(value, path)
    return packed, None, cuts


def pack_held(
    held: Held, path: str, cuts: dict[str, dict[str, Any]] | None = None
) -> tuple[bytes, dict[str, dict[str, Any]] | None]:
    """Return a snapshot as MessagePack, and what was cut from it (``cuts``, when it is packed already)."""
    return (held, cuts) if type(held) is bytes else pack_cut(held, path)
