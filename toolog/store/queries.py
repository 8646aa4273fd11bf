"""Questions to the store whose answers are records: calls by filters, a trace, one record, what is new.

Every function takes an open reading connection and runs inside its snapshot.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from toolog.store import counted, filters
from toolog.store.documents import Shapes, document_of, to_json
from toolog.store.filters import RUNNING, UNSUCCESSFUL, Where
from toolog.store.schema import CALLS, EVALUATIONS, LOGS, STARTS, TABLES, Table

Found: TypeAlias = tuple[int, dict[str, Any]]
"""A record document with its ``id`` in the store."""

WINDOW = 50_000
"""So many of the last rows are looked through, in some 20 ms, before an index is asked."""


def load_shapes(connection: sqlite3.Connection) -> Shapes:
    """Return the shapes as they stand in this snapshot."""
    shapes = Shapes()
    shapes.load(connection.execute("SELECT id, fields FROM shapes").fetchall())
    return shapes


def select(
    connection: sqlite3.Connection, shapes: Shapes, table: Table, where: Where, order: str, limit: int
) -> Iterator[Found]:
    """Yield the documents of a table's rows under a condition."""
    columns = ", ".join(f'"{name}"' for name in table.columns)
    statement = f"SELECT {columns} FROM {table.name} WHERE {where.sql} ORDER BY {order} LIMIT ?"
    for row in connection.execute(statement, (*where.parameters, limit)):
        yield row[0], document_of(table, row, shapes)


def newest(
    connection: sqlite3.Connection, shapes: Shapes, table: Table, where: Where, limit: int
) -> Iterator[Found]:
    """Yield the newest documents of a table under a condition, reading few rows however many there are.

    Often they are among the last rows of all. Where they are not, an index finds the ids first; left to
    itself, SQLite would read the whole table backwards, or whole rows of all that the index finds.
    """
    if not where.conditions or where.is_narrow:
        yield from select(connection, shapes, table, where, "id DESC", limit)
        return
    recent = Where([*where.conditions, "id > ?"], [*where.parameters, last_id(connection) - WINDOW])
    ids = [
        row[0]
        for row in connection.execute(
            f"SELECT id FROM {table.name} NOT INDEXED WHERE {recent.sql} ORDER BY id DESC LIMIT ?",
            (*recent.parameters, limit),
        )
    ]
    if len(ids) < limit:
        ids = [
            row[0]
            for row in connection.execute(
                f"SELECT id FROM {table.name} WHERE {where.sql} ORDER BY +id DESC LIMIT ?",
                (*where.parameters, limit),
            )
        ]
    chosen = Where(["id IN (SELECT value FROM json_each(?))"], [to_json(ids)])
    yield from select(connection, shapes, table, chosen, "id DESC", limit)


def calls(
    connection: sqlite3.Connection,
    where: Where,
    *,
    status: str | Sequence[str] | None = None,
    limit: int = 100,
    newest_first: bool = True,
) -> list[Found]:
    """Return ended calls, and those that began and have no end (their ``status`` is ``running``), by
    arrival.
    """
    shapes = load_shapes(connection)
    wanted = None if status is None else filters.statuses(status)
    order = "id DESC" if newest_first else "id"
    found: list[list[Found]] = []
    ended = [name for name in wanted or () if name != RUNNING]
    if wanted is None or ended:
        condition = Where([*where.conditions], [*where.parameters], where.is_narrow)
        if ended:
            condition.add(f"status IN ({', '.join('?' * len(ended))})", *ended)
            if "success" not in ended:
                condition.add(UNSUCCESSFUL)
        if newest_first:
            found.append(list(newest(connection, shapes, CALLS, condition, limit)))
        else:
            found.append(list(select(connection, shapes, CALLS, condition, order, limit)))
    if wanted is None or RUNNING in wanted:
        unended = counted.running(connection)
        condition = Where([*where.conditions, *unended.conditions], [*where.parameters, *unended.parameters])
        running = select(connection, shapes, STARTS, condition, order, limit)
        found.append([(number, {**document, "status": RUNNING}) for number, document in running])
    merged = heapq.merge(*found, key=lambda entry: entry[0], reverse=newest_first)
    return [entry for entry, _ in zip(merged, range(limit), strict=False)]


def logs(connection: sqlite3.Connection, where: Where, *, limit: int, newest_first: bool) -> list[Found]:
    """Return log lines by arrival."""
    shapes = load_shapes(connection)
    if newest_first:
        return list(newest(connection, shapes, LOGS, where, limit))
    return list(select(connection, shapes, LOGS, where, "id", limit))


def trace(connection: sqlite3.Connection, trace_id: str) -> list[dict[str, Any]]:
    """Return all records of a trace by time: calls, starts, log lines, evaluations."""
    shapes = load_shapes(connection)
    where = Where(["trace_id = ?"], [trace_id])
    found: list[Found] = []
    for table in TABLES:
        if "trace_id" in table.fields:
            found += select(connection, shapes, table, where, "id", -1)
    found.sort(key=lambda entry: (str(entry[1].get("timestamp", "")), entry[0]))
    return [document for _, document in found]


def trace_ids(connection: sqlite3.Connection, beginning: str, limit: int = 20) -> list[str]:
    """Return the trace ids that begin so, in order."""
    found: set[str] = set()
    for table in (CALLS, STARTS, LOGS, EVALUATIONS):
        found.update(
            row[0]
            for row in connection.execute(
                f"SELECT DISTINCT trace_id FROM {table.name} WHERE trace_id >= ? AND trace_id < ? LIMIT ?",
                (beginning, beginning + "\U0010ffff", limit),
            )
        )
    return sorted(found)[:limit]


def record(connection: sqlite3.Connection, record_id: str) -> dict[str, Any] | None:
    """Return the record with this id, field for field as it was stored, or None."""
    shapes = load_shapes(connection)
    for table in TABLES:
        for _, document in select(connection, shapes, table, Where(["record_id = ?"], [record_id]), "id", 1):
            return document
    return None


def follow(
    connection: sqlite3.Connection, after: int, limit: int, tables: Iterable[Table] = TABLES
) -> list[Found]:
    """Return the records of all kinds that arrived after the id ``after``, oldest first, at most
    ``limit``.
    """
    shapes = load_shapes(connection)
    where = Where(["id > ?"], [after])
    found = [list(select(connection, shapes, table, where, "id", limit)) for table in tables]
    merged = heapq.merge(*found, key=lambda entry: entry[0])
    return [entry for entry, _ in zip(merged, range(limit), strict=False)]


def last_id(connection: sqlite3.Connection) -> int:
    """Return the id of the newest record, 0 when there is none."""
    return int(connection.execute("SELECT value FROM meta WHERE key = 'next_id'").fetchone()[0]) - 1


def add_search(connection: sqlite3.Connection, where: Where, text: str, columns: Sequence[str]) -> None:
    """Add to ``where`` that a record has all words of ``text``; right also for what the index does not hold
    yet.

    ``columns``: those in which a record of the table that is asked has texts.
    """
    where.is_narrow = True
    query = filters.match(text)
    scanned = filters.scan(text, columns)
    if filters.needs_scan(text) or not query:
        where.conditions += scanned.conditions
        where.parameters += scanned.parameters
        return
    indexed = connection.execute("SELECT value FROM meta WHERE key = 'indexed_id'").fetchone()[0]
    if indexed >= last_id(connection):
        where.add("id IN (SELECT rowid FROM search WHERE search MATCH ?)", query)
        return
    where.add(
        f"(id IN (SELECT rowid FROM search WHERE search MATCH ?) OR (id > ? AND {scanned.sql}))",
        query,
        indexed,
        *scanned.parameters,
    )
