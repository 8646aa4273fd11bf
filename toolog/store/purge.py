"""Deleting what retention no longer keeps; what carries the tag ``hold`` stays.

Deleted bytes are overwritten, the log is emptied and free pages are given back, so what was deleted is gone
from the file. In the full-text index single words of deleted records stay, without their order, until its
parts are merged; a purge merges them for up to MERGE_SECONDS.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from toolog.errors import StoreUnavailable
from toolog.levels import level_name, parse_level
from toolog.store.database import Database
from toolog.store.documents import to_json
from toolog.store.filters import Where, moment
from toolog.store.schema import TABLES, Table
from toolog.store.writer import forget

CHUNK = 500
"""Records deleted in one transaction: writers wait no longer than that takes."""
MERGE_SECONDS = 30.0
"""Seconds a purge spends at most on merging the full-text index; the next one goes on where it ended."""


@dataclass(slots=True)
class Purged:
    """How many records were deleted (or would be), and how many are old enough but on hold."""

    deleted: int = 0
    held: int = 0


def purge(
    database: Database,
    levels: Iterable[str | int] | None,
    before: str | float | datetime,
    *,
    dry_run: bool = False,
) -> Purged:
    """Delete the records of these levels (None: all) that are older than ``before``.

    Raises StoreUnavailable when the database cannot be written now; what was deleted until then stays
    deleted.
    """
    where = Where()
    where.add("timestamp < ?", moment(before, "before"))
    if levels is not None:
        names = sorted({level_name(parse_level(level)) for level in levels})
        where.add(f"level IN ({', '.join('?' * len(names))})", *names)
    result = Purged()
    with database.reading() as connection:
        for table in TABLES:
            deletable, held = connection.execute(
                f"SELECT count(*) - count(hold), count(hold) FROM {table.name} WHERE {where.sql}",
                where.parameters,
            ).fetchone()
            result.held += held
            if dry_run:
                result.deleted += deletable
    if dry_run:
        return result
    for table in TABLES:
        reached = ""
        while True:
            # Outside of the transaction, from where the last ones ended: what stays is passed over once.
            with database.reading() as connection:
                found = connection.execute(
                    f"SELECT id, timestamp FROM {table.name} WHERE {where.sql} AND hold IS NULL"
                    " AND timestamp >= ? ORDER BY timestamp LIMIT ?",
                    (*where.parameters, reached, CHUNK),
                ).fetchall()
            if found:
                reached = found[-1][1]
                result.deleted += _delete(database, table, [row[0] for row in found])
            if len(found) < CHUNK:
                break
    if result.deleted:
        _give_back(database)
    return result


def _delete(database: Database, table: Table, ids: list[int]) -> int:
    """Delete those of the rows that are still there, in one transaction; return how many they were."""
    with database.writing() as connection:
        there = connection.execute(
            f"SELECT id FROM {table.name} WHERE id IN (SELECT value FROM json_each(?))", (to_json(ids),)
        ).fetchall()
        indexed = connection.execute("SELECT value FROM meta WHERE key = 'indexed_id'").fetchone()[0]
        forget(connection, table, [row[0] for row in there], indexed)
    return len(there)


def _merge_index(database: Database) -> None:
    """Merge the full-text index step by step: until then it keeps the words of deleted records as deleted
    words.
    """
    end = time.monotonic() + MERGE_SECONDS
    pages = -64  # negative for the first step: take all parts of the index, however few they are
    while time.monotonic() < end:
        with database.writing() as connection:
            before = connection.total_changes
            connection.execute("INSERT INTO search (search, rank) VALUES ('merge', ?)", (pages,))
            if connection.total_changes - before < 2:
                return
        pages = 64


def _give_back(database: Database) -> None:
    """Shrink the file; not being able to (a reader is at work) is no failure, the next purge does it."""
    try:
        _merge_index(database)
        database.shrink()
    except (StoreUnavailable, sqlite3.Error):
        pass
