"""Whether the packer may write a value: asked before it writes, since it knows no bounds of its own.

A list that holds one list twice, which holds one list twice and so on, has billions of items once written;
the same long text a thousand times, or the same long key, is a gigabyte. So items, characters and keys are
counted first, level by level: one call in C gives all items of a level. What is cheaper to see in the packed
bytes is asked of those.
"""

from __future__ import annotations

from gc import get_referents
from operator import length_hint
from typing import Any

from toolog.snapshot.texts import MAX_KEY

_CONTAINERS = frozenset({dict, list, tuple})
_BUILTIN = _CONTAINERS | {str, int, float, bool, type(None)}
_FEW = 32
"""Items of a level that are looked at one by one: for more, some calls in C that look at all are faster."""


def is_modest(value: Any, most_items: int, most_nesting: int, nodes: int, characters: int) -> bool:
    """Tell whether a dict, list or tuple holds nothing but plain builtins within the bounds.

    ``most_items`` is of one container, ``most_nesting`` of containers in each other; ``nodes`` is of the
    whole value, and so is ``characters``, of its texts. Runs no code of what it looks at.
    """
    level = [value]
    for _ in range(most_nesting):
        count = 0
        for container in level:
            here = len(container)
            if here > most_items:
                return False
            count += here
        nodes -= count
        if nodes < 0:
            return False
        items = get_referents(*level)
        if len(items) != count:  # keys came along: of a dict in which not all are texts, or once were not
            return False
        deeper: list[Any] = []
        if count < _FEW:
            for item in items:
                kind = type(item)
                if kind is str:
                    characters -= len(item)
                elif kind is int or kind is float or item is None or kind is bool:
                    continue
                elif kind is dict or kind is list or kind is tuple:
                    deeper.append(item)
                else:
                    return False
            for container in level:
                if type(container) is dict and len("".join(container)) > MAX_KEY:
                    return False
        else:
            kinds = set(map(type, items))
            if not kinds <= _BUILTIN:
                return False
            if str in kinds:
                characters -= sum(map(length_hint, items))
            if not kinds.isdisjoint(_CONTAINERS):
                deeper = [item for item in items if type(item) in _CONTAINERS]
            keys = set().union(*[container for container in level if type(container) is dict])
            if keys and max(map(len, keys)) > MAX_KEY:
                return False
        if characters < 0:
            return False
        if not deeper:
            return True
        level = deeper
    return False


def is_doubtful(packed: bytes) -> bool:
    """Tell whether a packed value may hold what is no number, or a key of more than 255 bytes.

    Such a float, and such a text, begins with one of these; other bytes may look like it. (Two bytes are
    looked for only where the rarer one of them is, which is ten times faster.)
    """
    return (
        b"\xda" in packed
        or b"\xdb" in packed
        or (b"\x7f" in packed and b"\xcb\x7f" in packed)
        or (b"\xff" in packed and b"\xcb\xff" in packed)
    )
