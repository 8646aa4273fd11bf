"""Records of tool calls that come back as copies: through a queue, a socket or a pickle of `logging`.

What a ``QueueHandler`` or ``SocketHandler`` passes on of our record is a plain LogRecord with sanitized data
only; its attribute ``toolog`` is the whole document. A handler that gets it makes the same record of it
again, which goes the way of every other one, sanitizer included.
"""

from __future__ import annotations

import logging
from typing import Any

from toolog import schema
from toolog.call import pack_pairs
from toolog.levels import level_of
from toolog.record import ToolRecord

_FACTS = (
    "schema_version", "record_id", "event", "level", "timestamp", "trace_id", "span_id", "parent_id", "depth",
    "depth_exceeded", "tool_name", "tool", "phase", "status", "duration_ms", "retry_count", "instance_id",
    "config_hash", "created_at", "recreated_from", "logger", "reason", "count", "first", "last", "sink",
    "lost_level", "service", "process", "host",
)  # fmt: skip
"""What a record says of itself; the rest is content, which a sanitizer reads again."""


class CopiedRecord(ToolRecord):
    """A record made of a document; what was masked before it left counts with what is masked now."""

    _masked: dict[str, int]

    def assemble(self, tail: bytes, count: int, masked: dict[str, int] | None = None) -> bytes:
        """Return what `ToolRecord.assemble` does."""
        together = dict(self._masked)
        for rule, number in (masked or {}).items():
            together[rule] = together.get(rule, 0) + number
        return super().assemble(tail, count, together)


def record_from_copy(line: logging.LogRecord) -> CopiedRecord | None:
    """Return the record that a log line is the copy of; None for any other line, whatever it says it is.

    The document comes from a pickle perhaps, so all of it must be as the schema says.
    """
    document: Any = line.__dict__.get("toolog")
    if type(document) is not dict or "record_id" not in document or next(schema.iter_faults(document), None):
        return None
    facts = {key: document[key] for key in _FACTS if key in document}
    content = {key: value for key, value in document.items() if key not in facts and key != "masked"}
    record = CopiedRecord(
        None,
        document["event"],
        level_of(line),
        document.get("status"),
        None,
        pack_pairs(content),
        len(content),
    )
    record.name = line.name
    if stamped := line.__dict__.get("toolog_sanitizer"):  # by a filter
        record.toolog_sanitizer = stamped
    record._head, record._head_count = pack_pairs(facts), len(facts)
    record._masked = document.get("masked") or {}
    return record
