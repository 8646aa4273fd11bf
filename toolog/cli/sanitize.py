"""`toolog sanitize`: what would be masked in a file, and by which rule."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from toolog.cli.common import FOUND_FAULTS, console, print_json, read_source


@click.command("sanitize", short_help="Show what would be masked in a file, and by which rule.")
@click.argument("file", metavar="FILE|-")
@click.option("--explain", is_flag=True, help="List line, path, rule and length of each find, never a value.")
@click.option("--json", "as_json", is_flag=True, help="With --explain: one JSON object for each find.")
@click.pass_context
def command(ctx: click.Context, file: str, explain: bool, as_json: bool) -> None:
    """Print FILE as it would leave the process, or explain what is masked in it.

    FILE holds JSON, JSON lines or plain text; `-` is stdin. The rules are those of the configuration
    (pyproject.toml, environment). With --explain the exit code is 1 when there is something to hide.

    \b
    Example:
      toolog sanitize --explain conversation.jsonl
      cat app.log | toolog sanitize -
    """
    from toolog.sanitize import Sanitizer
    from toolog.settings.resolve import resolve

    chosen = resolve(("handler",), {}, where="arguments")["sanitizer"]
    sanitizer = Sanitizer.from_config(chosen)
    text = read_source(file).decode("utf-8", "backslashreplace")
    if not explain:
        if as_json:
            raise click.UsageError("--json belongs to --explain", ctx)
        for _, value, is_json in _parts(text):
            hidden = sanitizer.sanitize(value)
            shown = json.dumps(hidden, ensure_ascii=False) if is_json else hidden
            # A lone surrogate of JSON is written as the escape that it was.
            sys.stdout.buffer.write(shown.encode("utf-8", "backslashreplace") + b"\n")
        return
    found = [(line, find) for line, value, _ in _parts(text) for find in sanitizer.explain(value)]
    if as_json:
        for line, find in found:
            print_json({"line": line, "path": find.path, "rule": find.rule, "length": find.length})
    elif found:
        _print_table(found)
    else:
        click.echo("nothing to hide")
    if found:
        ctx.exit(FOUND_FAULTS)


def _parts(text: str) -> Iterator[tuple[int, Any, bool]]:
    """Yield (line number, value, whether it was JSON): one document, or a value for each line."""
    try:
        yield 1, json.loads(text), True
        return
    except ValueError:
        pass
    lines = text.split("\n")  # by nothing else: a value in JSON may hold whatever else ends a line
    for number, line in enumerate(lines[:-1] if not lines[-1] else lines, 1):
        try:
            value = json.loads(line)
        except ValueError:
            value = line
        # A bare number or word of a log file is text, also where JSON could read it.
        yield (number, value, True) if isinstance(value, dict | list) else (number, line, False)


def _print_table(found: list[tuple[int, Any]]) -> None:
    from rich.table import Table

    table = Table("line", "path", "rule", "length", box=None, pad_edge=False, header_style="bold")
    for line, find in found:
        table.add_row(str(line), find.path or "(text)", find.rule, str(find.length))
    console().print(table)
