"""The walker: any value, level by level, into plain data of bounded size.

Breadth first: what lies near the top is kept when room runs out, no recursion limit is ever met, and what is
cut is cut at the leaves. `toolog.snapshot.shapes` says what each type becomes; this module walks, counts and
cuts.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from toolog.snapshot import shapes
from toolog.snapshot.shapes import ListShape, MapShape, Text
from toolog.snapshot.state import type_name
from toolog.snapshot.texts import MAX_KEY, MORE, are_plain, clean, free_key, is_plain_key, shorten

CYCLE = "[CYCLE]"
TRUNCATED = "[TRUNCATED]"
MAX_NESTING = 200  # containers in each other at most: JSON writers and readers give up at 254
MAX_NODES = 10_000  # values in one snapshot
MAX_NOTES = 50  # cut places that are named one by one
HASHED = 1 << 20  # at most so many characters or bytes of one leaf are hashed
MAX_INT = 1 << 63
LEAF = 97  # bytes of a text from which on it is worth to be shortened
SHORT = 1024  # what is left of a text once many long texts were seen
_ROW = 64  # items of a dict that is looked at where it stands, without a turn in the queue

# A container (kept alive, so that no other gets its identity), its key in its parent, the link of its parent.
Link = tuple[Any, Any, Any]


class Limits(NamedTuple):
    """How much of a value is kept: bytes as MessagePack, items of one container, containers inside each
    other."""

    max_bytes: int = 65536
    max_items: int = 1000
    max_nesting: int = 32
    repr_types: tuple[str, ...] = ()


class Walk:
    """One walk over one value. ``cuts`` maps the path of each cut place to its original size and hash."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.nodes = MAX_NODES
        self.texts = 4 * limits.max_bytes  # characters still kept at full length
        self.hashable = HASHED  # bytes that are still hashed
        self.long = 0  # bytes, at most, of texts that are long enough to be shortened
        self.widest = 0  # items of the largest container
        self.unknown = shapes.MAX_UNKNOWN
        self.cuts: dict[str, dict[str, Any]] = {}
        self.originals: dict[tuple[int, Any], int] = {}  # size of a shortened text, by where it stands
        self.shortened: dict[int, dict[str, Any]] = {}  # notes of containers that lost items, by identity
        self._queue: deque[tuple[Any, Any, Any, int, Link | None, int]] = deque()
        self._columns: list[int] = []  # the identities of the last row's keys, which are plain,
        self._column_keys: list[Any] = []  # and these themselves, so that no other ones get them

    def run(self, value: Any) -> Any:
        """Return the plain form of a value; it may still be larger than ``max_bytes`` (see `fit`)."""
        root: list[Any] = [None]
        self._queue.append((value, root, 0, 0, None, 0))
        while self._queue:
            item, target, key, depth, link, unknown = self._queue.popleft()
            target[key] = self._one(item, target, key, depth, link, unknown)
        return root[0]

    def _one(self, value: Any, target: Any, key: Any, depth: int, link: Link | None, unknown: int) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value, target, key, link)
        if kind is bool or value is None:
            return value
        try:
            shape = shapes.shape_of(value, self, unknown)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a library's own object in a state it should not be in
            shape = {"type": type_name(kind)}
        kind = type(shape)
        if kind is str:
            return self._text(shape, target, key, link)
        if kind is Text:
            return self._foreign_text(shape, target, key, link)
        if kind is ListShape or kind is MapShape:
            return self._container(value, shape, target, key, depth, link)
        return shape

    def _container(
        self, value: Any, shape: ListShape | MapShape, target: Any, key: Any, depth: int, link: Link | None
    ) -> Any:
        if depth >= self.limits.max_nesting:
            self._note(link, key, {"size": shape.total, "unit": "items"})
            return TRUNCATED
        above = link
        while above is not None:
            if above[0] is value:
                return CYCLE
            above = above[2]
        inside: Link = (value, key, link)
        kept = min(len(shape.items), self.limits.max_items, self.nodes)
        if kept == 0 and shape.total:  # no room is left for any item
            self._note(link, key, {"size": shape.total, "unit": "items"})
            return TRUNCATED
        self.nodes -= kept
        self.widest = max(self.widest, kept)
        plain: list[Any] | dict[str, Any]
        if type(shape) is MapShape:
            plain = {}
            self._fill(plain, self._keys(shape.items[:kept]), depth + 1, inside, shape.unknown)
        else:
            plain = [None] * kept
            self._fill(plain, enumerate(shape.items[:kept]), depth + 1, inside, shape.unknown)
        if kept < shape.total:
            more = f"{shape.total - kept:,} more items"
            if type(plain) is dict:
                plain[free_key(MORE, plain)] = more
            else:
                plain.append({MORE: more})  # type: ignore[union-attr]
            note = {"size": shape.total, "unit": "items", "kept": kept}
            self.shortened[id(plain)] = note
            self._note(link, key, note)
        return plain

    def _fill(
        self, plain: Any, children: Iterable[tuple[Any, Any]], depth: int, inside: Link, unknown: int
    ) -> None:
        """Put what is final at once into a new container; the rest takes its place and waits for its turn."""
        leaves = None if self.limits.repr_types else shapes.LEAVES
        for key, child in children:
            kind = type(child)
            if kind is str:
                if len(child) <= SHORT and child.isascii():
                    plain[key] = child
                    self.texts -= len(child)
                    if len(child) >= LEAF:
                        self.long += len(child)
                else:
                    plain[key] = self._text(child, plain, key, inside)
            elif (
                child is None
                or kind is bool
                or (kind is int and -MAX_INT <= child < MAX_INT)
                or (kind is float and child - child == 0.0)
            ):
                plain[key] = child
            elif leaves is not None and id(kind) in leaves:
                try:
                    plain[key] = leaves[id(kind)](child)
                except Exception:
                    plain[key] = {"type": type_name(kind)}
            elif kind is dict and leaves is not None and (row := self._take_row(child, depth)) is not None:
                plain[key] = row
            else:
                plain[key] = None
                self._queue.append((child, plain, key, depth, inside, unknown))

    def _take_row(self, child: dict[Any, Any], depth: int) -> dict[Any, Any] | None:
        """Return a copy of a dict that holds a few short scalars, such as a row of a table, or None for any
        other.

        A quarter of the time of its turn in the queue. While something waits there it has to wait, too: it
        must not be given room before what lies nearer to the top.
        """
        if self._queue or len(child) > _ROW or depth >= self.limits.max_nesting:
            return None
        row = child.copy()
        texts = long = 0
        for item in row.values():
            kind = type(item)
            if kind is str:
                if len(item) > SHORT or not item.isascii():
                    return None
                texts += len(item)
                if len(item) >= LEAF:
                    long += len(item)
            elif not (
                item is None
                or kind is bool
                or (kind is int and -MAX_INT <= item < MAX_INT)
                or (kind is float and item - item == 0.0)
            ):
                return None
        if len(row) > self.nodes or len(row) > self.limits.max_items:
            return None
        columns = list(map(id, row))  # (comparing the keys would run code of theirs)
        if columns != self._columns:
            keys = list(row)
            if not are_plain(keys):
                return None
            self._columns, self._column_keys = columns, keys
        self.nodes -= len(row)
        self.texts -= texts
        self.long += long
        return row

    def _keys(self, items: list[tuple[Any, Any]]) -> list[tuple[str, Any]]:
        """Give each pair a text as key: as they are when all are plain, told apart by type when they
        clash."""
        if are_plain([key for key, _ in items]):
            return items
        taken = {key for key, _ in items if type(key) is str and is_plain_key(key)}
        placed: set[str] = set()  # of those, the ones that have their place
        numbers: dict[str, int] = {}
        named = []
        for key, child in items:
            if type(key) is str and key not in placed and key in taken and is_plain_key(key):
                text = key
                placed.add(key)
            else:
                text = shapes.key_text(key, self)
                if len(text) > MAX_KEY:
                    text = text[: MAX_KEY - len(MORE)] + MORE
                if text in taken:
                    text = f"{text} ({type_name(type(key))})"
                    text = free_key(text, taken, numbers)
                taken.add(text)
            named.append((text, child))
        return named

    def _text(self, text: str, target: Any, key: Any, link: Link | None) -> str:
        length = len(text)
        room = self.limits.max_bytes
        if min(length, room) > self.texts:
            room = SHORT
        self.texts -= min(length, room)
        self.long += 4 * min(length, room)
        if length <= room:
            return text if text.isascii() else clean(text)
        return self._cut(text, room, target, key, link)

    def _cut(self, text: str, room: int, target: Any, key: Any, link: Link | None) -> str:
        whole = len(text) <= self.hashable
        data = clean(text[: max(self.hashable, 4096)]).encode()
        size = len(data) if whole else len(text)
        note: dict[str, Any] = {"size": size, "unit": "bytes" if whole or text.isascii() else "characters"}
        self._hash(note, data, whole=whole)
        self._note(link, key, note)
        self.originals[(id(target), key)] = size
        return shorten(clean(text[: room + 1]), room, size)

    def _foreign_text(self, shape: Text, target: Any, key: Any, link: Link | None) -> str:
        """A text read from something longer: its head, with the size of the whole."""
        note: dict[str, Any] = {"size": shape.size, "unit": shape.unit}
        self._hash(note, shape.hashed, whole=shape.size == len(shape.hashed))
        self._note(link, key, note)
        self.originals[(id(target), key)] = shape.size
        text = clean(shape.text)
        room = self.limits.max_bytes if self.texts > 0 else SHORT
        self.texts -= min(room, len(text))
        self.long += 4 * min(room, len(text))
        return shorten(text, room, shape.size)

    def _hash(self, note: dict[str, Any], data: bytes, *, whole: bool) -> None:
        if len(data) > max(self.hashable, 4096):
            data, whole = data[:4096], False
        self.hashable = max(0, self.hashable - len(data))
        note["hash"] = "sha256:" + hashlib.sha256(data).hexdigest()
        if not whole:
            note["hashed"] = len(data)  # bytes from the start

    def _note(self, link: Link | None, key: Any, note: dict[str, Any]) -> None:
        if self.has_room:
            self.note(path_of(link, key), note)
        else:
            self.cuts[MORE]["size"] += 1

    @property
    def has_room(self) -> bool:
        """Whether cut places are still named one by one."""
        return len(self.cuts) <= MAX_NOTES

    def note_text(self, path: str, text: str, size: int) -> None:
        """Remember that a text, whole until now, is cut."""
        if path not in self.cuts:
            note: dict[str, Any] = {"size": size, "unit": "bytes"}
            self._hash(note, text[:HASHED].encode(), whole=True)
            self.note(path, note)

    def note(self, path: str, note: dict[str, Any]) -> None:
        """Remember one cut place; the first word about it stands; after 50 places they are only counted."""
        if path in self.cuts:
            return
        if len(self.cuts) < MAX_NOTES:
            self.cuts[path] = note
        else:
            rest = self.cuts.setdefault(MORE, {"size": 0, "unit": "places"})
            rest["size"] += 1


def path_of(link: Link | None, key: Any) -> str:
    """Return the path of a place below the root of the value: ``.rows[3].name``, "" for the root itself."""
    if link is None:
        return ""
    own = f"[{key}]" if type(key) is int else f".{key}"
    return path_of(link[2], link[1]) + own
