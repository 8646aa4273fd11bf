"""Moves SQLite's write-ahead log into the database while writing goes on."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from pathlib import Path

from toolog.context import mute
from toolog.counters import contain
from toolog.store.connections import connect, file_uri

LOG_BYTES = 16 * 1024 * 1024
"""Size of the write-ahead log at which a thread begins to move it into the database, while writing goes
on.
"""
LOG_LIMIT = 6 * LOG_BYTES
"""Size of the write-ahead log at which writing waits until it is moved."""


class LogMover:
    """Moves the write-ahead log in a thread of its own: that is about a third of the cost of writing."""

    def __init__(self, path: Path) -> None:
        self._log = f"{path}-wal"
        self._uri = file_uri(path, "rw")
        self._thread: threading.Thread | None = None

    def after_commit(self, connection: sqlite3.Connection) -> None:
        """Begin to move the log when it has grown; wait for it only when it has grown much."""
        try:
            size = os.stat(self._log).st_size
        except OSError:
            return
        if size < LOG_BYTES or (self._thread is not None and self._thread.is_alive() and size < LOG_LIMIT):
            return
        self.wait()
        if size < LOG_LIMIT:
            self._thread = threading.Thread(target=self._move, name="toolog-store", daemon=True)
            try:
                self._thread.start()
                return
            except RuntimeError:  # the interpreter is going down
                self._thread = None
        connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no log is being moved; False when it still is after ``timeout`` seconds."""
        thread = self._thread
        if thread is None:
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def forget(self) -> None:
        """After a fork: the thread is not here."""
        self._thread = None

    def _move(self) -> None:
        mute()
        try:
            with contextlib.closing(connect(self._uri)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as error:
            contain("the store's log could not be moved", error)
