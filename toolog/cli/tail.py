"""`toolog tail`: the newest calls, as lines or as trees, and new ones as they come."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolog.cli.common import (
    FOUND_FAULTS,
    FOUND_NOTHING,
    Damage,
    filter_options,
    find_store,
    json_option,
    marks,
    open_store,
    print_json_lines,
    print_lines,
    print_records,
    today,
)
from toolog.cli.places import Place, place_options, search_options, store_path
from toolog.errors import ConfigError, StoreUnavailable
from toolog.sinks import lines

if TYPE_CHECKING:
    from toolog.store import Store

POLL = 0.2
"""Seconds between two looks at the store with --follow."""
LOOK_ON = 200
"""How many calls beyond --limit are looked for, to tell with --tree that they are there."""
_ENDS = {"tool_call_success", "tool_call_failed", "tool_call_rejected", "tool_call_cancelled"}


@click.command("tail", short_help="Show the newest tool calls, as lines or as trees; follow new ones.")
@click.option(
    "--tree", is_flag=True, help="One tree for each piece of work, with prints and log lines in place."
)
@click.option("--follow", "-f", is_flag=True, help="Go on with new calls until Ctrl-C.")
@click.option("--limit", "-n", default=20, show_default=True, type=click.IntRange(1), help="How many calls.")
@filter_options
@place_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    tree: bool,
    follow: bool,
    limit: int,
    tool: str | None,
    status: str | None,
    session: str | None,
    level: str | None,
    since: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Show the newest calls of the local store, or of a search cluster (--from search), oldest first.

    With --tree the chosen calls stand in their traces: which call made which, what they printed and logged,
    grouped by session; below them stands how many older calls --limit left out. With --follow new calls are
    added as they end; a store that is not there yet, or was moved away, is waited for. Times are in UTC, also
    those given without a zone. The exit code is 1 when no call was found.

    \b
    Example:
      toolog tail --tree --session order-1002
      toolog tail --follow --status failed
      toolog tail --from search --tree --session order-1002
    """
    filters: dict[str, Any] = {
        "tool": tool, "status": status, "session": session, "level": level, "since": since
    }  # fmt: skip
    damage = Damage()
    if place.kind == "search":
        if follow:
            raise click.UsageError("--follow follows a local store", ctx)
        found = _tail_cluster(place, {**filters, "limit": limit}, damage, tree=tree, as_json=as_json)
    else:
        found = _tail_store(store_path(place), filters, limit, tree, follow, as_json)
    if not found:
        click.echo("no call was found", err=True)
        ctx.exit(FOUND_NOTHING)
    if damage.places:
        ctx.exit(FOUND_FAULTS)


def _tail_cluster(
    place: Place, asked: dict[str, Any], damage: Damage, *, tree: bool, as_json: bool
) -> list[dict[str, Any]]:
    """Show the newest calls of a search cluster, and return them."""
    from toolog.archive.cluster import ask, read_trace
    from toolog.archive.question import Question

    options = search_options(place)
    limit = asked["limit"]
    several = ask(options, Question(**{**asked, "limit": _how_many(limit, tree, as_json)}), damage)
    found = several[:limit][::-1]
    if tree:
        _print_trees(lambda trace: read_trace(options, trace, damage), found, as_json)
        _tell_older(found, several[limit:])
    else:
        _print_calls(found, as_json)
    return found


def _tail_store(
    path: Path | None, filters: dict[str, Any], limit: int, tree: bool, follow: bool, as_json: bool
) -> list[dict[str, Any]]:
    """Show the newest calls of a store, and those that come; return the first of them."""
    file = find_store(path)
    if follow:
        _wait_for(file)
    with open_store(path) as store:
        begun = _identity(file)
        after = store.last_id()
        several = store.calls(**filters, limit=_how_many(limit, tree, as_json))
        found = several[:limit][::-1]
        if tree:
            _print_trees(store.trace, found, as_json)
            _tell_older(found, several[limit:])
        else:
            _print_calls(found, as_json)
        if not follow:
            return found
        sys.stdout.flush()
        _print_new(store, begun, after, filters, tree, as_json)
    while True:  # the file was moved away: go on with the one that takes its place, from its beginning
        _wait_for(file)
        try:
            with open_store(path) as store:
                _print_new(store, _identity(file), 0, filters, tree, as_json)
        except ConfigError:
            if file.exists():  # it is no store, or a newer one; else it was moved away again
                raise


def _print_new(
    store: Store,
    begun: tuple[int, int] | None,
    after: int,
    filters: Mapping[str, Any],
    tree: bool,
    as_json: bool,
) -> None:
    """Print the calls that end behind the id ``after``, until another file stands where ``begun`` did."""
    for call in _new_calls(store, begun, after, filters):
        if tree:
            _print_trees(store.trace, [call], as_json)
        else:
            _print_calls([call], as_json)
        sys.stdout.flush()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _wait_for(path: Path) -> None:
    """Wait until there is a store: who follows may come before the program that records."""
    if not _is_made(path):
        click.echo(f"waiting for {lines.visible(str(path))}, where nothing is recorded yet", err=True)
        while not _is_made(path):
            time.sleep(POLL)


def _is_made(path: Path) -> bool:
    """Whether there is a store, or something else whose fault is told when it is opened."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return path.exists()
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as held:
            return held.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None
    except sqlite3.OperationalError:  # it is being made just now
        return False
    except sqlite3.Error:
        return True


def _print_calls(found: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json_lines(found)
    else:
        print_records(found)


def _print_trees(
    read: Callable[[str], list[dict[str, Any]]], found: list[dict[str, Any]], as_json: bool
) -> None:
    """Print the whole traces of some calls, each once; ``read`` gives a trace's records."""
    traces = dict.fromkeys(str(call["trace_id"]) for call in found if call.get("trace_id"))
    records = [record for trace in traces for record in read(trace)]
    if as_json:
        print_json_lines(records)
    elif records:
        from toolog import report

        print_lines(report.tree(records, marks=marks(), today=today()))


def _how_many(limit: int, tree: bool, as_json: bool) -> int:
    """Return how many calls to ask for: with trees for people some more than are shown."""
    return limit + LOOK_ON if tree and not as_json else limit


def _tell_older(found: list[dict[str, Any]], older: list[dict[str, Any]]) -> None:
    """Say below trees which of the ``older`` calls do not stand in them, and how to see those."""
    shown = {call.get("trace_id") for call in found}
    hidden = sum(call.get("trace_id") not in shown for call in older)
    limit = len(found) + len(older)
    if len(older) == LOOK_ON:
        text = f"more calls are older; -n {limit} shows more"
    elif hidden:
        calls, them = ("call", "it") if hidden == 1 else ("calls", "them")
        text = f"{hidden} more {calls}; -n {limit} shows {them}"
    else:
        return
    print_lines([[("dim", text)]])


def _new_calls(
    store: Store, begun: tuple[int, int] | None, after: int, filters: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield calls that end from now on and pass the filters, until another file stands in the store's
    place.
    """
    from toolog.levels import parse_level
    from toolog.store.filters import statuses

    wanted = None if filters["status"] is None else statuses(filters["status"])
    least = 0 if filters["level"] is None else parse_level(filters["level"])
    while True:
        news = _read_news(store, begun, after)
        if _identity(store.path) != begun:  # after reading: these may be the other file's already
            return
        for number, record in news:
            after = number
            if (
                record["event"] in _ENDS
                and (filters["tool"] is None or fnmatch.fnmatchcase(record["tool_name"], filters["tool"]))
                and (wanted is None or record["status"] in wanted)
                and (filters["session"] is None or record.get("session_id") == filters["session"])
                and parse_level(record["level"]) >= least
            ):
                yield record
        if not news:
            time.sleep(POLL)


def _read_news(store: Store, begun: tuple[int, int] | None, after: int) -> list[tuple[int, dict[str, Any]]]:
    """Return what came behind the id ``after``; nothing while another program locks the store, or when it was
    moved away. Raises StoreUnavailable when it is damaged.
    """
    from toolog.store.connections import is_busy

    try:
        return store.follow(after)
    except StoreUnavailable as error:
        if _identity(store.path) == begun and not is_busy(error.__cause__):
            raise
        return []
