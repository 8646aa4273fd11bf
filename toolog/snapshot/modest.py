"""Whether a value keeps all bounds, asked of its JSON instead of each of its items: a tenth of the time.

What the packer took holds nothing but plain builtins, or it would have refused it; left to know are the
bounds: how many items, how deep, how long the keys, no NaN. JSON tells enough of that to calls in C. The
answer is "yes" or "perhaps not": brackets and quotes in texts, a text of half a kilobyte, or many items in
all are left to the look at each item.
"""

from __future__ import annotations

from typing import Any

from orjson import dumps

MOST_PACKED = 8192
"""Bytes of MessagePack up to which asking is worth it; fewer than values may be in one snapshot."""
_BLOCK = 512
"""Half of the longest key: a text of that length leaves one block without a quote."""
_OTHERS = bytes(byte for byte in range(256) if byte not in b'[]{}"\\')


def is_modest(value: Any, packed: bytes, most_items: int, most_nesting: int) -> bool:
    """Tell that a value, ``packed`` in MessagePack, keeps the bounds; False when that is not known."""
    if len(packed) > MOST_PACKED:
        return False
    try:
        shown: bytes = dumps(value)
    except Exception:  # bytes, which the packer takes; or another thread changed it meanwhile
        return False
    if shown.count(b",") >= most_items:
        return False
    if b"null" in shown and (b"\xcb\x7f" in packed or b"\xcb\xff" in packed):  # perhaps no number
        return False
    for start in range(0, len(shown) - _BLOCK, _BLOCK):
        if shown.find(b'"', start, start + _BLOCK) < 0:
            return False
    # A dict lies in another one, or in a list; so it cannot be deeper than this, wherever they lie.
    if 2 * shown.count(b"[") + shown.count(b":{") < most_nesting:
        return True
    # What is left of it when all but brackets, quotes and what escapes them is taken out.
    bones = shown.translate(None, _OTHERS)
    if b"\\" in bones:
        return False
    bones = bones.replace(b'""', b"")
    if b'"' in bones:  # a bracket in a text
        return False
    for _ in range(most_nesting // 2):  # each turn takes the innermost containers out, two levels at most
        if not bones:
            return True
        bones = bones.replace(b"{}", b"").replace(b"[]", b"")
    return not bones
