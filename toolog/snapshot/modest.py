"""Whether the packer may write a value: asked before it writes, since it knows no bounds of its own.

A list that holds one list twice, which holds one list twice and so on, has billions of items once written;
the same long text a thousand times is a gigabyte. So items and characters are counted first, level by level:
one call in C gives all items of a level. What is cheaper to see in the packed bytes is asked of those.
"""

from __future__ import annotations

from gc import get_referents
from typing import Any

SHORT = 255
"""Characters of a text that are not counted: so many for each node are no danger."""


def is_modest(value: Any, most_items: int, most_nesting: int, nodes: int, characters: int) -> bool:
    """Tell whether a dict, list or tuple holds nothing but plain builtins within the bounds.

    ``most_items`` is of one container, ``most_nesting`` of containers in each other; ``nodes`` is of the
    whole value, and so is ``characters``, of keys and texts that are not short. Runs no code of what it
    looks at.
    """
    level = [value]
    for _ in range(most_nesting):
        for container in level:
            count = len(container)
            if count > most_items:
                return False
            nodes -= count
        if nodes < 0:
            return False
        items = get_referents(*level)
        level = []
        for item in items:
            kind = type(item)
            if kind is str:
                if len(item) > SHORT:
                    characters -= len(item)
            elif kind is int or kind is float or item is None or kind is bool:
                continue
            elif kind is dict or kind is list or kind is tuple:
                level.append(item)
            else:
                return False
        if characters < 0:
            return False
        if not level:
            return True
    return False


def is_doubtful(packed: bytes) -> bool:
    """Tell whether a packed value may hold what is no number, or a key of more than 255 bytes.

    Such a float, and such a text, begins with one of these; other bytes may look like it.
    """
    return b"\xda" in packed or b"\xdb" in packed or b"\xcb\x7f" in packed or b"\xcb\xff" in packed
