"""Which fields of a record the search document knows, and in which kind each is indexed.

The index template, the way into a search document and the way back all read these tables.
"""

from __future__ import annotations

from typing import Any, Final

KEYWORD: Final[dict[str, Any]] = {"type": "keyword", "ignore_above": 1024}
TEXT: Final[dict[str, Any]] = {"type": "text", "norms": False}
LONG: Final[dict[str, Any]] = {"type": "long", "ignore_malformed": True}
DOUBLE: Final[dict[str, Any]] = {"type": "double", "ignore_malformed": True}
DATE: Final[dict[str, Any]] = {"type": "date", "ignore_malformed": True}
BOOLEAN: Final[dict[str, Any]] = {"type": "boolean"}
FLAT: Final[dict[str, Any]] = {"type": "flat"}
"""Stands for what a server calls its type for objects with any keys; see ``template``."""
UNINDEXED: Final[dict[str, Any]] = {"type": "object", "enabled": False}

OTHER = "other"
"""The field for what the tables do not know: kept, given back, not indexed."""

RENAMED: Final = {"stack": "stack_trace"}
"""Field of an object in a record -> its name in the search document."""

_MESSAGE: dict[str, Any] = {**TEXT, "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
_CHAIN: dict[str, Any] = {"type": KEYWORD, "message": TEXT, "notes": TEXT}
ERROR: dict[str, Any] = {
    "type": KEYWORD, "message": _MESSAGE, "notes": TEXT, "stack": TEXT, "chain": _CHAIN,
}  # fmt: skip
ATTEMPT: dict[str, Any] = {"started": DATE, "duration_ms": DOUBLE, "status": KEYWORD, "error": ERROR}

FIELDS: dict[str, dict[str, Any]] = {
    "schema_version": KEYWORD,
    "record_id": KEYWORD,
    "event": KEYWORD,
    "level": KEYWORD,
    "timestamp": DATE,
    "trace_id": KEYWORD,
    "span_id": KEYWORD,
    "parent_id": KEYWORD,
    "depth": LONG,
    "depth_exceeded": KEYWORD,
    "tool_name": KEYWORD,
    "tool": {
        "module": KEYWORD, "qualname": KEYWORD, "package": KEYWORD, "version": KEYWORD, "type": KEYWORD,
        "description": TEXT,
    },
    "tool_call_id": KEYWORD,
    "phase": KEYWORD,
    "status": KEYWORD,
    "input": FLAT,
    "output": FLAT,
    "error": ERROR,
    "duration_ms": DOUBLE,
    "attempts": ATTEMPT,
    "retry_count": LONG,
    "instance_id": KEYWORD,
    "config": FLAT,
    "config_hash": KEYWORD,
    "created_at": DATE,
    "recreated_from": KEYWORD,
    "session_id": KEYWORD,
    "tags": FLAT,
    "evaluation": {"overall_score": DOUBLE, "scores": FLAT, "details": FLAT, "passed": BOOLEAN},
    "stdout": TEXT,
    "stderr": TEXT,
    "message": TEXT,
    "logger": KEYWORD,
    "attributes": FLAT,
    "reason": KEYWORD,
    "count": LONG,
    "first": DATE,
    "last": DATE,
    "sink": KEYWORD,
    "lost_level": KEYWORD,
    "masked": FLAT,
    "truncated": FLAT,
    "service": {"name": KEYWORD, "version": KEYWORD, "environment": KEYWORD},
    "process": {"pid": LONG, "thread": KEYWORD, "task": KEYWORD},
    "host": KEYWORD,
}  # fmt: skip
"""Field of a record -> how it is indexed; a table without ``type`` as text is an object's own fields."""


def is_object(shape: dict[str, Any]) -> bool:
    """Whether a shape is a table of an object's fields, not a kind of index."""
    return not isinstance(shape.get("type"), str)


FLAT_FIELDS: tuple[str, ...] = tuple(name for name, shape in FIELDS.items() if shape is FLAT)
