"""Secrets among the options of sinks: written out, in an environment variable, in a file, or what a function
answers.

A secret is read when it is used, and read again after a server refused it, so that a new one needs no
restart. It never stands in a repr or in the text of an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolog.errors import ConfigError, SinkDenied, unknown_key

KINDS = ("env", "file")
"""The keys that a table in place of a secret may have; one of them."""


class Secret:
    """A secret that is fetched with each ``read()``. Two are equal when they are fetched from the same place.

    ``source`` is what the user wrote (see `resolve_secret`), ``where`` names the option in an error.
    """

    __slots__ = ("_source", "where")

    def __init__(self, source: str | Mapping[str, str] | Callable[[], str], where: str) -> None:
        self._source = source
        self.where = where

    def read(self) -> str:
        """Return the secret as it is now, without the line break that ends a file.

        Raises SinkDenied, which says what is missing and where, when there is none: it is tried again later.
        """
        text = self._fetch()
        if not isinstance(text, str) or not text.strip():
            raise self._missing("it is empty" if isinstance(text, str) else f"it is a {type(text).__name__}")
        text = text.strip("\r\n")
        if not text.isprintable():
            raise self._missing("it has a line break or another control character inside")
        return text

    def _fetch(self) -> Any:
        source = self._source
        if isinstance(source, str):
            return source
        if callable(source):
            try:
                return source()
            except Exception as error:  # whose text may quote the secret
                raise self._missing(f"its function raised {type(error).__name__}") from None
        if "env" in source:
            if source["env"] not in os.environ:
                raise self._missing(f"the environment variable {source['env']} is not set")
            return os.environ[source["env"]]
        try:
            return Path(source["file"]).expanduser().read_text("utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise self._missing(f"the file {source['file']} cannot be read: {reason}") from None

    def _missing(self, reason: str) -> SinkDenied:
        return SinkDenied(f"there is no {self.where}: {reason}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._source == other._source

    def __hash__(self) -> int:
        return hash(self.where)

    def __repr__(self) -> str:
        return "***"


def resolve_secret(value: object, where: str) -> Secret:
    """Return the secret that an option stands for; nothing is read yet.

    ``value`` is the secret as text, ``{"env": "NAME"}``, ``{"file": "PATH"}``, a function without arguments
    that answers it, or a Secret; ``where`` names the option in errors ("api_key of sink 'search'"). Raises
    ConfigError, which never quotes the value.
    """
    if isinstance(value, Secret):
        return value
    if isinstance(value, str):
        if not value.strip():
            raise ConfigError(f"{where} is empty; leave it out, or write {{'env': 'NAME'}}")
        return Secret(value, where)
    if isinstance(value, Mapping):
        for key in value:
            if key not in KINDS:
                raise unknown_key(key, KINDS, where)
        if len(value) != 1:
            raise ConfigError(f"{where} is one of {{'env': 'NAME'}} and {{'file': 'PATH'}}, not both")
        kind = next(iter(value))
        place = os.fspath(value[kind]) if isinstance(value[kind], (str, os.PathLike)) else None
        if not isinstance(place, str) or not place:
            raise ConfigError(
                f"{kind} of {where} is {'the name of a variable' if kind == 'env' else 'a path'}, "
                f"not a {type(value[kind]).__name__}"
            )
        return Secret({kind: place}, where)
    if callable(value):
        return Secret(value, where)
    raise ConfigError(
        f"{where} is a text, {{'env': 'NAME'}}, {{'file': 'PATH'}} or a function, "
        f"not a {type(value).__name__}"
    )
