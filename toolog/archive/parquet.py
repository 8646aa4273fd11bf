"""Records as rows of a Parquet file: a column for each field of the record.

Times are timestamps (UTC, microseconds), numbers are numbers, and what is a list or an object in the record
(``input``, ``output``, ``error`` ...) is JSON text, which DuckDB and others take apart in a query. Fields
that this version does not know, or whose value does not fit its column, stand together as JSON in ``extra``.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import IO, Any

from toolog.errors import ConfigError
from toolog.store.documents import to_json
from toolog.store.schema import FIELDS, INTEGER, JSON, NUMBER

_ROWS = 10_000
_BYTES = 16 << 20
_TIMES = frozenset({"timestamp", "created_at", "first", "last"})
_EXTRA = "extra"


def check() -> None:
    """Raise ConfigError, which says what to install, when pyarrow is not there."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError("Parquet needs pyarrow: pip install 'toolog[parquet]'")


@contextmanager
def create(stream: IO[bytes]) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Give the function that writes one record to a Parquet file; rows go out in groups of 10,000,
    or of 16 MB where they are long.
    """
    check()
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    kinds = {INTEGER: pyarrow.int64(), NUMBER: pyarrow.float64()}
    moment = pyarrow.timestamp("us", tz="UTC")
    columns = [
        (name, moment if name in _TIMES else kinds.get(kind, pyarrow.string()))
        for name, kind in FIELDS.items()
    ]
    schema = pyarrow.schema([*columns, (_EXTRA, pyarrow.string())])
    rows: list[dict[str, Any]] = []
    size = 0

    def write(record: Mapping[str, Any]) -> None:
        nonlocal size
        row = row_of(record)
        rows.append(row)
        size += sum(map(sys.getsizeof, row.values()))
        if len(rows) >= _ROWS or size >= _BYTES:
            flush()

    def flush() -> None:
        nonlocal size
        writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
        rows.clear()
        size = 0

    with ParquetWriter(stream, schema, compression="zstd") as writer:
        yield write
        if rows:
            flush()


def row_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a record: its fields as their columns hold them, the others in ``extra``."""
    row: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in record.items():
        if value is None and name in FIELDS:
            continue
        found = _fit(name, value)
        if found is None:
            extra[name] = value
        else:
            row[name] = found
    if extra:
        row[_EXTRA] = to_json(extra)
    return row


def _fit(name: str, value: Any) -> Any:
    """Return a value as its column holds it, or None when it has none, or does not fit."""
    kind = FIELDS.get(name)
    if kind is None:
        return None
    if kind == JSON:
        return to_json(value)
    if name in _TIMES:
        return _time(value)
    if kind == INTEGER:
        return value if type(value) is int and -(2**63) <= value < 2**63 else None
    if kind == NUMBER:
        return float(value) if type(value) in (int, float) else None
    return value if isinstance(value, str) else None


def _time(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo is not None else None
