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

MOST_ITEMS = 24
"""How many values a flat dict has at most."""
MOST_TEXT = 4096
"""How many characters a text has at most that is held as it is: a queue bounds what waits by number only."""
_MOST_GLANCED = 16384
_MOST_PACKED = 65536  # longer ones have absurd keys, which are cut


def is_flat(value: dict[Any, Any]) -> bool:
    """Tell whether a dict (exactly a dict) holds nothing but a few scalars, and no long text.

    Its keys are not looked at. The wrapper has the same loop written out.
    """
    if len(value) > MOST_ITEMS:
        return False
    for item in value.values():  # (iterators that run in C are slower for so few items)
        kind = type(item)
        if kind is str:
            if len(item) > MOST_TEXT:
                return False
        elif kind is not int and kind is not float and kind is not bool and item is not None:
            return False
    return True


def texts_in(given: Any, output: Any) -> list[str] | None:
    """Return the texts in two flat values, the arguments' first; None when they are too long or not flat.

    Their keys are not looked at, nor their numbers: `pack_flat` does.
    """
    texts: list[str] = []
    for held in (given, output):
        kind = type(held)
        if kind is dict:
            texts += [item for item in held.values() if type(item) is str]
        elif kind is str:
            texts.append(held)
        elif kind is bytes:
            return None
    return texts if sum(map(len, texts)) <= _MOST_GLANCED else None


def pack_flat(given: Held, output: Held) -> bytes | None:
    """Return the pairs ``input`` and ``output``, both flat, as MessagePack.

    None for what must be written in another way: a key that is no text, a lone surrogate, a number beyond 64
    bits, a NaN or an infinity, or too much of it.
    """
    try:
        packed: bytes = packb({"input": given, "output": output})
    except Exception:
        return None
    if len(packed) > _MOST_PACKED or may_be_no_number(packed):
        return None
    return packed[1:]


def may_be_no_number(packed: bytes) -> bool:
    """Tell whether a NaN or an infinity may stand in MessagePack; nearly never when there is none."""
    return b"\xcb\x7f" in packed or b"\xcb\xff" in packed


def hold(value: Any, path: str) -> tuple[Held, dict[str, dict[str, Any]] | None]:
    """Return a snapshot of any value, and what was cut from it for size (see ``snapshot.pack_cut``).

    Never raises.
    """
    kind = type(value)
    if kind is dict:
        if len(value) <= MOST_ITEMS:
            held = value.copy()  # first: another thread may change the value between two looks at it
            if is_flat(held):
                return held, None
    elif kind is str:
        if len(value) <= MOST_TEXT:
            return value, None
    elif kind is int or kind is bool or value is None:
        return value, None
    return pack_cut(value, path)


def pack_held(
    held: Held, path: str, cuts: dict[str, dict[str, Any]] | None = None
) -> tuple[bytes, dict[str, dict[str, Any]] | None]:
    """Return a snapshot as MessagePack, and what was cut from it (``cuts``, when it is packed already)."""
    return (held, cuts) if type(held) is bytes else pack_cut(held, path)
