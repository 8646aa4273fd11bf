"""`toolog cat`: the records in a spool, or in files of records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from toolog.cli.common import FOUND_FAULTS, json_option, marks, print_json, print_lines
from toolog.errors import ConfigError, SerializationError
from toolog.sinks import lines


@click.command("cat", short_help="Print the records in a spool or in record files.")
@click.argument("places", metavar="DIR|FILE...", nargs=-1, required=True)
@click.option("--pending", metavar="SINK", help="Of a spool: only what this sink has not acknowledged.")
@json_option
@click.pass_context
def command(ctx: click.Context, places: tuple[str, ...], pending: str | None, as_json: bool) -> None:
    """Print every record of a spool directory, or of files: JSON lines or MessagePack, also .zst; `-` is
    stdin.

    Takes no lock and changes nothing, so it may look into the spool of a running process. Damaged places are
    told on stderr and stepped over; then the exit code is 1.

    \b
    Example:
      toolog cat .toolog/spool --pending store
      toolog cat calls.msgpack.zst --json | toolog validate -
    """
    from toolog import report

    damaged = False

    def tell(where: str) -> None:
        nonlocal damaged
        damaged = True
        click.echo(f"damaged: {lines.visible(where)}", err=True)

    for place in places:
        is_spool = place != "-" and Path(place).is_dir()
        if pending is not None and not is_spool:
            raise ConfigError(f"--pending asks about a spool directory, and {place} is none")
        records = _from_spool(Path(place), pending, tell) if is_spool else _from_file(place, tell)
        for record in records:
            if as_json:
                print_json(record)
            else:
                print_lines([report.line(record, marks=marks())])
    if damaged:
        ctx.exit(FOUND_FAULTS)


def _from_file(place: str, tell: Any) -> Iterator[dict[str, Any]]:
    from toolog import readers

    def damage(number: int, message: str) -> None:
        tell(f"{place}, {number}: {message}")

    for _, record in readers.read_records(place, on_damage=damage):
        yield record


def _from_spool(directory: Path, pending: str | None, tell: Any) -> Iterator[dict[str, Any]]:
    from toolog import serializers, spool

    if pending is None:
        frames = spool.iter_frames(directory, lambda name, count, _: tell(f"{name}: {count} frames"))
    else:
        frames = spool.pending(directory, pending)
    for frame in frames:
        try:
            record = serializers.by_code(frame.serializer).loads(frame.payload)
        except (ConfigError, SerializationError) as error:
            tell(f"{frame.segment} at {frame.offset}: {error}")
            continue
        if isinstance(record, dict):
            yield record
        else:
            tell(f"{frame.segment} at {frame.offset}: no record")
