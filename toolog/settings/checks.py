"""What a parameter's value may be, by its kind, and the form in which the code uses it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from toolog.errors import ConfigError, kind_of, nearest, shown, unknown_key
from toolog.settings.table import Parameter
from toolog.units import parse_duration, parse_path, parse_size


def check(parameter: Parameter, value: Any, where: str) -> Any:
    """Return a value in the form that the code uses (bytes, seconds, level number ...). Raises
    ConfigError.
    """
    if value is None:
        if parameter.optional:
            return None
        raise ConfigError(f"{where} needs a value")
    checked = _CHECKS[parameter.kind](parameter, value, where)
    if parameter.least and checked < parameter.least:
        raise ConfigError(f"{where}: {shown(value)} is too small; at least {parameter.least:g}")
    return checked


def level_number(value: object, where: str) -> int:
    """Return the number of a level given by name or number. Raises ConfigError naming the nearest level."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and (number := find_level(value)) is not None:
        return number
    names = logging.getLevelNamesMapping()
    guess = nearest(str(value), names)
    hint = (
        f"did you mean {guess!r}?" if guess else f"known: {', '.join(sorted(names, key=names.__getitem__))}"
    )
    raise ConfigError(f"{where}: unknown level {shown(value)}; {hint}")


def find_level(text: str) -> int | None:
    """Return the number that a level's name or digits stand for, names that the application gave
    (``logging.addLevelName``) among them; None for another text.
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return int(text)
    names = logging.getLevelNamesMapping()
    return names.get(text, names.get(text.upper()))


def _choice(parameter: Parameter, value: Any, where: str) -> str:
    word = value.strip().lower() if isinstance(value, str) else value
    if word in parameter.choices:
        return str(word)
    guess = nearest(str(value), parameter.choices)
    hint = f"did you mean {guess!r}?" if guess else f"one of {', '.join(parameter.choices)}"
    raise ConfigError(f"{where}: {shown(value)} is not known; {hint}")


def _durability(parameter: Parameter, value: Any, where: str) -> dict[int, str]:
    """Return level number -> durability; like a retention policy, each holds up to the next named level."""
    if not isinstance(value, Mapping):
        return {0: _choice(parameter, value, where)}
    named = {level_number(level, where): _choice(parameter, value[level], where) for level in value}
    if not named:
        raise ConfigError(
            f"{where}: the table is empty; write for example {{INFO = 'memory', ERROR = 'process'}}"
        )
    return named


def _flag(parameter: Parameter, value: Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    raise ConfigError(f"{where} is true or false, not {shown(value)}")


def _count(parameter: Parameter, value: Any, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ConfigError(f"{where} is a whole number, zero or more, not {shown(value)}")


def _number(parameter: Parameter, value: Any, where: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return value
    raise ConfigError(f"{where} is a number, zero or more, not {shown(value)}")


def _text(parameter: Parameter, value: Any, where: str) -> Any:
    if isinstance(value, str) and value:
        return value
    raise ConfigError(f"{where} is a name, not {shown(value)}")


def _key(parameter: Parameter, value: Any, where: str) -> str:
    if isinstance(value, str) and len(value) >= 8:
        return value
    raise ConfigError(f"{where} is a text of at least 8 characters, which is not shown here")


def _names(parameter: Parameter, value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"{where} is a list of names, not {shown(value)}")
    for name in value:
        if not isinstance(name, str) or not name:
            raise ConfigError(
                f"{where} is a list of names; {kind_of(name) if name != '' else 'an empty text'} is none"
            )
    return tuple(value)


def _table(parameter: Parameter, value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return plain(value)
    if parameter.name == "sanitizer" and hasattr(value, "sanitize"):
        return value  # a ready object
    raise ConfigError(f"{where} is a table of options, not {kind_of(value)}")


def _keyed(parameter: Parameter, value: Any, where: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = _table(parameter, value, where)
    for key in table:
        if key not in parameter.choices:
            raise unknown_key(key, parameter.choices, where)
    return table


def _levels(parameter: Parameter, value: Any, where: str) -> dict[str, int]:
    table = _keyed(parameter, value, where)
    return {event: level_number(table[event], f"{event} of {where}") for event in table}


def _strings(parameter: Parameter, value: Any, where: str) -> dict[str, str]:
    table = _keyed(parameter, value, where)
    for key in table:
        if not isinstance(table[key], str):
            raise ConfigError(f"{key} of {where} is text, not {shown(table[key])}")
    return dict(table)


def plain(value: Any) -> Any:
    """Return a copy of nested tables and lists as plain ones.

    ``logging.config`` hands over tables that convert ``ext://`` and ``cfg://`` texts when an item is read by
    its key, so each is read that way.
    """
    if isinstance(value, Mapping):
        return {key: plain(value[key]) for key in value}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [plain(value[index]) for index in range(len(value))]
    return value


_CHECKS: dict[str, Callable[[Parameter, Any, str], Any]] = {
    "choice": _choice,
    "count": _count,
    "durability": _durability,
    "duration": lambda parameter, value, where: parse_duration(value, where),
    "flag": _flag,
    "level": lambda parameter, value, where: level_number(value, where),
    "levels": _levels,
    "key": _key,
    "names": _names,
    "number": _number,
    "path": lambda parameter, value, where: parse_path(value, where),
    "size": lambda parameter, value, where: parse_size(value, where),
    "strings": _strings,
    "table": _table,
    "text": _text,
}
