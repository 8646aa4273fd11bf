"""The secrets to look for: given by file, environment or stdin, never on a command line, where all users
see them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from toolog.errors import CLOSE, ConfigError, nearest

LEAST = 4
"""Characters of the shortest secret that is looked for; anything shorter stands in any text by chance."""


class Secret(NamedTuple):
    """A secret, and what it may be called: where it was given (`line 2 of secrets.txt`, `$DB_PASSWORD`)."""

    label: str
    text: str

    def __repr__(self) -> str:
        return f"Secret({self.label!r}, ...)"

    def __str__(self) -> str:
        return repr(self)


class Secrets:
    """What to look for. Its `repr`, and that of what is in it, shows no secret.

    :param texts: the secrets, or label -> secret.
    :raises ConfigError: when there is none, or one is shorter than four characters.
    """

    def __init__(self, texts: Iterable[str] | Mapping[str, str]) -> None:
        if isinstance(texts, str):
            raise ConfigError("secrets are a list of texts, not one text")
        pairs = (
            list(texts.items())
            if isinstance(texts, Mapping)
            else [(f"secret {number}", text) for number, text in enumerate(texts, 1)]
        )
        for label, text in pairs:
            if not isinstance(text, str) or len(text) < LEAST:
                raise ConfigError(
                    f"{label} is no text of at least {LEAST} characters: anything shorter is found everywhere"
                )
        if not pairs:
            raise ConfigError("there are no secrets to look for")
        self.all = [Secret(label, text) for label, text in pairs]

    def __len__(self) -> int:
        return len(self.all)

    def __repr__(self) -> str:
        return f"Secrets({len(self.all)})"


def read_lines(name: str, data: bytes) -> dict[str, str]:
    """Return the secrets of a file by label: one a line, empty lines left out.

    :raises ConfigError: when it is no UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: not UTF-8 at byte {error.start}") from None
    lines = enumerate(text.splitlines(), 1)
    return {f"line {number} of {name}": line for number, line in lines if line.strip()}


def read_environment(names: Iterable[str]) -> dict[str, str]:
    """Return the values of environment variables by label.

    :raises ConfigError: for one that is not set; names the nearest that is.
    """
    found = {}
    for name in names:
        value = os.environ.get(name)
        if not value:
            guess = nearest(name, os.environ, cutoff=CLOSE)
            raise ConfigError(
                f"environment variable {name} is not set" + (f"; did you mean {guess}?" if guess else "")
            )
        found[f"${name}"] = value
    return found
