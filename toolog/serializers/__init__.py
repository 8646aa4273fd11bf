"""Bytes out and in. ``get(name)`` finds a serializer by its name, the spool's reader by its code.

Found in a table of dotted names, then among the entry points of the group ``toolog.serializers``, then as a
dotted name of the user's own (``"package.module:object"``, an instance or a class). Nothing is imported
before it is asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from toolog.errors import ConfigError, SerializationError, nearest
from toolog.serializers.base import COMPACT, Serializer

__all__ = ["BUILT_IN", "GROUP", "Serializer", "by_code", "get", "known_names"]

BUILT_IN = {
    "json": "toolog.serializers.json:serializer",
    "msgpack": "toolog.serializers.msgpack:serializer",
}
"""Name -> dotted name of the serializers that come with toolog."""

GROUP = "toolog.serializers"
"""The entry point group in which other packages offer serializers."""

_by_name: dict[str, Serializer] = {}
_by_code: dict[int, Serializer] = {}


def get(name: str | Serializer) -> Serializer:
    """Return a serializer by its name or dotted name; a serializer object is returned as it is.

    Raises ConfigError for a name that nobody knows (naming the nearest), for one that cannot be imported, and
    for one whose code another serializer has.
    """
    if not isinstance(name, str):
        return _checked(name, repr(name))
    found = _by_name.get(name)
    if found is None:
        found = _checked(_find(name), repr(name))
        other = _by_code.setdefault(found.code, found)
        if other.name != found.name:
            raise ConfigError(
                f"serializer {name!r} has the code {found.code}, which is that of {other.name!r}"
            )
        _by_name[name] = found
    return found


def by_code(code: int) -> Serializer:
    """Return the serializer that wrote a frame with this code; raises SerializationError when none is
    known."""
    found = _by_code.get(code)
    if found is None:
        for name in BUILT_IN:
            get(name)
        for point in _entry_points():
            if code in _by_code:
                break
            get(point.name)
        found = _by_code.get(code)
    if found is None:
        raise SerializationError(f"no installed serializer has the code {code}")
    return found


def known_names() -> list[str]:
    """Return the names that `get` takes here: built in, and offered by installed packages."""
    return sorted({*BUILT_IN, *(point.name for point in _entry_points())})


def _entry_points() -> Any:
    from importlib.metadata import entry_points  # 20 ms, and only needed for names that are not ours

    return entry_points(group=GROUP)


def _find(name: str) -> Any:
    dotted = BUILT_IN.get(name)
    if dotted is None and ":" in name:
        dotted = name
    if dotted is not None:
        module, _, attribute = dotted.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigError(f"serializer {name!r} could not be imported: {error}") from error
    for point in _entry_points():
        if point.name == name:
            try:
                return point.load()
            except (ImportError, AttributeError) as error:
                raise ConfigError(f"serializer {name!r}: its entry point is broken: {error}") from error
    names = known_names()
    guess = nearest(name, names)
    hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(names)}, or 'package.module:object'"
    raise ConfigError(f"unknown serializer {name!r}; {hint}")


def _checked(found: Any, where: str) -> Serializer:
    if isinstance(found, type):
        try:
            found = found()
        except TypeError as error:
            raise ConfigError(f"serializer {where} could not be made without arguments: {error}") from error
    if not isinstance(found, Serializer):
        raise ConfigError(
            f"serializer {where} has not all of name, code, suffix, dumps, loads and from_packed"
        )
    if not isinstance(found.code, int) or not 0 <= found.code < COMPACT:
        raise ConfigError(f"serializer {where}: code is a number from 0 to 254, not {found.code!r}")
    return found
