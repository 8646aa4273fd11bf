"""`toolog dead-letters`: what sinks refused for good; looked at, sent again, or dropped."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolog.cli.common import FOUND_NOTHING, console, json_option, print_json
from toolog.errors import ConfigError

if TYPE_CHECKING:
    from toolog.pipeline.letters import Letter

ACTIONS = ("list", "retry", "drop")


@click.command("dead-letters", short_help="List, send again or drop what sinks refused.")
@click.argument("action", metavar="list|retry|drop", type=click.Choice(ACTIONS))
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--spool", "directory", type=click.Path(path_type=Path), help="The spool; by default the configured one."
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file that `toolog ship` is given, instead of pyproject.toml.",
)
@click.option("--sink", metavar="NAME", help="Only what this sink refused.")
@click.option("--reason", metavar="TEXT", help="Only where the reason has this text, or matches it with '*'.")
@click.option("--yes", is_flag=True, help="drop: do not ask.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    action: str,
    ids: tuple[str, ...],
    directory: Path | None,
    config: Path | None,
    sink: str | None,
    reason: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Look at the records that sinks refused for good, send them again, or drop them.

    Each sink has a file of them in the spool, which toolog never empties by itself. `list` shows them.
    `retry` puts them back into the spool, for the sink that refused them alone: the process that ships sends
    them with its next batches; a sink that the configuration does not name is refused, since nobody would.
    `drop` deletes them for good, except those on hold; it asks before. IDs are those that `list` shows,
    or their beginnings; without any, all letters are meant that --sink and --reason choose.

    May be called while the spool is shipped. With --json, `list` prints one letter a line, the others an
    object with what they did. The exit code is 1 when there are no such letters, or all of them are on hold.

    \b
    Example:
      toolog dead-letters list --sink search
      toolog dead-letters retry --sink search --reason mapper_parsing
      toolog dead-letters drop 0198c7 --yes
    """
    from toolog.pipeline import letters as box

    if yes and action != "drop":
        raise click.UsageError("--yes belongs to drop", ctx)
    settings = _read_settings(config)
    spool = directory or Path(settings["spool.path"])
    if not spool.is_dir():
        raise ConfigError(f"there is no spool at {spool}; --spool names another")
    found = box.read_letters(spool, sink=sink, reason=reason, ids=ids)
    if not found:
        if not as_json:
            chosen = sink is not None or reason is not None or bool(ids)
            what = "no dead letters are as asked for" if chosen else "no dead letters"
            click.echo(f"{what} in {spool}", err=True)
        ctx.exit(FOUND_NOTHING)
    if action == "list":
        _show(found, as_json)
        return
    if action == "retry":
        _check_sinks(found, settings, config)
        number = box.send_again(spool, found, max_size=settings["spool.max_size"])
        told = f"{number} records are in the spool again; they go to {_sinks(found)} with the next batches"
    else:
        free = [letter for letter in found if not letter.on_hold]
        held = len(found) - len(free)
        if free:
            _confirm(free, yes)
        number = box.drop(spool, free)
        told = f"{number} dead letters are deleted" + (f"; {held} are on hold and stay" if held else "")
    if as_json:
        print_json({"retried": number} if action == "retry" else {"dropped": number, "held": held})
    else:
        click.echo(told)
    if not number:
        ctx.exit(FOUND_NOTHING)


def _read_settings(config: Path | None) -> dict[str, Any]:
    """Return the spool's settings and the sinks (None: nobody names any). Raises ConfigError."""
    from toolog.profiles import handler_options
    from toolog.settings.files import read_config
    from toolog.settings.resolve import look_up, read_project, resolve

    project = read_project() if config is None else read_config(config)
    found = look_up(("profile", "handler"), {}, where="arguments", project=project)
    if not found["profile"].is_default:
        return handler_options(project)
    values = resolve(("handler",), {}, where="arguments", project=project)
    return values if not found["sinks"].is_default else {**values, "sinks": None}


def _check_sinks(found: Sequence[Letter], settings: Mapping[str, Any], config: Path | None) -> None:
    """Raise ConfigError for letters of a sink that nobody would ship to; warn where that is not known."""
    known = settings["sinks"]
    place = config or "the configuration"
    if known is None:
        click.echo(
            "toolog: no sinks are configured here; whoever ships the spool must have the sink"
            f" {_sinks(found)} (--config FILE checks it)",
            err=True,
        )
        return
    for sink in sorted({letter.sink for letter in found} - set(known)):
        raise ConfigError(
            f"{place} has no sink {sink!r}, so nobody would ship to it; name it there, or choose others by"
            f" --sink ({', '.join(known) or 'there is none'})"
        )


def _show(found: Sequence[Letter], as_json: bool) -> None:
    if as_json:
        for letter in found:
            print_json(
                {
                    "id": letter.id,
                    "sink": letter.sink,
                    "time": letter.time,
                    "status": letter.status,
                    "reason": letter.reason,
                    "record": letter.record,
                }
            )
        return
    from rich.markup import escape
    from rich.table import Table

    from toolog.sinks.lines import visible

    table = Table(box=None, pad_edge=False)
    for title in ("id", "sink", "time", "status", "what", "reason"):
        table.add_column(title, overflow="fold", no_wrap=title in ("id", "sink", "time", "status"))
    for letter in found:
        what = letter.record.get("tool_name") or letter.record.get("event") or "unreadable bytes"
        cells = (letter.id, letter.sink, letter.time, letter.status, str(what), letter.reason)
        table.add_row(*(escape(visible(cell)) for cell in cells))
    console().print(table)


def _confirm(found: Sequence[Letter], yes: bool) -> None:
    """Ask whether the letters are really to go. Raises Abort, or ConfigError where nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            f"{len(found)} dead letters of {_sinks(found)} would be deleted for good; say --yes to do it"
        )
    click.confirm(f"Delete {len(found)} dead letters of {_sinks(found)} for good?", abort=True, err=True)


def _sinks(found: Sequence[Letter]) -> str:
    return ", ".join(f"{sink} ({number})" for sink, number in Counter(one.sink for one in found).items())
