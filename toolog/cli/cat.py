"""`toolog cat`: the records in a spool, in files of records, or in a bucket."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import click

from toolog.cli.common import (
    FOUND_FAULTS,
    Damage,
    check_reach,
    find_reach,
    json_option,
    print_json,
    print_records,
    reach_options,
)


@click.command("cat", short_help="Print the records in a spool, in files or in a bucket.")
@click.argument("places", metavar="PLACE...", nargs=-1, required=True)
@click.option(
    "--pending", metavar="SINK", help="Of a spool: only what this sink takes and has not acknowledged."
)
@reach_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    places: tuple[str, ...],
    pending: str | None,
    endpoint_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Print every record of each PLACE: a spool directory, a file (JSON lines or MessagePack, also .zst), a
    folder of such files, s3://bucket/prefix, or `-` for stdin.

    A record that is there twice (its record_id says so) is printed once. Takes no lock and changes nothing,
    so it may look into the spool of a running process. Damaged places, and objects that cannot be had, are
    told on stderr and stepped over; then the exit code is 1. A bucket that is configured for an s3 sink is
    reached as that sink does.

    With --pending it is the configuration's policies that say which levels go to SINK, as for `toolog ship
    --status`; for a sink that the configuration does not name, all levels are printed.

    \b
    Example:
      toolog cat .toolog/spool --pending store
      toolog cat s3://acme-toolog/calls/policy=error/date=2026-11-29/ --json
    """
    from toolog.archive import places as archive
    from toolog.archive.bucket import is_address
    from toolog.archive.once import Once

    check_reach(places, endpoint_url, profile)
    takes = None if pending is None else _levels_of(pending)
    damage = Damage()
    with closing(Once()) as once:
        for place in places:
            reach = find_reach(place, endpoint_url, profile) if is_address(place) else None
            for source in archive.find(place, pending=pending, takes=takes, reach=reach):
                for record in once.sift(source, damage):
                    if as_json:
                        print_json(record)
                    else:
                        print_records([record])
    if damage.places:
        ctx.exit(FOUND_FAULTS)


def _levels_of(sink: str) -> Callable[[int], bool] | None:
    """Return which levels the configuration's policies give to a sink; None when it does not name it. Raises
    ConfigError.
    """
    from toolog.profiles import handler_options
    from toolog.retention import Policies

    options = handler_options()
    if sink not in options["sinks"]:
        return None
    route = Policies.from_config(options["retention"], options["sinks"]).route
    return lambda levelno: sink in route(levelno)
