"""`toolog stats`: how often, how fast and how well each tool works."""

from __future__ import annotations

from pathlib import Path

import click

from toolog.cli.common import (
    FOUND_FAULTS,
    FOUND_NOTHING,
    Damage,
    json_option,
    open_store,
    print_json,
    print_lines,
    store_option,
)
from toolog.cli.places import find_one, from_options, search_options
from toolog.cli.places import store_path as own_path


@click.command("stats", short_help="Show how often, how fast and how well each tool works.")
@click.option("--tool", metavar="GLOB", help="Only tools whose name matches, such as 'payment.*'.")
@click.option("--session", metavar="ID", help="Only this session, such as order-1001.")
@click.option("--since", metavar="WHEN", help="Only since then: '10 min', '2 days', or an ISO time.")
@from_options
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    tool: str | None,
    session: str | None,
    since: str | None,
    source: str | None,
    hosts: tuple[str, ...],
    namespace: str | None,
    dialect: str | None,
    store_path: Path | None,
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
    place = find_one(source, hosts, namespace, dialect, store_path)
    damage = Damage()
    if place.kind == "search":
        from toolog.archive.figures import stats
        from toolog.archive.question import Question

        figures = stats(search_options(place), Question(tool=tool, session=session, since=since), damage)
    else:
        with open_store(store_path or own_path(place)) as store:
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
