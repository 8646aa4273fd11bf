"""Values made to fit a search server: odd keys escaped, and what is too long for one term cut at its leaves.

A server fails a whole document for one term above 32,766 bytes, the leaf's path included. What is cut is
named by its path in the record's ``truncated``, with the original's size and hash.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson

from toolog.sinks.search.keys import escape_key

LARGEST_TERM = 32_766
LONGEST_KEY = 512
"""Bytes of UTF-8; a longer key is cut, too: it stands in the path of every leaf below it."""
DEEPEST = 200
"""How deep a value may be nested; orjson writes 254 levels, and the document has some of its own."""
_LONGEST_PATH = 24_000
_ROOM = 64  # for what a server puts between path and value
_MARK = 32  # for the mark behind a cut text

Notes = dict[str, Any]
"""What stands in a record's ``truncated``: path -> size and hash of the original."""
Link = tuple[Any, Any]
"""A place: the link of the container around it (None for the root), and the key or index there."""


class Cutter:
    """Cuts what is longer than ``leaf_bytes`` of UTF-8; lists and objects keep ``max_items`` at most.

    ``notes`` learns of every cut.
    """

    def __init__(self, leaf_bytes: int, max_items: int | None = None) -> None:
        self._leaf_bytes = leaf_bytes
        self._max_items = max_items
        self.notes: Notes = {}

    def fit(self, value: Any, *place: Any) -> Any:
        """Return a copy of a value that fits; ``place`` are the keys that lead to it in the record."""
        link: Link | None = None
        for key in place:
            link = (link, key)
        return self._walk(value, link, 32 * len(place), 0)

    def _walk(self, value: Any, link: Link | None, length: int, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value, link, length)
        if kind is not dict and kind is not list:
            return value
        if depth >= DEEPEST or length > _LONGEST_PATH:
            return self._summary(value, link)
        if self._max_items is not None and len(value) > self._max_items:
            self._note(link, {"size": len(value), "unit": "items", "kept": self._max_items})
            value = value[: self._max_items] if kind is list else dict(list(value.items())[: self._max_items])
        if kind is list:
            return [
                self._walk(item, (link, index), length, depth + 1) if type(item) in _CUTTABLE else item
                for index, item in enumerate(value)
            ]
        fitting: dict[str, Any] = {}
        for key, item in value.items():
            name, size = self._key(key, link)
            fitting[name] = self._walk(item, (link, key), length + size + 1, depth + 1)
        return fitting

    def _key(self, key: str, link: Link | None) -> tuple[str, int]:
        """Return a key as it may stand, and its size."""
        size = len(key) if key.isascii() else len(key.encode())
        if size <= LONGEST_KEY:
            return escape_key(key), size
        data = key.encode()
        digest = _hash(data)
        self._note((link, key), {"size": size, "unit": "bytes", "hash": digest})
        return escape_key(f"{data[:400].decode('utf-8', 'ignore')}...{digest[7:23]}"), LONGEST_KEY

    def _text(self, text: str, link: Link | None, length: int) -> str:
        room = min(self._leaf_bytes, LARGEST_TERM - length - _ROOM)
        if len(text) * 4 <= room:
            return text
        data = text.encode()
        if len(data) <= room:
            return text
        self._note(link, {"size": len(data), "unit": "bytes", "hash": _hash(data)})
        head = data[: room - _MARK].decode("utf-8", "ignore")
        return f"{head}...[{len(data) - len(head.encode()):,} more]"

    def _summary(self, value: Any, link: Link | None) -> str:
        data = _dump(value)
        self._note(link, {"size": len(data), "unit": "bytes", "hash": _hash(data)})
        return f"...[{len(data):,} more]"

    def _note(self, link: Link | None, note: dict[str, Any]) -> None:
        self.notes.setdefault(_path(link), note)


_CUTTABLE = frozenset({str, dict, list})


def _path(link: Link | None) -> str:
    """Return ``output.rows[3].name``; a key in it is 64 characters long at most."""
    parts: list[str] = []
    while link is not None:
        link, key = link
        parts.append(f"[{key}]" if type(key) is int else f".{key}" if len(key) <= 64 else f".{key[:64]}...")
    return "".join(reversed(parts)).removeprefix(".")


def _hash(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


def _dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError):  # nested deeper than orjson writes
        return repr(value).encode("utf-8", "replace")
