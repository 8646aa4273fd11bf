"""Reading files of records in every form, whole and damaged."""

from __future__ import annotations

import gzip
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgpack
import orjson
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolog import readers
from toolog.errors import SerializationError
from toolog.readers import read_records

RECORDS: list[dict[str, Any]] = [
    {"record_id": f"{number:032x}", "event": "log", "text": "词" * number} for number in range(200)
]
LINES = b"".join(orjson.dumps(record) + b"\n" for record in RECORDS)
MAPS = b"".join(map(msgpack.packb, RECORDS))
FORMS = {
    "lines": LINES,
    "lines without a last line end": LINES[:-1],
    "lines with blank ones": LINES.replace(b"\n", b"\n\n"),
    "maps": MAPS,
    "lines, zstd": zstandard.compress(LINES),
    "maps, zstd": zstandard.compress(MAPS),
    "maps, several frames": zstandard.compress(MAPS[:5000]) + zstandard.compress(MAPS[5000:]),
}


def read(data: bytes) -> tuple[list[dict[str, Any]], list[tuple[int, str]]]:
    """Return the records in bytes, and the damage that was told."""
    damage: list[tuple[int, str]] = []
    found = [record for _, record in read_records(io.BytesIO(data), lambda *told: damage.append(told))]
    return found, damage


@pytest.mark.parametrize("form", FORMS)
def test_every_form(form: str) -> None:
    """JSON lines and MessagePack, plain and compressed, are told apart by their first bytes."""
    assert read(FORMS[form]) == (RECORDS, [])


@pytest.mark.parametrize("form", FORMS)
def test_small_reads(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that gives a few bytes at a time changes nothing."""
    monkeypatch.setattr(readers, "_CHUNK", 7)
    monkeypatch.setattr(readers, "_COMPRESSED_CHUNK", 5)
    assert read(FORMS[form]) == (RECORDS, [])


def test_path_and_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, a text of one, and "-" for stdin are read alike; lines are numbered from 1."""
    file = tmp_path / "records.jsonl.zst"
    file.write_bytes(FORMS["lines, zstd"])
    assert [number for number, _ in read_records(file)] == list(range(1, 201))
    assert [record for _, record in read_records(str(file))] == RECORDS
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(MAPS)))
    assert [record for _, record in read_records("-")] == RECORDS


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there is the caller's error."""
    with pytest.raises(FileNotFoundError):
        list(read_records(tmp_path / "none"))


def test_empty() -> None:
    """No bytes, no records, no damage."""
    assert read(b"") == ([], [])


@pytest.mark.parametrize(
    ("harm", "line"),
    [
        (lambda lines: lines.insert(3, b"{half"), 4),
        (lambda lines: lines.insert(3, b"[1]"), 4),
        (lambda lines: lines.insert(3, b'{"a":"\xff"}'), 4),
        (lambda lines: lines.append(b'{"cut'), 201),
    ],
)
def test_a_bad_line_costs_itself(harm: Callable[[list[bytes]], None], line: int) -> None:
    """A line that is no record is told with its number, and all others are read."""
    lines = LINES.splitlines()
    harm(lines)
    found, damage = read(b"\n".join(lines))
    assert found == RECORDS
    assert [number for number, _ in damage] == [line]


def test_bad_bytes_between_maps() -> None:
    """Reading goes on at the next map behind bad bytes; the damage is told once."""
    middle = len(b"".join(map(msgpack.packb, RECORDS[:100])))
    found, damage = read(MAPS[:middle] + b"\xc1\xff\xdb\xff\xff\xff\xff" + MAPS[middle:])
    assert found == RECORDS
    assert [number for number, _ in damage] == [101]


def test_cut_off_at_the_end() -> None:
    """A torn last map and a torn compressed frame are told; what was whole is read."""
    found, damage = read(MAPS[:-3])
    assert found == RECORDS[:-1]
    assert "cut off" in damage[0][1]
    found, damage = read(zstandard.compress(MAPS) + zstandard.compress(MAPS)[:-20])
    assert found[:200] == RECORDS
    assert "cut off" in damage[-1][1]


def test_damaged_compression() -> None:
    """Bytes that are no zstd any more end the reading, told."""
    found, damage = read(zstandard.compress(MAPS) + b"no frame at all")
    assert found == RECORDS
    assert "compressed" in damage[0][1]


def test_damage_raises_without_a_report() -> None:
    """Whoever does not ask to be told gets an error."""
    with pytest.raises(SerializationError, match="record 2: damaged JSON"):
        list(read_records(io.BytesIO(b'{"a":1}\n{')))


@pytest.mark.parametrize(
    ("line", "end"), [(b'{"a": nul}', "at character 7"), (b'"\xff"', "no text in UTF-8")]
)
def test_damage_is_told_by_its_place_in_the_line(line: bytes, end: str) -> None:
    """What is told of a damaged line speaks of that line alone, which the caller knows the number of."""
    _, ((number, message),) = read(b"{}\n" + line)
    assert number == 2
    assert message.endswith(end)
    assert "line 1" not in message


def test_endless_line_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without an end is not collected for ever."""
    monkeypatch.setattr(readers, "LONGEST", 1000)
    monkeypatch.setattr(readers, "_CHUNK", 100)
    found, damage = read(b'{"a":1}\n' + b"x" * 100_000)
    assert found == [{"a": 1}]
    assert damage[0][0] == 2


@given(st.binary(max_size=300), st.sampled_from(sorted(FORMS)), st.integers(0, 20_000))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_damage_is_survived(harm: bytes, form: str, place: int) -> None:
    """Wherever bytes are overwritten, reading ends and gives only maps, most of them right."""
    data = bytearray(FORMS[form])
    place %= len(data)
    data[place : place + len(harm)] = harm
    found, _ = read(bytes(data))
    assert all(isinstance(record, dict) for record in found)


def a_cut_map() -> bytes:
    """Return a record of 6 MB with 60,000 maps inside, whose end is missing, and a whole one."""
    inner = [{"name": "x" * 20, "id": {"aa": 1}} for _ in range(30_000)]
    return msgpack.packb({"record_id": "0", "input": inner, "text": "z" * (4 << 20)})[:-10] + MAPS


@pytest.mark.parametrize(
    ("data", "records"),
    [
        (lambda: b'{"record_id":"1","text":"' + b"x" * (40 << 20) + b'"}\n', 1),
        (a_cut_map, 199),
        (lambda: zstandard.compress(b" " * (63 << 20) + b"\n") + zstandard.compress(LINES), 200),
    ],
    ids=["a long line", "a long record that is cut off", "blanks that pack well"],
)
def test_the_time_grows_with_the_size(data: Callable[[], bytes], records: int) -> None:
    """A long record, whole or damaged, and data that expand much take no more than their share of time."""
    content = data()

    def cost() -> float:
        began = time.process_time()
        assert sum(1 for _ in read_records(io.BytesIO(content), lambda *told: None)) >= records
        return time.process_time() - began

    assert any(cost() < 3 for _ in range(3))  # whatever else the machine does, one of them is quiet enough


@pytest.mark.parametrize("form", ["jsonl", "zst"])
def test_a_mark_of_the_byte_order_is_no_part_of_the_first_record(form: str) -> None:
    """What some editors put before UTF-8 is stepped over, compressed or not."""
    content = b"\xef\xbb\xbf" + orjson.dumps({"record_id": "a"}) + b"\n"
    if form == "zst":
        content = zstandard.compress(content)
    assert list(read_records(io.BytesIO(content))) == [(1, {"record_id": "a"})]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b'{"record_id":"a"}\n'), "gunzip"),
        ('{"record_id":"a"}\n'.encode("utf-16"), "UTF-16"),
        (b"PAR1\x15\x04\n\n", "DuckDB"),
    ],
    ids=["gzip", "utf-16", "parquet"],  # (gzip writes the time into it: all workers must see one name)
)
def test_a_file_of_another_form_is_told_as_such(content: bytes, said: str) -> None:
    """Gzip and UTF-16 are one damaged place that says what it is, not one for each line."""
    told: list[tuple[int, str]] = []
    assert list(read_records(io.BytesIO(content), lambda line, text: told.append((line, text)))) == []
    [(line, text)] = told
    assert line == 1
    assert said in text
