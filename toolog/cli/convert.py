"""`toolog convert`: records from anywhere into one file of another form."""

from __future__ import annotations

from contextlib import closing

import click

from toolog.cli.common import (
    FOUND_FAULTS,
    Damage,
    check_reach,
    find_reach,
    json_option,
    print_json,
    progress,
    reach_options,
)


@click.command("convert", short_help="Turn records into JSON lines, MessagePack or Parquet.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@reach_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    source: str,
    target: str,
    endpoint_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Write the records of IN to the file OUT, in the form that its name ends with: .jsonl, .msgpack (both
    also with .zst behind it), or .parquet (pip install 'toolog[parquet]').

    IN is what `toolog cat` takes: a file, a folder of files, a spool, s3://bucket/prefix, or `-`. OUT appears
    when it is whole, and replaces a file of that name; `-` prints JSON lines. In Parquet, what is a list or
    an object in the record is JSON text. A record that is there twice (its record_id says so) is written
    once. Damaged places, and objects that cannot be had, are told on stderr and stepped over; then the exit
    code is 1. With --json the figures are printed as JSON.

    \b
    Example:
      toolog convert s3://acme-toolog/calls/policy=error errors.parquet
      toolog convert .toolog/spool calls.jsonl.zst
    """
    from toolog.archive import outputs
    from toolog.archive.bucket import is_address
    from toolog.archive.once import Once
    from toolog.archive.places import find

    records = 0
    damage = Damage()
    outputs.check(target)
    check_reach((source,), endpoint_url, profile)
    reach = find_reach(source, endpoint_url, profile) if is_address(source) else None
    found = find(source, reach=reach)
    size = sum(one.size for one in found)
    with (
        closing(Once()) as once,
        progress("converting", size) as read,
        outputs.create(target) as write,
    ):
        for one in found:
            for record in once.sift(one, damage):
                write(record)
                records += 1
            read(one.size)
    if target == "-":
        pass  # stdout holds the records
    elif as_json:
        figures = {
            "records": records,
            "files": len(found),
            "repeated": once.repeated,
            "damaged": damage.places,
        }
        print_json({**figures, "to": target})
    else:
        told = f", without {once.repeated:,} that came twice" if once.repeated else ""
        many = f"{records:,} record{'s' * (records != 1)} from {len(found):,} file{'s' * (len(found) != 1)}"
        click.echo(f"{many} to {target}{told}")
    if damage.places:
        ctx.exit(FOUND_FAULTS)
