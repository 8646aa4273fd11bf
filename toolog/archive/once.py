"""Each record once: what came twice into an archive leaves it once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from toolog.archive.places import Source, Tell


class Once:
    """Leaves out records whose ``record_id`` was there already; ``repeated`` counts them.

    The ids stand in a temporary database, which goes to the disk where there are many: memory is bounded, and
    no id is forgotten. Records without an id are all let through. Close it.
    """

    def __init__(self) -> None:
        self.repeated = 0
        self._seen = sqlite3.connect("", isolation_level=None)
        self._seen.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384;"
            "CREATE TABLE seen (record_id BLOB PRIMARY KEY) WITHOUT ROWID; BEGIN"
        )

    def sift(self, source: Source, tell: Tell) -> Iterator[dict[str, Any]]:
        """Yield the records of a source that are new; ``tell`` as in `Source.read`."""
        for record in source.read(tell):
            if self._is_new(record.get("record_id")):
                yield record
            else:
                self.repeated += 1

    def close(self) -> None:
        """Forget the ids."""
        self._seen.close()

    def _is_new(self, record_id: object) -> bool:
        if not isinstance(record_id, str):
            return True
        name = record_id.encode("utf-8", "surrogatepass")
        return self._seen.execute("INSERT OR IGNORE INTO seen VALUES (?)", (name,)).rowcount == 1
