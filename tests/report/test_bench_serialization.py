"""The benchmark of serialization: what it measures is right, whatever the figures."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import pytest

from toolog import schema
from toolog.report import bench_codecs, bench_serialization
from toolog.report.bench_chart import svg
from toolog.report.bench_records import make_records, sizes
from toolog.report.bench_serialization import run, table


def test_records_are_realistic_and_the_same_everywhere() -> None:
    """300 schema-valid records of about 4,000 bytes, the same in every run."""
    records = make_records()
    assert records == make_records()
    assert len(records) == 300
    assert 3_800 < fmean(sizes(records)) < 4_200
    for record in records[:60]:
        schema.validate(record)


def test_figures_fit_together() -> None:
    """Every installed library has a row; ratios are those to the standard library, which is 1."""
    result = run(make_records(12), rounds=2)
    assert [row.name for row in result.rows] + result.missing == list(bench_codecs.MAKERS)
    first = result.rows[0]
    assert (first.name, first.encode_ratio, first.decode_ratio, first.size_ratio) == ("json", 1, 1, 1)
    for row in result.rows:
        assert row.encode > 0
        assert row.encode_ratio == pytest.approx(first.encode / row.encode)
        assert row.size_ratio == pytest.approx(row.size / first.size)
        assert row.reads_back or row.family == "Protocol Buffers"
        assert row.zstd is None or row.zstd < row.size
    packed = {row.name: row.size for row in result.rows if row.family == "MessagePack"}
    assert len(set(packed.values())) == 1


def test_table_and_dict_show_every_row() -> None:
    """The table names every library with its version, and the notes what was not measured."""
    result = run(make_records(6), rounds=1)._replace(missing=["absent"])
    text = table(result)
    for row in result.rows:
        assert any(row.name in line and row.version in line for line in text.splitlines())
    assert "not measured: absent" in text
    assert [row["name"] for row in result.to_dict()["rows"]] == [row.name for row in result.rows]


def test_missing_libraries_are_skipped_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the peers the benchmark still runs with what toolog itself needs."""
    for module in ("msgspec", "google.protobuf.struct_pb2", "google.protobuf", "google.protobuf.json_format"):
        monkeypatch.setitem(sys.modules, module, None)
    result = run(make_records(4), rounds=1)
    assert [row.name for row in result.rows] == ["json", "orjson", "msgpack", "ormsgpack"]
    assert result.missing == ["msgspec json", "msgspec msgpack", "protobuf Struct", "protobuf typed"]


def test_chart_is_valid(tmp_path: Path) -> None:
    """The chart is well-formed SVG with two bars for each library, names escaped."""
    result = run(make_records(4), rounds=1, codecs=[bench_codecs.MAKERS["json"]()._replace(name="a<b&c")])
    root = ElementTree.fromstring(svg(result))
    bars = [part for part in root.iter() if part.tag.endswith("rect")]
    assert len(bars) == 2
    assert "a<b&c" in "".join(root.itertext())


def test_notes_follow_the_figures() -> None:
    """What the notes say depends on what was measured."""
    result = run(make_records(4), rounds=1)
    slow = [row._replace(encode_ratio=9.0) for row in result.rows]
    assert not any("Slower" in note for note in bench_serialization.notes(result._replace(rows=slow)))
