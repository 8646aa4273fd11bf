"""How a connection to a store is made: the file's mode, what SQLite is told, and the schema's version."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from toolog.errors import ConfigError
from toolog.store.schema import APPLICATION_ID, INDEXES, MIGRATIONS, VERSION

BUSY_MS = 5000
"""Milliseconds to wait for another process that is writing."""
SMALL = 50_000
"""Records of which an older store gets its indexes when it is opened: that takes less than a second."""
PAGE_SIZE = 16384
"""Bytes in a page: with records of 4 kB this writes about a sixth faster than the default of 4096."""


def file_uri(path: Path, mode: str) -> str:
    """Return the URI by which SQLite opens a file; ``mode``: ``ro`` or ``rw`` (neither makes a file)."""
    return f"file:{quote(str(path.absolute()))}?mode={mode}"


def connect(uri: str) -> sqlite3.Connection:
    """Open the file that a URI names (see `file_uri`), for use from any thread."""
    return sqlite3.connect(
        uri,
        uri=True,
        timeout=BUSY_MS / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )


def connect_to_write(path: Path) -> sqlite3.Connection:
    """Open a store to write to it; made when it is missing, and brought to the newest version.

    Raises ConfigError for a file that is no store or of a newer version, sqlite3.Error or OSError for one
    that cannot be opened.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Made here so that only its owner may read it; SQLite gives its side files the same mode. A file that is
    # there must not be opened beside SQLite: closing it again would drop the locks that SQLite holds on it.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connection = connect(file_uri(path, "rw"))
    try:
        check_version(connection, path, needs=0)
        connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _retry_busy(connection, "PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        connection.execute("PRAGMA cache_size = -32768")
        # What a purge deletes is to be gone from the file; for a store that grows it costs next to nothing.
        connection.execute("PRAGMA secure_delete = ON")
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a store to read from it. Raises sqlite3.Error when it is missing or cannot be read."""
    uri = file_uri(path, "ro")
    connection = connect(uri)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if os.access(path.parent, os.W_OK) or "locked" in str(error):
            raise
        # In a directory nobody may write to, nobody writes: readable without the side files of the log.
        return connect(uri + "&immutable=1")
    except BaseException:
        connection.close()
        raise
    return connection


def check_version(connection: sqlite3.Connection, path: Path, needs: int) -> int:
    """Return the version of a store; ConfigError when it is none, too new, or older than ``needs``."""
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        has_tables = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error):
            raise ConfigError(
                f"{path} is not a SQLite database; it was left as it is: choose another path or move it away"
            ) from error
        raise
    if has_tables and application != APPLICATION_ID:
        raise ConfigError(
            f"{path} is a SQLite database of another program; it was left as it is: choose another path"
        )
    if version > VERSION:
        raise ConfigError(
            f"{path} was written by a newer toolog (store version {version}, this one knows "
            f"up to {VERSION}): update toolog, or choose another path"
        )
    if version < needs and not has_tables:
        raise ConfigError(f"{path} is empty: nothing was recorded there yet")
    if version < needs:
        raise ConfigError(
            f"{path} has the older store version {version}: whatever records into it brings it to version "
            f'{VERSION}, and so does python -c "from toolog import store; store.open({str(path)!r}).close()"'
        )
    return version


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if check_version(connection, path, needs=0) == VERSION:
        return
    _retry_busy(connection, "BEGIN IMMEDIATE")
    try:
        # Asked again inside: another process may have been faster.
        version = check_version(connection, path, needs=0)
        for number in range(version + 1, VERSION + 1):
            for statement in MIGRATIONS[number - 1]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        newest = connection.execute("SELECT value FROM meta WHERE key = 'next_id'").fetchone()[0]
        while newest <= SMALL and make_next_index(connection):
            pass
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def make_next_index(connection: sqlite3.Connection) -> int:
    """Make the first index that is missing, or is one of an older version; return how many still are."""
    there = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index'").fetchall())
    missing = [name for name, statement in INDEXES.items() if there.get(name) != statement]
    if not missing:
        return 0
    connection.execute(f"DROP INDEX IF EXISTS {missing[0]}")
    connection.execute(INDEXES[missing[0]])
    return len(missing) - 1


def is_busy(error: BaseException | None) -> bool:
    """Whether another process is in the way, which will be over soon."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _retry_busy(connection: sqlite3.Connection, statement: str) -> Any:
    """Run a statement for which SQLite does not wait by itself while another process makes the database."""
    end = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            return connection.execute(statement)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
