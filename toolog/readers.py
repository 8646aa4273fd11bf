"""Reading files of records: JSON lines or MessagePack maps, plain or zstd-compressed, from a path or a
stream.

The form is recognized from the first bytes, not from the name. What is damaged is reported and stepped over:
one bad line costs that line, bad bytes between MessagePack maps cost what stands up to the next map that
makes sense.
"""

from __future__ import annotations

import io
import re
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from toolog.errors import ConfigError, SerializationError

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 16
_COMPRESSED_CHUNK = 1 << 12  # bounds what one step may expand to
_FIRST_STEP = 1 << 12
LONGEST = 64 << 20
"""Bytes of one record, compressed or not, above which it counts as damaged."""

_MAP = re.compile(rb"(?:[\x81-\x8f]|\xde..)[\xa1-\xbf][a-z_]{2}", re.DOTALL)
"""The head of a map whose first key is a word: where reading may go on behind damage."""

Report = Callable[[int, str], None]


def read_records(
    source: str | Path | IO[bytes], on_damage: Report | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield ``(number, record)`` for each record of a file; numbers count lines or maps, from 1.

    ``source``: a path, "-" for stdin, or a binary stream (it is not closed). ``on_damage(number, message)``
    is told each damaged place; without it a damaged place raises SerializationError. A file that is missing
    raises OSError, and a database ConfigError, which tells how to read it.
    """
    if isinstance(source, (str, Path)):
        if str(source) == "-":
            yield from _read(sys.stdin.buffer, on_damage or _raise)
            return
        with open(source, "rb") as stream:
            yield from _read(stream, on_damage or _raise)
    else:
        yield from _read(source, on_damage or _raise)


class ZstdReader:
    """What a zstd-compressed stream holds, over all of its frames, read as it goes.

    ``read`` raises ValueError for damaged data, and where the last frame is cut off (once all before it was
    given).
    """

    def __init__(self, stream: Any) -> None:
        import zstandard  # only compressed files need it

        self._stream = stream
        self._library = zstandard
        self._frame: Any = None
        self._input = b""
        self._output = b""
        self._at = 0  # so much of the output was given; one step may expand to a hundred megabytes

    def read(self, size: int = _CHUNK) -> bytes:
        """Return up to ``size`` bytes; b"" at the end."""
        while self._at >= len(self._output):
            if not self._input:
                self._input = self._stream.read(_COMPRESSED_CHUNK)
                if not self._input:
                    if self._frame is None:
                        return b""
                    self._frame = None
                    raise ValueError("the compressed data is cut off")
            if self._frame is None:
                self._frame = self._library.ZstdDecompressor().decompressobj()
            try:
                self._output, self._at = self._frame.decompress(self._input), 0
            except self._library.ZstdError as error:
                self._frame, self._stream = None, io.BytesIO()
                self._input = b""
                raise ValueError(f"damaged compressed data: {error}") from error
            ended = self._frame.eof
            self._input = self._frame.unused_data if ended else b""
            if ended:
                self._frame = None
        data = self._output[self._at : self._at + size]
        self._at += size
        return data


def _raise(number: int, message: str) -> None:
    raise SerializationError(f"record {number}: {message}")


def _read(stream: IO[bytes], report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    buffered = _Peekable(stream)
    if buffered.peek(4).startswith(ZSTD_MAGIC):
        buffered = _Peekable(ZstdReader(buffered))
    if buffered.peek(16) == b"SQLite format 3\0":
        name = getattr(stream, "name", None)
        raise ConfigError(
            f"{name if isinstance(name, str) else 'this'} is a SQLite database, not a file of records; "
            "`toolog tail --json --store` reads it"
        )
    if (other := _other_form(buffered.peek(4))) is not None:
        report(1, other)
        return
    if buffered.peek(3).startswith(BOM_UTF8):
        buffered.read(3)
    start = buffered.peek(1)
    if start and (start[0] & 0xF0 == 0x80 or start[0] in (0xDE, 0xDF)):
        yield from _read_maps(buffered, report)
    else:
        yield from _read_lines(buffered, report)


def _other_form(start: bytes) -> str | None:
    """Return what is to be said of a file that begins like one of another form; None for ours."""
    if start.startswith(b"\x1f\x8b"):
        return "compressed with gzip: gunzip it first; zstd is read as it is"
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "text in UTF-16; records are in UTF-8"
    if start.startswith(b"PAR1"):
        return "a Parquet file: DuckDB, pandas and their like read it"
    return None


class _Peekable:
    """A stream whose first bytes can be looked at. Damage of a compressed one ends it, and stands in
    ``fault``."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._ahead = b""
        self.fault: str | None = None

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size:
            more = self._more(size - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead

    def read(self, size: int) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead[:size], self._ahead[size:]
            return data
        return self._more(size)

    def _more(self, size: int) -> bytes:
        try:
            return self._stream.read(size) or b""
        except ValueError as error:
            self.fault = str(error)
            return b""


def _read_lines(stream: _Peekable, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    from toolog.serializers.json import serializer

    number = 0
    for line in _lines(stream):
        number += 1
        if line is None:
            report(number, f"a line longer than {LONGEST:,} bytes")
            return
        if line.strip():
            try:
                document = serializer.loads(line)
            except SerializationError as error:
                report(number, str(error))
                continue
            if isinstance(document, dict):
                yield number, document
            else:
                report(number, f"a record is a JSON object, not {type(document).__name__}")
    if stream.fault:
        report(number + 1, stream.fault)


def _lines(stream: _Peekable) -> Iterator[bytes | None]:
    """Yield the lines of a stream; None, and no more, for one that is too long."""
    begun: list[bytes] = []  # pieces of a line whose end is still to come: each byte is looked at once
    size = 0
    while data := stream.read(_CHUNK):
        *whole, rest = data.split(b"\n")
        if whole:
            yield b"".join([*begun, whole[0]])
            yield from whole[1:]
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        if size > LONGEST:
            yield None
            return
    if size:
        yield b"".join(begun)


def _read_maps(stream: _Peekable, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    import msgpack

    number, pending, lost, ended = 0, bytearray(), False, False
    unpacker = _unpacker(msgpack)
    fed = taken = 0  # bytes of ``pending`` that the unpacker has; where it stood after the last map
    while True:
        try:
            document = unpacker.unpack()
            if not isinstance(document, dict) or (lost and "record_id" not in document):
                raise ValueError(f"a record is a map, not {type(document).__name__}")
        except msgpack.OutOfData as error:
            if fed < len(pending):
                # Behind damage there may be a thousand places to try: each gets as little as it needs.
                step = max(_FIRST_STEP, fed) if lost else len(pending)
                unpacker.feed(bytes(pending[fed : fed + step]))
                fed = min(fed + step, len(pending))
                continue
            if not ended and len(pending) < LONGEST:
                data = stream.read(_CHUNK)
                ended = not data
                pending += data
                continue
            if not pending:
                break
            fault: Exception = ValueError("cut off" if ended else f"longer than {LONGEST:,} bytes")
            fault.__cause__ = error
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
            fault = error
        else:
            number, lost = number + 1, False
            done, taken = unpacker.tell() - taken, unpacker.tell()
            del pending[:done]
            fed -= done
            yield number, document
            continue
        if not lost:
            lost, number = True, number + 1
            report(number, f"damaged MessagePack: {fault}")
        start = _MAP.search(pending, 1)
        del pending[: start.start() if start else len(pending)]
        unpacker, fed, taken = _unpacker(msgpack), 0, 0
    if stream.fault:
        report(number + 1, stream.fault)


def _unpacker(msgpack: Any) -> Any:
    return msgpack.Unpacker(raw=False, strict_map_key=True, max_buffer_size=2 * LONGEST)
