"""Questions to the store whose answers are numbers: how many, how often right, how fast.

Latency figures are over calls that ran (a rejected call never did); percentiles are by nearest rank: p95 is
the smallest duration that at least 95 % of the calls did not exceed. The success rate is over all calls that
ended.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeAlias

from toolog.store import counted
from toolog.store.counted import Counted
from toolog.store.documents import from_json
from toolog.store.filters import GROUPS, Where
from toolog.store.schema import TABLES

_NEVER_RAN = frozenset(GROUPS["rejected"])


@dataclass(slots=True)
class _Tally:
    """What is counted of a group of calls: one by one, or many alike at once, of which ``bands`` has the mean
    duration and the number.
    """

    statuses: Counter[str | None] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    durations: array[float] = field(default_factory=lambda: array("d"))
    bands: Counter[float] = field(default_factory=Counter)
    total: float = 0.0
    longest: float = -math.inf
    first: str = ""
    last: str = ""

    def add(self, timestamp: str, status: str, duration: Any, error: str | None) -> None:
        """Count one call."""
        self.statuses[status] += 1
        if error is not None:
            self.errors[error] += 1
        if isinstance(duration, int | float) and status not in _NEVER_RAN:
            self.durations.append(duration)
        if not self.first or timestamp < self.first:
            self.first = timestamp
        if timestamp > self.last:
            self.last = timestamp

    def add_counted(self, alike: Counted) -> None:
        """Count calls that were counted before."""
        self.statuses[alike.status] += alike.calls
        if alike.error_type is not None:
            self.errors[alike.error_type] += alike.calls
        if alike.total is not None and alike.longest is not None:
            self.bands[alike.total / alike.calls] += alike.calls
            self.total += alike.total
            self.longest = max(self.longest, alike.longest)
        self._span(alike.first, alike.last)

    def merge(self, other: _Tally) -> None:
        """Count all that another one has counted."""
        self.statuses.update(other.statuses)
        self.errors.update(other.errors)
        self.durations += other.durations
        self.bands.update(other.bands)
        self.total += other.total
        self.longest = max(self.longest, other.longest)
        self._span(other.first, other.last)

    def _span(self, first: str, last: str) -> None:
        self.first = min(self.first, first) if self.first else first
        self.last = max(self.last, last)

    def figures(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        total = self.statuses.total()
        return {
            "calls": total,
            "successes": self.statuses["success"],
            "success_rate": self.statuses["success"] / total if total else None,
            "statuses": dict(self.statuses.most_common()),
            "errors": dict(self.errors.most_common()),
            "duration_ms": self._latency(),
            "first": self.first or None,
            "last": self.last or None,
        }

    def _latency(self) -> dict[str, float | None]:
        ordered: _Ordered
        if self.bands:
            weights = self.bands.copy()
            weights.update(self.durations)
            ordered = _Weighted(weights)
        else:
            ordered = array("d", sorted(self.durations))
        count = len(ordered)
        longest = max(self.longest, max(self.durations, default=-math.inf))
        return {
            "mean": (math.fsum(self.durations) + self.total) / count if count else None,
            "p50": percentile(ordered, 0.50),
            "p95": percentile(ordered, 0.95),
            "p99": percentile(ordered, 0.99),
            "max": longest if count else None,
        }


class _Weighted:
    """Numbers in rising order, each as often as it weighs."""

    def __init__(self, weights: Counter[float]) -> None:
        self._numbers = sorted(weights)
        self._ends = list(accumulate(weights[number] for number in self._numbers))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, place: int) -> float:
        return self._numbers[bisect_right(self._ends, place)]


_Ordered: TypeAlias = "array[float] | list[float] | _Weighted"


def percentile(ordered: _Ordered, share: float) -> float | None:
    """Return the nearest-rank percentile (``share`` from 0 to 1) of numbers in rising order; None of none."""
    if not len(ordered):
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def stats(connection: sqlite3.Connection, where: Where) -> dict[str, Any]:
    """Return the figures of all calls under a condition, of each tool, and of each configuration of tool
    instances.

    Without a condition, calls that were counted before are not read again; see ``toolog.store.counted``.
    """
    tools: dict[str | None, _Tally] = defaultdict(_Tally)
    of_instances: dict[str, _Tally] = defaultdict(_Tally)
    of_calls = where
    if not where.conditions:
        for alike in counted.read(connection, "tool"):
            tools[alike.name].add_counted(alike)
        for alike in counted.read(connection, "instance"):
            of_instances[alike.name or ""].add_counted(alike)
        of_calls = Where(["id > ?"], [counted.counted_id(connection)])
    for tool, timestamp, status, duration, error, instance in _rows(connection, of_calls):
        tools[tool].add(timestamp, status, duration, error)
        if instance is not None:
            of_instances[instance].add(timestamp, status, duration, error)
    every = _Tally()
    for tally in tools.values():
        every.merge(tally)
    unended = counted.running(connection)
    running = connection.execute(
        f"SELECT count(*) FROM tool_starts WHERE {where.sql} AND {unended.sql}",
        (*where.parameters, *unended.parameters),
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
        "configs": _of_configs(connection, of_instances),
    }


_TOOLS = (
    "WITH RECURSIVE names(name) AS (SELECT min(tool_name) FROM tool_calls UNION ALL"
    " SELECT (SELECT min(tool_name) FROM tool_calls WHERE tool_name > name) FROM names"
    " WHERE name IS NOT NULL) SELECT name FROM names"
)
"""The names of all tools, each found by one look into the index that begins with them."""


def _rows(connection: sqlite3.Connection, where: Where) -> Iterator[tuple[Any, ...]]:
    """Yield what figures are made of, of each call under a condition, from an index wherever there is one."""
    conditions = [where.sql]
    if where.conditions and all(one.startswith("timestamp ") for one in where.conditions):
        # The index that has all of it begins with the tool; left to itself, SQLite takes the one of times and
        # fetches every row.
        conditions = [f"{where.sql} AND tool_name {which}" for which in (f"IN ({_TOOLS})", "IS NULL")]
    for condition in conditions:
        yield from connection.execute(
            "SELECT tool_name, timestamp, status, duration_ms, error_type, instance_id FROM tool_calls"
            f" WHERE {condition}",
            where.parameters,
        )


def _of_configs(connection: sqlite3.Connection, tallies: Mapping[str, _Tally]) -> list[dict[str, Any]]:
    """Return the figures of each configuration, from those of its instances."""
    known = {
        instance: (config_hash, package, class_name)
        for instance, config_hash, package, class_name in connection.execute(
            "SELECT instance_id, config_hash, package, class_name FROM tool_instances"
            " WHERE instance_id IS NOT NULL"
        )
    }
    configs: dict[tuple[str, str, str], _Tally] = defaultdict(_Tally)
    instances: Counter[tuple[str, str, str]] = Counter()
    for instance, tally in tallies.items():
        key = known.get(instance, ("", "", ""))
        configs[key].merge(tally)
        instances[key] += 1
    return [
        {
            "config_hash": key[0],
            "package": key[1],
            "class_name": key[2],
            "instances": instances[key],
            **tally.figures(),
        }
        for key, tally in sorted(configs.items(), key=lambda entry: -entry[1].statuses.total())
    ]


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
