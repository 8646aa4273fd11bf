"""`toolog stats`: how often, how fast and how well each tool works."""

from __future__ import annotations

import click

from toolog.cli.common import (
    FOUND_FAULTS,
    FOUND_NOTHING,
    Damage,
    json_option,
    open_store,
    print_json,
    print_lines,
)
from toolog.cli.places import Place, place_options, search_options, store_path


@click.command("stats", short_help="Show how often, how fast and how well each tool works.")
@click.option("--tool", metavar="GLOB", help="Only tools whose name matches, such as 'payment.*'.")
@click.option("--session", metavar="ID", help="Only this session, such as order-1001.")
@click.option("--since", metavar="WHEN", help="Only since then: '10 min', '2 days', or an ISO time.")
@place_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    tool: str | None,
    session: str | None,
    since: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Show calls, success rate, latency and errors of each tool and of each configuration of tool instances.

    Latencies are those of calls that ran. With --json everything is one object. With --from search it is
    counted in the cluster, percentiles to three digits. The exit code is 1 when no call was found.

    \b
    Example:
      toolog stats --since '1 day'
      toolog stats --from search --tool 'payment.*'
    """
    damage = Damage()
    if place.kind == "search":
        from toolog.archive.figures import stats
        from toolog.archive.question import Question

        figures = stats(search_options(place), Question(tool=tool, session=session, since=since), damage)
    else:
        with open_store(store_path(place)) as store:
            figures = store.stats(tool=tool, session=session, since=since)
    if as_json:
        print_json(figures)
    else:
        from toolog import report

        print_lines(report.stats_table(figures))
    if not figures["calls"] and not figures["running"]:
        ctx.exit(FOUND_NOTHING)
    if damage.places:
        ctx.exit(FOUND_FAULTS)
