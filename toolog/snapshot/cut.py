"""Making plain data fit: texts are shortened, the longest most; where that cannot do, containers lose their
tails.

Works on the walker's own tree, never on the caller's objects, so it may measure and change at will.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import ormsgpack

from toolog.snapshot.texts import MORE, free_key, shorten
from toolog.snapshot.walk import LEAF, Walk

MARK = 32  # room for the mark behind a shortened text
SHORTEST = LEAF - MARK - 1  # bytes that a shortened text keeps at least
WIDTHS = (500, 200, 100, 50, 20, 10, 5, 2, 1)

Link = tuple[Any, Any]  # key, link of the container around it


class Leaf(NamedTuple):
    """A text long enough to be shortened, and where it stands."""

    size: int
    holder: Any
    key: Any
    link: Link | None


def fit(tree: Any, walk: Walk) -> tuple[Any, bytes]:
    """Return the tree, cut until it packs to ``max_bytes`` at most, and its MessagePack form.

    ``walk.cuts`` learns of every cut. The document stays valid: nothing is cut inside its serialized form.
    """
    limit = walk.limits.max_bytes
    packed = _pack(tree)
    if len(packed) <= limit:
        return tree, packed
    root = [tree]
    leaves: list[Leaf] = []
    for width in (0, *_widths(walk.widest, limit / len(packed))):
        if width:
            _narrow(root, width, walk)
            packed = _pack(root[0])
        if len(packed) - walk.long > limit:
            continue  # texts cannot save so much
        leaves = list(_leaves(root)) if len(packed) > limit else []
        spare = sum([leaf.size - SHORTEST - MARK for leaf in leaves])
        if len(packed) - spare <= limit:
            break
    _shorten(leaves, len(packed) - limit, walk)
    packed = _pack(root[0])
    if len(packed) > limit:  # not even one item of each container fits
        walk.cuts = {"": {"size": len(packed), "unit": "bytes"}}
        root[0] = {MORE: "all items"} if type(tree) is dict else MORE
        packed = _pack(root[0])
    return root[0], packed


def _widths(widest: int, share: float) -> list[int]:
    """Return how many items of each container are kept, from try to try.

    ``share`` is which part of all bytes may stay: the first guess, as good as items are alike.
    """
    guess = int(widest * share * 0.97)
    return [width for width in (guess, *WIDTHS) if 0 < width <= guess] or [1]


def _pack(tree: Any) -> bytes:
    packed: bytes = ormsgpack.packb(tree)
    return packed


def _items(holder: Any) -> Any:
    return holder.items() if type(holder) is dict else enumerate(holder)


def _leaves(root: list[Any]) -> Iterator[Leaf]:
    queue: list[tuple[Any, Link | None]] = [(root, None)]
    for holder, link in queue:
        for key, value in _items(holder):
            if type(value) is str:
                size = len(value) if value.isascii() else len(value.encode())
                if size > SHORTEST + MARK:
                    yield Leaf(size, holder, key, link)
            elif type(value) is dict or type(value) is list:
                queue.append((value, (key, link)))


def _shorten(leaves: list[Leaf], excess: int, walk: Walk) -> None:
    """Cut the longest texts to one common length, so that ``excess`` bytes are saved."""
    leaves.sort(key=lambda leaf: leaf.size, reverse=True)
    saved, level = 0, SHORTEST
    for count, leaf in enumerate(leaves, 1):
        lower = leaves[count].size if count < len(leaves) else SHORTEST + MARK
        needed = excess + count * MARK - saved
        if (leaf.size - lower) * count >= needed:
            level = max(SHORTEST, leaf.size - -(-needed // count))
            break
        saved += (leaf.size - lower) * count
    for size, holder, key, link in leaves:
        if size <= level + MARK:
            break
        text = holder[key]
        original = walk.originals.get((id(holder), key), size)
        holder[key] = shorten(text, level, original)
        if walk.has_room:
            walk.note_text(path_text(key, link), text, size)


def _narrow(root: list[Any], width: int, walk: Walk) -> None:
    """Keep at most ``width`` items of each container."""
    queue: list[tuple[Any, Any, Link | None]] = []
    _add_containers(root, None, queue)
    for holder, key, link in queue:
        if len(holder) > width + 1:  # the mark takes one place as well
            _drop_tail(holder, width, path_text(key, link) if walk.has_room else None, walk)
        _add_containers(holder, (key, link), queue)


def _add_containers(holder: Any, link: Link | None, queue: list[tuple[Any, Any, Link | None]]) -> None:
    for key, value in _items(holder):
        if type(value) is dict or type(value) is list:
            queue.append((value, key, link))


def _drop_tail(holder: Any, width: int, place: str | None, walk: Walk) -> None:
    note = walk.shortened.get(id(holder))
    if note is None:
        note = walk.shortened[id(holder)] = {"size": len(holder), "unit": "items"}
        if place is not None:
            walk.note(place, note)
    note["kept"] = width
    more = f"{note['size'] - width:,} more items"
    if type(holder) is dict:
        for key in list(holder)[width:]:
            del holder[key]
        holder[free_key(MORE, holder)] = more
    else:
        holder[width:] = [{MORE: more}]


def path_text(key: Any, link: Link | None) -> str:
    """Return ``.rows[3].name`` for a key and the keys around it; the helper list around the root is left
    out."""
    if link is None:
        return ""
    own = f"[{key}]" if type(key) is int else f".{key}"
    return path_text(link[0], link[1]) + own
