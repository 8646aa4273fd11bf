"""What lies in a file: its own bytes, what they are when unpacked, and the values of its records or rows.

The bytes are always read, whatever the form: what a database freed, or what stands in a damaged record,
was written all the same. Values come on top, because a secret may be cut into several of them.
"""

from __future__ import annotations

import gzip
import io
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, Any

from toolog import readers, serializers
from toolog.errors import ConfigError, SerializationError
from toolog.spool import Mark
from toolog.spool.browse import frames_of

PIECE = 1 << 20
"""Bytes that are read at a time."""
GZIP_MAGIC = b"\x1f\x8b"
SQLITE_MAGIC = b"SQLite format 3\0"
PARQUET_MAGIC = b"PAR1"
SEGMENT_MAGIC = b"TLSPOOL1"
_MOST_NESTED = 2
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_FAULTS = (ValueError, OSError, EOFError, zlib.error)

Tell = Callable[[str], None]
"""Is told what could not be read, in words."""


def files(place: Path) -> list[Path]:
    """Return all files at and below a place, hidden ones too; links to elsewhere are not followed.

    :raises ConfigError: when there is nothing.
    """
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise ConfigError(f"there is no file or folder {place}")
    return sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield a stream piece by piece."""
    while piece := stream.read(PIECE):
        yield piece


def layers(path: Path, tell: Tell) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield (what it is, its bytes) for a file as it lies there, and for what it holds when it is
    compressed."""
    faults: list[str] = []
    for depth in range(_MOST_NESTED + 1):
        with ExitStack() as opened:
            stream: Any = opened.enter_context(open(path, "rb"))
            names: list[str] = []
            try:
                for _ in range(depth):
                    form, stream = _unpack(stream)
                    opened.callback(stream.close)
                    names.append(form)
                if not all(names):
                    return
                yield " in ".join(["bytes", *names[::-1]]), _told(stream, faults.append)
            except _FAULTS as error:
                faults.append(f"cannot be unpacked: {error}")
        if faults:
            tell(faults[0])
            return


def _told(stream: Any, tell: Tell) -> Iterator[bytes]:
    try:
        yield from pieces(stream)
    except _FAULTS as error:
        tell(f"cannot be unpacked to its end: {error}")


def _unpack(stream: Any) -> tuple[str, Any]:
    """Return the name of the form and what is in a compressed stream; ("", the stream) when it is none."""
    start = stream.peek(16)
    if start.startswith(readers.ZSTD_MAGIC):
        return "zstd", io.BufferedReader(_Zstd(stream), PIECE)
    if start.startswith(GZIP_MAGIC):
        return "gzip", gzip.GzipFile(fileobj=stream)
    return "", stream


class _Zstd(io.RawIOBase):
    """What is in a zstd stream, as a file."""

    def __init__(self, stream: Any) -> None:
        self._reader = readers.ZstdReader(stream)

    def readable(self) -> bool:
        """Say that it can be read, as `io` asks."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return how many bytes that were."""
        data = self._reader.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def values(path: Path, tell: Tell) -> Iterator[tuple[str, Any]]:
    """Yield (where, value) for each record, row or cell of a file whose form is known; nothing for other
    files."""
    with open(path, "rb") as stream:
        start = stream.read(16)
    if start.startswith(SQLITE_MAGIC):
        yield from _rows(path, tell)
    elif start.startswith(PARQUET_MAGIC):
        yield from _parquet(path, tell)
    elif start.startswith(SEGMENT_MAGIC):
        yield from _frames(path, tell)
    else:
        yield from _records(path, start)


def _records(path: Path, start: bytes) -> Iterator[tuple[str, Any]]:
    packed = start.startswith((GZIP_MAGIC, readers.ZSTD_MAGIC))
    if not packed and start.lstrip()[:1] not in (b"{", b"[") and start[:1] < b"\x80":
        return
    # What is damaged was read as bytes already, and a file of anything else is no file of records.
    ignore: Callable[[int, str], None] = lambda number, message: None  # noqa: E731
    opener: Callable[[Path, str], Any] = gzip.open if start.startswith(GZIP_MAGIC) else open
    with opener(path, "rb") as stream:
        try:
            for number, record in readers.read_records(stream, on_damage=ignore):
                yield f"record {number}", record
        except (ConfigError, SerializationError, *_FAULTS):
            return


def _frames(path: Path, tell: Tell) -> Iterator[tuple[str, Any]]:
    for frame in frames_of(path.parent, path.name.removesuffix(".seg"), Mark(0)):
        try:
            yield f"frame {frame.seq}", serializers.by_code(frame.serializer).loads(frame.payload)
        except (ConfigError, SerializationError) as error:
            tell(f"frame {frame.seq}: {error}")


def _rows(path: Path, tell: Tell) -> Iterator[tuple[str, Any]]:
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        tell(f"cannot be opened as a database: {error}")
        return
    with closing(connection):
        connection.text_factory = bytes
        try:
            tables = [name.decode("utf-8", "replace") for (name,) in connection.execute(_TABLES)]
            for table in tables:
                escaped = table.replace('"', '""')
                for number, row in enumerate(connection.execute(f'SELECT * FROM "{escaped}"'), 1):
                    yield f"table {table}, row {number}", row
        except sqlite3.Error as error:
            tell(f"cannot be read as a database: {error}")


def _parquet(path: Path, tell: Tell) -> Iterator[tuple[str, Any]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        tell("is Parquet, which needs pyarrow to be read: pip install 'toolog[parquet]'")
        return
    try:
        with ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=1000):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number}", row
    except (ArrowException, OSError) as error:
        tell(f"cannot be read as Parquet: {error}")
