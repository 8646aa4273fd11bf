"""Making plain data fit: texts are shortened first, the longest most; then long containers lose their tails.

Works on the walker's own tree, never on the caller's objects, so it may measure and change at will.
"""

from __future__ import annotations

from typing import Any

import ormsgpack

from toolog.snapshot.walk import MORE, Walk, free_key, shorten

SHORTEST = 64  # texts up to this many bytes are never shortened
MARK = 32  # room for the mark behind a shortened text
WIDTHS = (500, 200, 100, 50, 20, 10, 5, 2, 1)
Path = tuple[Any, ...]


def fit(tree: Any, walk: Walk) -> tuple[Any, bytes]:
    """Return the tree, cut until it packs to ``max_bytes`` at most, and its MessagePack form.

    ``walk.cuts`` learns of every cut. The document stays valid: nothing is cut inside its serialized form.
    """
    limit = walk.limits.max_bytes
    packed = _pack(tree)
    if len(packed) <= limit:
        return tree, packed
    root = [tree]
    _shorten_texts(root, len(packed) - limit, walk)
    packed = _pack(root[0])
    for width in WIDTHS:
        if len(packed) <= limit:
            return root[0], packed
        _narrow(root, width, walk)
        packed = _pack(root[0])
    if len(packed) > limit:
        walk.cuts = {"": {"size": len(packed), "unit": "bytes"}}
        root[0] = MORE
        packed = _pack(MORE)
    return root[0], packed


def _pack(tree: Any) -> bytes:
    packed: bytes = ormsgpack.packb(tree)
    return packed


def _shorten_texts(root: list[Any], excess: int, walk: Walk) -> None:
    """Find one length such that cutting all longer texts to it saves enough, and cut them."""
    leaves = [(size, holder, key, path) for holder, key, path, size in _texts(root)]
    leaves.sort(key=lambda leaf: leaf[0], reverse=True)
    if not leaves:
        return
    saved, level = 0, SHORTEST
    for count, (size, *_) in enumerate(leaves, 1):
        lower = leaves[count][0] if count < len(leaves) else SHORTEST
        lower = max(lower, SHORTEST)
        gain = (size - lower) * count
        if saved + gain >= excess + count * MARK:
            level = max(SHORTEST, size - -(-(excess + count * MARK - saved) // count))
            break
        saved += gain
        if lower == SHORTEST:
            break
    for size, holder, key, path in leaves:
        if size <= level + MARK:
            break
        text = holder[key]
        original = walk.originals.get((id(holder), key), size)
        ratio = len(text) / size  # characters a byte
        holder[key] = shorten(text, max(1, int(level * ratio)), original)
        walk.note_text(path_text(path), text, size)


def _texts(root: list[Any]) -> list[tuple[Any, Any, Path, int]]:
    found: list[tuple[Any, Any, Path, int]] = []
    for holder, path in _containers(root):
        for key, value in holder.items() if type(holder) is dict else enumerate(holder):
            if type(value) is str:
                size = len(value) if value.isascii() else len(value.encode())
                if size > SHORTEST:
                    found.append((holder, key, (*path, key), size))
    return found


def _containers(root: list[Any]) -> list[tuple[Any, Path]]:
    """All containers of a tree with their paths, the outer ones first; the helper list around the root included."""
    found: list[tuple[Any, Path]] = [(root, ())]
    for holder, path in found:
        for key, value in holder.items() if type(holder) is dict else enumerate(holder):
            if type(value) is dict or type(value) is list:
                found.append((value, (*path, key)))
    return found


def _narrow(root: list[Any], width: int, walk: Walk) -> None:
    """Keep at most ``width`` items of each container."""
    for holder, path in _containers(root)[1:]:
        size = len(holder)
        if size <= width + 1:  # the mark takes one place as well
            continue
        place = path_text(path)
        known = walk.cuts.get(place)
        total = known["size"] if known and known.get("unit") == "items" else size
        more = f"{total - width:,} more items"
        if type(holder) is dict:
            for key in list(holder)[width:]:
                del holder[key]
            holder[free_key(MORE, holder)] = more
        else:
            holder[width:] = [{MORE: more}]
        if known:
            known["kept"] = width
        walk.note(place, {"size": total, "unit": "items", "kept": width})


def path_text(path: Path) -> str:
    """Return ``.rows[3].name`` for the keys from the helper list around the root downwards."""
    return "".join([f"[{key}]" if type(key) is int else f".{key}" for key in path[1:]])
