"""Record documents made by hand, for the tests of sinks, store and reports."""

from __future__ import annotations

import time
from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"
DAY = 86_400.0


def call(number: int, **fields: Any) -> dict[str, Any]:
    """Return the document of a successful call; ``fields`` replace or add, None included."""
    document: dict[str, Any] = {
        "schema_version": "1.0",
        "record_id": f"{number:032x}",
        "event": "tool_call_success",
        "level": "INFO",
        "timestamp": f"2026-11-30T12:{number // 60 % 60:02d}:{number % 60:02d}.000000Z",
        "trace_id": TRACE,
        "span_id": f"{number + 1:016x}",
        "parent_id": None,
        "depth": 0,
        "tool_name": "search",
        "status": "success",
        "input": {"query": f"shoes {number}"},
        "output": [{"id": number, "name": "Läufer 日本 🥿"}],
        "duration_ms": 12.5,
    }
    return {**document, **fields}


def failed(number: int, kind: str = "ValueError", message: str = "refused", **fields: Any) -> dict[str, Any]:
    """Return the document of a failed call."""
    error = {"type": kind, "message": message, "stack": []}
    document = call(
        number, event="tool_call_failed", level="ERROR", status="execution_error", error=error, **fields
    )
    document.pop("output", None)
    return document


def started(number: int, **fields: Any) -> dict[str, Any]:
    """Return the document of a call's start; its end is ``call(number)`` with another record_id."""
    document = call(number, event="tool_call_start", level="DEBUG", **fields)
    document["record_id"] = f"start-{number}"
    for name in ("status", "output", "duration_ms"):
        document.pop(name, None)
    return document


def log(number: int, message: str, **fields: Any) -> dict[str, Any]:
    """Return the document of a log line outside any trace, unless ``fields`` say otherwise."""
    return {
        "schema_version": "1.0",
        "record_id": f"log-{number}",
        "event": "log",
        "level": "INFO",
        "timestamp": f"2026-11-30T12:{number // 60 % 60:02d}:{number % 60:02d}.500000Z",
        "message": message,
        "logger": "shop",
        **fields,
    }


def instance(number: int, config: dict[str, Any], config_hash: str, **fields: Any) -> dict[str, Any]:
    """Return the document of a tool instance."""
    return {
        "schema_version": "1.0",
        "record_id": f"instance-{number}",
        "event": "tool_instance",
        "level": "INFO",
        "timestamp": "2026-11-30T11:00:00.000000Z",
        "instance_id": f"i{number}",
        "tool": {"package": "shop", "module": "shop.search", "qualname": "Search"},
        "config": config,
        "config_hash": config_hash,
        "created_at": "2026-11-30T11:00:00.000000Z",
        **fields,
    }


def loss(number: int, count: int) -> dict[str, Any]:
    """Return the document of a loss."""
    return {
        "schema_version": "1.0",
        "record_id": f"loss-{number}",
        "event": "loss",
        "level": "WARNING",
        "timestamp": "2026-11-30T12:00:00.000000Z",
        "reason": "queue_full",
        "count": count,
        "first": "2026-11-30T11:59:00.000000Z",
        "last": "2026-11-30T12:00:00.000000Z",
        "sink": None,
    }


def aged_log(number: int, level: str, age: float, hold: str | None = None) -> dict[str, Any]:
    """Return a log record of that age in seconds."""
    moment = time.gmtime(time.time() - age)
    return {
        "schema_version": "1.0",
        "record_id": f"{number:032x}",
        "event": "log",
        "level": level,
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", moment),
        "logger": "app",
        "message": str(number),
        **({"tags": {"hold": hold}} if hold else {}),
    }


def aged_records() -> list[dict[str, Any]]:
    """Return log records of several levels and ages, some of them on hold."""
    return [
        aged_log(1, "INFO", 2 * DAY),
        aged_log(2, "INFO", 3600),
        aged_log(3, "ERROR", 2 * DAY),
        aged_log(4, "ERROR", 31 * DAY),
        aged_log(5, "CRITICAL", 31 * DAY, hold="case 4711"),
        aged_log(6, "WARNING", 2 * DAY, hold="case 4711"),
    ]
