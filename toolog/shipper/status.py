"""How a spool is doing, seen from outside: nothing is made, shipped, moved or counted by it."""

from __future__ import annotations

from typing import Any

from toolog.errors import ConfigError
from toolog.pipeline import Options
from toolog.pipeline.letters import count_letters
from toolog.spool import ShipperLock, SpoolReader, open_tracks, segment
from toolog.spool.claims import read_claims


def take_status(options: Options) -> dict[str, Any]:
    """Return what is in the spool of these options, for each sink that has something there.

    ``shipper`` (process id, or None when nobody ships), ``in_spool`` and ``dead_letters`` (by sink),
    ``by_policy`` (what is in the spool for each policy of a sink that is served by policy),
    ``unserved`` (the sinks among them that these options do not name), ``segments`` and ``bytes``. Raises
    ConfigError when there is no such spool.
    """
    directory = options.directory
    if not directory.is_dir():
        raise ConfigError(f"there is no spool at {directory}")
    lock = ShipperLock(directory)
    tracks = {name: _count_left(options, name) for name in options.sinks}
    for claim in read_claims(directory, options.sinks):
        tracks.setdefault(claim.sink, {})[claim.cursor.track.policy] = claim.pending()
    in_spool = {name: sum(left.values()) for name, left in tracks.items()}
    letters = count_letters(directory)
    names = [*in_spool, *(name for name in letters if name not in in_spool)]
    names = [name for name in names if name in options.sinks or in_spool.get(name) or letters.get(name)]
    sizes = segment.listing(directory)
    return {
        "spool": str(directory),
        "shipper": lock.owner() if lock.is_taken() else None,
        "in_spool": {name: in_spool.get(name, 0) for name in names},
        "by_policy": {name: left for name, left in tracks.items() if name in names and len(left) > 1},
        "dead_letters": {name: letters.get(name, 0) for name in names},
        "unserved": [name for name in names if name not in options.sinks],
        "segments": len(sizes),
        "bytes": sum(sizes.values()),
    }


def _count_left(options: Options, sink: str) -> dict[str, int]:
    """Return what is left for a sink on each of the tracks that stand in its cursor, by their policies."""
    route = options.policies.route
    return {
        cursor.track.policy: SpoolReader(
            options.directory, sink, keep=lambda levelno: sink in route(levelno), cursor=cursor
        ).pending()
        for cursor in open_tracks(options.directory, sink)
    }
