"""Where a parameter's value comes from: argument, else environment, else pyproject.toml, else default.

Each value is checked by its parameter's kind, and an error names where the value stood. The pyproject.toml
that is read is that of the working directory, or of the nearest parent directory that has one; its table is
``[tool.toolog]``. A file that ``TOOLOG_CONFIG`` names stands in its place.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolog.errors import ConfigError, kind_of, unknown_key
from toolog.settings import CaptureSettings, capture, provisional
from toolog.settings.checks import check
from toolog.settings.environment import check_environment, read_variable
from toolog.settings.files import VARIABLE, read_config
from toolog.settings.place import from_here, working_directory
from toolog.settings.table import TABLE, Parameter, section


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
        elif (said := read_variable(parameter)) is not None:
            place_there, value = said
            found[name] = Found(parameter, value, place_there, False)
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
            return read_config(from_here(named))
        except ConfigError as error:
            raise ConfigError(f"environment variable {VARIABLE}: {error}") from error
    try:
        directory = start or Path(working_directory())
        for folder in (directory, *directory.parents):
            file = folder / "pyproject.toml"
            if file.is_file():
                tool = tomllib.loads(file.read_text("utf-8-sig")).get("tool", {})
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


def with_sink_defaults(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return one sink's options, with what the environment says for all sinks where this one says nothing."""
    filled = dict(options)
    for parameter in section("sink"):
        said = read_variable(parameter)
        if said is None:
            continue
        where, given = said
        value = check(parameter, given, where)
        group, _, inner = parameter.name.partition(".")
        if not inner:
            filled.setdefault(group, value)
        elif isinstance(filled.get(group, {}), Mapping):
            filled[group] = {inner: value, **filled.get(group, {})}
    return filled


def apply_capture(values: Mapping[str, Any], target: CaptureSettings = capture) -> None:
    """Put resolved values of the section ``capture`` into the object that capture reads."""
    for parameter in section("capture"):
        if parameter.name in values:
            setattr(target, parameter.name, values[parameter.name])


def reset_capture() -> None:
    """Return capture's settings to their defaults, before a new configuration says what it wants."""
    provisional.active = False
    apply_capture({one.name: check(one, one.default, one.name) for one in section("capture")})
