"""What a serializer is: a name, a code, and bytes out and in."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

COMPACT = 255
"""The code of the short form that only the spool knows (see `toolog.serializers.compact`)."""


@runtime_checkable
class Serializer(Protocol):
    """Turns plain data (see `toolog.snapshot`) into bytes and back.

    ``name`` is what configuration calls it. ``code`` stands in each frame of the spool and says how its
    payload is to be read: 0 is JSON, 1 MessagePack, others are free up to 254. ``suffix`` ends the names of
    its files.

    The law, kept by one contract suite: ``loads(dumps(document)) == document`` for every document of plain
    data, so all serializers read back the same. What is no plain data raises SerializationError, as do
    damaged bytes.
    """

    name: str
    code: int
    suffix: str

    def dumps(self, document: Any) -> bytes:
        """Return a document as bytes; raises SerializationError for what is no plain data."""
        ...

    def loads(self, data: bytes) -> Any:
        """Return the document that bytes hold; raises SerializationError for damaged bytes."""
        ...

    def from_packed(self, packed: bytes) -> bytes:
        """Return a document that is given in MessagePack (the form of a sealed record) in this serializer's
        form."""
        ...
