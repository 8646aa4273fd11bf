"""What is counted once and for all, so that questions to a large store need not read every row.

Of the calls up to the id ``counted_id`` (in ``meta``) the table ``counted`` says how many there are of each
tool and of each instance, by status, type of error, and duration in narrow bands. ``unended`` holds the
starts up to that id that have no end. Both are brought up to date in steps, and stay behind the newest record
by LAG ids: what a small store is asked for comes from its rows, to the last digit. A call that is deleted, by
whomever, is taken out of ``counted`` by a trigger.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from toolog.store.filters import GROUPS, Where

if TYPE_CHECKING:
    from toolog.store.database import Database

LAG = 20_000
"""So many of the newest ids are not counted yet: few enough to be read as rows."""
STEP = 20_000
"""Ids counted in one transaction: writers wait no longer than that takes, some 50 ms."""

UNENDED = (
    "NOT EXISTS (SELECT 1 FROM tool_calls AS c WHERE c.trace_id = tool_starts.trace_id"
    " AND c.span_id = tool_starts.span_id)"
)
"""Condition on ``tool_starts``: the call has no end."""

_NEVER_RAN = ", ".join(f"'{status}'" for status in GROUPS["rejected"])


class Counted(NamedTuple):
    """How many calls of one tool or instance ended alike, and when the first and last of them began.

    ``total`` is the sum of their durations in ms, which differ by a twentieth at most, ``longest`` the
    longest of them; both None where no duration counts.
    """

    name: str | None
    status: str | None
    error_type: str | None
    calls: int
    total: float | None
    longest: float | None
    first: str
    last: str


def _ran(row: str = "") -> str:
    """Return the expression for a call's duration, NULL where it did not run or nobody measured it."""
    return (
        f"CASE WHEN typeof({row}duration_ms) IN ('integer', 'real')"
        f" AND coalesce({row}status, '') NOT IN ({_NEVER_RAN}) THEN {row}duration_ms END"
    )


def _band(row: str = "") -> str:
    """Return the expression for a duration's band: its square to two digits, finer than two of its own."""
    ran = f"({_ran(row)})"
    return f"CASE WHEN {ran} IS NULL THEN '' ELSE printf('%.1e', {ran} * {ran}) END"


def _uncount(kind: str, column: str) -> str:
    """Return the statements by which a deleted call is taken out of what is counted by a column."""
    key = (
        f"kind = '{kind}' AND name = coalesce(old.{column}, '') AND status = coalesce(old.status, '')"
        f" AND error_type = coalesce(old.error_type, '') AND band = {_band('old.')}"
    )
    return (
        f"UPDATE counted SET calls = calls - 1, total_ms = total_ms - {_ran('old.')} WHERE {key};"
        f" DELETE FROM counted WHERE {key} AND calls < 1;"
    )


TABLES_AND_TRIGGER = (
    "CREATE TABLE counted (kind TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL,"
    " error_type TEXT NOT NULL, band TEXT NOT NULL, calls INTEGER NOT NULL, total_ms, longest_ms,"
    " first TEXT NOT NULL, last TEXT NOT NULL,"
    " PRIMARY KEY (kind, name, status, error_type, band)) WITHOUT ROWID",
    "CREATE TABLE unended (id INTEGER PRIMARY KEY)",
    "INSERT INTO meta VALUES ('counted_id', 0)",
    "CREATE TRIGGER tool_calls_uncounted AFTER DELETE ON tool_calls"
    " WHEN old.id <= (SELECT value FROM meta WHERE key = 'counted_id')"
    f" BEGIN {_uncount('tool', 'tool_name')} {_uncount('instance', 'instance_id')} END",
)
"""What a migration of the store makes."""

_ROWS = (
    "SELECT coalesce(tool_name, ''), instance_id, coalesce(status, ''), coalesce(error_type, ''),"
    f" {_band()}, {_ran()}, coalesce(timestamp, '') FROM tool_calls WHERE id > ? AND id <= ?"
)
_ADD = (
    "INSERT INTO counted VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
    " calls = calls + excluded.calls, total_ms = total_ms + excluded.total_ms,"
    " longest_ms = max(longest_ms, excluded.longest_ms),"
    " first = min(first, excluded.first), last = max(last, excluded.last)"
)


def count_on(database: Database) -> int:
    """Count at most STEP ids more, in one transaction; returns how many could be counted still.

    Raises StoreUnavailable when the store cannot be written now.
    """
    with database.writing() as connection:
        return count_in(connection)


def count_in(connection: sqlite3.Connection) -> int:
    """Do so inside the caller's transaction."""
    meta = dict(
        connection.execute("SELECT key, value FROM meta WHERE key IN ('next_id', 'counted_id')").fetchall()
    )
    last: int = meta["counted_id"]
    newest: int = meta["next_id"] - 1 - LAG
    upto = min(newest, last + STEP)
    if upto <= last:
        return 0
    counts = _count(connection.execute(_ROWS, (last, upto)))
    connection.executemany(_ADD, ((*key, *values) for key, values in counts.items()))
    connection.execute(
        "DELETE FROM unended WHERE NOT EXISTS"
        f" (SELECT 1 FROM tool_starts WHERE id = unended.id AND {UNENDED})"
    )
    connection.execute(
        f"INSERT INTO unended SELECT id FROM tool_starts WHERE id > ? AND id <= ? AND {UNENDED}",
        (last, upto),
    )
    connection.execute("UPDATE meta SET value = ? WHERE key = 'counted_id'", (upto,))
    return newest - upto


def _count(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, ...], list[Any]]:
    """Return what rows add to ``counted``: its key, and the values behind it."""
    # Not by GROUP BY: SQLite sorts for that, which takes twice as long.
    counts: dict[tuple[str, ...], list[Any]] = {}
    for tool, instance, status, error, band, ran, timestamp in rows:
        keys = [("tool", tool, status, error, band)]
        if instance is not None:
            keys.append(("instance", instance, status, error, band))
        for key in keys:
            values = counts.get(key)
            if values is None:
                counts[key] = [1, ran, ran, timestamp, timestamp]
                continue
            values[0] += 1
            if ran is not None:
                values[1] += ran
                values[2] = max(values[2], ran)
            if timestamp < values[3]:
                values[3] = timestamp
            elif timestamp > values[4]:
                values[4] = timestamp
    return counts


def counted_id(connection: sqlite3.Connection) -> int:
    """Return up to which id everything is counted."""
    return int(connection.execute("SELECT value FROM meta WHERE key = 'counted_id'").fetchone()[0])


def read(connection: sqlite3.Connection, kind: str) -> Iterator[Counted]:
    """Yield what is counted of each ``tool`` or ``instance``."""
    for name, status, error_type, *rest in connection.execute(
        "SELECT name, status, error_type, calls, total_ms, longest_ms, first, last FROM counted"
        " WHERE kind = ?",
        (kind,),
    ):
        yield Counted(name or None, status or None, error_type or None, *rest)


def running(connection: sqlite3.Connection) -> Where:
    """Return the condition on ``tool_starts`` that a call has no end, by which only few are looked at."""
    # Those that were counted without an end are asked again: it may have come since.
    return Where(
        ["id IN (SELECT id FROM unended UNION ALL SELECT id FROM tool_starts WHERE id > ?)", UNENDED],
        [counted_id(connection)],
    )
