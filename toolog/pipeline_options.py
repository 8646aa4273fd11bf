"""A pipeline's options, made from what was configured and checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolog import serializers
from toolog.errors import ConfigError
from toolog.pipeline import Options
from toolog.pipeline.served import prepare
from toolog.retention import Policies
from toolog.sanitize import Sanitizer, inuse
from toolog.settings.place import absolute
from toolog.settings.resolve import resolve, with_sink_defaults
from toolog.sinks.paths import refuse_shared


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
    options = Options(
        directory=Path(absolute(values["spool.path"], "spool.path")),
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
    refuse_shared(sinks)
    return options


def check_options(given: Mapping[str, Any]) -> Options:
    """Return the options that ``ToologHandler(**given)`` would have, without making one.

    Raises the ConfigError that it would raise for them.
    """
    values = resolve(("handler",), {key: given[key] for key in given if key != "capture"}, where="configure")
    options = make_options(values)
    serializers.get(options.serializer)
    for name, table in options.sinks.items():
        prepare(name, table, options)
    return options


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
