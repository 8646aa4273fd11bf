"""`toolog schema`: the JSON Schema of records."""

from __future__ import annotations

import json

import click

from toolog.cli.common import print_json


@click.command("schema", short_help="Print the JSON Schema of records.")
@click.option("--json", "as_json", is_flag=True, help="Print it on one line.")
def command(as_json: bool) -> None:
    """Print the JSON Schema that every record keeps (draft 2020-12).

    \b
    Example:
      toolog schema > toolog-record.v1.schema.json
    """
    from toolog import schema

    document = schema.load()
    if as_json:
        print_json(document)
    else:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
