"""`toolog show`: one trace as a waterfall, and the details of its calls."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from toolog.cli.common import (
    FOUND_FAULTS,
    FOUND_NOTHING,
    Damage,
    json_option,
    marks,
    open_store,
    print_json_lines,
    print_lines,
)
from toolog.cli.places import Place, place_options, search_options, store_path
from toolog.sinks import lines

if TYPE_CHECKING:
    from toolog.report import Span
    from toolog.sinks.lines import Line

DETAILS = ("reason", "input", "output", "stdout", "stderr", "tags", "masked", "truncated")
_MARGIN = 12
"""Columns before what stands below a call."""
_FEWEST = 6
"""How many digits of a trace id are asked for, so that none fits by accident."""


@click.command("show", short_help="Show one trace as a waterfall, with inputs, outputs and errors.")
@click.argument("trace", metavar="TRACE")
@click.option("--all", "every", is_flag=True, help="Details of every call, not only of those that failed.")
@place_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    trace: str,
    every: bool,
    place: Place,
    as_json: bool,
) -> None:
    """Show when each call of TRACE ran, for how long, with what, and how it ended.

    TRACE is a trace id or a unique beginning of one (6 digits or more), as `toolog tail --tree` shows it.
    Above the waterfall stands when it began (in UTC) and where; below it input, output, error and stack of
    the calls that failed. The exit code is 1 when there is no such trace. With --from search it is read from
    Elasticsearch or OpenSearch.

    \b
    Example:
      toolog show 4bf92f3577b3 --all
      toolog show 4bf92f3577b3 --from search
    """
    trace = trace.lower()
    if trace.isascii() and not set(trace) <= set("0123456789abcdef"):
        raise click.UsageError(
            f"{trace!r} is no trace id, which has digits from 0 to f; `toolog tail --tree` shows them"
        )
    if len(trace) < _FEWEST:
        raise click.UsageError(f"{trace!r} is too short: {_FEWEST} digits of a trace id or more", ctx)
    damage = Damage()
    if place.kind == "search":
        from toolog.archive.cluster import read_trace

        records = read_trace(search_options(place), trace, damage)
    else:
        with open_store(store_path(place)) as store:
            records = store.trace(trace)
    if not records:
        click.echo(f"no trace begins with {trace!r}", err=True)
        ctx.exit(FOUND_NOTHING)
    if as_json:
        print_json_lines(records)
    else:
        _print(records, every)
    if damage.places:
        ctx.exit(FOUND_FAULTS)


def _print(records: list[dict[str, Any]], every: bool) -> None:
    """Print a trace for a reader."""
    from toolog import report

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 100
    found = report.spans(records)
    print_lines(_heading(records, found), fold=_MARGIN)
    print_lines(report.waterfall(records, width=min(width, 140), marks=marks()))
    for span in found:
        if every or span.failed:
            print_lines(_details(span), fold=_MARGIN)


def _heading(records: list[dict[str, Any]], found: list[Span]) -> Iterator[Line]:
    """Yield the lines that tell which trace it is, of when, of whom and from where."""
    first = found[0].record if found else records[0]
    failed = sum(span.failed for span in found)
    service, process = first.get("service"), first.get("process")
    around = {
        "session": first.get("session_id"),
        "service": service.get("name") if isinstance(service, Mapping) else None,
        "host": first.get("host"),
        "process": process.get("pid") if isinstance(process, Mapping) else None,
    }
    yield [("dim", "trace "), ("tool", lines.visible(first.get("trace_id")))]
    yield [
        ("text", f"{lines.date(first)} {lines.clock(first)} UTC"),
        ("text", f"  {len(found)} call{'' if len(found) == 1 else 's'}"),
        ("bad", f"  {failed} failed" if failed else ""),
    ]
    yield [("dim", "  ".join(f"{word} {lines.visible(told)}" for word, told in around.items() if told))]
    yield []


def _details(span: Span) -> Iterator[Line]:
    """Yield the lines that tell everything about one call."""
    record = span.record
    style = "bad" if span.failed else "tool"
    yield []
    name, status = lines.visible(record.get("tool_name")), lines.visible(record.get("status"))
    yield [(style, name), ("dim", f"  {status}  span {lines.visible(record.get('span_id'))}")]
    error = record.get("error")
    if isinstance(error, Mapping):
        yield from _error(error)
    for field in DETAILS:
        value = record.get(field)
        if value not in (None, {}, ""):
            yield from _field(field, value)


def _error(error: Mapping[str, Any]) -> Iterator[Line]:
    """Yield an error, its stack and its causes."""
    for position, one in enumerate([error, *(error.get("chain") or [])]):
        word = "error" if position == 0 else "cause"
        text = f"{lines.visible(one.get('type'))}: {lines.visible(one.get('message') or '')}"
        yield [("dim", f"  {word:<10}"), ("bad", text)]
        for note in one.get("notes") or []:
            for row in str(note).splitlines():
                yield [("dim", " " * _MARGIN), ("text", lines.visible(row))]
        for row in str(one.get("stack") or "").splitlines():
            yield [("dim", " " * _MARGIN + lines.visible(row))]


def _field(name: str, value: object) -> Iterator[Line]:
    """Yield one field, each line of its JSON or text below the other."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)
    for position, row in enumerate(text.splitlines() or [""]):
        yield [("dim", f"  {name if position == 0 else '':<10}"), ("text", lines.visible(row))]
