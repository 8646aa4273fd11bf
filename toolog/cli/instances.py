"""`toolog instances`: the configured tool objects that were seen."""

from __future__ import annotations

from pathlib import Path

import click

from toolog.cli.common import FOUND_NOTHING, console, json_option, open_store, print_json_lines, store_option
from toolog.sinks import lines


@click.command("instances", short_help="List the configured tool instances that were seen.")
@click.option(
    "--limit", "-n", default=50, show_default=True, type=click.IntRange(1), help="How many, newest first."
)
@store_option
@json_option
@click.pass_context
def command(ctx: click.Context, limit: int, store_path: Path | None, as_json: bool) -> None:
    """List tool instances: how each was configured (masked), how often it was called, what it continues.

    The same configuration has the same hash. `recreated from` names the instance before it, of an earlier
    process or conversation. The exit code is 1 when there is none.

    \b
    Example:
      toolog instances
      toolog stats --configs
    """
    with open_store(store_path) as store:
        found = store.instances()[:limit]
    if as_json:
        print_json_lines(found)
    elif found:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("instance", "class", "config", "hash", "calls", "recreated from"):
            table.add_column(heading, justify="right" if heading == "calls" else "left")
        for row in found:
            table.add_row(
                lines.visible(row["instance_id"] or "?")[:16],
                lines.visible(row["class_name"] or "?"),
                lines.value(row["config"], 60),
                lines.visible(row["config_hash"] or "")[:16],
                str(row["calls"]),
                lines.visible(row["recreated_from"] or "")[:16],
            )
        console().print(table)
    else:
        click.echo("no tool instance was recorded", err=True)
    if not found:
        ctx.exit(FOUND_NOTHING)
