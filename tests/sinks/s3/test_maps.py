"""What is known of records without decoding them is what decoding says."""

from __future__ import annotations

from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shorts import make_short
from toolog.sinks import SinkRecord
from toolog.sinks.s3.maps import Maps
from toolog.sinks.s3.objects import pack, record_ids
from toolog.sinks.short import ShortRecord

TIMES = st.datetimes().map(lambda time: time.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0"))
ODD = st.sampled_from(["2026-11-30T13:30:01Z", "", "é" * 13 + "x", "x" * 27, 7, None])
IDS = st.text("0123456789abcdef", min_size=32, max_size=32)
PLAIN = st.recursive(
    st.none() | st.integers(-9, 1 << 40) | st.floats(allow_nan=False) | st.text(max_size=40) | TIMES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["timestamp", "record_id", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
RECORDS = st.tuples(
    st.permutations(["event", "record_id", "timestamp", "input", "tool"]),
    st.fixed_dictionaries(
        {"event": st.sampled_from(["log", "tool_call_success"]), "record_id": IDS | st.text(max_size=3)},
        optional={"timestamp": TIMES | ODD, "input": PLAIN, "tool": PLAIN},
    ),
).map(lambda drawn: {name: drawn[1][name] for name in drawn[0] if name in drawn[1]})


def record(document: Any) -> SinkRecord:
    """Return a record that says this."""
    return SinkRecord(ormsgpack.packb(document))


@given(st.lists(RECORDS, min_size=1, max_size=8))
def test_the_oldest_time_is_the_one_that_decoding_finds(documents: list[dict[str, Any]]) -> None:
    """Wherever the time stands, and whatever else looks like one, it is the same as in decoded records; at
    once, and when the same places were seen before.
    """
    maps = Maps()
    packed = [ormsgpack.packb(document) for document in documents]
    times = [document.get("timestamp") for document in documents]
    sound = [one for one in times if isinstance(one, str) and len(one) == 27 and one.isascii()]
    for _ in range(2):
        assert maps.are_whole(packed)
        found = maps.oldest(packed)
        assert found is None or (len(sound) == len(times) and found == min(sound))
        alone = [maps.oldest([one]) for one in packed]
        assert all(one is None or one == time for one, time in zip(alone, times, strict=True))


@given(st.lists(st.binary(max_size=30) | RECORDS.map(ormsgpack.packb), min_size=1, max_size=6))
def test_what_is_taken_for_whole_is(given: list[bytes]) -> None:
    """Records that are taken for whole maps are read back one by one, and the others are told apart."""

    def is_map(data: bytes) -> bool:
        import msgpack

        try:
            return isinstance(msgpack.unpackb(data, raw=True, strict_map_key=False), dict)
        except TypeError:  # a map or a list as a key: a whole map, which Python cannot hold
            return True
        except (ValueError, msgpack.UnpackException):
            return False

    maps = Maps()
    for _ in range(2):
        assert maps.are_whole(given) == all(map(is_map, given))


CALL = {"record_id": "0" * 32, "timestamp": "2026-11-30T13:30:01.000000Z", "x": 1}


WHOLE = ormsgpack.packb(CALL)


@pytest.mark.parametrize(
    ("spoilt", "number"),
    [
        ([b"", WHOLE * 2], 2),
        ([WHOLE[:-5], WHOLE[-5:] + WHOLE], 2),
        ([WHOLE + b"\xc0", WHOLE[:-1]], 2),
        ([b"\xc0", WHOLE], 1),
    ],
)
def test_damage_in_one_record_costs_no_other(spoilt: list[bytes], number: int) -> None:
    """Records whose bytes only together make maps are not taken for records; all others are stored."""
    good = [record({**CALL, "record_id": f"{index:032d}"}) for index in range(1, 101)]
    packed = pack([*good[:70], *map(SinkRecord, spoilt), *good[70:]], "msgpack", 3)
    assert len(packed.rejected) == number
    assert packed.rejected.keys() <= {SinkRecord(one).record_id for one in spoilt}
    assert record_ids(packed.body, "msgpack") >= {one.record_id for one in good}
    assert packed.records == len(good) + 2 - number
    assert packed.oldest == CALL["timestamp"]


def test_records_of_all_kinds_have_their_time_seen() -> None:
    """What toolog writes is seen at once: the oldest time of calls and of other events."""
    from toolog.events import make_record

    documents = [
        make_record(event, 20, content={"message": "x"}, wall=10**18 + number).sealed()
        for number in (3, 1, 2)
        for event in ("log", "loss", "tool_instance")
    ]
    assert Maps().oldest(documents) == "2001-09-09T01:46:40.000000Z"


def test_short_and_whole_records_are_one_object() -> None:
    """Records in the short form and in MessagePack stand in an object in their order, and it says which is
    the oldest, whatever its form; a damaged one of either costs no other.
    """
    mixed: list[SinkRecord] = []
    for number in range(150):
        mixed.append(
            ShortRecord(make_short({"input": number, "output": 1}, wall=10**18 + number, number=number))
        )
        if number % 3 == 0:
            mixed.append(record({**CALL, "record_id": f"{number:032d}"}))
    whole = [SinkRecord(one.data) for one in mixed]
    for form in ("msgpack", "jsonl"):
        packed = pack(mixed, form, 3)
        assert (packed.body, packed.records, packed.oldest) == (
            pack(whole, form, 3).body,
            200,
            "2001-09-09T01:46:40.000000Z",
        )
    damaged = ShortRecord(make_short({"input": 1, "output": 1}, number=2**63)[:-1])
    packed = pack([*mixed[:70], damaged, *mixed[70:]], "msgpack", 3)
    assert [*packed.rejected] == [damaged.record_id]
    assert packed.records == 200
