"""The bytes of one object, the same for the same records: one zstd frame of MessagePack maps, or of JSON
lines."""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolog.breath import breathing
from toolog.errors import SerializationError
from toolog.sinks.base import SinkRecord, decode
from toolog.sinks.forms import FORMS, bytes_in
from toolog.sinks.s3.beside import Beside

_CHUNK = 1 << 20
_LATEST = "9999-12-31T23:59:59.999999Z"


@dataclass(frozen=True, slots=True)
class Packed:
    """An object's bytes: ``body``, how many ``records`` are in it, the highest ``level`` number and the
    ``oldest`` timestamp among them, and ``rejected`` (record_id -> reason) for what is no record.
    """

    body: bytes
    records: int
    level: int
    oldest: str
    rejected: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> dict[str, str]:
        """What stands in the object's metadata, so that a question may pass it over unread."""
        return {
            "toolog-records": str(self.records),
            "toolog-level": str(self.level),
            "toolog-oldest": self.oldest,
        }

    @property
    def crc32(self) -> str:
        """The body's CRC-32 as S3 writes it."""
        return base64.b64encode(zlib.crc32(self.body).to_bytes(4, "big")).decode()


def pack(records: Sequence[SinkRecord], form: str, level: int) -> Packed:
    """Return the object of some records in this order; ``form`` as in its key, ``level`` of compression."""
    import zstandard

    beside = Beside(zstandard.ZstdCompressor(level=level, write_checksum=True).compressobj())
    rejected: dict[str, str] = {}
    pending: list[bytes] = []
    size = count = highest = 0
    oldest = _LATEST
    try:
        for record in breathing(records):
            try:
                document = decode(record.data, record.serializer)
                data = bytes_in(record, FORMS[form], document)
            except SerializationError as error:
                rejected[record.record_id] = str(error)
                continue
            count += 1
            highest = max(highest, record.level)
            oldest = min(oldest, _time_of(document))
            pending.append(data)
            size += len(data)
            if size >= _CHUNK:  # one step for each record would cost more than the compression
                beside.add(b"".join(pending))
                pending, size = [], 0
    finally:
        body = beside.finish(b"".join(pending))
    return Packed(body, count, highest, oldest, rejected)


def _time_of(document: Mapping[str, Any]) -> str:
    """Return when a record was made, as text that compares as time; an early one where that is not known."""
    found = document.get("timestamp")
    if isinstance(found, str) and found.isascii() and len(found) == len(_LATEST) and found[-1] == "Z":
        return found
    return ""


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
