"""What the sink puts into a bucket, and what it does when that goes wrong: on a real server, behind a proxy
that makes the faults.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import random
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import orjson
import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from tests.services import s3_proxy as s3
from tests.services.faults import Drop, Slow, Withhold
from tests.services.proxy import Answer as Reply
from tests.services.proxy import Delivery, PassOn
from tests.services.s3_proxy import S3Proxy
from tests.sinks.s3.bucket import SEGMENT, Archive, ids_of, record
from toolog import counters
from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks import Answer, SinkRecord
from toolog.sinks.s3 import names, objects
from toolog.sinks.s3.sink import S3Sink
from toolog.sinks.s3.uploads import Patience

EMPTY: dict[str, Any] = {"open": {"kinds": [], "segments": {}}}
FIRST = names.key("", "info", SEGMENT, 1, 20, "msgpack")


def batch(start: int = 1, stop: int = 20, **options: Any) -> list[SinkRecord]:
    """Return records of one segment and policy."""
    return [record(number, **options) for number in range(start, stop + 1)]


def test_one_object_for_each_policy_and_segment(archive: Archive) -> None:
    """Records of several policies and segments in one batch become an object each, in their order."""
    other = SEGMENT.replace("133000", "145900").replace("000001", "000002")
    given = [
        record(n, 40 if n % 3 else 20, "error" if n % 3 else "info", other if n % 2 else SEGMENT)
        for n in range(1, 25)
    ]
    sink = archive.sink(prefix="calls")
    assert sink.write(given) is None
    found = archive.list_keys()
    assert sorted(found) == sorted(
        names.key("calls", policy, segment, first, last, "msgpack")
        for policy, segment, first, last in (
            ("error", SEGMENT, 2, 22), ("info", SEGMENT, 6, 24),
            ("error", other, 1, 23), ("info", other, 3, 21),
        )
    )  # fmt: skip
    assert any("/policy=info/date=2026-11-30/hour=14/" in key for key in found)
    assert archive.ids() == ids_of(given)
    for key in found:
        places = [int(one["record_id"].rpartition("-")[2]) for one in archive.records(key)]
        assert places == sorted(places)


class TwoAtOnce(S3Sink):
    """Puts an object only when another one is about to be put, too; ``failing`` keys are not stored."""

    failing: frozenset[str] = frozenset()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.both = threading.Barrier(2, timeout=60)
        self.put: list[str] = []

    def _put_new(self, key: str, packed: objects.Packed) -> bool:
        if not self.put[2:] and not self.failing:
            self.both.wait()
        self.put.append(key)
        if key in self.failing:
            raise SinkUnavailable("not now")
        return super()._put_new(key, packed)


def test_two_objects_are_put_at_once(archive: Archive) -> None:
    """While one object is on its way, the next one of the batch is made and put."""
    options = archive.options()
    del options["type"]
    sink = TwoAtOnce(**options)
    sink.connect()
    given = [record(n, policy=("info", "error")[n % 2]) for n in range(1, 21)]
    assert sink.write(given) is None
    assert archive.ids() == ids_of(given)


def test_one_at_a_time_after_a_failure(archive: Archive) -> None:
    """After an object that could not be stored no other is begun; what is stored is not put again."""
    options = archive.options()
    del options["type"]
    sink = TwoAtOnce(**options)
    sink.connect()
    given = [record(n, policy=f"p{n % 6}") for n in range(1, 61)]
    keys = [names.key(archive.folder, f"p{n % 6}", SEGMENT, n, n + 54, "msgpack") for n in range(1, 7)]
    sink.failing = frozenset(keys)
    with pytest.raises(SinkUnavailable, match="not now"):
        sink.write(given)
    assert 1 <= len(sink.put) <= 2
    sink.put = []
    sink.failing = frozenset({keys[-1]})
    with pytest.raises(SinkUnavailable, match="not now"):
        sink.write(given)
    assert sink.put == keys
    sink.failing = frozenset({"none"})
    assert sink.write(given) is None
    assert sink.put == [*keys, keys[-1]]
    assert archive.ids() == ids_of(given)


def test_the_server_is_told_what_was_asked_for(archive: Archive) -> None:
    """Storage class, encryption, tags, type and figures go with the object, and its checksum is checked."""
    sink = archive.sink(storage_class="STANDARD_IA", sse="AES256", tags={"team": "shop & co"})
    sink.write(batch())
    head = archive.client.head_object(Bucket=archive.bucket, Key=FIRST, ChecksumMode="ENABLED")
    assert head["StorageClass"] == "STANDARD_IA"
    assert head["ServerSideEncryption"] == "AES256"
    assert head["ContentType"] == "application/zstd"
    notes = {"toolog-records": "20", "toolog-level": "20", "toolog-oldest": "2026-11-30T13:30:01.000000Z"}
    assert head["Metadata"] == notes
    crc = zlib.crc32(archive.body(FIRST)).to_bytes(4, "big")
    assert head["ChecksumCRC32"] == base64.b64encode(crc).decode()
    tags = archive.client.get_object_tagging(Bucket=archive.bucket, Key=FIRST)["TagSet"]
    assert tags == [{"Key": "team", "Value": "shop & co"}]


def test_one_plain_request_for_an_object(archive: Archive, s3_proxy: S3Proxy) -> None:
    """An object is one PutObject on condition that nothing is there, signed and with its checksum."""
    archive.sink(endpoint_url=s3_proxy.url).write(batch())
    (put,) = s3_proxy.deliveries
    assert put.headers["If-None-Match"] == "*"
    assert put.headers["x-amz-checksum-crc32"]
    assert "x-amz-trailer" not in put.headers
    assert put.body == archive.body(FIRST)


@pytest.mark.parametrize("form", ["msgpack", "jsonl"])
def test_the_same_records_make_the_same_bytes(form: str) -> None:
    """Packing is repeatable, whichever serializer the spool used, and holds what was given."""
    documents = [{"record_id": str(n), "event": "log", "text": "läuft 日本" * n} for n in range(300)]
    packed = [SinkRecord(ormsgpack.packb(one)) for one in documents]
    lines = [SinkRecord(orjson.dumps(one), serializer=0) for one in documents]
    bodies = {objects.pack(given, form, 3).body for given in (packed, packed, lines)}
    assert len(bodies) == 1
    assert objects.record_ids(bodies.pop(), form) == {str(n) for n in range(300)}


@pytest.mark.parametrize(
    "fault", [s3.INTERNAL_ERROR, s3.SLOW_DOWN, s3.CONFLICT, s3.SKEWED, s3.EXPIRED_TOKEN, Drop(), s3.Corrupt()]
)
def test_troubles_that_pass_are_tried_again(archive: Archive, s3_proxy: S3Proxy, fault: Any) -> None:
    """After a trouble that passes nothing was stored, and the next try stores it: also where the status looks
    like a denial (expired credentials are 400, a wrong clock is 403), and where bytes were damaged.
    """
    s3_proxy.add(fault)
    sink = archive.sink(endpoint_url=s3_proxy.url)
    given = batch()
    with pytest.raises(SinkUnavailable) as caught:
        sink.write(given)
    assert not isinstance(caught.value, SinkDenied)
    assert caught.value.tells
    assert archive.list_keys() == []
    assert sink.write(given) is None
    assert archive.ids() == ids_of(given)


@pytest.mark.parametrize(
    ("code", "status", "advice"),
    [
        ("AccessDenied", 403, "s3:PutObject"),
        ("InvalidAccessKeyId", 403, "access_key_id"),
        ("SignatureDoesNotMatch", 403, "secret_access_key"),
        ("NoSuchBucket", 404, "bucket"),
        ("PermanentRedirect", 301, "region"),
        ("AuthorizationHeaderMalformed", 400, "region"),
        ("KMS.DisabledException", 400, "kms_key_id"),
        ("NotImplemented", 501, "conditional"),
        ("SomethingNew", 400, "SomethingNew"),
    ],
)
def test_denials_say_what_to_do(
    archive: Archive, s3_proxy: S3Proxy, code: str, status: int, advice: str
) -> None:
    """What somebody must put right is a denial that says what; once it is, the same sink goes on."""
    s3_proxy.add(s3.S3Error(status, code), times=2)
    sink = archive.sink(endpoint_url=s3_proxy.url)
    given = batch()
    for _ in range(2 if code != "PermanentRedirect" else 1):  # after which the client looks for the region
        with pytest.raises(SinkDenied, match=advice) as caught:
            sink.write(given)
        assert archive.bucket in str(caught.value)
    s3_proxy.clear()
    assert sink.write(given) is None
    assert archive.ids() == ids_of(given)


@pytest.mark.parametrize(
    ("options", "rights"),
    [
        ({}, "s3:PutObject and s3:GetObject on it"),
        ({"tags": {"team": "shop"}}, "s3:PutObject, s3:PutObjectTagging and s3:GetObject"),
        ({"sse": "aws:kms", "kms_key_id": "k"}, "kms:GenerateDataKey and kms:Decrypt on the key kms_key_id"),
    ],
)
def test_the_rights_follow_from_the_options(
    archive: Archive, s3_proxy: S3Proxy, options: dict[str, Any], rights: str
) -> None:
    """A missing right is told with all the rights that these options need."""
    s3_proxy.add(s3.ACCESS_DENIED)
    with pytest.raises(SinkDenied, match=rights):
        archive.sink(endpoint_url=s3_proxy.url, **options).write(batch())


def test_credentials_are_read_again(archive: Archive, tmp_path: Path) -> None:
    """A wrong secret, then a right one in its file: the sink goes on without a restart."""
    file = tmp_path / "secret"
    file.write_text("wrong\n")
    sink = archive.sink(secret_access_key={"file": str(file)})
    with pytest.raises(SinkDenied, match="SignatureDoesNotMatch: check secret_access_key"):
        sink.write(batch())
    file.unlink()
    with pytest.raises(SinkDenied, match=r"no secret_access_key of sink 'archive'.*cannot be read"):
        sink.write(batch())
    file.write_text(archive.server.secret_key + "\n")
    assert sink.write(batch()) is None


def test_an_expired_token_is_renewed(archive: Archive, s3_proxy: S3Proxy) -> None:
    """After ExpiredToken the next request is signed with the credentials as they are then."""
    tokens = itertools.count()
    s3_proxy.add(s3.EXPIRED_TOKEN)
    sink = archive.sink(endpoint_url=s3_proxy.url, session_token=lambda: f"token-{next(tokens)}")
    for _ in range(2):
        with pytest.raises(SinkUnavailable):
            sink.write(batch())  # the server knows no tokens at all
    sent = [one.headers["x-amz-security-token"] for one in s3_proxy.puts()]
    assert sent == ["token-0", "token-1"]


def test_a_bucket_that_is_made_later(archive: Archive) -> None:
    """Records for a bucket that is not there are kept; when it is made, they go there."""
    later = f"{archive.bucket}-later"
    sink = archive.sink(bucket=later)
    given = batch()
    with pytest.raises(SinkDenied, match=rf"{later} at http.*NoSuchBucket: create the bucket"):
        sink.write(given)
    archive.server.make_bucket(later)
    try:
        assert sink.write(given) is None
    finally:
        archive.client.delete_bucket(Bucket=later)


def test_nobody_answers(archive: Archive, s3_proxy: S3Proxy) -> None:
    """A server that is away, or does not answer in time, is told so; it goes on when it is back."""
    sink = archive.sink(endpoint_url=s3_proxy.url, timeout=0.3)
    s3_proxy.refuse()
    with pytest.raises(SinkUnavailable, match="nobody answers at that address"):
        sink.write(batch())
    s3_proxy.accept()
    s3_proxy.add(Withhold(5))
    with pytest.raises(SinkUnavailable, match="no answer within the timeout"):
        sink.write(batch())
    silences(sink, batch(), 50)
    assert set(archive.ids().values()) == {1}


def noise(size: int, count: int, start: int = 1) -> list[SinkRecord]:
    """Return records that do not pack: ``count`` of ``size`` bytes each."""
    random_ = random.Random(start)
    return [
        SinkRecord(
            ormsgpack.packb({"record_id": str(n), "x": random_.randbytes(size)}), segment=SEGMENT, seq=n
        )
        for n in range(start, start + count)
    ]


def silences(sink: S3Sink, given: list[SinkRecord], most: int) -> int:
    """Write a batch until it is stored; return how often no answer came in time before."""
    for number in range(most):
        with contextlib.suppress(SinkUnavailable):
            sink.write(given)
            return number
    pytest.fail(f"not stored in {most} tries")


def test_an_upload_on_a_slow_line(archive: Archive, s3_proxy: S3Proxy) -> None:
    """An upload of several megabytes that takes much longer than the timeout gets the time that it needs: by
    doubling, because what the system has taken over to send looks like silence. The next one has it at once;
    a small one never, nor any when the line is good again.
    """
    s3_proxy.add(Slow(2_500_000), times=None)
    sink = archive.sink(endpoint_url=s3_proxy.url, timeout=1)
    assert silences(sink, noise(100_000, 70), 6) >= 1
    assert silences(sink, noise(100_000, 70, 101), 1) == 0
    s3_proxy.clear()

    def give_up(given: list[SinkRecord]) -> None:
        s3_proxy.add(Withhold(30))
        with pytest.raises(SinkUnavailable, match="no answer within the timeout"):
            sink.write(given)

    large = 7_000_000
    assert sink._patience.timeout(2000) < 1.3 < sink._patience.timeout(large)
    give_up(batch(201, 220))
    silences(sink, batch(201, 220), 20)
    for start in range(301, 3001, 100):  # a busy machine does not answer at once every time
        silences(sink, noise(100_000, 70, start), 20)
        if sink._patience.timeout(large) == 1:
            break
    assert sink._patience.timeout(large) == 1
    give_up(noise(100_000, 70, 3001))
    assert set(archive.ids().values()) == {1}


def test_a_long_upload_is_seen_to_get_on(archive: Archive, s3_proxy: S3Proxy) -> None:
    """While an upload gets on, the sink gives signs of life, each with how long an answer may take."""
    s3_proxy.add(Slow(6_000_000), times=None)
    sink = archive.sink(endpoint_url=s3_proxy.url, timeout=20)
    writer = threading.Thread(target=sink.write, args=(noise(100_000, 150),))
    writer.start()
    beats = set()
    while writer.is_alive():
        beats.add(sink.pulse.last)
        time.sleep(0.01)
    writer.join()
    times = sorted(when for when, _ in beats)
    assert times[-1] - times[1] > 0.5
    assert all(longer is not None and longer >= 20 for when, longer in beats if when)


sizes = st.integers(0, 1 << 30)


@given(st.lists(st.tuples(sizes, st.one_of(st.none(), st.floats(0, 1e4)))), sizes)
def test_patience_ends(history: list[tuple[int, float | None]], size: int) -> None:
    """Whatever was before, a request may take its timeout, and never ten minutes more than that; a small one
    never more. After a quick answer to a large one all have the timeout again.
    """
    patience = Patience(30.0)
    for sent, waited in history:
        if waited is None:
            patience.grow(sent)
        else:
            patience.learn(sent, waited)
    assert 30.0 <= patience.timeout(size) < 30.0 + 600
    assert patience.timeout(1000) < 31
    patience.learn(1 << 20, 0.2)
    assert patience.timeout(size) == 30.0
    patience.grow(1 << 22)
    assert patience.timeout(1 << 22) == 60.0


def test_an_answer_that_never_came(archive: Archive, s3_proxy: S3Proxy) -> None:
    """Stored, but the answer was lost: the next try finds it there and counts it as stored, once."""
    s3_proxy.add(Withhold())
    sink = archive.sink(endpoint_url=s3_proxy.url)
    given = batch()
    with pytest.raises(SinkUnavailable):
        sink.write(given)
    assert archive.ids() == ids_of(given)
    assert sink.write(given) is None
    assert [one.upstream for one in s3_proxy.puts()] == [200, 412]
    assert archive.ids() == ids_of(given)


def test_a_server_that_says_304(archive: Archive, s3_proxy: S3Proxy) -> None:
    """Some servers answer a conditional upload with 304 in place of 412: it means the same."""

    class OtherWord:
        rate: float | None = None

        async def answer(self, delivery: Delivery, pass_on: PassOn) -> Reply | None:
            found = await pass_on(delivery, delivery.body)
            return Reply(304, CIMultiDict(), b"") if found.status == 412 else found

    given = batch()
    assert archive.sink().write(given) is None
    s3_proxy.add(OtherWord())
    assert archive.sink(endpoint_url=s3_proxy.url).write(given) == Answer(again=20)
    assert archive.ids() == ids_of(given)


def test_what_another_process_stored(archive: Archive) -> None:
    """An object that a dead process stored before its cursor moved is known again, whatever its form."""
    first = archive.sink()
    given = batch()
    assert first.plan(given)
    state = orjson.loads(orjson.dumps(first.cursor_state()))
    first.write(given)
    second = archive.sink(format="jsonl", prefix="elsewhere", compression_level=19)
    second.restore(state)
    assert second.goes_on(SEGMENT, 7)
    assert not second.goes_on(SEGMENT, 20)
    answer = second.write(batch(1, 30))
    assert answer == Answer(again=20)
    assert archive.list_keys() == ["elsewhere/" + names.key("", "info", SEGMENT, 21, 30, "jsonl"), FIRST]
    assert archive.ids() == ids_of(batch(1, 30))
    assert second.cursor_state() == EMPTY


def test_bounds_hold_in_another_bucket(archive: Archive, s3_proxy: S3Proxy) -> None:
    """What was planned for a bucket that is not there, or by way of another address, goes where it can."""
    wrong = archive.sink(bucket="not-there")
    with pytest.raises(SinkDenied):
        wrong.write(batch())
    sink = archive.sink(prefix="calls", endpoint_url=s3_proxy.url)
    sink.restore(wrong.cursor_state())
    assert sink.write(batch()) is None
    assert archive.list_keys() == [FIRST]
    assert sink.write(batch(21, 30)) is None
    assert archive.list_keys()[0] == "calls/" + names.key("", "info", SEGMENT, 21, 30, "msgpack")


@pytest.mark.parametrize("state", [None, {}, {"inode": 7, "length": 9}, {"bucket": "x", "open": 5}])
def test_a_strange_state_is_no_state(archive: Archive, state: Any) -> None:
    """What another kind of sink left in the cursor, or nobody, is no plan."""
    sink = archive.sink()
    sink.restore(state)
    assert sink.cursor_state() == EMPTY
    kinds = [["", "info", "msgpack", [20]], 7, ["", "info", "parquet", [20]]]
    rows = [[0, 1, 2, 2, 1], [1, 1, 2, 2, 1, 2], [2, 1, 2, 2, 1, 2], [9, 1, 2, 2, 1, 2], "x", None]
    sink.restore(
        {"open": {"kinds": kinds, "segments": {SEGMENT: rows, "none": [[0, 1, 2, 2, 1, 2]], "x": 7}}}
    )
    assert sink.cursor_state() == EMPTY
    assert sink.write(batch()) is None


def test_another_object_is_never_overwritten(archive: Archive) -> None:
    """Something else stands under the key: it stays, and the records go under a key of their own."""
    archive.client.put_object(Bucket=archive.bucket, Key=FIRST, Body=b"somebody else's")
    sink = archive.sink()
    assert sink.write(batch()) is None
    assert archive.body(FIRST) == b"somebody else's"
    (second,) = set(archive.list_keys()) - {FIRST}
    found = names.parse(second)
    assert found is not None
    assert (found.first, found.last, bool(found.part)) == (1, 20, True)
    assert archive.records(second) == [one.decode() for one in batch()]


def test_what_is_missing_in_an_object_is_added(archive: Archive) -> None:
    """Where an object under the key holds some of the records, the others go beside it, also when that is
    repeated.
    """
    first = archive.sink()
    first.plan(batch())
    state = first.cursor_state()
    archive.client.put_object(
        Bucket=archive.bucket, Key=FIRST, Body=objects.pack(batch(1, 12), "msgpack", 3).body
    )
    for again in (12, 20):
        sink = archive.sink()
        sink.restore(state)
        assert sink.write(batch()) == Answer(again=again)
        assert archive.ids() == ids_of(batch())
        assert len(archive.list_keys()) == 2


def denied(s3_proxy: S3Proxy) -> None:
    """Take the right to read from everybody."""
    s3_proxy.add(s3.ACCESS_DENIED, times=None, where=lambda one: one.method in ("GET", "HEAD"))


def test_credentials_that_may_only_write(archive: Archive, s3_proxy: S3Proxy) -> None:
    """Without the right to read, an object under the very key of all these records is taken for theirs, and
    that is counted; what has other records waits for the right.
    """
    counters.reset()
    denied(s3_proxy)
    s3_proxy.add(Withhold(), where=lambda one: one.method == "PUT")
    sink = archive.sink(endpoint_url=s3_proxy.url)
    with pytest.raises(SinkUnavailable):
        sink.write(batch())
    assert sink.write(batch()) is None
    assert counters.value("internal", reason="s3: an object was not compared") == 1

    sink.plan(batch(21, 40))
    state = sink.cursor_state()
    archive.sink().write(batch(21, 40))
    sink = archive.sink(endpoint_url=s3_proxy.url)
    sink.restore(state)
    with pytest.raises(SinkDenied, match="s3:GetObject"):
        sink.write(batch(21, 39))
    s3_proxy.clear()
    assert sink.write(batch(21, 39)) == Answer(again=19)


def test_objects_that_were_stored_are_not_put_again(archive: Archive, s3_proxy: S3Proxy) -> None:
    """When one object of a batch fails, the next try is for that one, and for what was not begun."""
    given = [*batch(1, 5), *(record(n, 40, "error") for n in range(6, 9)), *batch(9, 12)]
    s3_proxy.add(s3.SLOW_DOWN, where=lambda one: "policy=error" in one.path or "policy%3Derror" in one.path)
    sink = archive.sink(endpoint_url=s3_proxy.url)
    with pytest.raises(SinkUnavailable):
        sink.write(given)
    assert sink.write(given) is None
    puts = s3_proxy.puts()
    assert [one.status for one in puts if "error" in one.path] == [503, 200]
    assert [one.status for one in puts if "error" not in one.path] == [200]


def test_records_without_a_place(archive: Archive) -> None:
    """Records that come from no spool get a place of their own, and no two calls share a key."""
    data = [ormsgpack.packb({"record_id": str(n)}) for n in range(6)]
    sink = archive.sink()
    for pair in (data[:2], data[2:4], data[4:]):
        given = [SinkRecord(one, segment="memory") for one in pair]
        assert sink.plan(given) is False
        assert sink.write(given) is None
    assert sorted(archive.ids()) == ["0", "1", "2", "3", "4", "5"]
    found = [names.parse(key) for key in archive.list_keys()]
    assert [(one.policy, one.first, one.last) for one in found if one] == [
        ("none", 1, 2), ("none", 3, 4), ("none", 5, 6)
    ]  # fmt: skip


def test_nothing_readable_no_object(archive: Archive) -> None:
    """A batch without any record makes no object."""
    spoilt = SinkRecord(b"\xc1", serializer=7, segment=SEGMENT, seq=1)
    answer = archive.sink().write([spoilt])
    assert answer is not None
    assert list(answer.rejected) == [spoilt.record_id]
    assert archive.list_keys() == []
