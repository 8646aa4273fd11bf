"""Questions to the store whose answers are numbers: how many, how often right, how fast.

Latency figures are over calls that ran (a rejected call never did); percentiles are by nearest rank: p95 is
the smallest duration that at least 95 % of the calls did not exceed. The success rate is over all calls that
ended.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from toolog.store.documents import from_json
from toolog.store.filters import GROUPS, Where
from toolog.store.queries import UNENDED
from toolog.store.schema import TABLES

_NEVER_RAN = frozenset(GROUPS["rejected"])


@dataclass(slots=True)
class _Tally:
    """What is counted of a group of calls."""

    statuses: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    durations: array[float] = field(default_factory=lambda: array("d"))
    first: str = ""
    last: str = ""
    instances: set[str] = field(default_factory=set)

    def add(self, timestamp: str, status: str, duration: Any, error: str | None) -> None:
        """Count one call."""
        self.statuses[status] += 1
        if error is not None:
            self.errors[error] += 1
        if isinstance(duration, int | float) and status not in _NEVER_RAN:
            self.durations.append(duration)
        if not self.first or timestamp < self.first:
            self.first = timestamp
        self.last = max(self.last, timestamp)

    def figures(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        total = self.statuses.total()
        return {
            "calls": total,
            "successes": self.statuses["success"],
            "success_rate": self.statuses["success"] / total if total else None,
            "statuses": dict(self.statuses.most_common()),
            "errors": dict(self.errors.most_common()),
            "duration_ms": _latency(self.durations),
            "first": self.first or None,
            "last": self.last or None,
        }


def percentile(ordered: array[float] | list[float], share: float) -> float | None:
    """Return the nearest-rank percentile (``share`` from 0 to 1) of numbers in rising order; None of none."""
    if not len(ordered):
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _latency(durations: array[float]) -> dict[str, float | None]:
    ordered = array("d", sorted(durations))
    return {
        "mean": math.fsum(ordered) / len(ordered) if ordered else None,
        "p50": percentile(ordered, 0.50),
        "p95": percentile(ordered, 0.95),
        "p99": percentile(ordered, 0.99),
        "max": ordered[-1] if ordered else None,
    }


def stats(connection: sqlite3.Connection, where: Where) -> dict[str, Any]:
    """Return the figures of all calls under a condition, of each tool, and of each configuration of tool
    instances.
    """
    configs = {
        instance: (config_hash, package, class_name)
        for instance, config_hash, package, class_name in connection.execute(
            "SELECT instance_id, config_hash, package, class_name FROM tool_instances"
            " WHERE instance_id IS NOT NULL"
        )
    }
    every = _Tally()
    tools: dict[str, _Tally] = {}
    instances: dict[tuple[str, str, str], _Tally] = {}
    rows = connection.execute(
        "SELECT tool_name, timestamp, status, duration_ms, error_type, instance_id FROM tool_calls"
        f" WHERE {where.sql}",
        where.parameters,
    )
    for tool, timestamp, status, duration, error, instance in rows:
        tally = tools.get(tool)
        if tally is None:
            tally = tools[tool] = _Tally()
        tally.add(timestamp, status, duration, error)
        every.add(timestamp, status, duration, error)
        if instance is not None:
            key = configs.get(instance, ("", "", ""))
            of_config = instances.setdefault(key, _Tally())
            of_config.add(timestamp, status, duration, error)
            of_config.instances.add(instance)
    running = connection.execute(
        f"SELECT count(*) FROM tool_starts WHERE {where.sql} AND {UNENDED}", where.parameters
    ).fetchone()[0]
    dropped = connection.execute('SELECT coalesce(sum("count"), 0) FROM losses').fetchone()[0]
    return {
        **every.figures(),
        "running": running,
        "dropped": dropped,
        "tools": [
            {"tool_name": name, **tally.figures()}
            for name, tally in sorted(
                tools.items(), key=lambda entry: (-entry[1].statuses.total(), str(entry[0]))
            )
        ],
        "configs": [
            {
                "config_hash": key[0],
                "package": key[1],
                "class_name": key[2],
                "instances": len(tally.instances),
                **tally.figures(),
            }
            for key, tally in sorted(instances.items(), key=lambda entry: -entry[1].statuses.total())
        ],
    }


def instances(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the tool instances, newest first, each with its config and how its calls went."""
    counted = {
        instance: (calls, successes, last)
        for instance, calls, successes, last in connection.execute(
            "SELECT instance_id, count(*), sum(status = 'success'), max(timestamp) FROM tool_calls"
            " WHERE instance_id IS NOT NULL GROUP BY instance_id"
        )
    }
    found = []
    for row in connection.execute(
        "SELECT instance_id, package, class_name, config_hash, created_at, timestamp, recreated_from, config"
        " FROM tool_instances ORDER BY id DESC"
    ):
        calls, successes, last = counted.get(row[0], (0, 0, None))
        found.append(
            {
                "instance_id": row[0],
                "package": row[1],
                "class_name": row[2],
                "config_hash": row[3],
                "created_at": row[4] or row[5],
                "recreated_from": row[6],
                "config": None if row[7] is None else from_json(row[7]),
                "calls": calls,
                "successes": successes,
                "last_call": last,
            }
        )
    return found


def sessions(connection: sqlite3.Connection, limit: int) -> list[dict[str, Any]]:
    """Return the sessions, the one with the newest call first: when, how many calls and traces, how many
    failed.
    """
    names = (
        "session_id",
        "first",
        "last",
        "calls",
        "traces",
        "failed",
        "tools",
    )
    rows = connection.execute(
        "SELECT session_id, min(timestamp), max(timestamp), count(*), count(DISTINCT trace_id),"
        " sum(status <> 'success'), count(DISTINCT tool_name) FROM tool_calls WHERE session_id IS NOT NULL"
        " GROUP BY session_id ORDER BY max(timestamp) DESC LIMIT ?",
        (limit,),
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many records each table holds."""
    return {
        table.name: connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0] for table in TABLES
    }
