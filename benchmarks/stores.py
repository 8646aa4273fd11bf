"""A local store with as many calls as asked for, made fast enough to have ten million of them.

The first calls are written by the store's own writer. The others are copies of those rows by SQL, each copy
an hour later, with ids, traces and record ids of its own; the indexes are taken away meanwhile and made again
from their own statements. The result is what the writer would have made, but for the full-text index, which
holds the first calls only.
"""

from __future__ import annotations

import random
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from toolog import store

BASE = 10_000
"""Calls that the writer writes: one every 0.36 seconds, which makes an hour of them."""
FIRST = datetime(2025, 1, 1)
TOOLS = [f"shop.tool_{number}" for number in range(12)]
COPIED = ("tool_calls", "tool_starts")
CALLS_OF_A_TRACE = 5


def fill(path: Path, calls: int) -> None:
    """Make a store with so many ended calls, each with its start: five to a trace, one in fifty failed."""
    with store.open(path) as opened:
        opened.write(documents(min(calls, BASE)))
        while opened.index():
            pass
    copies = calls // BASE - 1
    if copies > 0:
        connection = sqlite3.connect(path, isolation_level=None)
        _copy(connection, copies)
        connection.close()


def documents(calls: int) -> list[dict[str, Any]]:
    """Return the records of the first hour, starts and ends, as a program makes them."""
    chance = random.Random(calls)
    found: list[dict[str, Any]] = []
    for number in range(calls):
        failed = number % 50 == 7
        moment = FIRST + timedelta(seconds=number * 0.36)
        trace = number // CALLS_OF_A_TRACE
        common: dict[str, Any] = {
            "schema_version": "1.0",
            "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "trace_id": f"{0:08x}{trace * 2654435761 % 2**32:08x}{trace:016x}",
            "span_id": f"{number + 1:016x}",
            "parent_id": None if number % CALLS_OF_A_TRACE == 0 else f"{trace * CALLS_OF_A_TRACE + 1:016x}",
            "depth": int(number % CALLS_OF_A_TRACE != 0),
            "tool_name": chance.choice(TOOLS),
            "input": {"query": f"lamp {number}", "limit": 20},
            "instance_id": f"i{number % 20}",
            "session_id": f"order-{number // 25}",
        }
        key = chance.getrandbits(96)
        start = {**common, "record_id": f"{0:08x}{key:024x}", "event": "tool_call_start", "level": "DEBUG"}
        end = {
            **common,
            "record_id": f"{1:08x}{key:024x}",
            "event": "tool_call_failed" if failed else "tool_call_success",
            "level": "ERROR" if failed else "INFO",
            "status": "execution_error" if failed else "success",
            "duration_ms": round(chance.lognormvariate(3, 1), 3),
        }
        if failed:
            end["error"] = {"type": "shop.Unavailable", "message": "no stock", "stack": []}
        else:
            end["output"] = [{"sku": f"A-{row}", "title": "walnut desk lamp"} for row in range(4)]
        found += (start, end)
    return found


def _copy(connection: sqlite3.Connection, copies: int) -> None:
    """Add the rows that are there so many times more."""
    for pragma in ("synchronous = off", "cache_size = -262144", "wal_autocheckpoint = 20000"):
        connection.execute(f"PRAGMA {pragma}")
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN (?, ?)",
        COPIED,
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    step = connection.execute("SELECT value FROM meta WHERE key = 'next_id'").fetchone()[0] - 1
    statements = [_statement(connection, table) for table in COPIED]
    for number in range(1, copies + 1):
        moment = FIRST + timedelta(hours=number)
        values = {
            "last": step,
            "step": number * step,
            "mark": f"{number + 1:08x}",
            "hour": moment.strftime("%Y-%m-%dT%H"),
        }
        connection.execute("BEGIN")
        for statement in statements:
            connection.execute(statement, values)
        connection.execute("COMMIT")
    connection.execute(
        "UPDATE meta SET value = ? WHERE key IN ('next_id', 'indexed_id')", (step * (copies + 1) + 1,)
    )
    connection.execute("UPDATE meta SET value = value - 1 WHERE key = 'indexed_id'")
    for _, sql in indexes:
        connection.execute(sql)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _statement(connection: sqlite3.Connection, table: str) -> str:
    """Return the statement that copies a table's first rows, an hour or more later."""
    changed = {
        "id": "id + :step",
        "timestamp": ":hour || substr(timestamp, 14)",
        "trace_id": ":mark || substr(trace_id, 9)",
        "record_id": "substr(record_id, 1, 1) || substr(:mark, 2) || substr(record_id, 9)",
        "session_id": "session_id || '-' || :mark",
    }
    if table == "tool_calls":
        changed["record_id"] = "'e' || substr(:mark, 2) || substr(record_id, 9)"
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    picked = ", ".join(changed.get(name, f'"{name}"') for name in columns)
    return f"INSERT INTO {table} SELECT {picked} FROM {table} WHERE id <= :last"
