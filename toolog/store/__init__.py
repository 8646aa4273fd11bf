"""The local store: records in a SQLite database, and the questions that can be asked about them.

``open(path)`` gives a :class:`Store`. Writing needs no server and holds up no reader; any number of programs
may read, and several may write one after the other. The tables and views are a documented interface: see
docs/reference/store.md.
"""

from __future__ import annotations

import os
from pathlib import Path

from toolog.errors import ConfigError
from toolog.store.store import Store
from toolog.store.writer import Written

__all__ = ["DEFAULT_PATH", "Store", "Written", "open"]

DEFAULT_PATH = ".toolog/calls.db"
"""Where the store is when nobody says otherwise, below the working directory."""


def open(path: str | os.PathLike[str] = DEFAULT_PATH, *, read_only: bool = False) -> Store:
    """Open the store at ``path``; made when missing, brought to this version when older.

    With ``read_only`` nothing is made or changed, and a missing file is a ConfigError. Raises ConfigError
    when the file is no store or of a newer version, StoreUnavailable when it cannot be opened now.
    """
    place = Path(path).expanduser()
    if read_only and not place.is_file():
        raise ConfigError(f"there is no store at {place}")
    store = Store(place, read_only=read_only)
    store.prepare()
    return store
