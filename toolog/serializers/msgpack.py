"""MessagePack, written and read by ormsgpack; what it writes any MessagePack library reads, and the
reverse."""

from __future__ import annotations

from typing import Any

import ormsgpack

from toolog.errors import SerializationError

_OPTIONS = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_UUID
)


class MsgpackSerializer:
    """MessagePack maps, one behind the other in files (``.msgpack``)."""

    name = "msgpack"
    code = 1
    suffix = ".msgpack"

    def dumps(self, document: Any) -> bytes:
        """Return a document as MessagePack; raises SerializationError for what is no plain data."""
        try:
            packed: bytes = ormsgpack.packb(document, None, _OPTIONS)
        except (TypeError, ValueError, RecursionError) as error:
            raise SerializationError(f"no plain data: {error}") from error
        return packed

    def loads(self, data: bytes) -> Any:
        """Return the document in MessagePack bytes; raises SerializationError when they are damaged.

        Bytes behind the document are not looked at.
        """
        try:
            return ormsgpack.unpackb(data)
        except (ValueError, TypeError, RecursionError) as error:
            raise SerializationError(f"damaged MessagePack: {error}") from error

    def from_packed(self, packed: bytes) -> bytes:
        """Return the bytes as they are: they are MessagePack already."""
        return packed


serializer = MsgpackSerializer()
