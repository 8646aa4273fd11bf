"""`toolog stats`: how often, how fast and how well each tool works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from toolog.cli.common import FOUND_NOTHING, console, json_option, open_store, print_json, store_option
from toolog.sinks import lines


@click.command("stats", short_help="Show how often, how fast and how well each tool works.")
@click.option("--tool", metavar="GLOB", help="Only tools whose name matches, such as 'payment.*'.")
@click.option("--session", metavar="ID", help="Only this session, such as order-1001.")
@click.option("--since", metavar="WHEN", help="Only since then: '10 min', '2 days', or an ISO time.")
@click.option("--configs", is_flag=True, help="One row for each configuration of tool instances instead.")
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    tool: str | None,
    session: str | None,
    since: str | None,
    configs: bool,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Show calls, success rate, latency and errors of each tool, from the local store.

    Latencies are those of calls that ran. With --json everything is one object, configurations included. The
    exit code is 1 when no call was found.

    \b
    Example:
      toolog stats --since '1 day'
    """
    with open_store(store_path) as store:
        figures = store.stats(tool=tool, session=session, since=since)
    if as_json:
        print_json(figures)
    else:
        _print_table(figures, configs)
    if not figures["calls"] and not figures["running"]:
        ctx.exit(FOUND_NOTHING)


def _print_table(figures: dict[str, Any], configs: bool) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("configuration" if configs else "tool")
    for heading in ("calls", "success", "mean", "p50", "p95", "p99"):
        table.add_column(heading, justify="right")
    table.add_column("failures")
    for row in figures["configs" if configs else "tools"]:
        name = (
            f"{row['class_name'] or '?'} {row['config_hash'] or ''}" if configs else row["tool_name"] or "?"
        )
        latency = row["duration_ms"]
        bad = row["successes"] < row["calls"]
        table.add_row(
            lines.visible(name),
            str(row["calls"]),
            f"{row['success_rate']:.1%}",
            *(lines.duration(latency[key]) or "-" for key in ("mean", "p50", "p95", "p99")),
            _name_failures(row),
            style="red" if bad else None,
        )
    console().print(table)
    rate = f", {figures['success_rate']:.1%} of them successes" if figures["calls"] else ""
    click.echo(
        f"{figures['calls']} calls{rate}; {figures['running']} running; {figures['dropped']} records dropped"
    )


def _name_failures(row: dict[str, Any]) -> str:
    """Return error types with their counts, then statuses that have no error of their own."""
    named = dict(row["errors"]) or {
        status: count for status, count in row["statuses"].items() if status != "success"
    }
    return ", ".join(f"{lines.visible(name)} x {count}" for name, count in named.items())
