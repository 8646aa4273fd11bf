"""What the environment says of parameters: its ``TOOLOG_`` variables, and those that are misspelt."""

from __future__ import annotations

import json
import logging
import os
from typing import Any

from toolog.errors import ConfigError, nearest
from toolog.settings.files import VARIABLE
from toolog.settings.table import TABLE, Parameter

_YES = {"1", "true", "yes", "on"}
_NO = {"0", "false", "no", "off"}
_ENVIRONMENT = {parameter.env for parameter in TABLE if parameter.env} | {VARIABLE}
_PREFIX = "TOOLOG_"
_NEAR = 0.9
"""How alike an unknown TOOLOG_ variable must be to one of ours to be called a misspelling."""


def check_environment() -> None:
    """Raise ConfigError for a TOOLOG_ variable that is surely a misspelt one of ours."""
    for name in unknown_variables():
        guess = nearest(name, _ENVIRONMENT)
        if guess is not None and _is_misspelt(name.removeprefix(_PREFIX), guess.removeprefix(_PREFIX)):
            raise ConfigError(f"unknown environment variable {name}; did you mean {guess}?")


def unknown_variables() -> list[str]:
    """Return the TOOLOG_ variables of the environment that set nothing."""
    return sorted(name for name in os.environ if name.startswith(_PREFIX) and name not in _ENVIRONMENT)


def _is_misspelt(one: str, other: str) -> bool:
    """Whether two words are as good as the same, or one slip of a finger apart: a letter more, less, another,
    or two changed about.
    """
    import difflib  # only for a variable that nobody knows

    if difflib.SequenceMatcher(None, one, other).ratio() >= _NEAR:
        return True
    short, long = sorted((one, other), key=len)
    at = next((place for place, letter in enumerate(short) if letter != long[place]), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    return short[at + 1 :] == long[at + 1 :] or short[at:][:2][::-1] + short[at + 2 :] == long[at:]


def read_variable(parameter: Parameter) -> tuple[str, Any] | None:
    """Return what the environment says of a parameter: where it says so, and the value; None if nothing.

    Raises ConfigError for a table that is no JSON.
    """
    if not parameter.env:
        return None
    variable, text = parameter.env, os.environ.get(parameter.env)
    if text is None and variable == "TOOLOG_LEVEL":
        # LOG_LEVEL is the application's own: it may hold words that are no levels of `logging`.
        variable, text = "LOG_LEVEL", os.environ.get("LOG_LEVEL", "").strip().upper()
        if text not in logging.getLevelNamesMapping() and not text.isdigit():
            return None
    return (f"environment variable {variable}", _parse(parameter, text)) if text else None


def _parse(parameter: Parameter, text: str) -> Any:
    """Return what the text of an environment variable means; tables are JSON, lists are, too, or separated
    by commas.
    """
    if (
        parameter.kind in ("table", "levels", "strings")
        or (parameter.kind == "durability" and "{" in text)
        or (parameter.kind == "names" and text.lstrip().startswith("["))
    ):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"environment variable {parameter.env} is not readable as JSON: {error}"
            ) from error
    if parameter.kind == "names":
        return [name.strip() for name in text.split(",") if name.strip()]
    if parameter.kind == "flag":
        word = text.strip().lower()
        return word in _YES if word in _YES | _NO else text
    if parameter.kind in ("count", "number"):
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            return text
    return text
