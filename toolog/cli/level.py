"""`toolog level`: change the level of a running process, through its control file."""

from __future__ import annotations

from pathlib import Path

import click

from toolog.cli.common import FOUND_NOTHING, configured, json_option, print_json


@click.command("level", short_help="Change the level of a running process.")
@click.argument("level", metavar="LEVEL")
@click.option("--tool", metavar="GLOB", help="Only tools whose name matches; all when left out.")
@click.option("--pid", type=int, help="Only the process with this id; else all of the spool.")
@click.option(
    "--spool",
    "directory",
    type=click.Path(path_type=Path),
    help="The spool directory of the process; by default the one that the configuration names.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, level: str, tool: str | None, pid: int | None, directory: Path | None, as_json: bool
) -> None:
    """Set the LEVEL from which running processes record calls: DEBUG, INFO, WARNING, ERROR or CRITICAL.

    Every process that writes into the spool directory obeys within a second. What its handler's own level or
    the lowest level of its `retention` leaves out is still left out. The exit code is 1 when no such process
    runs.

    \b
    Example:
      toolog level DEBUG --tool 'payment.*'
    """
    from toolog import control

    where = directory or Path(configured("handler", "spool.path"))
    told = control.send_level(where, level, tool=tool, pid=pid)
    if as_json:
        print_json({"level": level.upper(), "tool": tool, "told": told})
    elif told:
        click.echo(f"told {', '.join(f'process {one}' for one in told)}")
    else:
        hint = "" if directory else "; --spool names another directory, such as one that a program configures"
        click.echo(f"no running process{f' {pid}' if pid else ''} writes into {where}{hint}", err=True)
    if not told:
        ctx.exit(FOUND_NOTHING)
