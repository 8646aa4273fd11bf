"""How a spool is doing, seen from outside: nothing is shipped, moved or counted by it."""

from __future__ import annotations

from typing import Any

from toolog.pipeline import Options
from toolog.pipeline.letters import count_letters
from toolog.spool import Spool, SpoolReader


def take_status(options: Options) -> dict[str, Any]:
    """Return what is in the spool of these options, for each of their sinks.

    ``shipper`` (process id, or None when nobody ships), ``in_spool`` and ``dead_letters`` (by sink),
    ``segments`` and ``bytes``. Raises SpoolError when the spool cannot be used.
    """
    spool = Spool(options.directory)
    lock = spool.shipper_lock()
    owner = None if lock.try_acquire() else lock.owner()
    lock.release()
    segments = spool.segments()
    return {
        "spool": str(options.directory),
        "shipper": owner,
        "in_spool": {name: _count_left(options, name) for name in options.sinks},
        "dead_letters": {name: count_letters(options.directory, name) for name in options.sinks},
        "segments": len(segments),
        "bytes": sum(one.size for one in segments),
    }


def _count_left(options: Options, sink: str) -> int:
    route = options.policies.route
    return SpoolReader(options.directory, sink, keep=lambda levelno: sink in route(levelno)).pending()
