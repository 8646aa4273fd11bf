"""The bytes of one object, the same for the same records: one zstd frame of MessagePack maps, or of JSON
lines."""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolog.breath import breathe
from toolog.errors import SerializationError
from toolog.record import stamp
from toolog.serializers.compact import expand, made_at
from toolog.sinks.base import MSGPACK, SinkRecord, decode
from toolog.sinks.forms import FORMS, bytes_in
from toolog.sinks.s3.beside import Beside
from toolog.sinks.s3.maps import Maps
from toolog.sinks.short import ShortRecord

_CHUNK = 1 << 20
_GROUP = 64
_GROUP_BYTES = 1 << 16
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

    content = _Content(form)
    beside = Beside(zstandard.ZstdCompressor(level=level, write_checksum=True).compressobj())
    pending: list[bytes] = []
    size = 0
    try:
        for group in _groups(records):
            data = content.add(group)
            pending.append(data)
            size += len(data)
            if size >= _CHUNK:  # one step for each group would cost more than the compression
                beside.add(b"".join(pending))
                pending, size = [], 0
            breathe()
    finally:
        body = beside.finish(b"".join(pending))
    return Packed(body, content.records, content.level, content.oldest, content.rejected)


def _groups(records: Sequence[SinkRecord]) -> Iterator[Sequence[SinkRecord]]:
    """Yield records, a few at a time, so that what is done with them is no long work."""
    start = size = 0
    for index, record in enumerate(records):
        size += len(record.short if type(record) is ShortRecord else record.data)
        if size >= _GROUP_BYTES or index - start == _GROUP - 1:
            yield records[start : index + 1]
            start, size = index + 1, 0
    if start < len(records):
        yield records[start:]


class _Content:
    """What goes into an object, and what is known of it; ``form`` as in its key."""

    def __init__(self, form: str) -> None:
        self._code = FORMS[form]
        self._maps = Maps()
        self.records = 0
        self.level = 0
        self.oldest = _LATEST
        self.rejected: dict[str, str] = {}

    def add(self, group: Sequence[SinkRecord]) -> bytes:
        """Return the bytes of some records; those that are none are ``rejected``."""
        found = self._add_packed(group) if self._code == MSGPACK else None
        return b"".join([self._add_one(record) for record in group]) if found is None else found

    def _add_packed(self, group: Sequence[SinkRecord]) -> bytes | None:
        """Return the bytes of records in MessagePack, without decoding them; None where that cannot be."""
        data: list[bytes] = []
        long: list[bytes] = []  # those whose time is to be found
        times: list[int] = []
        for record in group:
            if type(record) is ShortRecord:
                times.append(made_at(record.short))
                data.append(expand(record.short))  # not kept, as `record.data` would be: that is memory
            elif record.serializer == MSGPACK:
                long.append(record.data)
                data.append(record.data)
            else:
                return None
        if not self._maps.are_whole(data):
            return None
        oldest = self._maps.oldest(long) if long else _LATEST
        if oldest is None:
            return None
        self._note(group, min(oldest, stamp(min(times)).decode()) if times else oldest)
        return b"".join(data)

    def _add_one(self, record: SinkRecord) -> bytes:
        try:
            document = decode(record.data, record.serializer)
            data = bytes_in(record, self._code, document)
            if self._code == MSGPACK and not self._maps.are_whole([data]):
                raise SerializationError("not one whole map: there are more bytes than the record has")
        except SerializationError as error:
            self.rejected[record.record_id] = str(error)
            return b""
        self._note([record], _time_of(document))
        return data

    def _note(self, records: Sequence[SinkRecord], oldest: str) -> None:
        self.records += len(records)
        self.level = max(self.level, max([record.level for record in records]))
        self.oldest = min(self.oldest, oldest)


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
