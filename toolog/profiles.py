"""Profiles: sets of defaults to begin with, and ``configure``, which puts one into effect in one line.

``dev``: JSON, memory durability, a line for each call on the console, the SQLite store. ``prod``:
MessagePack, process durability, Elasticsearch for a week and S3 for errors. Everything can be overridden by
argument, environment or pyproject.toml; docs/reference/configuration.md lists it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from toolog.call import refresh_plans
from toolog.errors import ConfigError, kind_of, unknown_key
from toolog.handler import ToologHandler, refuse_clash
from toolog.instrumentation import capture_output, loglines, otel
from toolog.instrumentation.threads import instrument_threads
from toolog.levels import ROOT
from toolog.pipeline_options import check_options
from toolog.settings import capture
from toolog.settings.checks import check, plain
from toolog.settings.resolve import Found, apply_capture, look_up, reset_capture
from toolog.settings.table import PROFILES, section

DEFAULTS: dict[str, dict[str, Any]] = {
    "dev": {
        "serializer": "json",
        "durability": "memory",
        "spool": {"path": ".toolog/spool"},
        "sinks": {"console": {"type": "console"}, "store": {"type": "sqlite", "path": ".toolog/calls.db"}},
        "retention": {"DEBUG": {"sinks": ["console", "store"], "keep": "30 days"}},
        "capture": {"capture_output": True, "threads": True},
    },
    "prod": {
        "serializer": "msgpack",
        "durability": "process",
        "sinks": {"search": {"type": "elasticsearch"}, "archive": {"type": "s3"}},
        "retention": {
            "INFO": {"sinks": ["search"], "keep": "7 days"},
            "ERROR": {"sinks": ["search", "archive"], "keep": "30 days"},
        },
        "capture": {"threads": True},
    },
}
"""What each profile sets; everything else is as in the table of parameters."""

_configured: list[ToologHandler] = []


def configure(profile: str | None = None, /, **overrides: Any) -> ToologHandler:
    """Put a profile into effect, with overrides, and return its handler; a former one is closed.

    ``profile`` is "dev" or "prod"; left out, what ``TOOLOG_PROFILE`` or pyproject.toml say, else "dev". The
    overrides are those of docs/reference/configuration.md: ``durability="process"``, ``queue={"max_records":
    5000}``, ``capture_output=False``, ``level="DEBUG"`` ... The logger ``toolog.calls`` gets the handler and
    the level, and no longer propagates. Raises ConfigError before anything is changed. Since 0.1.
    """
    chosen, handler_options, captured, around = _resolve(profile, overrides)
    refuse_clash(check_options(handler_options), _configured)
    settings = {name: check(one.parameter, one.value, one.where) for name, one in captured.items()}
    close()
    handler = ToologHandler(**handler_options)
    reset_capture()
    apply_capture(settings)
    refresh_plans()
    switch_capture()
    logger = logging.getLogger(ROOT)
    logger.propagate = False
    logger.disabled = False
    logger.setLevel(around["level"])
    logger.addHandler(handler)
    if around["application_logs"]:
        logging.getLogger().addHandler(handler)
    handler.set_name(f"toolog-{chosen}")
    _configured.append(handler)
    return handler


def close() -> None:
    """Close the handler that `configure` made, and take it off the loggers; without one, nothing happens."""
    while _configured:
        handler = _configured.pop()
        for name in (ROOT, None):
            logging.getLogger(name).removeHandler(handler)
        handler.close()


def dict_config(profile: str | None = None, /, **overrides: Any) -> dict[str, Any]:
    """Return what `configure` would put into effect, as a dict for ``logging.config.dictConfig``.

    What the environment and pyproject.toml say now stands in it. The result is plain data (unless an override
    is an object) and a starting point for one's own. Raises ConfigError as `configure` does. Since 0.1.
    """
    _, handler_options, captured, around = _resolve(profile, overrides)
    refuse_clash(check_options(handler_options), _configured)
    settings = {
        name: one.value
        for name, one in captured.items()
        if not one.is_default or one.value != one.parameter.default
    }
    level = logging.getLevelName(around["level"])
    if settings:
        handler_options["capture"] = plain(settings)
    config: dict[str, Any] = {
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {"toolog": {"class": "toolog.ToologHandler", **handler_options}},
        "loggers": {ROOT: {"handlers": ["toolog"], "level": level, "propagate": False}},
    }
    if around["application_logs"]:
        config["root"] = {"handlers": ["toolog"], "level": level}
    return config


def handler_options(project: tuple[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Return checked options of the handler that `configure` would make, by their dotted names.

    ``project`` stands in place of pyproject.toml (see ``settings.files``). Raises ConfigError.
    """
    named = look_up(("profile",), {}, where="configure", project=project)["profile"]
    profile = check(named.parameter, named.value, named.where)
    defaults = {name: value for name, value in DEFAULTS[profile].items() if name != "capture"}
    found = look_up(("handler",), {}, where="configure", defaults=defaults, project=project)
    checked = {name: check(one.parameter, one.value, one.where) for name, one in found.items()}
    return {**checked, "retention": plain(_retention(found, is_named=not named.is_default))}


def switch_capture() -> None:
    """Make what capture's settings ask for so: threads that keep the parent, taps on what tools print."""
    loglines.install()
    otel.install()
    if capture.threads:
        instrument_threads()
    if capture.capture_output:
        capture_output.install()
    else:
        capture_output.undo()


def _resolve(
    profile: str | None, overrides: Mapping[str, Any]
) -> tuple[str, dict[str, Any], dict[str, Found], dict[str, Any]]:
    """Return the profile's name, the handler's options, capture's settings, and the values around them."""
    where = "configure"
    given = {} if profile is None else {"profile": profile}
    parts = ("profile", "capture", "handler", "run")
    names = {part: {one.name.partition(".")[0] for one in section(part)} for part in parts}
    for key in overrides:
        if key in names["run"]:
            raise ConfigError(
                f"{key} in {where}: what `toolog run` reads stands in [tool.toolog] or in the environment; "
                "a program says toolog.instrument(...)"
            )
        if key not in {"capture"}.union(*names.values()):
            raise unknown_key(key, set().union(*names.values()) - names["run"], where)
    given |= {k: v for k, v in overrides.items() if k in names["profile"]}
    said = look_up(("profile",), given, where=where)
    around = {name: check(one.parameter, one.value, one.where) for name, one in said.items()}
    chosen: str = around["profile"]
    defaults = DEFAULTS[chosen]
    captured = look_up(
        ("capture",),
        {
            **_table(overrides.get("capture")),
            **{k: v for k, v in overrides.items() if k in names["capture"]},
        },
        where=where,
        defaults=defaults["capture"],
    )
    rest = {k: v for k, v in overrides.items() if k not in names["profile"] | names["capture"] | {"capture"}}
    found = look_up(
        ("handler",), rest, where=where, defaults={k: v for k, v in defaults.items() if k != "capture"}
    )
    options: dict[str, Any] = {}
    for name, one in found.items():
        value = one.value
        check(one.parameter, value, one.where)  # here it is known where a wrong one stood
        if name == "retention":
            value = _retention(found, is_named=not said["profile"].is_default)
        if not one.is_default or value != one.parameter.default:
            _put(options, name, plain(value))
    return chosen, options, captured, around


def _table(given: object) -> dict[str, Any]:
    """Return the override ``capture``, where the keys of capture may stand as they do for `dictConfig`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"capture in configure is a table of options, not {kind_of(given)}")
    return dict(plain(given))


def _retention(found: Mapping[str, Found], *, is_named: bool) -> Any:
    """Return the retention table. A profile's own is kept for sinks that somebody else chose, if the profile
    was named: a sink that it does not know takes part in all of its policies. Else there is none: every sink
    gets every record, as in `toolog ship`.
    """
    retention, sinks = found["retention"], found["sinks"]
    if not retention.is_default or sinks.is_default or not isinstance(sinks.value, Mapping):
        return retention.value
    if not is_named:
        return {}
    known = {name for policy in retention.value.values() for name in policy["sinks"]}
    others = [name for name in sinks.value if name not in known]
    return {
        level: {
            **policy,
            "sinks": [*(name for name in policy["sinks"] if name in sinks.value), *others]
            or list(sinks.value),
        }
        for level, policy in retention.value.items()
    }


def _put(options: dict[str, Any], name: str, value: Any) -> None:
    group, _, inner = name.partition(".")
    if inner:
        options.setdefault(group, {})[inner] = value
    else:
        options[group] = value


assert set(DEFAULTS) == set(PROFILES)
