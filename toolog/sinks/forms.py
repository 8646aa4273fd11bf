"""A record's bytes as they stand in files and objects: a JSON line, or a MessagePack map."""

from __future__ import annotations

from typing import Any

import orjson
import ormsgpack

from toolog.errors import SerializationError
from toolog.sinks.base import JSON, MSGPACK, SinkRecord, decode

FORMS = {"jsonl": JSON, "msgpack": MSGPACK}
"""Name of a form -> serializer code of what stands in it."""


def bytes_in(record: SinkRecord, code: int, document: dict[str, Any] | None = None) -> bytes:
    """Return a record in the form of a serializer code, a JSON line with its line feed.

    What is in that form already is not looked at; ``document`` is what the record says, where that is known.
    Raises SerializationError for what is no record, or cannot be written so.
    """
    if record.serializer == code == MSGPACK:
        return record.data
    if record.serializer == code == JSON and b"\n" not in record.data:
        return record.data + b"\n"
    if document is None:  # not record.decode(), which keeps it: a large batch would be in memory twice
        document = decode(record.data, record.serializer)
    try:
        if code == MSGPACK:
            packed: bytes = ormsgpack.packb(document)
            return packed
        return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    except (TypeError, ValueError) as error:
        raise SerializationError(
            f"cannot be written as {'MessagePack' if code else 'JSON'}: {error}"
        ) from error
