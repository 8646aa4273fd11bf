"""`toolog instances`: the configured tool objects that were seen."""

from __future__ import annotations

import click

from toolog.cli.common import (
    FOUND_FAULTS,
    FOUND_NOTHING,
    Damage,
    json_option,
    marks,
    open_store,
    print_json_lines,
    print_lines,
)
from toolog.cli.places import Place, place_options, search_options, store_path


@click.command("instances", short_help="List the configured tool instances that were seen.")
@click.option(
    "--limit", "-n", default=50, show_default=True, type=click.IntRange(1), help="How many, newest first."
)
@place_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    limit: int,
    place: Place,
    as_json: bool,
) -> None:
    """List tool instances: how each was configured (masked), how often it was called and how that went.

    The same configuration has the same hash. With --json, `recreated_from` names the instance before it, of
    an earlier process or conversation. With --from search those in the cluster are listed. The exit code is 1
    when there is none.

    \b
    Example:
      toolog instances --limit 10
    """
    damage = Damage()
    if place.kind == "search":
        from toolog.archive.figures import instances

        found = instances(search_options(place), damage)[:limit]
    else:
        with open_store(store_path(place)) as store:
            found = store.instances()[:limit]
    if as_json:
        print_json_lines(found)
    elif found:
        from toolog import report

        print_lines(report.instances_table(found, marks=marks()))
    else:
        click.echo("no tool instance was recorded", err=True)
    if not found:
        ctx.exit(FOUND_NOTHING)
    if damage.places:
        ctx.exit(FOUND_FAULTS)
