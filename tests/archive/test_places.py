"""From a text to the files of records there."""

from __future__ import annotations

from pathlib import Path

import ormsgpack
import pytest

from tests import documents
from tests.sinks.s3.bucket import Archive
from toolog.archive.places import find
from toolog.errors import ConfigError, SinkDenied, SinkUnavailable
from toolog.spool import Spool

RECORDS = [documents.call(number) for number in range(20)]
DATA = b"".join(map(ormsgpack.packb, RECORDS))


def read(place: str, **options: object) -> list[dict[str, object]]:
    """Return all records at a place."""
    return [record for one in find(place, **options) for record in one.read(pytest.fail)]  # type: ignore[arg-type]


def test_a_folder_is_searched(tmp_path: Path) -> None:
    """Files of records below a folder are read in the order of their names; others are not looked at."""
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "2.msgpack").write_bytes(DATA)
    (tmp_path / "1.mp").write_bytes(ormsgpack.packb(documents.call(99)))
    (tmp_path / "notes.txt").write_text("no records")
    assert read(str(tmp_path)) == [documents.call(99), *RECORDS] or read(str(tmp_path))[0] == documents.call(
        99
    )
    assert len(read(str(tmp_path))) == 21


def test_a_spool_is_a_spool(tmp_path: Path) -> None:
    """A folder with segments is read as a spool, and so is an empty one."""
    with_records = Spool(tmp_path / "spool")
    writer = with_records.writer()
    for record in RECORDS:
        writer.append(20, 1, ormsgpack.packb(record))
    assert read(str(tmp_path / "spool")) == RECORDS
    assert read(str(tmp_path / "spool"), pending="archive") == RECORDS
    (tmp_path / "empty").mkdir()
    assert read(str(tmp_path / "empty")) == []


def test_a_prefix_is_a_folder(archive: Archive) -> None:
    """s3://bucket/a reads the object or folder of that name, not what merely begins so."""
    for key in ("a/1.msgpack", "a/deep/2.msgpack", "ab/3.msgpack", "a/4.txt"):
        archive.client.put_object(Bucket=archive.bucket, Key=key, Body=DATA)
    reach = archive.options()
    for key in ("type", "bucket", "prefix"):
        del reach[key]

    def names(place: str) -> list[str]:
        return [one.name.removeprefix(f"s3://{archive.bucket}/") for one in find(place, reach=reach)]

    address = f"s3://{archive.bucket}"
    assert names(address) == ["a/1.msgpack", "a/deep/2.msgpack", "ab/3.msgpack"]
    assert names(f"{address}/a") == names(f"{address}/a/") == ["a/1.msgpack", "a/deep/2.msgpack"]
    assert names(f"{address}/ab/3.msgpack") == ["ab/3.msgpack"]
    assert read(f"{address}/a/1.msgpack", reach=reach) == RECORDS
    with pytest.raises(ConfigError, match="no files of records"):
        find(f"{address}/none", reach=reach)
    with pytest.raises(SinkDenied, match="NoSuchBucket"):
        find("s3://not-there/a", reach=reach)
    with pytest.raises(SinkUnavailable, match="nobody answers"):
        find(address, reach={**reach, "endpoint_url": "http://127.0.0.1:1"})


def test_what_is_no_place_is_told(tmp_path: Path) -> None:
    """A folder without records, a missing file, an address without a bucket, a question about no spool."""
    (tmp_path / "notes.txt").write_text("no records")
    with pytest.raises(ConfigError, match="no files of records"):
        find(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        find(str(tmp_path / "none.jsonl"))
    with pytest.raises(ConfigError, match="names no bucket"):
        find("s3:///calls")
    with pytest.raises(ConfigError, match="--pending"):
        find(str(tmp_path), pending="archive")
