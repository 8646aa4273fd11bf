"""Records in Parquet: what stands in which column, and that others read it."""

from __future__ import annotations

import importlib.util
import io
import json
import math
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import documents
from tests.sinks.contract import ODD
from toolog.archive import parquet
from toolog.errors import ConfigError
from toolog.store.schema import FIELDS


def write(records: list[dict[str, Any]]) -> io.BytesIO:
    """Return a Parquet file with these records."""
    stream = io.BytesIO()
    with parquet.create(stream) as put:
        for record in records:
            put(record)
    stream.seek(0)
    return stream


def test_a_record_becomes_a_row() -> None:
    """Texts, numbers and times are such; lists and objects are JSON text; what is missing is null."""
    (row,) = pyarrow.parquet.read_table(write([documents.call(7, duration_ms=3, session_id="s")])).to_pylist()
    assert row["tool_name"] == "search"
    assert row["timestamp"] == datetime(2026, 11, 30, 12, 0, 7, tzinfo=UTC)
    assert (row["duration_ms"], row["depth"], row["parent_id"]) == (3.0, 0, None)
    assert json.loads(row["input"]) == {"query": "shoes 7"}
    assert json.loads(row["output"])[0]["name"] == "Läufer 日本 🥿"
    assert row["extra"] is None
    assert set(row) == {*FIELDS, "extra"}


def test_every_valid_record_has_a_row() -> None:
    """Records of all events, and of later versions, keep every field: in its column, or in ``extra``."""
    rows = pyarrow.parquet.read_table(write(ODD)).to_pylist()
    assert [row["record_id"] for row in rows] == [record["record_id"] for record in ODD]
    for row, record in zip(rows, ODD, strict=True):
        extra = json.loads(row["extra"] or "{}")
        lost = {name for name, value in record.items() if value is not None and row.get(name) is None}
        assert lost == set(extra)
        assert all(extra[name] == record[name] for name in extra)
    assert json.loads(rows[6]["extra"]) == {"a_field_of_a_later_version": {"x": [1]}}


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*FIELDS, "else"]), VALUES, max_size=6))
def test_no_value_breaks_the_file(record: dict[str, Any]) -> None:
    """Whatever stands in a field, the row can be written and the value found again."""
    (row,) = pyarrow.parquet.read_table(write([record])).to_pylist()
    extra = json.loads(row["extra"] or "{}")
    for name, value in record.items():
        if value is None and name in FIELDS:
            assert row[name] is None
        elif name in extra:
            assert extra[name] == value or math.isclose(extra[name], value)
        elif FIELDS[name] == "json":
            assert json.loads(row[name]) == value
        elif isinstance(row[name], datetime):
            assert row[name] == datetime.fromisoformat(value)
        else:
            assert row[name] == value or math.isclose(row[name], value)


def test_rows_go_out_in_groups() -> None:
    """A long file has row groups, so that memory stays bounded and readers can skip."""
    found = pyarrow.parquet.ParquetFile(write([documents.call(n) for n in range(25_000)]))
    assert [found.metadata.row_group(n).num_rows for n in range(3)] == [10_000, 10_000, 5_000]


def test_long_rows_go_out_earlier() -> None:
    """Rows of 100 kB do not wait for 10,000: what is held in memory does not grow with them."""
    records = (documents.call(n, input={"text": f"{n:06d}" + "x" * 100_000}) for n in range(1000))
    stream = io.BytesIO()
    tracemalloc.start()
    try:
        with parquet.create(stream) as put:
            for record in records:
                put(record)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 40 << 20
    assert pyarrow.parquet.ParquetFile(stream).metadata.num_rows == 1000


def test_duckdb_asks_into_nested_values(tmp_path: Any) -> None:
    """DuckDB takes the JSON columns apart in a query."""
    file = tmp_path / "calls.parquet"
    file.write_bytes(write([documents.call(n) for n in range(100)]).getvalue())
    found = duckdb.sql(
        f"SELECT count(*), max(input->>'$.query'), min(timestamp)::VARCHAR FROM '{file}'"
        " WHERE (output->>'$[0].id')::INT < 50"
    ).fetchall()
    assert found[0][:2] == (50, "shoes 9")
    assert found[0][2].startswith("2026-11-30")


def test_a_missing_library_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyarrow the error says what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'toolog\[parquet\]'"):
        parquet.check()
