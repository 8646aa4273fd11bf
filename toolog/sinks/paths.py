"""Paths among the options of sinks, made whole when a sink is configured.

A sink is made anew by each thread that serves it, later, when the program may be in another directory. Which
of its options are paths, a sink's class says: ``paths = ("path",)``. The file of a secret
(``{"file": "PATH"}``) is one, too, but in tables of which the class says that they hold names of the user's
own: ``texts = ("tags",)``. And what it writes itself, so that no other sink may: ``writes = ("path",)``.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import Any

from toolog.errors import ConfigError
from toolog.settings.place import absolute
from toolog.sinks import find
from toolog.sinks.streams import is_stream


def pin(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sink's options with whole paths, defaults of its class among them.

    What is no path, or of a kind that nobody knows, is left for `toolog.sinks.create` to complain of. Raises
    ConfigError for a relative path when the working directory is gone.
    """
    where = f"sink {name!r}"
    try:
        factory = find(name, options.get("type", name))
    except ConfigError:
        return dict(options)
    texts = getattr(factory, "texts", ())
    pinned = {
        key: options[key] if key in texts else _pin_secret(options[key], f"{key} of {where}")
        for key in options
    }
    for key in getattr(factory, "paths", ()):
        value = options[key] if key in options else _default_of(factory, key)
        if isinstance(value, (str, os.PathLike)) and isinstance(text := os.fspath(value), str) and text:
            pinned[key] = absolute(text, f"{key} of {where}")
    return pinned


def refuse_shared(sinks: Mapping[str, Any]) -> None:
    """Raise ConfigError where two sinks would write the same file: it holds the records of one of them, or
    every record twice.
    """
    owners: dict[str, str] = {}
    for name, options in sinks.items():
        if not isinstance(options, Mapping):
            continue
        try:
            factory = find(name, options.get("type", name))
        except ConfigError:
            continue
        pinned = pin(name, options)
        for key in getattr(factory, "writes", ()):
            path = pinned.get(key)
            if not isinstance(path, str) or "\0" in path or is_stream(path):
                continue
            owner = owners.setdefault(os.path.realpath(path), name)
            if owner != name:
                raise ConfigError(
                    f"{key} of sink {name!r} is the file that sink {owner!r} writes, {path}; "
                    "give each its own, or leave one of them out"
                )


def _pin_secret(value: Any, where: str) -> Any:
    """Return an option with the files of secrets in it made whole."""
    if isinstance(value, Mapping):
        if len(value) == 1 and isinstance(value.get("file"), str):
            return {"file": absolute(value["file"], where)}
        return {key: _pin_secret(value[key], where) for key in value}
    if type(value) in (list, tuple):
        return type(value)(_pin_secret(one, where) for one in value)
    return value


def _default_of(factory: Any, key: str) -> Any:
    try:
        parameter = inspect.signature(factory).parameters.get(key)
    except (TypeError, ValueError):
        return None
    return None if parameter is None or parameter.default is parameter.empty else parameter.default
