"""Files that records are written to: JSON lines and MessagePack, plain or compressed, and Parquet.

A file gets its name only when it is whole.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from toolog import serializers
from toolog.errors import ConfigError, nearest

FORMS = {
    ".jsonl": ("json", False), ".jsonl.zst": ("json", True), ".ndjson": ("json", False),
    ".msgpack": ("msgpack", False), ".msgpack.zst": ("msgpack", True), ".mp": ("msgpack", False),
}  # fmt: skip
"""End of a name -> serializer, and whether the file is compressed."""
PARQUET = ".parquet"

Write = Callable[[Mapping[str, Any]], None]


@contextmanager
def create(path: str) -> Iterator[Write]:
    """Give the function that writes one record to a new file; ``-`` is stdout, as JSON lines.

    The form follows from the name. An existing file is replaced when the new one is whole. Raises ConfigError
    for another name, where pyarrow is missing, and OSError.
    """
    if path == "-":
        with _records(nullcontext(sys.stdout.buffer), "json") as write:
            yield write
        return
    end = _end_of(path)
    part = Path(f"{path}.part")
    opened = open(part, "wb", opener=_private)  # noqa: SIM115
    try:
        with opened:
            with _open_form(opened, end) as write:
                yield write
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def check(path: str) -> None:
    """Raise ConfigError when no file of this name can be written."""
    if path != "-" and _end_of(path) == PARQUET:
        from toolog.archive import parquet

        parquet.check()


def _end_of(path: str) -> str:
    known = [*FORMS, PARQUET]
    found = [end for end in known if path.endswith(end) and Path(path).name != end]
    if found:
        return max(found, key=len)
    guess = nearest("".join(Path(path).suffixes[-2:]) or path, known)
    hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(known)}"
    raise ConfigError(f"the end of {path!r} says no form of records; {hint}")


def _open_form(stream: IO[bytes], end: str) -> Any:
    if end == PARQUET:
        from toolog.archive import parquet

        return parquet.create(stream)
    name, packed = FORMS[end]
    if not packed:
        return _records(nullcontext(stream), name)
    import zstandard

    writer = zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(stream, closefd=False)
    return _records(writer, name)


@contextmanager
def _records(opened: Any, name: str) -> Iterator[Write]:
    dumps = serializers.get(name).dumps
    end = b"\n" if name == "json" else b""
    with opened as stream:
        yield lambda record: stream.write(dumps(record) + end) and None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
