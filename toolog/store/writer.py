"""Writing a batch of record documents into the store: one transaction, each record once.

The full-text index is not kept up to date here: it costs about twice as much as storing the record itself.
What is not indexed yet is indexed when writing is calm (:func:`index`), and at the latest by the next search.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolog.store.database import Database
from toolog.store.documents import Shapes, attempts_of
from toolog.store.schema import TABLES, Table

_BINDING = (
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    OverflowError,
    UnicodeError,
    ValueError,
)
# What sqlite3 raises for a value that it cannot hold; it says nothing about the database.

CHUNK = 64
"""Rows made before they are handed to SQLite: so few are still in the processor's cache by then."""

_SEARCH_COLUMNS = "tool_name, input, output, error, message"


@dataclass(slots=True)
class Written:
    """What became of a batch: how many records were stored now, how many had been before, which were refused
    and why.
    """

    stored: int = 0
    again: int = 0
    rejected: dict[str, str] = field(default_factory=dict)


def write(database: Database, shapes: Shapes, documents: Iterable[Mapping[str, Any]]) -> Written:
    """Store documents in one transaction; a ``record_id`` that is there already is left as it is.

    Raises StoreUnavailable when nothing could be stored.
    """
    written = Written()
    with database.writing() as connection:
        shapes.load(connection.execute("SELECT id, fields FROM shapes").fetchall())
        first = number = connection.execute("SELECT value FROM meta WHERE key = 'next_id'").fetchone()[0]
        rows: dict[str, list[tuple[Any, ...]]] = {table.name: [] for table in TABLES}
        attempts: list[tuple[Any, ...]] = []
        for document in documents:
            record_id = document.get("record_id")
            if not isinstance(record_id, str) or not record_id:
                written.rejected[str(record_id)] = "a record without a record_id"
                continue
            try:
                plan, row = shapes.row(number, document)
            except (*_BINDING, TypeError, RecursionError) as error:
                written.rejected[record_id] = f"{type(error).__name__}: {error}"
                continue
            waiting = rows[plan.table.name]
            waiting.append(row)
            number += 1
            if len(waiting) == CHUNK:
                _insert(connection, plan.table, waiting, written)
                waiting.clear()
            if plan.has_attempts:
                attempts += attempts_of(document)
        if shapes.fresh:
            connection.executemany("INSERT INTO shapes VALUES (?, ?)", shapes.fresh)
        for table in TABLES:
            if rows[table.name]:
                _insert(connection, table, rows[table.name], written)
        if attempts:
            _insert_attempts(connection, attempts)
        if number != first:
            connection.execute("UPDATE meta SET value = ? WHERE key = 'next_id'", (number,))
    return written


def _insert(
    connection: sqlite3.Connection, table: Table, batch: list[tuple[Any, ...]], written: Written
) -> None:
    statement = f"INSERT OR IGNORE INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})"
    before = connection.total_changes
    try:
        connection.executemany(statement, batch)
    except _BINDING:
        # One of them cannot be held: each alone, so that only that one is refused. Those already in are
        # ignored again.
        refused = 0
        place = table.columns.index("record_id")
        for row in batch:
            try:
                connection.execute(statement, row)
            except _BINDING as error:
                refused += 1
                written.rejected[str(row[place])] = f"{type(error).__name__}: {error}"
        written.again -= refused
    stored = connection.total_changes - before
    written.stored += stored
    written.again += len(batch) - stored


def _insert_attempts(connection: sqlite3.Connection, attempts: list[tuple[Any, ...]]) -> None:
    statement = "INSERT OR IGNORE INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?)"
    for row in attempts:
        try:
            connection.execute(statement, row)
        except _BINDING:
            continue  # the call's own row has all of it as JSON


def index(database: Database, at_most: int = 2000) -> int:
    """Bring the full-text index up to date by at most ``at_most`` records; returns how many ids are still not
    indexed.
    """
    with database.writing() as connection:
        meta = dict(
            connection.execute(
                "SELECT key, value FROM meta WHERE key IN ('next_id', 'indexed_id')"
            ).fetchall()
        )
        last, newest = meta["indexed_id"], meta["next_id"] - 1
        upto = min(newest, last + at_most)
        if upto > last:
            connection.execute(
                f"INSERT INTO search (rowid, {_SEARCH_COLUMNS})"
                f" SELECT id, {_SEARCH_COLUMNS} FROM search_source WHERE id > ? AND id <= ?",
                (last, upto),
            )
            connection.execute("UPDATE meta SET value = ? WHERE key = 'indexed_id'", (upto,))
    return int(newest - upto)


def forget(connection: sqlite3.Connection, table: Table, ids: list[int], indexed_id: int) -> None:
    """Delete rows and what hangs on them (index entries, attempts, labels), inside the caller's
    transaction.
    """
    known = [(number,) for number in ids if number <= indexed_id]
    if table.name in ("tool_calls", "tool_starts", "logs"):
        connection.executemany(
            f"INSERT INTO search (search, rowid, {_SEARCH_COLUMNS})"
            f" SELECT 'delete', id, {_SEARCH_COLUMNS} FROM search_source WHERE id = ?",
            known,
        )
    doomed = [(number,) for number in ids]
    owned = f"record_id IN (SELECT record_id FROM {table.name} WHERE id = ?)"
    if table.name == "tool_calls":
        connection.executemany(f"DELETE FROM attempts WHERE {owned}", doomed)
        connection.executemany(f"DELETE FROM labels WHERE {owned}", doomed)
    connection.executemany(f"DELETE FROM {table.name} WHERE id = ?", doomed)
