"""The store as one object: what can be written to it, asked of it, and taken out of it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolog.errors import ConfigError, StoreUnavailable
from toolog.store import counted, figures, filters, queries, writer
from toolog.store.database import Database
from toolog.store.documents import Shapes
from toolog.store.filters import Where
from toolog.store.purge import Purged, purge
from toolog.store.schema import VERSION
from toolog.store.writer import Written

Time = str | float | datetime
"""A point in time: a datetime, RFC 3339 text, a duration before now ("15 min"), or seconds of the Unix
epoch.
"""


class Store:
    """A store's file. Made by ``toolog.store.open``; safe to use from several threads; closes as a context
    manager.

    Every method raises StoreUnavailable when the file cannot be read or written now, and ConfigError for a
    value that makes no sense (an unknown level or status, a time that is none).
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._database = Database(path, read_only=read_only)
        self._shapes = Shapes()

    def prepare(self) -> None:
        """Make or migrate the file; see ``toolog.store.open``."""
        self._database.prepare()

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self, documents: Iterable[Mapping[str, Any]]) -> Written:
        """Store record documents in one transaction, each ``record_id`` once.

        Returns how many were stored, how many had been stored before, and which were refused (record_id ->
        reason).
        """
        return writer.write(self._database, self._shapes, documents)

    def index(self, at_most: int = 2000) -> int:
        """Put at most ``at_most`` records into the full-text index; returns how many are still missing
        there.
        """
        return writer.index(self._database, at_most)

    def count(self) -> int:
        """Count some of the calls that are stored, so that :meth:`stats` and :meth:`calls` of a large store
        need not read them all; returns how many ids could be counted still. The sink calls it as it writes.
        """
        return counted.count_on(self._database)

    def improve(self) -> int:
        """Make one index that a large store of an older version has not got yet; returns how many are still
        missing. The sink calls it as it writes: the answers are the same without, and slower.
        """
        return self._database.improve()

    def label(self, record_id: str, label: str, *, author: str = "", note: str = "") -> None:
        """Put a person's judgement (any word: "good", "wrong") on a record. ConfigError when there is no such
        record.
        """
        if self.record(record_id) is None:
            raise ConfigError(f"there is no record {record_id!r} in {self.path}")
        now = filters.moment(datetime.now(UTC))
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO labels (record_id, label, author, note, created_at) VALUES (?, ?, ?, ?, ?)",
                (record_id, label, author, note, now),
            )

    def purge(
        self, levels: Iterable[str | int] | None = None, *, before: Time, dry_run: bool = False
    ) -> Purged:
        """Delete the records of these levels (None: of all) older than ``before``, except those tagged
        ``hold``.

        Returns how many were deleted (with ``dry_run``: would be) and how many are held.
        """
        return purge(self._database, levels, before, dry_run=dry_run)

    # -- records ---------------------------------------------------------------------------------------------

    def calls(
        self,
        *,
        tool: str | None = None,
        status: str | Sequence[str] | None = None,
        session: str | None = None,
        trace: str | None = None,
        instance: str | None = None,
        level: str | int | None = None,
        since: Time | None = None,
        until: Time | None = None,
        hold: str | None = None,
        text: str | None = None,
        limit: int = 100,
        newest_first: bool = True,
    ) -> list[dict[str, Any]]:
        """Return the documents of calls, those without an end (status ``running``) too.

        ``tool``: a name or a glob (``pay*``); ``status``: one or several statuses, or ``failed``,
        ``rejected``, ``error`` for groups of them; ``level``: the least one; ``since`` is included, ``until``
        is not; ``hold``: a glob for the tag ``hold`` (``*``: whatever is on hold); ``text``: words that all
        stand in the tool's name, its input, output, error or what it printed ("two words" in quotes stand
        together, ``begin*`` stands for its beginnings).
        """
        where = filters.build(
            tool=tool, session=session, trace=trace, instance=instance, level=level, since=since, until=until,
            hold=hold,
        )  # fmt: skip
        self._catch_up(text)
        with self._database.reading() as connection:
            if text:
                queries.add_search(connection, where, text, filters.TEXTS_OF_CALLS)
            found = queries.calls(connection, where, status=status, limit=limit, newest_first=newest_first)
        return [document for _, document in found]

    def logs(
        self,
        *,
        session: str | None = None,
        trace: str | None = None,
        level: str | int | None = None,
        since: Time | None = None,
        until: Time | None = None,
        text: str | None = None,
        limit: int = 100,
        newest_first: bool = True,
    ) -> list[dict[str, Any]]:
        """Return the documents of log lines; the filters are those of :meth:`calls`."""
        where = filters.build(session=session, trace=trace, level=level, since=since, until=until)
        self._catch_up(text)
        with self._database.reading() as connection:
            if text:
                queries.add_search(connection, where, text, filters.TEXTS_OF_LOGS)
            found = queries.logs(connection, where, limit=limit, newest_first=newest_first)
        return [document for _, document in found]

    def search(self, text: str, limit: int = 100) -> list[dict[str, Any]]:
        """Return the calls and log lines in which all words of ``text`` stand, newest first."""
        found = self.calls(text=text, limit=limit) + self.logs(text=text, limit=limit)
        return sorted(found, key=lambda document: str(document.get("timestamp", "")), reverse=True)[:limit]

    def trace(self, trace_id: str) -> list[dict[str, Any]]:
        """Return all records of a trace by time. A unique beginning of the id (6 digits or more) will do."""
        with self._database.reading() as connection:
            if len(trace_id) < 32:
                known = queries.trace_ids(connection, trace_id, 3) if len(trace_id) >= 6 else []
                if len(known) > 1:
                    raise ConfigError(f"several traces begin with {trace_id!r}: {', '.join(known)} ...")
                trace_id = known[0] if known else trace_id
            return queries.trace(connection, trace_id)

    def record(self, record_id: str) -> dict[str, Any] | None:
        """Return the record with this id, field for field as it was written, or None."""
        with self._database.reading() as connection:
            return queries.record(connection, record_id)

    def follow(self, after: int = 0, limit: int = 500) -> list[tuple[int, dict[str, Any]]]:
        """Return ``(id, document)`` of the records that arrived after the id ``after``, oldest first.

        Give the last id back in the next call; :meth:`last_id` is where "from now on" begins.
        """
        with self._database.reading() as connection:
            return queries.follow(connection, after, limit)

    def last_id(self) -> int:
        """Return the id of the newest record, 0 when there is none yet."""
        with self._database.reading() as connection:
            return queries.last_id(connection)

    # -- figures ---------------------------------------------------------------------------------------------

    def stats(
        self,
        *,
        tool: str | None = None,
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
    ) -> dict[str, Any]:
        """Return the figures of calls: how many, success rate, errors by type, mean and percentiles of the
        duration.

        For all together, in ``tools`` for each tool, in ``configs`` for each configuration of tool instances;
        also how many are ``running`` and how many records were ``dropped`` on the way here.
        """
        where = filters.build(tool=tool, session=session, since=since, until=until)
        with self._database.reading() as connection:
            return figures.stats(connection, where)

    def instances(self) -> list[dict[str, Any]]:
        """Return the tool instances, newest first: class, config, config_hash, how many calls and how they
        went.
        """
        with self._database.reading() as connection:
            return figures.instances(connection)

    def sessions(self, limit: int = 100) -> list[dict[str, Any]]:
        """Return the sessions, the one with the newest call first: first and last call, calls, traces,
        failed, tools.
        """
        with self._database.reading() as connection:
            return figures.sessions(connection, limit)

    def labels(self, record_id: str | None = None) -> list[dict[str, Any]]:
        """Return the labels of a record, or all of them, oldest first."""
        where = Where()
        if record_id is not None:
            where.add("record_id = ?", record_id)
        names = ("record_id", "label", "author", "note", "created_at")
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT {', '.join(names)} FROM labels WHERE {where.sql} ORDER BY id", where.parameters
            ).fetchall()
        return [dict(zip(names, row, strict=True)) for row in rows]

    def size(self) -> dict[str, Any]:
        """Return the bytes on disk (log included), the records in each table, and how many are not indexed
        yet.
        """
        with self._database.reading() as connection:
            records = figures.counts(connection)
            indexed = connection.execute("SELECT value FROM meta WHERE key = 'indexed_id'").fetchone()[0]
            waiting = queries.last_id(connection) - indexed
        files = [self.path, Path(f"{self.path}-wal")]
        size = sum(file.stat().st_size for file in files if file.exists())
        return {"bytes": size, "version": VERSION, "records": records, "not_indexed": waiting}

    def close(self) -> None:
        """Close the file. Using the store again opens it again."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _catch_up(self, text: str | None) -> None:
        """Bring the full-text index up to date before a search; where nobody may write, the search does
        without.
        """
        if not text or self.read_only or filters.needs_scan(text):
            return
        try:
            while self.index():
                pass
        except StoreUnavailable:
            return
