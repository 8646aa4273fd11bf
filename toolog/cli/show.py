"""`toolog show`: one trace as a waterfall."""

from __future__ import annotations

from pathlib import Path

import click

from toolog.cli.common import FOUND_NOTHING, console, json_option, open_store, print_json_lines, store_option


@click.command("show", short_help="Show one trace as a waterfall, with inputs, outputs and errors.")
@click.argument("trace", metavar="TRACE")
@store_option
@json_option
@click.pass_context
def command(ctx: click.Context, trace: str, store_path: Path | None, as_json: bool) -> None:
    """Show when each call of TRACE ran, for how long, with what, and how it ended.

    TRACE is a trace id or a unique beginning of one (6 digits or more), as `toolog tail --tree` shows it. The
    exit code is 1 when there is no such trace.

    \b
    Example:
      toolog show 4bf92f3577b3
    """
    with open_store(store_path) as store:
        records = store.trace(trace)
    if not records:
        click.echo(f"no trace begins with {trace!r}", err=True)
        ctx.exit(FOUND_NOTHING)
    if as_json:
        print_json_lines(records)
    else:
        from toolog import report

        console().print(report.waterfall(records))
