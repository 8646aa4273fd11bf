"""The tables of the store, and the numbered steps that bring an older database up to them.

Each record stands in the table of its event, its fields in columns of their own names; what is a list or an
object in the record is JSON text in its column. Every record table also has ``id`` (rises in the order of
arrival, over all tables), ``shape`` (which fields the record had, in which order; see ``shapes``) and
``extra`` (the whole document as JSON, only for a record that has fields this version does not know). Columns
that are no fields of the record are derived from it, so that they can be indexed: they are listed in DERIVED.

The version of a database stands in its ``user_version``; ``application_id`` says that it is one of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolog.store.counted import TABLES_AND_TRIGGER
from toolog.store.filters import AS_WORDS, NOTABLE, UNSUCCESSFUL

APPLICATION_ID = 0x746F6F6C
"""The bytes ``tool`` in the header of the database file."""

TEXT, INTEGER, NUMBER, JSON = "text", "integer", "number", "json"

FIELDS: dict[str, str] = {
    "schema_version": TEXT, "record_id": TEXT, "event": TEXT, "level": TEXT, "timestamp": TEXT,
    "trace_id": TEXT, "span_id": TEXT, "parent_id": TEXT, "depth": INTEGER, "depth_exceeded": JSON,
    "tool_name": TEXT, "tool": JSON, "tool_call_id": TEXT, "phase": TEXT, "status": TEXT,
    "duration_ms": NUMBER, "retry_count": INTEGER, "instance_id": TEXT, "session_id": TEXT, "tags": JSON,
    "service": JSON, "process": JSON, "host": TEXT, "masked": JSON, "truncated": JSON, "evaluation": JSON,
    "attempts": JSON, "message": TEXT, "logger": TEXT, "reason": TEXT, "count": INTEGER, "first": TEXT,
    "last": TEXT, "sink": TEXT, "config": JSON, "config_hash": TEXT, "created_at": TEXT,
    "recreated_from": TEXT, "error": JSON, "input": JSON, "output": JSON, "stdout": TEXT, "stderr": TEXT,
    "attributes": JSON, "stack_info": TEXT,
}  # fmt: skip
"""Every field of a record that has a column, and what it holds. Large fields come last: reading the small
ones is then fast.
"""

_ALWAYS = ("schema_version", "record_id", "event", "level", "timestamp")
_PLACE = ("trace_id", "span_id", "parent_id", "depth")
_AROUND = ("session_id", "tags", "service", "process", "host", "masked", "truncated")
_CALL = (
    *_ALWAYS, *_PLACE, "depth_exceeded", "tool_name", "tool", "tool_call_id", "phase", "status",
    "duration_ms", "retry_count", "instance_id", *_AROUND, "evaluation", "attempts", "error",
    "input", "output", "stdout", "stderr",
)  # fmt: skip


def _hold(document: Mapping[str, Any]) -> Any:
    tags = document.get("tags")
    held = tags.get("hold") if isinstance(tags, Mapping) else None
    return held if held is None or isinstance(held, str) else str(held)


def _inner(field: str, key: str) -> Callable[[Mapping[str, Any]], Any]:
    def take(document: Mapping[str, Any]) -> Any:
        found = document.get(field)
        value = found.get(key) if isinstance(found, Mapping) else None
        return value if isinstance(value, str | int | float) else None

    return take


DERIVED: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    "hold": ("tags", _hold),
    "error_type": ("error", _inner("error", "type")),
    "package": ("tool", _inner("tool", "package")),
    "class_name": ("tool", _inner("tool", "qualname")),
    "overall_score": ("evaluation", _inner("evaluation", "overall_score")),
    "passed": ("evaluation", _inner("evaluation", "passed")),
}
"""Derived column -> the field it is taken from, and how. It is NULL where the record has no such field."""


@dataclass(frozen=True, slots=True)
class Table:
    """A record table: its name, the record fields that have columns in it, its derived columns."""

    name: str
    fields: tuple[str, ...]
    derived: tuple[str, ...] = ("hold",)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order in which rows are inserted."""
        return ("id", "shape", *self.derived, *self.fields, "extra")


CALLS = Table("tool_calls", _CALL, ("hold", "error_type"))
STARTS = Table("tool_starts", _CALL, ("hold",))
INSTANCES = Table(
    "tool_instances",
    (
        *_ALWAYS, "instance_id", "tool", "config_hash", "created_at", "recreated_from",
        "trace_id", "span_id", *_AROUND, "config",
    ),
    ("hold", "package", "class_name"),
)  # fmt: skip
EVALUATIONS = Table(
    "evaluations",
    (*_ALWAYS, *_PLACE, "tool_name", "tool", "phase", "status", "instance_id", *_AROUND, "evaluation"),
    ("hold", "overall_score", "passed"),
)
LOGS = Table(
    "logs",
    (*_ALWAYS, *_PLACE, "tool_name", "logger", *_AROUND, "error", "message", "attributes", "stack_info"),
)
LOSSES = Table("losses", (*_ALWAYS, "reason", "count", "first", "last", "sink", *_AROUND))
OTHERS = Table("other_records", _ALWAYS)

TABLES = (CALLS, STARTS, INSTANCES, EVALUATIONS, LOGS, LOSSES, OTHERS)
"""The record tables. A record of an event that this version does not know stands in ``other_records``."""

EVENTS = {
    "tool_call_start": STARTS, "tool_call_success": CALLS, "tool_call_failed": CALLS,
    "tool_call_rejected": CALLS, "tool_call_cancelled": CALLS, "tool_instance": INSTANCES,
    "evaluation": EVALUATIONS, "log": LOGS, "loss": LOSSES,
}  # fmt: skip
"""Event -> the table its records stand in."""

_TYPES = {TEXT: "TEXT", INTEGER: "INTEGER", NUMBER: "", JSON: "TEXT"}
# A number has no declared type: REAL would turn 5 into 5.0, NUMERIC 5.0 into 5.


def _create(table: Table) -> list[str]:
    columns = ["id INTEGER PRIMARY KEY", "shape INTEGER NOT NULL"]
    columns += [
        f"{name} {'' if name in ('overall_score', 'passed') else 'TEXT'}".strip() for name in table.derived
    ]
    columns += [f'"{name}" {_TYPES[FIELDS[name]]}'.strip() for name in table.fields]
    columns.append("extra TEXT")
    return [
        f"CREATE TABLE {table.name} ({', '.join(columns)})",
        f"CREATE UNIQUE INDEX {table.name}_record ON {table.name} (record_id)",
        f"CREATE INDEX {table.name}_time ON {table.name} (timestamp)",
    ]


def _indexes() -> list[str]:
    statements = [
        f"CREATE INDEX {table.name}_trace ON {table.name} (trace_id) WHERE trace_id IS NOT NULL"
        for table in (CALLS, STARTS, EVALUATIONS, LOGS)
    ]
    statements += [
        f"CREATE INDEX {table.name}_session ON {table.name} (session_id) WHERE session_id IS NOT NULL"
        for table in (CALLS, STARTS, LOGS)
    ]
    return [
        *statements,
        # Holds all that the statistics read, so that they never touch the rows themselves.
        "CREATE INDEX tool_calls_figures ON tool_calls"
        " (tool_name, timestamp, status, duration_ms, error_type, instance_id)",
        "CREATE INDEX tool_instances_instance ON tool_instances (instance_id)",
    ]


_BESIDE = [
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "INSERT INTO meta VALUES ('next_id', 1), ('indexed_id', 0)",
    "CREATE TABLE shapes (id INTEGER PRIMARY KEY, fields TEXT NOT NULL UNIQUE)",
    "CREATE TABLE attempts (record_id TEXT NOT NULL, number INTEGER NOT NULL, started TEXT, duration_ms,"
    " status TEXT, error_type TEXT, error TEXT, PRIMARY KEY (record_id, number)) WITHOUT ROWID",
    "CREATE TABLE labels (id INTEGER PRIMARY KEY, record_id TEXT NOT NULL, label TEXT NOT NULL, author TEXT,"
    " note TEXT, created_at TEXT NOT NULL)",
    "CREATE INDEX labels_record ON labels (record_id)",
]


def _search_source() -> str:
    json = {name: AS_WORDS.format(name) for name in ("input", "output", "error")}
    return (
        "CREATE VIEW search_source AS"
        f" SELECT id, tool_name, {json['input']} AS input, {json['output']} AS output,"
        f" {json['error']} AS error, coalesce(stdout, '') || ' ' || coalesce(stderr, '') AS message"
        " FROM tool_calls UNION ALL"
        f" SELECT id, tool_name, {json['input']}, NULL, NULL, NULL FROM tool_starts UNION ALL"
        f" SELECT id, tool_name, NULL, NULL, {json['error']}, message FROM logs"
    )


_VIEWS = [
    # Every call, the ones without an end too.
    "CREATE VIEW calls AS SELECT id, record_id, level, timestamp, trace_id, span_id, parent_id, depth,"
    " session_id, tool_name, status, duration_ms, error_type,"
    " json_extract(error, '$.message') AS error_message, retry_count,"
    " instance_id, tool_call_id, input, output, tags, stdout, stderr FROM tool_calls UNION ALL"
    " SELECT id, record_id, level, timestamp, trace_id, span_id, parent_id, depth, session_id,"
    " tool_name, 'running', NULL, NULL, NULL,"
    " NULL, instance_id, tool_call_id, input, NULL, tags, NULL, NULL FROM tool_starts AS s"
    " WHERE NOT EXISTS"
    " (SELECT 1 FROM tool_calls AS c WHERE c.trace_id = s.trace_id AND c.span_id = s.span_id)",
    "CREATE VIEW errors AS SELECT id, timestamp, tool_name, status, error_type,"
    " json_extract(error, '$.message') AS message, trace_id, session_id, instance_id, record_id"
    " FROM tool_calls WHERE status <> 'success'",
    "CREATE VIEW tool_stats AS SELECT tool_name, count(*) AS calls, sum(status = 'success') AS successes,"
    " round(avg(status = 'success'), 4) AS success_rate, round(avg(duration_ms), 3) AS mean_ms,"
    " max(duration_ms) AS max_ms, min(timestamp) AS first, max(timestamp) AS last"
    " FROM tool_calls GROUP BY tool_name",
    # A call and the configured object it ran on.
    "CREATE VIEW instance_calls AS SELECT i.instance_id, i.package, i.class_name, i.config_hash, i.config,"
    " c.id AS call_id, c.timestamp, c.tool_name, c.status, c.duration_ms FROM tool_instances AS i"
    " JOIN tool_calls AS c ON c.instance_id = i.instance_id",
    # Judgements that came with the call, and those that came later.
    "CREATE VIEW scores AS SELECT trace_id, span_id, tool_name, timestamp, overall_score, passed, evaluation"
    " FROM evaluations UNION ALL SELECT trace_id, span_id, tool_name, timestamp,"
    " json_extract(evaluation, '$.overall_score'), json_extract(evaluation, '$.passed'), evaluation"
    " FROM tool_calls WHERE evaluation IS NOT NULL",
]

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    # 1: the tables
    (*(statement for table in TABLES for statement in _create(table)), *_indexes(), *_BESIDE),
    # 2: full-text search, and the views for users' own queries
    (
        _search_source(),
        "CREATE VIRTUAL TABLE search USING fts5(tool_name, input, output, error, message,"
        " content='search_source', content_rowid='id')",
        *_VIEWS,
    ),
    # 3: counts, so that questions to a large store need not read every call
    TABLES_AND_TRIGGER,
)
"""Step n (counted from 1) brings a database of version n - 1 to version n. Steps are only ever added at the
end, and none of them reads all rows: a large database is opened by them, too. What does is in INDEXES.
"""

INDEXES: dict[str, str] = {
    "tool_calls_unsuccessful":
        f"CREATE INDEX tool_calls_unsuccessful ON tool_calls (status) WHERE {UNSUCCESSFUL}",
    "tool_calls_notable": f"CREATE INDEX tool_calls_notable ON tool_calls (level) WHERE {NOTABLE}",
    "logs_notable": f"CREATE INDEX logs_notable ON logs (level) WHERE {NOTABLE}",
    # With the span: whether a start has an end is one look, however many calls the trace has.
    "tool_calls_trace":
        "CREATE INDEX tool_calls_trace ON tool_calls (trace_id, span_id) WHERE trace_id IS NOT NULL",
}  # fmt: skip
"""Indexes that came later than their tables. Without them every answer is the same, and slower; so a large
database gets them one by one while it is in use.
"""

VERSION = len(MIGRATIONS)
"""The version of a database that this toolog writes."""
