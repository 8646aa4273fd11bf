"""The store as one object: what can be written to it, asked of it, and taken out of it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolog.store import writer
from toolog.store.database import Database
from toolog.store.documents import Shapes
from toolog.store.writer import Written


class Store:
    """A store's file. Made by ``toolog.store.open``; safe to use from several threads; a context manager that
    closes it.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._database = Database(path, read_only=read_only)
        self._shapes = Shapes()

    def prepare(self) -> None:
        """Make or migrate the file; see ``toolog.store.open``."""
        self._database.prepare()

    def write(self, documents: Iterable[Mapping[str, Any]]) -> Written:
        """Store record documents in one transaction, each ``record_id`` once.

        Returns how many were stored, how many had been stored before, and which were refused (record_id ->
        reason). Raises SinkUnavailable when nothing could be stored now.
        """
        return writer.write(self._database, self._shapes, documents)

    def index(self, at_most: int = 2000) -> int:
        """Put at most ``at_most`` records into the full-text index; returns how many are still missing
        there.
        """
        return writer.index(self._database, at_most)

    def close(self) -> None:
        """Close the file. Using the store again opens it again."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
