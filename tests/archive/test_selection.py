"""Questions to an archive: the answers of the store, and only the objects that are needed."""

from __future__ import annotations

import random
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from tests import documents
from tests.services.s3_proxy import ACCESS_DENIED, S3Error, S3Proxy
from tests.sinks.s3.bucket import Archive
from toolog import store
from toolog.archive.bucket import S3Object, list_objects
from toolog.archive.places import SUFFIXES
from toolog.archive.selection import Question, ask, select
from toolog.errors import ConfigError, SinkDenied
from toolog.levels import NAMES
from toolog.sinks import SinkRecord

COLD = S3Error(403, "InvalidObjectState", "The operation is not valid for the object's storage class")
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=2)


def put(archive: Archive, found: list[dict[str, Any]], when: datetime, number: int = 1) -> None:
    """Store documents as one segment's that began then; ERROR has a policy of its own."""
    segment = f"{when:%Y%m%dT%H%M%S%fZ}_web-1_4711_0123456789ab_{number:06d}"
    batch = [
        SinkRecord(
            ormsgpack.packb(document),
            level=NAMES[document["level"]],
            policy="error" if NAMES[document["level"]] >= 40 else "info",
            segment=segment,
            seq=seq,
        )
        for seq, document in enumerate(found, 1)
    ]
    for first in (True, False):  # one after the other: they may be stored in different seconds
        part = [record for record in batch if (record.policy == batch[0].policy) is first]
        if part:
            assert archive.sink(prefix="calls").write(part) is None


def objects(archive: Archive, endpoint_url: str | None = None) -> list[S3Object]:
    """Return what is in the archive."""
    reach = archive.options(**({} if endpoint_url is None else {"endpoint_url": endpoint_url}))
    for key in ("type", "bucket", "prefix"):
        del reach[key]
    return list_objects(f"s3://{archive.bucket}/calls", reach, SUFFIXES)


def a_day() -> list[dict[str, Any]]:
    """Return records of every kind, in the order of their times."""
    chance = random.Random(4)
    found: list[dict[str, Any]] = []
    for number in range(400):
        kind = chance.choice([documents.call, documents.call, documents.failed, documents.started])
        stamp = f"{NOON + timedelta(minutes=number):%Y-%m-%dT%H:%M:%S.%fZ}"
        fields = {
            "timestamp": stamp, "tool_name": chance.choice(["shop.find", "shop.pay", "bank.pay"]),
            "session_id": f"order-{number % 5}", "instance_id": f"i{number % 3}",
        }  # fmt: skip
        found.append(kind(number, **fields))
    found.append(documents.log(500, "a line"))
    return found


def at(hour: int, zone: str = "Z") -> str:
    """Return a time of that day."""
    return f"{NOON:%Y-%m-%d}T{hour}:00:00{zone}"


QUESTIONS = [
    {}, {"tool": "shop.*"}, {"tool": "shop.pay"}, {"tool": "[sb]*.pay"}, {"status": "failed"},
    {"status": "running"}, {"session": "order-3"}, {"instance": "i1"}, {"level": "ERROR"}, {"level": "debug"},
    {"since": at(15)}, {"until": at(13)},
    {"since": at(13, "+01:00"), "until": at(14), "tool": "*pay"},
    {"text": "shoes 39*"}, {"text": "refused", "session": "order-1"}, {"text": "nowhere"}, {"limit": 3},
]  # fmt: skip


def as_stored(part: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records in the order of their objects: one for each policy, that of the first record first."""
    is_error = part[0]["level"] == "ERROR"
    return sorted(part, key=lambda one: (one["level"] == "ERROR") != is_error)


def test_the_answers_are_the_stores(archive: Archive, tmp_path: Path) -> None:
    """Each question has the same answer from the archive and from a store with the same records."""
    day = a_day()
    with store.open(tmp_path / "calls.db") as held:
        for start in range(0, len(day), 100):
            part = day[start : start + 100]
            put(archive, part, NOON + timedelta(minutes=start), 1 + start // 100)
            held.write(as_stored(part))
        there = objects(archive)
        assert len(there) == 9
        for given in QUESTIONS:
            question = Question(**given)
            expected = held.calls(**given)
            found = ask(select(there, question), question, pytest.fail, lambda size: None)
            assert found == expected, given
            assert found or given.get("text") == "nowhere"


def test_only_what_is_needed_is_read(archive: Archive, s3_proxy: S3Proxy) -> None:
    """Objects that cannot have what is asked for are not read: by their key, by when they were stored, and by
    what was noted with them.
    """
    for day in range(1, 4):
        number = day * 10
        stamp = f"2026-11-{day:02d}T05:00:00.000000Z"
        found = [documents.call(number, timestamp=stamp), documents.failed(number + 1, timestamp=stamp)]
        put(archive, found, datetime(2026, 11, day, 5, tzinfo=UTC), day)
    there = objects(archive, s3_proxy.url)
    assert len(there) == 6

    def read(**given: Any) -> tuple[list[str], int]:
        s3_proxy.forget()
        question = Question(**given)
        found = ask(select(there, question), question, pytest.fail, lambda size: None)
        gets = [one for one in s3_proxy.deliveries if one.method == "GET"]
        return sorted(one["record_id"][-2:] for one in found), len(gets)

    assert read() == (["0a", "0b", "14", "15", "1e", "1f"], 6)
    assert read(until="2026-11-02T05:30:00Z") == (["0a", "0b", "14", "15"], 4)
    assert read(until="2026-11-02T04:00:00Z") == (["0a", "0b"], 2)
    late = documents.call(255, timestamp="2026-11-01T06:00:00.000000Z")  # a dead letter, sent again
    put(archive, [late], datetime(2026, 11, 20, tzinfo=UTC), 9)
    there = objects(archive, s3_proxy.url)
    assert read(until="2026-11-02T04:00:00Z") == (["0a", "0b", "ff"], 3)
    assert read(level="ERROR") == (["0b", "15", "1f"], 3)
    stored = there[0].modified
    assert select(there, Question(since=datetime.fromtimestamp(stored + 3601 + 60, UTC).isoformat())) == []
    assert len(select(there, Question(since=datetime.fromtimestamp(stored + 3000, UTC).isoformat()))) == 7


def test_foreign_objects_are_read_too(archive: Archive) -> None:
    """Files of records that somebody put there under other names are part of the archive."""
    body = ormsgpack.packb(documents.call(1)) + ormsgpack.packb(documents.failed(2))
    archive.client.put_object(Bucket=archive.bucket, Key="calls/by-hand.msgpack", Body=body)
    archive.client.put_object(Bucket=archive.bucket, Key="calls/README.txt", Body=b"not records")
    archive.client.put_object(Bucket=archive.bucket, Key="calls-2/by-hand.msgpack", Body=body)
    question = Question(level="ERROR", until="2027-01-01")
    (one,) = select(objects(archive), question)
    found = ask([one], question, pytest.fail, lambda size: None)
    assert [call["record_id"] for call in found] == [documents.failed(2)["record_id"]]


@pytest.mark.parametrize("given", [{"since": "soon"}, {"level": "LOUD"}, {"until": "x"}, {"status": "x"}])
def test_a_filter_without_sense_is_told(given: dict[str, str]) -> None:
    """A time or level that is none is a ConfigError before anything is read."""
    with pytest.raises(ConfigError):
        Question(**given)


def test_long_records_are_taken_in_small_chunks(archive: Archive) -> None:
    """A question to records of 200 kB holds a few of them at a time, not some thousand."""
    noise = random.Random(7)
    long = [documents.call(n, input={"text": [noise.randbytes(100_000).hex()]}) for n in range(400)]
    put(archive, long, NOON)
    del long
    there = objects(archive)
    tracemalloc.start()
    try:
        assert len(ask(there, Question(limit=1), pytest.fail, lambda size: None)) == 1
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 60 << 20


def test_objects_that_cannot_be_had(archive: Archive, s3_proxy: S3Proxy) -> None:
    """What was deleted since it was listed, or lies in cold storage, is told and passed over; the others are
    read. A missing right ends the question, and says which rights a reader needs, and for what.
    """
    for number in range(3):
        early = documents.call(number, timestamp="2026-11-01T00:00:00.000000Z")
        put(archive, [early], NOON + timedelta(hours=number), number + 1)
    there = objects(archive, s3_proxy.url)
    question = Question(until="2026-11-02")  # which the keys do not settle: metadata are asked for

    def found() -> tuple[int, list[str]]:
        told: list[str] = []
        needed = select(there, question)
        return len(ask(needed, question, told.append, lambda size: None)), told

    assert len(ask(select(there, Question()), Question(), pytest.fail, lambda size: None)) == 3
    archive.client.delete_object(Bucket=archive.bucket, Key=there[0].key)
    number, told = found()
    assert (number, told) == (2, [f"{there[0].name}: it is not there any more"])
    s3_proxy.add(COLD, where=lambda one: one.method == "GET" and "_000002-" in one.path)
    number, told = found()
    assert number == 1
    assert f"{there[1].name}: it is in cold storage; restore it first" in told
    for method in ("GET", "HEAD"):
        s3_proxy.add(ACCESS_DENIED, times=None, where=lambda one, method=method: one.method == method)
        with pytest.raises(SinkDenied, match=r"_000\d\d\d-1-1.*s3:ListBucket.*s3:GetObject") as caught:
            found()
        assert "PutObject" not in str(caught.value)
        s3_proxy.clear()
    s3_proxy.add(ACCESS_DENIED, times=None)
    with pytest.raises(SinkDenied, match=r"AccessDenied.*s3:ListBucket"):
        objects(archive, s3_proxy.url)
