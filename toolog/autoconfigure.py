"""``toolog.instrument`` and ``toolog.tool`` as users call them: with nothing configured, the first record
brings up the development profile.

Everything that it needs is imported when something is instrumented, so that no import happens during a call;
the spool and the store are made with the first record only. ``TOOLOG_AUTOCONFIGURE=0`` turns it off. A
handler on the logger ``toolog.calls`` (or ``toolog``) counts as configured, whatever handler it is.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from toolog import emit, instrumentation
from toolog.call import refresh_plans
from toolog.counters import contain
from toolog.errors import ConfigError
from toolog.levels import ROOT
from toolog.settings import provisional
from toolog.settings.resolve import apply_capture, resolve

_PRELOADED = ("toolog.serializers.json", "toolog.sinks.console", "toolog.sinks.sqlite", "toolog.store")
"""What the dev profile loads by name; done early, no call has to wait for it."""

_Some = TypeVar("_Some", bound=Callable[..., Any])

ANNOUNCEMENT = (
    "toolog: nothing is configured, so the dev profile is on: a line for each call here, records in "
    ".toolog/calls.db (TOOLOG_AUTOCONFIGURE=0 turns this off)\n"
)


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
        if not resolve(("profile",), {}, where="configure")["autoconfigure"]:
            _apply_settings({})
            profiles.switch_capture()
            return
        for name in _PRELOADED:
            import_module(name)
        # The first call's output is collected before its record, the first one, leaves.
        _apply_settings(profiles.DEFAULTS["dev"]["capture"])
        provisional.active = True
        emit.on_first_record(bring_up)
    profiles.switch_capture()


def bring_up() -> None:
    """Configure the dev profile if nothing else was configured meanwhile. Never raises."""
    from toolog import profiles

    if _is_configured():
        return
    line = ANNOUNCEMENT
    try:
        profiles.configure()
    except Exception as error:
        contain("autoconfigure", error)
        if not isinstance(error, ConfigError):
            return
        line = f"toolog: nothing is recorded, as the configuration cannot be used: {error}\n"
    try:
        sys.stderr.write(line)
    except Exception:
        pass


def _apply_settings(defaults: dict[str, Any]) -> None:
    apply_capture(resolve(("capture",), {}, where="configure", defaults=defaults))
    refresh_plans()


def _is_configured() -> bool:
    from toolog.handler import pipelines

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
