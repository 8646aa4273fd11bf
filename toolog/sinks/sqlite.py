"""Records in the local store: a SQLite database that can be queried while it is written.

The store's tables are described in ``toolog.store.schema``. Each record is kept once, however often it is
delivered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from toolog.breath import breathing
from toolog.errors import ConfigError, SerializationError, SinkUnavailable
from toolog.sinks.base import Answer, Batch, BatchLimits, decode
from toolog.units import parse_path

if TYPE_CHECKING:
    from toolog.store import Store

_CALM = 500
"""A batch smaller than this means that there is time for the full-text index and the counts."""
_SOME, _MUCH = 5_000, 200_000
"""From so many uncounted records on some are counted: while there is time, and while there is none."""


class SqliteSink:
    """Stores records in the database at ``path`` (by default ``.toolog/calls.db`` in the working
    directory).
    """

    paths = writes = ("path",)
    batch = BatchLimits(max_records=5000, max_bytes=16 * 1024 * 1024, max_age=0.25)

    def __init__(self, *, path: str | os.PathLike[str] = ".toolog/calls.db", name: str = "sqlite") -> None:
        self.name = name
        self.path = parse_path(path, f"path of sink {name!r}")
        if os.path.basename(self.path) == ":memory:":
            raise ConfigError(
                f"path of sink {name!r}: a database in memory could not be queried and would be gone with "
                "the process; name a file, or use the type 'memory' in tests"
            )
        self._store: Store | None = None
        self._uncounted = _SOME  # what an earlier process left is counted soon
        self._complete = False  # whether it has all its indexes

    def connect(self) -> None:
        """Open the store, or make it. Raises SinkUnavailable; ConfigError when the file is no store of
        ours.
        """
        if self._store is None:
            from toolog import store

            self._store = store.open(self.path)

    def write(self, batch: Batch) -> Answer | None:
        """Store the batch in one transaction. Raises SinkUnavailable when that is not possible now."""
        if self._store is None:
            raise SinkUnavailable(f"sink {self.name!r} is closed")
        unreadable: dict[str, str] = {}
        written = self._store.write(_documents(batch, unreadable))
        calm = len(batch) < _CALM
        if calm:
            self._store.index(2 * _CALM)
            self._complete = self._complete or not self._store.improve()
        self._count(len(batch), calm)
        rejected = unreadable | written.rejected
        return Answer(rejected, again=written.again) if rejected or written.again else None

    def _count(self, more: int, calm: bool) -> None:
        """Have what is stored counted: some of it while there is time, or when much is not."""
        assert self._store is not None
        self._uncounted += more
        if self._uncounted >= (_SOME if calm else _MUCH):
            self._uncounted = min(self._store.count(), _MUCH)

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            held, self._store = self._store, None
            held.close()


def _documents(batch: Batch, unreadable: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the documents one by one: a whole decoded batch at once would cost memory and collections of
    garbage.
    """
    for record in breathing(batch):
        try:
            document = decode(record.data, record.serializer)
        except SerializationError as error:
            unreadable[record.record_id] = str(error)
            continue
        if not document.get("record_id"):
            unreadable[record.record_id] = "a record without a record_id"
            continue
        yield document
