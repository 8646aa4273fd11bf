"""``toolog.instrument`` and ``toolog.tool`` as users call them: with nothing configured, the first record
brings up the development profile.

Everything that it needs is imported when something is instrumented, so that no import happens during a call;
the spool and the store are made with the first record only. ``TOOLOG_AUTOCONFIGURE=0`` turns it off. A
handler on the logger ``toolog.calls`` (or ``toolog``) counts as configured, whatever handler it is.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from toolog import emit, instrumentation
from toolog.call import refresh_plans
from toolog.counters import contain
from toolog.errors import ConfigError
from toolog.instrumentation.room import spare_room
from toolog.levels import ROOT
from toolog.settings import provisional
from toolog.settings.place import begun_in, remember, working_directory
from toolog.settings.resolve import apply_capture, look_up, resolve

if TYPE_CHECKING:
    from toolog.handler import ToologHandler

_PRELOADED = ("toolog.serializers.json", "toolog.sinks.console", "toolog.sinks.sqlite", "toolog.store")
"""What the dev profile loads by name; done early, no call has to wait for it."""

_FRAMES = 500
"""What bringing the profile up may need of the stack: 40 without the imports of a user's own sink."""

_Some = TypeVar("_Some", bound=Callable[..., Any])

_OFF = "(TOOLOG_AUTOCONFIGURE=0 turns this off)"


def _arming(function: _Some) -> _Some:
    """Return ``function``, getting ready before it what the first record will need."""

    @functools.wraps(function)
    def armed(*args: Any, **kwargs: Any) -> Any:
        arm()
        return function(*args, **kwargs)

    return armed  # type: ignore[return-value]


def arm() -> None:
    """Have the first record bring up the dev profile, unless something is configured or that is turned off.

    Raises ConfigError when what the environment or pyproject.toml say cannot be.
    """
    from toolog import profiles  # heavy, and needed only when something is instrumented

    if not provisional.active and not _is_configured():
        around = resolve(("profile",), {}, where="configure")
        if not around["autoconfigure"]:
            _apply_settings({})
            profiles.switch_capture()
            return
        for name in _PRELOADED:
            import_module(name)
        # The first call's output is collected before its record, the first one, leaves.
        _apply_settings(profiles.DEFAULTS[around["profile"]]["capture"])
        provisional.active = True
        emit.on_first_record(functools.partial(bring_up, remember()))
    profiles.switch_capture()


def bring_up(directory: str | None = None) -> None:
    """Configure the dev profile if nothing else was configured meanwhile. Never raises.

    ``directory`` is where the program was when it instrumented: its paths begin there, and so does the search
    for pyproject.toml, whatever directory it went to before its first call. The first record may be made
    where a recursion just ran out of stack; this takes some hundred frames.
    """
    with spare_room(_FRAMES):
        _bring_up(directory)


def _bring_up(directory: str | None) -> None:
    from toolog import profiles

    if _is_configured():
        return
    try:
        with begun_in(directory):
            line = _announce(profiles.configure())
    except Exception as error:
        contain("autoconfigure", error)
        if not isinstance(error, ConfigError):
            return
        line = f"toolog: nothing is recorded, as the configuration cannot be used: {error}\n"
    try:
        sys.stderr.write(line)
    except Exception:
        pass


def _announce(handler: ToologHandler) -> str:
    """Return the line that says what came up, and where its records are."""
    options = handler.options
    said = look_up(("profile", "handler"), {}, where="configure")
    what = f"the {said['profile'].value} profile is on"
    chosen = [
        one.where for one in said.values() if not one.is_default and one.parameter.name != "autoconfigure"
    ]
    if chosen:
        what = f"configure() was not called, so {what}, with what is said elsewhere ({chosen[0]})"
    else:
        what = f"nothing is configured, so {what}"
    if options.ship == "none":
        where = f"records in the spool {options.directory}, for another process to ship"
    else:
        tables = {name: table for name, table in options.sinks.items() if isinstance(table, Mapping)}
        kinds = {name: table.get("type", name) for name, table in tables.items()}
        parts = ["a line for each call here"] if "console" in kinds.values() else []
        parts += [
            f"records in {_shown(tables[name].get('path')) or name}"
            for name, kind in kinds.items()
            if kind != "console"
        ]
        where = ", ".join(parts)
    return f"toolog: {what}: {where} {_OFF}\n"


def _shown(path: object) -> object:
    """Return a path of the configuration as it can be found from where the program is now."""
    if not isinstance(path, (str, os.PathLike)) or os.path.isabs(path):
        return path
    there = working_directory()
    return path if there == remember() else os.path.join(there, path)


def _apply_settings(defaults: dict[str, Any]) -> None:
    apply_capture(resolve(("capture",), {}, where="configure", defaults=defaults))
    refresh_plans()


def _is_configured() -> bool:
    from toolog.all_pipelines import pipelines

    if pipelines():
        return True
    logger: logging.Logger | None = logging.getLogger(ROOT)
    while logger is not None and logger.parent is not None:  # the root logger's handlers say nothing about us
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent
    return False


instrument = _arming(instrumentation.instrument)
tool = _arming(instrumentation.tool)
