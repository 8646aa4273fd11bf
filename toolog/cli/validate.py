"""`toolog validate`: records in a file against the schema."""

from __future__ import annotations

import click

from toolog.cli.common import FOUND_FAULTS, json_option, print_json
from toolog.sinks import lines


@click.command("validate", short_help="Check a file of records against the schema.")
@click.argument("file", metavar="FILE|-")
@json_option
@click.pass_context
def command(ctx: click.Context, file: str, as_json: bool) -> None:
    """Check every record of FILE, and name line, path and rule of each fault.

    FILE holds JSON lines or MessagePack, compressed with zstd or not; `-` is stdin. For MessagePack the line
    is the record's number. The exit code is 1 when there is a fault, also when a line is no record at all,
    and when FILE holds no record.

    \b
    Example:
      toolog validate calls.jsonl
      toolog cat .toolog/spool --json | toolog validate -
    """
    from toolog import readers, schema

    records = faults = 0

    def tell(line: int, path: str, rule: str, message: str) -> None:
        nonlocal faults
        faults += 1
        if as_json:
            print_json({"line": line, "path": path, "rule": rule, "message": message})
        else:
            where = lines.visible(path) or "(record)"
            click.echo(f"line {line}: {where}: {rule}: {lines.visible(message)}")

    found = readers.read_records(file, on_damage=lambda line, message: tell(line, "", "readable", message))
    for line, record in found:
        records += 1
        for fault in schema.iter_faults(record):
            tell(line, fault.path, fault.rule, fault.message)
    if not as_json:
        many = f"{records:,} record{'s' * (records != 1)}, {f'{faults:,}' if faults else 'no'}"
        click.echo(f"{many} fault{'s' * (faults != 1)}", err=bool(faults))
    if faults or not records:
        ctx.exit(FOUND_FAULTS)
