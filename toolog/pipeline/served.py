"""What one entry of the configuration's sinks comes to, checked when it is configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from toolog import sinks
from toolog.errors import ConfigError, NotInstalled
from toolog.expiry.local import with_file_limits
from toolog.pipeline.options import Options
from toolog.sinks import Delivery, Sink
from toolog.sinks.base import ByPolicy
from toolog.sinks.paths import pin
from toolog.spool import Track


class Served(NamedTuple):
    """How a sink is served.

    ``source``: what `toolog.sinks.create` makes it of, each time that a thread begins. ``delivery`` is None
    where only another process can make it.
    """

    source: Mapping[str, Any] | Sink
    delivery: Delivery | None
    tracks: list[Track]


def prepare(name: str, given: Mapping[str, Any] | Sink, options: Options) -> Served:
    """Return how a sink is served, from its entry ``given`` in the configuration.

    The sink is made once, so that a wrong option is told to whoever configures; nothing is opened. Where only
    the spool is written, what the process that ships needs alone may be missing. Raises ConfigError.
    """
    table: Mapping[str, Any] = {}
    if isinstance(given, Mapping):
        table = pin(name, with_file_limits(name, given, options.policies))
    source = table or given
    try:
        sink = sinks.create(name, source)
        return Served(source, sinks.delivery(sink, table), _tracks_of(sink, name, options))
    except NotInstalled:
        if options.ship != "none":
            raise
    except ConfigError:
        if options.ship != "none" or not sinks.is_only_named(name, given):
            raise
    return Served(source, None, [])


def _tracks_of(sink: Sink, name: str, options: Options) -> list[Track]:
    """Return the tracks on which a sink is served; one that must know how far it came has but one."""
    if not isinstance(sink, ByPolicy) or hasattr(sink, "cursor_state"):
        return []
    return [Track(policy.name, policy.levelno) for policy in options.policies.of_sink(name)]
