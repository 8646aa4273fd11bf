"""The bytes of one object, the same for the same records: one zstd frame of MessagePack maps, or of JSON
lines."""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from toolog.errors import SerializationError
from toolog.sinks.base import SinkRecord
from toolog.sinks.forms import FORMS, bytes_in

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """An object's bytes: ``body``, how many ``records`` are in it, the highest ``level`` number among them,
    ``rejected`` (record_id -> reason) for what is no record, and ``crc32`` of the body, in base64.
    """

    body: bytes
    records: int
    level: int
    rejected: dict[str, str] = field(default_factory=dict)

    @property
    def crc32(self) -> str:
        """The body's CRC-32 as S3 writes it."""
        return base64.b64encode(zlib.crc32(self.body).to_bytes(4, "big")).decode()


def pack(records: Sequence[SinkRecord], form: str, level: int) -> Packed:
    """Return the object of some records in this order; ``form`` as in its key, ``level`` of compression."""
    import zstandard

    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True).compressobj()
    rejected: dict[str, str] = {}
    parts: list[bytes] = []
    pending: list[bytes] = []
    size = count = highest = 0
    for record in records:
        try:
            data = bytes_in(record, FORMS[form])
        except SerializationError as error:
            rejected[record.record_id] = str(error)
            continue
        count += 1
        highest = max(highest, record.level)
        pending.append(data)
        size += len(data)
        if size >= _CHUNK:  # one step for each record would cost more than the compression
            parts.append(compressor.compress(b"".join(pending)))
            pending, size = [], 0
    parts += compressor.compress(b"".join(pending)), compressor.flush()
    return Packed(b"".join(parts), count, highest, rejected)


def record_ids(body: bytes, form: str) -> set[str]:
    """Return the ids of the records in an object. Raises SerializationError when it is damaged."""
    return {str(document.get("record_id")) for document in _documents(body, form)}


def _documents(body: bytes, form: str) -> list[dict[str, Any]]:
    import msgpack
    import orjson
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body)) as stream:
            found = (
                list(msgpack.Unpacker(stream, max_buffer_size=1 << 30))
                if form == "msgpack"
                else [orjson.loads(line) for line in io.TextIOWrapper(stream, "utf-8", newline="\n")]
            )
    except (zstandard.ZstdError, ValueError, msgpack.UnpackException) as error:
        raise SerializationError(f"the object is damaged: {error}") from error
    return [document for document in found if isinstance(document, dict)]
