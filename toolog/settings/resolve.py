"""Where a parameter's value comes from: argument, else environment, else pyproject.toml, else default.

Each value is checked by its parameter's kind, and an error names where the value stood. The pyproject.toml
that is read is that of the working directory, or of the nearest parent directory that has one; its table is
``[tool.toolog]``. A file that ``TOOLOG_CONFIG`` names stands in its place.
"""

from __future__ import annotations

import json
import logging
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolog.errors import ConfigError, kind_of, nearest, shown, unknown_key
from toolog.settings import CaptureSettings, capture
from toolog.settings.files import VARIABLE, read_config
from toolog.settings.table import TABLE, Parameter, section
from toolog.units import parse_duration, parse_path, parse_size

_YES = {"1", "true", "yes", "on"}
_NO = {"0", "false", "no", "off"}
_ENVIRONMENT = {parameter.env for parameter in TABLE if parameter.env} | {VARIABLE}
_PREFIX = "TOOLOG_"
_NEAR = 0.9
"""How alike an unknown TOOLOG_ variable must be to one of ours to be called a misspelling."""


class Found(NamedTuple):
    """A parameter's value as it was written, where it stood, and whether it is anybody's choice or our
    default.
    """

    parameter: Parameter
    value: Any
    where: str
    is_default: bool


def look_up(
    sections: Iterable[str],
    given: Mapping[str, Any],
    *,
    where: str,
    defaults: Mapping[str, Any] | None = None,
    project: tuple[str, Mapping[str, Any]] | None = None,
) -> dict[str, Found]:
    """Return for every parameter of some sections, by its dotted name, what was written for it and where.

    ``given`` are the arguments (nested tables or dotted names), ``where`` names them in an error;
    ``defaults`` replace defaults of the table (a profile). ``project`` stands in place of pyproject.toml:
    where it stood, and its table. Raises ConfigError for an unknown key.
    """
    wanted = section(*sections)
    check_environment()
    place, table = project or read_project()
    arguments = flatten(given, wanted, where)
    known = [parameter for parameter in TABLE if parameter.section != "sink"]
    written = flatten(_unfold_capture(table), known, place)
    preset = flatten(defaults or {}, wanted, where)
    found: dict[str, Found] = {}
    for parameter in wanted:
        name = parameter.name
        if name in arguments:
            found[name] = Found(parameter, arguments[name], f"{name} in {where}", False)
        elif (said := _from_environment(parameter)) is not None:
            variable, text = said
            place_there = f"environment variable {variable}"
            found[name] = Found(parameter, _parse(parameter, text), place_there, False)
        elif name in written:
            found[name] = Found(parameter, written[name], f"{name} in {place}", False)
        else:
            value = preset.get(name, parameter.default)
            found[name] = Found(parameter, value, f"default of {name}", True)
    return found


def resolve(
    sections: Iterable[str],
    given: Mapping[str, Any],
    *,
    where: str,
    defaults: Mapping[str, Any] | None = None,
    project: tuple[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a checked value for every parameter of some sections, by its dotted name; see `look_up`.

    Raises ConfigError for an unknown key or an impossible value.
    """
    found = look_up(sections, given, where=where, defaults=defaults, project=project)
    return {name: check(one.parameter, one.value, one.where) for name, one in found.items()}


def flatten(given: Mapping[str, Any], known: Iterable[Parameter], where: str) -> dict[str, Any]:
    """Return a nested table with dotted names; raises ConfigError for a key that no parameter has."""
    names = [parameter.name for parameter in known]
    groups = {name.partition(".")[0] for name in names if "." in name}
    flat: dict[str, Any] = {}
    for key in given:
        value = given[key]
        if key in groups:
            if not isinstance(value, Mapping):
                raise ConfigError(f"{key} in {where} is a table of options, not {kind_of(value)}")
            for inner in value:
                dotted = f"{key}.{inner}"
                if dotted not in names:
                    tails = [name.partition(".")[2] for name in names if name.startswith(f"{key}.")]
                    raise unknown_key(inner, tails, f"{key} in {where}")
                flat[dotted] = value[inner]
        elif key in names:
            flat[key] = value
        else:
            raise unknown_key(key, {*groups, *(name for name in names if "." not in name)}, where)
    return flat


def _unfold_capture(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """In pyproject.toml capture's keys stand beside the others, or in a table ``capture`` of their own."""
    inner = table.get("capture")
    if not isinstance(inner, Mapping):
        return table
    flatten(inner, section("capture"), "[tool.toolog.capture]")
    return {**{key: table[key] for key in table if key != "capture"}, **inner}


def read_project(start: Path | None = None) -> tuple[str, Mapping[str, Any]]:
    """Return (where, table) of the file that ``TOOLOG_CONFIG`` names, else of ``[tool.toolog]`` in the
    nearest pyproject.toml at or above ``start`` (working directory).

    An empty table when there is no such pyproject.toml or table. Raises ConfigError when the file is no TOML,
    or when the one that was named cannot be read.
    """
    if named := os.environ.get(VARIABLE):
        try:
            return read_config(Path(named).expanduser())
        except ConfigError as error:
            raise ConfigError(f"environment variable {VARIABLE}: {error}") from error
    try:
        directory = start or Path.cwd()
        for folder in (directory, *directory.parents):
            file = folder / "pyproject.toml"
            if file.is_file():
                tool = tomllib.loads(file.read_text("utf-8")).get("tool", {})
                table = tool.get("toolog", {}) if isinstance(tool, Mapping) else {}
                where = f"[tool.toolog] of {file}"
                if not isinstance(table, Mapping):
                    raise ConfigError(f"{where} is a table of options, not {kind_of(table)}")
                return where, table
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{file} is not readable as TOML: {error}") from error
    except OSError:  # the directory is gone, or may not be read: then nothing is configured there
        pass
    return "[tool.toolog]", {}


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


def _from_environment(parameter: Parameter) -> tuple[str, str] | None:
    """Return the variable that says something about a parameter, and what it says."""
    if not parameter.env:
        return None
    variable, text = parameter.env, os.environ.get(parameter.env)
    if text is None and variable == "TOOLOG_LEVEL":
        # LOG_LEVEL is the application's own: it may hold words that are no levels of `logging`.
        variable, text = "LOG_LEVEL", os.environ.get("LOG_LEVEL", "").strip().upper()
        if text not in logging.getLevelNamesMapping() and not text.isdigit():
            return None
    return (variable, text) if text else None


def with_sink_defaults(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return one sink's options, with what the environment says for all sinks where this one says nothing."""
    filled = dict(options)
    for parameter in section("sink"):
        said = _from_environment(parameter)
        if said is None:
            continue
        value = check(parameter, _parse(parameter, said[1]), f"environment variable {said[0]}")
        group, _, inner = parameter.name.partition(".")
        if not inner:
            filled.setdefault(group, value)
        elif isinstance(filled.get(group, {}), Mapping):
            filled[group] = {inner: value, **filled.get(group, {})}
    return filled


def _parse(parameter: Parameter, text: str) -> Any:
    """Return what the text of an environment variable means; tables are JSON, lists are separated by
    commas.
    """
    if parameter.kind in ("table", "levels", "strings") or (parameter.kind == "durability" and "{" in text):
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
    names = logging.getLevelNamesMapping()
    if isinstance(value, str):
        if value.strip().upper() in names:
            return names[value.strip().upper()]
        if value.strip().isdigit():
            return int(value)
    guess = nearest(str(value), names)
    hint = (
        f"did you mean {guess!r}?" if guess else f"known: {', '.join(sorted(names, key=names.__getitem__))}"
    )
    raise ConfigError(f"{where}: unknown level {shown(value)}; {hint}")


def apply_capture(values: Mapping[str, Any], target: CaptureSettings = capture) -> None:
    """Put resolved values of the section ``capture`` into the object that capture reads."""
    for parameter in section("capture"):
        if parameter.name in values:
            setattr(target, parameter.name, values[parameter.name])


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


def _levels(parameter: Parameter, value: Any, where: str) -> dict[str, str]:
    table = _keyed(parameter, value, where)
    return {event: logging.getLevelName(level_number(table[event], f"{event} of {where}")) for event in table}


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
