"""Files of all forms, and values of all shapes, are looked into; what cannot be read is told."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
import zstandard

from toolog.archive import parquet
from toolog.audit import Leak, Secrets, audit_path, audit_value
from toolog.audit.search import Needles
from toolog.audit.units import files
from toolog.errors import ConfigError
from toolog.serializers import by_code
from toolog.spool import SpoolWriter

SECRET = "Zq9-invented-1"
NEEDLES = Needles(Secrets([SECRET]))
CLEAN = {"record_id": "r1", "event": "log", "message": "nothing", "input": {"password": "[MASKED:password]"}}
LEAKY = {**CLEAN, "message": f"it is {SECRET}"}
CUT = {**CLEAN, "input": {"a": SECRET[:6], "n": 5, "b": SECRET[6:]}}


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    """Write JSON lines."""
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))


def write_maps(path: Path, records: list[dict[str, Any]]) -> None:
    """Write MessagePack maps."""
    path.write_bytes(b"".join(map(ormsgpack.packb, records)))


def write_zstd(path: Path, records: list[dict[str, Any]]) -> None:
    """Write zstd-compressed JSON lines."""
    lines = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(zstandard.compress(lines.encode()))


def write_gzip(path: Path, records: list[dict[str, Any]]) -> None:
    """Write gzip-compressed JSON lines."""
    path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))


def write_twice(path: Path, records: list[dict[str, Any]]) -> None:
    """Write zstd-compressed MessagePack, compressed again by gzip."""
    path.write_bytes(gzip.compress(zstandard.compress(b"".join(map(ormsgpack.packb, records)))))


def write_database(path: Path, records: list[dict[str, Any]]) -> None:
    """Write a SQLite database with a text and a blob."""
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "a ""b" (id INTEGER, text TEXT, data BLOB)')
        rows = [(1, json.dumps(record), zstandard.compress(b"x")) for record in records]
        connection.executemany('INSERT INTO "a ""b" VALUES (?, ?, ?)', rows)
    connection.close()


def write_parquet(path: Path, records: list[dict[str, Any]]) -> None:
    """Write a Parquet file."""
    pytest.importorskip("pyarrow")
    with open(path, "wb") as stream, parquet.create(stream) as write:
        for record in records:
            write(record)


def write_segment(path: Path, records: list[dict[str, Any]]) -> None:
    """Write a segment of a spool, and give it its path."""
    writer = SpoolWriter(path.parent)
    for record in records:
        writer.append(20, 1, by_code(1).dumps(record))
    writer.close()


FORMS = [
    write_lines,
    write_maps,
    write_zstd,
    write_gzip,
    write_twice,
    write_database,
    write_parquet,
    write_segment,
]


def leaks_below(place: Path) -> tuple[list[Leak], list[str]]:
    """Return the leaks of all files at a place, and what could not be read."""
    unread: list[str] = []
    return [leak for path in files(place) for leak in audit_path(path, NEEDLES, unread.append)], unread


@pytest.mark.parametrize("write", FORMS, ids=lambda write: write.__name__)
def test_a_secret_in_a_file_of_any_form_is_found(write: Callable[..., None], tmp_path: Path) -> None:
    """Compressed or not, in lines, maps, rows or frames: one leak of the plain secret at least is told."""
    write(tmp_path / "file", [CLEAN, LEAKY])
    leaks, unread = leaks_below(tmp_path)
    assert "plain" in {leak.spelling for leak in leaks}
    assert unread == []
    assert SECRET not in "".join(map(str, leaks)) + repr(leaks)


@pytest.mark.parametrize("write", FORMS, ids=lambda write: write.__name__)
def test_a_file_without_a_secret_is_clean(write: Callable[..., None], tmp_path: Path) -> None:
    """Masks, names of secrets and the form's own bytes are no leak."""
    write(tmp_path / "file", [CLEAN, CLEAN])
    assert leaks_below(tmp_path) == ([], [])


@pytest.mark.parametrize(
    "write", [form for form in FORMS if form not in (write_twice,)], ids=lambda write: write.__name__
)
def test_a_secret_cut_into_values_is_found(write: Callable[..., None], tmp_path: Path) -> None:
    """A secret whose parts stand under several keys of one record is found when the values stand together."""
    write(tmp_path / "file", [CLEAN, CUT])
    leaks, _ = leaks_below(tmp_path)
    assert {leak.spelling for leak in leaks} == {"cut into several values"}


def test_what_a_database_deleted_is_found(tmp_path: Path) -> None:
    """A row that was deleted and not overwritten still lies in the file, and is told."""
    path = tmp_path / "calls.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA secure_delete = OFF")
    connection.execute("CREATE TABLE t (text)")
    connection.execute("INSERT INTO t VALUES (?)", (f"it is {SECRET}",))
    connection.commit()
    connection.execute("DELETE FROM t")
    connection.commit()
    connection.close()
    leaks, _ = leaks_below(path)
    assert [leak.where.split(" at")[0] for leak in leaks] == ["bytes"]


def test_a_name_with_a_secret_is_told_and_not_shown(tmp_path: Path) -> None:
    """A secret in a file's name is a leak, and the report does not repeat it."""
    (tmp_path / f"dump-{SECRET}.txt").write_text("empty")
    leaks, _ = leaks_below(tmp_path)
    assert [(leak.where, leak.spelling) for leak in leaks] == [("the file's name", "plain")]
    assert SECRET not in str(leaks)


def test_a_key_with_a_secret_is_told_and_not_shown() -> None:
    """A secret that is a key, or a part of the path to a leak, is told, and the report does not repeat it."""
    leaks = list(audit_value({SECRET: {"x": [SECRET]}}, NEEDLES, "value"))
    assert len(leaks) == 2
    assert SECRET not in str(leaks)


def test_damage_is_told(tmp_path: Path) -> None:
    """What cannot be unpacked to its end was not looked into, and that is said."""
    whole = zstandard.compress(bytes(range(256)) * 500)
    (tmp_path / "cut.zst").write_bytes(whole[:-3])
    leaks, unread = leaks_below(tmp_path)
    assert leaks == []
    assert len(unread) == 1
    assert "cannot be unpacked to its end" in unread[0]


def test_a_place_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    """Nothing to look into is no clean result."""
    with pytest.raises(ConfigError, match="there is no file or folder"):
        files(tmp_path / "nothing")


def test_texts_inside_texts_of_a_value_are_read() -> None:
    """JSON in a text of a value, bytes, sets and other objects are looked into."""
    for value in (
        json.dumps({"a": [SECRET]}),
        SECRET.encode(),
        {SECRET},
        ("x", Path(SECRET)),
        {"a": {"b": SECRET}},
    ):
        assert [leak.spelling for leak in audit_value(value, NEEDLES, "value")][:1] == ["plain"]
    assert [*audit_value({"a": 5, "b": None, "c": True, "d": "Zq9"}, NEEDLES, "value")] == []
