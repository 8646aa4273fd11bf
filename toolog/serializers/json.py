"""JSON, written and read by orjson."""

from __future__ import annotations

from typing import Any

import orjson
import ormsgpack

from toolog.errors import SerializationError

_OPTIONS = (
    orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
)


class JsonSerializer:
    """JSON in UTF-8 without blanks; one document a line in files (``.jsonl``)."""

    name = "json"
    code = 0
    suffix = ".jsonl"

    def dumps(self, document: Any) -> bytes:
        """Return a document as JSON; raises SerializationError for what is no plain data."""
        try:
            return orjson.dumps(document, None, _OPTIONS)
        except (TypeError, ValueError, RecursionError) as error:
            raise SerializationError(f"no plain data: {error}") from error

    def loads(self, data: bytes) -> Any:
        """Return the document in JSON bytes; raises SerializationError when they are damaged."""
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            is_text = "UTF-8" not in error.msg
            why = f"{error.msg} at character {error.pos + 1}" if is_text else "it is no text in UTF-8"
            raise SerializationError(f"damaged JSON: {why}") from error
        except (ValueError, TypeError, RecursionError) as error:
            raise SerializationError(f"damaged JSON: {error}") from error

    def from_packed(self, packed: bytes) -> bytes:
        """Return the document in MessagePack bytes as JSON."""
        try:
            document = ormsgpack.unpackb(packed)
        except (ValueError, TypeError, RecursionError) as error:
            raise SerializationError(f"damaged MessagePack: {error}") from error
        return self.dumps(document)


serializer = JsonSerializer()
