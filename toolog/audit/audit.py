"""From a place or a value to the leaks in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolog.audit import units
from toolog.audit.search import Hit, Needles, Search, squeeze
from toolog.audit.units import Tell

_DEEPEST = 200
_LONGEST_PATH = 12


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret that got out: where, which one (its label), in which spelling. Never the secret itself."""

    place: str
    where: str
    secret: str
    spelling: str

    def __str__(self) -> str:
        return f"{self.place}, {self.where}: {self.secret}, {self.spelling}"


def audit_path(path: Path, needles: Needles, tell: Tell) -> Iterator[Leak]:
    """Yield the leaks of one file: in its name, its bytes, what they are unpacked, and its values.

    :param tell: is told what could not be read; then nothing can be said of that.
    """
    name = needles.hide(str(path))
    if name != str(path):
        for hit in needles.find(path.name.encode("utf-8", "surrogateescape")):
            yield _leak(needles, name, "the file's name", hit)

    def told(what: str) -> None:
        tell(f"{name} {what}")

    try:
        for form, pieces in units.layers(path, told):
            search = Search(needles)
            for piece in pieces:
                for hit in search.feed(piece):
                    yield _leak(needles, name, f"{form} at {hit.at:,}", hit)
        for where, value in units.values(path, told):
            for found, hit in _in_value(value, needles):
                yield _leak(needles, name, f"{where}{found}", hit)
    except OSError as error:
        told(f"cannot be read: {error.strerror or error}")


def audit_value(value: Any, needles: Needles, place: str) -> Iterator[Leak]:
    """Yield the leaks of a value: text, bytes, or plain data of any nesting."""
    for found, hit in _in_value(value, needles):
        yield _leak(needles, place, found.lstrip(", ") or "the value", hit)


def _leak(needles: Needles, place: str, where: str, hit: Hit) -> Leak:
    return Leak(place, where, needles.secrets.all[hit.secret].label, hit.spelling)


def _in_value(value: Any, needles: Needles, outer: tuple[str, ...] = ()) -> Iterator[tuple[str, Hit]]:
    """Yield (where in the value, hit): in each text by itself, and cut into several texts of the value."""
    seen: set[int] = set()
    pieces: list[bytes] = []
    inner: list[tuple[tuple[str, ...], Any]] = []
    for path, text in _texts(value, outer, 0):
        raw = text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogatepass")
        if isinstance(text, str | bytes):  # a number between two texts parts nothing
            pieces.append(raw)
            parsed = _parsed(text)
            if parsed is not None:
                inner.append((path, parsed))
        search = Search(needles)
        for hit in search.feed(raw):
            seen.add(hit.secret)
            yield _shown(path, needles), hit
    for number, form in needles.joined:
        if number not in seen and len(pieces) > 1 and form in squeeze(b"".join(pieces)):
            seen.add(number)
            yield _shown(outer, needles), Hit(number, "cut into several values", 0)
    for path, parsed in inner:
        for where, hit in _in_value(parsed, needles, path):
            if hit.secret not in seen:
                yield where, hit


def _shown(path: tuple[str, ...], needles: Needles) -> str:
    parts = [needles.hide(part) for part in path[:_LONGEST_PATH]]
    return f", {'.'.join(parts)}" if parts else ""


def _texts(value: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every text, and all else that is no container, with its path.

    The values of a map come before its keys, so that they stand side by side.
    """
    if depth > _DEEPEST or value is None or isinstance(value, bool):
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, (*path, str(key)), depth + 1)
        for key in value:
            yield from _texts(key, (*path, "(key)"), depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for place, item in enumerate(value):
            yield from _texts(item, (*path, str(place)), depth + 1)
    else:
        yield path, bytes(value) if isinstance(value, bytearray | memoryview) else value


def _parsed(text: str | bytes) -> Any:
    """Return what a text of JSON says, where it is an object or a list; else None."""
    if text[:1] not in ("{", "[", b"{", b"["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
