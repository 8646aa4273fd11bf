"""From a text (``-``, a file, a folder, a spool, ``s3://bucket/prefix``) to the records in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any, Protocol

from toolog import readers, serializers, spool
from toolog.archive.bucket import S3Object, is_address, list_objects
from toolog.errors import ConfigError, SerializationError, nearest
from toolog.serializers.compact import unfold
from toolog.spool.cursor import sinks_with_files

SUFFIXES = (".jsonl", ".ndjson", ".msgpack", ".mp", ".jsonl.zst", ".msgpack.zst", ".mp.zst")
"""What names of files of records end with, where a folder or a bucket is searched for them."""

Tell = Callable[[str], None]
"""Is told each damaged place, in words."""


Takes = Callable[[int], bool]
"""Answers whether records of a level, given by its number, are wanted."""


class Source(Protocol):
    """Something that records are read from: its ``name``, and its ``size`` in bytes (0: nobody knows)."""

    name: str
    size: int

    def read(self, tell: Tell) -> Iterator[dict[str, Any]]:
        """Yield its records; damage is told and stepped over."""


class File:
    """A file of records, or stdin."""

    def __init__(self, path: str | Path) -> None:
        self.name = str(path)
        self.size = 0 if self.name == "-" else Path(path).stat().st_size

    def read(self, tell: Tell) -> Iterator[dict[str, Any]]:
        """Yield its records. Raises ConfigError for a database."""
        yield from read_stream(self.name, self._open(), tell)

    def _open(self) -> AbstractContextManager[IO[bytes]]:
        return nullcontext(sys.stdin.buffer) if self.name == "-" else open(self.name, "rb")


class SpoolDirectory:
    """A spool. ``pending``: only what the sink of this name has not acknowledged; ``takes``: of that only
    the levels (by number) for which it answers True.
    """

    def __init__(self, path: str | Path, pending: str | None = None, takes: Takes | None = None) -> None:
        self.name = str(path)
        self.size = sum(one.stat().st_size for one in Path(path).glob("*.seg"))
        self._pending = pending
        self._takes = takes

    def read(self, tell: Tell) -> Iterator[dict[str, Any]]:
        """Yield its records, without a lock and without changing anything."""
        directory = Path(self.name)
        if self._pending is None:
            frames = spool.iter_frames(directory, lambda name, count, _: tell(f"{name}: {count} frames"))
        else:
            frames = spool.pending(directory, self._pending)
        for frame in frames:
            if self._takes is not None and not self._takes(frame.levelno):
                continue
            where = f"{frame.segment} at {frame.offset}"
            try:
                payload, code = unfold(frame.payload, frame.serializer)
                record = serializers.by_code(code).loads(payload)
            except (ConfigError, SerializationError) as error:
                tell(f"{where}: {error}")
                continue
            if isinstance(record, dict):
                yield record
            else:
                tell(f"{where}: no record")


def find(
    place: str,
    *,
    pending: str | None = None,
    takes: Takes | None = None,
    reach: Mapping[str, Any] | None = None,
) -> list[Source]:
    """Return what there is to read at a place.

    ``pending`` asks a spool for what a sink has not acknowledged, and ``takes`` for some levels of it alone;
    ``reach`` are options of the s3 sink by which a bucket is reached. Raises ConfigError when there is
    nothing, and when ``pending`` is asked of no spool, or about a sink that none of those that a spool serves
    is.
    """
    is_spool = not is_address(place) and place != "-" and _is_spool(Path(place))
    if pending is not None and not is_spool:
        raise ConfigError(f"--pending asks about a spool directory, and {place} is none")
    if pending is not None:
        _check_sink(place, pending)
    if is_spool:
        return [SpoolDirectory(place, pending, takes)]
    if is_address(place):
        return [*find_objects(place, reach or {})]
    if place == "-" or not Path(place).is_dir():
        return [File(place)]
    found = [File(path) for path in sorted(Path(place).rglob("*")) if _is_records(path)]
    if not found:
        raise _nothing(place)
    return [*found]


def _check_sink(place: str, sink: str) -> None:
    """Raise ConfigError when a spool serves sinks, and this is none of them."""
    known = sinks_with_files(place)
    if known and sink not in known:
        guess = nearest(sink, known)
        hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(known)}"
        raise ConfigError(f"{place} has nothing for a sink {sink!r}; {hint}")


def find_objects(address: str, reach: Mapping[str, Any]) -> list[S3Object]:
    """Return the objects of records under an address; as `find`, which see."""
    found = list_objects(address, reach, SUFFIXES)
    if not found:
        raise _nothing(address)
    return found


def _nothing(place: str) -> ConfigError:
    return ConfigError(f"there are no files of records in {place} (names end with {', '.join(SUFFIXES)})")


def read_stream(name: str, opened: AbstractContextManager[IO[bytes]], tell: Tell) -> Iterator[dict[str, Any]]:
    """Yield the records of a stream, and close it."""
    with opened as stream:
        for _, record in readers.read_records(
            stream, on_damage=lambda number, message: tell(f"{name}, {number}: {message}")
        ):
            yield record


def _is_spool(path: Path) -> bool:
    """Whether a folder is a spool's: it holds segments or cursors, or nothing at all."""
    if not path.is_dir():
        return False
    return (path / "cursors").is_dir() or any(path.glob("*.seg")) or not any(path.iterdir())


def _is_records(path: Path) -> bool:
    return path.name.endswith(SUFFIXES) and path.is_file() and "dead-letters" not in path.parts
