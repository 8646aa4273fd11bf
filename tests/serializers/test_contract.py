"""The contract of serializers: one suite, run against each that comes with toolog."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import uuid
from pathlib import Path
from typing import Any

import msgpack
import ormsgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolog import serializers, snapshot
from toolog.errors import SerializationError
from toolog.serializers import Serializer

NAMES = sorted(serializers.BUILT_IN)
GOLDEN = sorted((Path(__file__).parents[1] / "schema" / "golden").glob("*.json"))
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
    max_leaves=40,
)

# Data are drawn slowly on a busy machine; that says nothing about the law.
LAW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(params=NAMES)
def serializer(request: pytest.FixtureRequest) -> Serializer:
    """Each serializer in turn."""
    return serializers.get(request.param)


@pytest.mark.parametrize("name", NAMES)
@given(PLAIN)
@LAW
def test_reads_back_what_it_wrote(name: str, document: Any) -> None:
    """Any document of plain data comes back equal, bit for bit."""
    serializer = serializers.get(name)
    assert repr(serializer.loads(serializer.dumps(document))) == repr(document)


@given(PLAIN)
@LAW
def test_all_read_back_the_same(document: Any) -> None:
    """Whatever the serializer, a reader sees the same document; so does one that began with MessagePack."""
    packed = ormsgpack.packb(document)
    found = [serializers.get(name).loads(serializers.get(name).from_packed(packed)) for name in NAMES]
    assert all(repr(each) == repr(document) for each in found)


@given(
    st.recursive(st.floats() | st.integers() | st.binary() | st.text(st.characters()), st.lists, max_leaves=5)
)
@LAW
def test_snapshots_are_taken_by_all(value: Any) -> None:
    """What a snapshot made of any value every serializer takes, and reads back alike."""
    plain = snapshot.plain(value)
    assert len({repr(serializers.get(name).loads(serializers.get(name).dumps(plain))) for name in NAMES}) == 1


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_golden_records(serializer: Serializer, file: Path) -> None:
    """The golden record of each event comes back."""
    record = json.loads(file.read_text("utf-8"))["record"]
    assert serializer.loads(serializer.dumps(record)) == record


@given(PLAIN)
@LAW
def test_other_libraries_read_ours_and_we_theirs(document: Any) -> None:
    """Our bytes are those of the reference libraries' formats, both ways."""
    ours = serializers.get("msgpack")
    assert repr(msgpack.unpackb(ours.dumps(document))) == repr(document)
    assert repr(ours.loads(msgpack.packb(document))) == repr(document)
    assert ours.dumps(document) == msgpack.packb(document)
    text = serializers.get("json")
    assert repr(json.loads(text.dumps(document))) == repr(document)
    assert repr(text.loads(json.dumps(document).encode())) == repr(document)


@dataclasses.dataclass
class Foreign:
    a: int = 1


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        {1: "a"},
        2**64,
        "\ud800",
        object(),
        Foreign(),
        dt.datetime(2026, 1, 2),
        type("Text", (str,), {})("a"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refuses_what_is_not_plain(serializer: Serializer, value: Any) -> None:
    """What is no plain data raises, in every serializer alike; none writes it in a form of its own."""
    with pytest.raises(SerializationError):
        serializer.dumps({"value": value})


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\xdb\xff\xff\xff\xff", b"\x82\xa1a"])
def test_refuses_damaged_bytes(serializer: Serializer, data: bytes) -> None:
    """Damaged bytes raise SerializationError, nothing else."""
    with pytest.raises(SerializationError):
        serializer.loads(data)


@pytest.mark.parametrize("name", NAMES)
@given(st.binary(max_size=60))
@LAW
def test_any_bytes_are_read_or_refused(name: str, data: bytes) -> None:
    """Whatever bytes there are, reading gives a document or SerializationError."""
    try:
        serializers.get(name).loads(data)
    except SerializationError:
        return


def test_as_deep_as_a_snapshot_may_be(serializer: Serializer) -> None:
    """The deepest snapshot that can be configured is written and read by all."""
    value: Any = "bottom"
    for _ in range(1000):
        value = [value]
    deep = snapshot.plain(value, limits=snapshot.Limits(max_nesting=snapshot.MAX_NESTING))
    record = {"output": deep}
    assert serializer.loads(serializer.dumps(record)) == record


def test_uuid_is_left_to_the_snapshot() -> None:
    """MessagePack writes no UUID by itself: what becomes of one is decided in one place."""
    with pytest.raises(SerializationError):
        serializers.get("msgpack").dumps(uuid.UUID(int=1))
