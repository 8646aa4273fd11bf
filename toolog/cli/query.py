"""`toolog query`: find calls by filters and text, or ask the database itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from toolog.cli.common import (
    FOUND_FAULTS,
    FOUND_NOTHING,
    Damage,
    check_reach,
    filter_options,
    find_reach,
    find_store,
    json_option,
    no_store,
    open_store,
    print_json_lines,
    print_lines,
    print_records,
    progress,
    reach_options,
    store_option,
)
from toolog.cli.places import KINDS, Place, archive_address, find_place, from_options, search_options
from toolog.cli.places import store_path as own_path
from toolog.errors import ConfigError
from toolog.sinks import lines

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_LOOKS = {
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "data_version",
}
"""Pragmas that tell how the database is made (the last one the full-text index asks for itself)."""
_VIRTUAL = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE %'"


@click.command("query", short_help="Find calls by filters and text, or by read-only SQL.")
@click.argument("words", metavar="[TEXT]...", nargs=-1)
@filter_options
@click.option("--instance", metavar="ID", help="Only calls of this tool instance.")
@click.option("--until", metavar="WHEN", help="Only before then.")
@click.option("--hold", metavar="GLOB", help="Only calls with a tag `hold` like this; '*' for all of them.")
@click.option("--limit", "-n", default=100, show_default=True, type=click.IntRange(1), help="How many calls.")
@click.option("--sql", metavar="SELECT", help="Ask in SQL instead; nothing can be changed by it.")
@from_options(*KINDS)
@click.option("--s3", "address", metavar="ADDRESS", help="Ask an archive: s3://bucket/prefix.")
@reach_options
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    tool: str | None,
    status: str | None,
    session: str | None,
    level: str | None,
    since: str | None,
    instance: str | None,
    until: str | None,
    hold: str | None,
    limit: int,
    sql: str | None,
    source: str | None,
    hosts: tuple[str, ...],
    namespace: str | None,
    dialect: str | None,
    address: str | None,
    endpoint_url: str | None,
    profile: str | None,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Find calls in the local store, in a search cluster or in an archive, newest first.

    TEXT are words that all stand in a tool's name, input, output, error or prints; '"two words"' in quotes of
    their own stand together, 'begin*' stands for its beginnings. The tables for --sql are described in
    docs/reference/store.md. The exit code is 1 when nothing was found. Times are in UTC, also those given
    without a zone.

    With --from search the same is asked of Elasticsearch or OpenSearch, by the hosts, the namespace and the
    credentials of the configured sink; what came within the last second may be missing. The cluster leaves
    out what the filters rule out; TEXT is looked for in all the rest, so say --since with it.

    With --from s3 it is asked of the configured archive, with --s3 of any in a bucket. What --since, --until
    and --level rule out is not read; name a policy in the address (s3://bucket/prefix/policy=error) to read
    only that. A bucket that is configured for an s3 sink is reached as that sink does.

    Damaged places, and what cannot be had, are told on stderr and stepped over; then the exit code is 1.

    \b
    Example:
      toolog query 'declined card' --status failed --since '1 day'
      toolog query --from search --tool 'payment.*' --status failed --since '1 day'
      toolog query --s3 s3://acme-toolog/calls --level ERROR --since '2 days'
      toolog query --sql 'select tool_name, count(*) from tool_calls group by 1'
    """
    text = " ".join(words) if words else None
    place = find_place(source, hosts, namespace, dialect)
    if source is not None and (store_path is not None or address is not None):
        raise click.UsageError("--from, --store and --s3 are three ways to say where; give one of them", ctx)
    if place.kind == "s3":
        address = archive_address(place)
    check_reach((address or "",), endpoint_url, profile)
    damage = Damage()
    if sql is not None:
        filters = (text, tool, status, session, level, since, instance, until, hold)
        if any(value is not None for value in filters):
            raise click.UsageError("--sql stands alone: put the filters into its WHERE", ctx)
        if address is not None or place.kind != "store":
            raise click.UsageError("--sql asks the store; other places take filters only", ctx)
        rows = _select(find_store(store_path or own_path(place)), sql)
        found = _print_rows(rows, as_json)
    else:
        asked: dict[str, Any] = {
            "text": text, "tool": tool, "status": status, "session": session, "level": level,
            "since": since, "instance": instance, "until": until, "hold": hold, "limit": limit,
        }  # fmt: skip
        if address is not None:
            if store_path is not None:
                raise click.UsageError("--store and --s3 are two places; ask one of them", ctx)
            calls = _ask_archive(address, find_reach(address, endpoint_url, profile), asked, damage)
        elif place.kind == "search":
            calls = _ask_cluster(place, asked, damage)
        else:
            with open_store(store_path or own_path(place)) as store:
                calls = store.calls(**asked)
        found = len(calls)
        if as_json:
            print_json_lines(calls)
        else:
            print_records(calls, indent=False)
    if not found:
        click.echo("nothing was found", err=True)
        ctx.exit(FOUND_NOTHING)
    if damage.places:
        ctx.exit(FOUND_FAULTS)


def _ask_archive(
    address: str, reach: dict[str, Any], asked: dict[str, Any], damage: Damage
) -> list[dict[str, Any]]:
    from toolog.archive.bucket import is_address
    from toolog.archive.places import find_objects
    from toolog.archive.question import Question
    from toolog.archive.selection import ask, select

    if not is_address(address):
        raise ConfigError(f"--s3 takes an address like s3://bucket/prefix, not {address!r}")
    question = Question(**asked)
    needed = select(find_objects(address, reach), question)
    with progress("reading", sum(one.size for one in needed)) as read:
        return ask(needed, question, damage, read)


def _ask_cluster(place: Place, asked: dict[str, Any], damage: Damage) -> list[dict[str, Any]]:
    from toolog.archive.cluster import ask
    from toolog.archive.question import Question

    return ask(search_options(place), Question(**asked), damage)


def _select(path: Path, sql: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one statement that only reads."""
    if not path.exists():
        raise no_store(path)
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        for table in connection.execute(_VIRTUAL).fetchall():  # opening one asks for more than reading it
            connection.execute(f'SELECT 1 FROM "{table[0]}" LIMIT 0')
        connection.set_authorizer(_allow_reading)
        connection.row_factory = sqlite3.Row
        for row in connection.execute(sql):
            yield dict(row)
    except (sqlite3.Error, sqlite3.Warning) as error:
        if "authoriz" in str(error):
            raise ConfigError(f"--sql may only read: {error}") from error
        is_ours = isinstance(error, sqlite3.OperationalError | sqlite3.Warning | sqlite3.ProgrammingError)
        raise ConfigError(f"{'--sql' if is_ours else path}: {error}") from error
    finally:
        connection.close()


def _allow_reading(action: int, first: str | None, *_: object) -> int:
    """Refuse everything but reading: a read-only connection could still attach and write other files."""
    may = action in _READS or (action == sqlite3.SQLITE_PRAGMA and first in _LOOKS)
    return sqlite3.SQLITE_OK if may else sqlite3.SQLITE_DENY


def _print_rows(rows: Iterator[dict[str, Any]], as_json: bool) -> int:
    """Print rows as JSON lines or as a table, and return how many there were."""
    if as_json:
        return print_json_lines(
            {key: value.hex() if isinstance(value, bytes) else value for key, value in row.items()}
            for row in rows
        )
    from toolog import report

    held = list(rows)
    if held:
        head = [lines.visible(name) for name in held[0]]
        cells = [["" if value is None else lines.visible(value) for value in row.values()] for row in held]
        print_lines(report.table(head, cells, widest=80))
    return len(held)
