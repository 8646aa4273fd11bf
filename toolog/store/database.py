"""A store's file with its connections: locked, used, and let go of.

One connection writes, others only read (write-ahead log: readers never hold up the writer). SQLite must not
be carried across a fork: before one, whoever is inside SQLite is waited for (at most 100 ms); the child
closes what it inherited, before anybody can use it, and opens anew.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from toolog.counters import contain
from toolog.errors import ConfigError, StoreUnavailable
from toolog.forks import after_in_child
from toolog.store.connections import (
    BUSY_MS,
    check_version,
    connect_to_read,
    connect_to_write,
    is_busy,
    make_next_index,
)
from toolog.store.log_mover import LogMover
from toolog.store.schema import VERSION

FREE_AT_ONCE = 1000
"""Free pages given back in one transaction."""
FORK_WAIT = 0.1
"""Seconds a fork waits for a thread that is inside SQLite."""

_open_databases: weakref.WeakSet[Database] = weakref.WeakSet()


class Database:
    """A store's file with its writing and its reading connection; safe to use from several threads."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        self._mover = LogMover(path)
        self._file: tuple[int, int] | None = None
        _open_databases.add(self)

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the writing connection inside a transaction that has the write lock; committed when the block
        ends.

        Raises StoreUnavailable when the database is locked, full, not writable or damaged.
        """
        with self._write_lock:
            try:
                self._notice_another_file()
                connection = self._writer
                if connection is None:
                    connection = self._writer = self._connect_to_write()
                    self._file = self._identity()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                    self._mover.after_commit(connection)
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                if not is_busy(error) and self._writer is not None:
                    # So that a repaired or replaced file is seen.
                    broken, self._writer = self._writer, None
                    self._mover.wait()
                    broken.close()
                raise self.unavailable(error) from error

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Hold the reading connection inside one snapshot. Raises StoreUnavailable when the database is
        damaged.
        """
        with self._read_lock:
            try:
                if self.read_only:
                    self._notice_another_file()
                connection = self._reader
                if connection is None:
                    connection = self._reader = connect_to_read(self.path)
                    self._file = self._file or self._identity()
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                if not is_busy(error) and self._reader is not None:
                    broken, self._reader = self._reader, None
                    broken.close()
                raise self.unavailable(error) from error

    def prepare(self) -> None:
        """Make the file when it is missing and bring its schema up to date (a read-only one is only checked).

        Raises ConfigError when it is of a newer version or no store, StoreUnavailable when it cannot be
        opened now.
        """
        with self._write_lock, self._read_lock:
            try:
                if self.read_only:
                    if self._reader is None:
                        self._reader = connect_to_read(self.path)
                        self._file = self._identity()
                    check_version(self._reader, self.path, needs=VERSION)
                else:
                    if self._writer is None:
                        self._writer = self._connect_to_write()
                        self._file = self._identity()
            except (sqlite3.Error, OSError) as error:
                self.close()
                raise self.unavailable(error) from error
            except ConfigError:
                self.close()
                raise

    def improve(self) -> int:
        """Make one index that a large store of an older version has not got yet; return how many are missing
        then.

        Each takes some seconds for a million calls, in which others cannot write. Raises StoreUnavailable
        when the store cannot be written now.
        """
        with self.writing() as connection:
            return make_next_index(connection)

    def shrink(self) -> None:
        """Give free pages back to the file system (overwritten first) and empty the log, as far as readers
        let it.

        Raises sqlite3.Error when another process is in the way; nothing is harmed by that.
        """
        with self._write_lock:
            connection = self._writer
            if connection is None:
                return
            self._mover.wait()
            free = connection.execute("PRAGMA freelist_count").fetchone()[0]
            while free:
                # executescript, because execute takes one step of a pragma without columns: one page.
                connection.executescript(f"PRAGMA incremental_vacuum({FREE_AT_ONCE})")
                left = connection.execute("PRAGMA freelist_count").fetchone()[0]
                if left >= free:
                    break
                free = left
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close both connections. They are opened again when the database is used again."""
        with self._write_lock, self._read_lock:
            self._mover.wait()
            writer, reader, self._writer, self._reader = self._writer, self._reader, None, None
            for connection in (reader, writer):
                if connection is not None:
                    with contextlib.suppress(sqlite3.Error):
                        connection.close()

    def unavailable(self, error: Exception) -> Exception:
        """Return the toolog error that says what a failure of SQLite or the file system means for the
        user.
        """
        text = str(getattr(error, "strerror", None) or error)
        if isinstance(error, sqlite3.DatabaseError) and ("malformed" in text or "not a database" in text):
            text += "; nothing was changed: move the file away, and a new store is started"
        elif is_busy(error):
            text += f": another program has held it for {BUSY_MS // 1000} seconds; try again later"
        return StoreUnavailable(f"{self.path}: {text}")

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _notice_another_file(self) -> None:
        """Let go of the connections when the file was deleted or replaced, else records would go into
        nowhere.
        """
        if self._file is None or self._identity() == self._file:
            return
        if not self.read_only:
            contain("the store's file was deleted or replaced while it was written")
        with self._read_lock:
            self._mover.wait()
            for connection in (self._writer, self._reader):
                if connection is not None:
                    _abandon(connection)
            self._writer = self._reader = self._file = None

    def _connect_to_write(self) -> sqlite3.Connection:
        if self.read_only:
            raise sqlite3.OperationalError("this store was opened to read only")
        return connect_to_write(self.path)

    # -- fork ------------------------------------------------------------------------------------------------

    def before_fork(self, deadline: float) -> tuple[bool, bool]:
        """Wait until no thread is inside SQLite; returns for each connection whether that was so in time."""
        self._mover.wait(max(0.0, deadline - time.monotonic()))
        return tuple(  # type: ignore[return-value]
            lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
            for lock in (self._write_lock, self._read_lock)
        )

    def after_fork(self, held: tuple[bool, bool], *, in_child: bool) -> None:
        """Let go of the locks again; in the child also of the inherited connections."""
        if not in_child:
            for lock, got in zip((self._write_lock, self._read_lock), held, strict=True):
                if got:
                    lock.release()
            return
        for connection, calm in ((self._writer, held[0]), (self._reader, held[1])):
            if connection is None:
                continue
            if calm and not connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
            else:
                _abandon(connection)
        self._writer = self._reader = None
        self._mover.forget()
        self._write_lock, self._read_lock = threading.RLock(), threading.RLock()


def _abandon(connection: sqlite3.Connection) -> None:
    """Keep a connection open for good: one that a fork caught at work could hang when it is closed, and one
    whose file was taken away would delete the log of the file that is there now.
    """
    try:
        import ctypes

        # One reference too many: not even the end of the interpreter closes it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    except ImportError:
        _abandoned.append(connection)


_abandoned: list[sqlite3.Connection] = []


class _Forking(threading.local):
    """What the thread that forks holds; two threads may fork at once."""

    held: tuple[tuple[Database, tuple[bool, bool]], ...] = ()


_forking = _Forking()


def _before_fork() -> None:
    deadline = time.monotonic() + FORK_WAIT
    _forking.held = tuple((database, database.before_fork(deadline)) for database in list(_open_databases))


def _after_fork(in_child: bool) -> None:
    held, _forking.held = _forking.held, ()
    for database, locks in held:
        database.after_fork(locks, in_child=in_child)


os.register_at_fork(before=_before_fork, after_in_parent=lambda: _after_fork(False))
after_in_child(lambda: _after_fork(True))
