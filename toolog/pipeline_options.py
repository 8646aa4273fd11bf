"""A pipeline's options, made from what was configured and checked before anything runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolog.errors import ConfigError, NotInstalled
from toolog.pipeline import Options
from toolog.retention import Policies
from toolog.sanitize import Sanitizer, inuse
from toolog.settings.resolve import resolve, with_sink_defaults
from toolog.sinks import create, is_only_named


def make_options(values: Mapping[str, Any]) -> Options:
    """Return a pipeline's options from resolved values of the section ``handler``. Raises ConfigError."""
    sinks = {
        name: with_sink_defaults(given) if isinstance(given, Mapping) else given
        for name, given in values["sinks"].items()
    }
    for name in sinks:
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ConfigError(f"sinks: the name of a sink is a printable text, not {name!a}")
    if not sinks:
        raise ConfigError("sinks is empty; name at least one, for example {'store': {'type': 'sqlite'}}")
    return Options(
        directory=Path(os.path.abspath(values["spool.path"])),  # the program may change its directory later
        sinks=sinks,
        policies=Policies.from_config(values["retention"], sinks),
        durability=values["durability"],
        serializer=values["serializer"],
        sanitizer=_sanitizer(values["sanitizer"]),
        max_records=values["queue.max_records"],
        when_full=values["queue.when_full"],
        block_timeout=values["queue.timeout"],
        max_size=values["spool.max_size"],
        segment_size=values["spool.segment_size"],
        ship=values["ship"],
        shutdown_timeout=values["shutdown_timeout"],
        purge_every=values["purge_every"],
        dead_letters_size=values["dead_letters.max_size"],
    )


def check_options(given: Mapping[str, Any]) -> None:
    """Raise the ConfigError that ``ToologHandler(**given)`` would raise, without making one."""
    values = resolve(("handler",), {key: given[key] for key in given if key != "capture"}, where="configure")
    options = make_options(values)
    for name, table in options.sinks.items():
        try:
            create(name, table)
        except NotInstalled:
            if options.ship != "none":
                raise
        except ConfigError:
            if options.ship != "none" or not is_only_named(name, table):
                raise


def _sanitizer(given: Any) -> Sanitizer | None:
    """Return the sanitizer of a configuration; None means the default one."""
    if not isinstance(given, Mapping):
        ready: Sanitizer = given
        inuse.enlist(ready)
        return ready
    if not given:
        return None
    made = Sanitizer.from_config(given)
    inuse.enlist(made)
    return made
