"""Laws of snapshots, for any value."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import math
import zoneinfo
from typing import Any

import msgpack
import orjson
import ormsgpack
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolog import counters, snapshot
from toolog.settings import capture
from toolog.snapshot import Limits, pack, pack_cut, plain

TEXT = st.text(st.characters(), max_size=20) | st.text(st.characters(categories=["Cs", "L"]), max_size=5)
PLAIN_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
)
PLAIN = st.recursive(
    PLAIN_SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
    max_leaves=40,
)
SCALARS = (
    PLAIN_SCALARS
    | TEXT
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.binary(max_size=40)
    | st.decimals()
    | st.fractions()
    | st.uuids()
    | st.datetimes(timezones=st.none() | st.sampled_from([dt.UTC, zoneinfo.ZoneInfo("Asia/Shanghai")]))
    | st.times()
    | st.timedeltas()
    | st.builds(object)
)
HASHABLE = (
    PLAIN_SCALARS
    | TEXT
    | st.binary(max_size=5)
    | st.tuples(st.integers(0, 3), st.text(max_size=2))
    | st.floats()
)
ANY = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.lists(inner, max_size=6).map(tuple)
        | st.dictionaries(HASHABLE, inner, max_size=6)
        | st.sets(HASHABLE, max_size=6)
        | st.frozensets(HASHABLE, max_size=6)
    ),
    max_leaves=40,
)

# Data are drawn slowly on a busy machine; that says nothing about the law.
LAW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def is_plain(value: Any) -> bool:
    """Whether a value is plain data, all the way down."""
    if value is None or type(value) is bool:
        return True
    if type(value) is int:
        return -(2**63) <= value < 2**64
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is str:
        return value.encode("utf-8", "ignore").decode() == value
    if type(value) is list:
        return all(map(is_plain, value))
    return (
        type(value) is dict
        and all(type(key) is str and is_plain(key) for key in value)
        and all(map(is_plain, value.values()))
    )


@given(ANY)
@LAW
def test_any_value_becomes_plain_data(value: Any) -> None:
    """Any value becomes plain data, which JSON and MessagePack read back alike."""
    before = counters.value("internal", reason="snapshot")
    found = plain(value)
    assert counters.value("internal", reason="snapshot") == before  # no fault of ours was contained
    assert is_plain(found)
    assert orjson.loads(orjson.dumps(found)) == found
    assert msgpack.unpackb(pack(value)) == found
    assert pack_cut(value, "input") == (pack(value), None)


@given(PLAIN)
@LAW
def test_plain_data_stays_as_it_is(value: Any) -> None:
    """Plain data is its own snapshot, in new containers, and -0.0 keeps its sign."""
    found = plain(value)
    assert repr(found) == repr(value)
    assert found is not value or not isinstance(value, (dict, list))


@given(PLAIN)
@LAW
def test_both_ways_give_the_same_bytes(value: Any) -> None:
    """The short way for plain values and the walk write the same bytes."""
    assert pack(value) == snapshot._walked(value, None)[1] == ormsgpack.packb(value)


@given(ANY)
@LAW
def test_a_value_is_not_changed(value: Any) -> None:
    """A snapshot leaves its value as it was."""
    before = copy.deepcopy(value)
    plain(value)
    assert repr(value).replace("object at", "")[:40] == repr(value).replace("object at", "")[:40]
    assert same(value, before)


def same(one: Any, other: Any) -> bool:
    """Equality that takes a NaN and a copied object for the same."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            same(a, b) and same(one[a], other[b]) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (set, frozenset)):
        return len(one) == len(other)
    if isinstance(one, (float, complex, decimal.Decimal)):
        return repr(one) == repr(other)
    return type(one) is object or bool(one == other)


@given(ANY, st.integers(20, 400), st.integers(1, 8), st.integers(1, 4))
@LAW
def test_any_bound_is_kept(value: Any, size: int, items: int, nesting: int) -> None:
    """Whatever the bounds, the snapshot is plain data within them."""
    found = plain(value, limits=Limits(max_bytes=size, max_items=items, max_nesting=nesting))
    assert is_plain(found)
    assert len(ormsgpack.packb(found)) <= size


@given(st.lists(st.text(max_size=5) | st.integers() | st.none() | st.dates(), max_size=12, unique=True))
@LAW
def test_sets_are_in_a_certain_order(members: list[Any]) -> None:
    """The order of a set of plain scalars does not depend on how it came about."""
    if not any(isinstance(member, dt.date) for member in members):
        assert plain(set(members)) == plain({*members[::-1]})
    assert len(plain(set(members))) == len(set(members))


def test_scalars_keep_their_bytes() -> None:
    """Numbers at every border of MessagePack's forms go the short way and come back exactly."""
    for power in range(64):
        for number in (2**power - 1, 2**power, -(2**power), -(2**power) - 1):
            if -(2**63) <= number < 2**64:
                assert msgpack.unpackb(pack(number)) == number
                assert pack(number) == snapshot._walked(number, None)[1]
    assert capture.max_bytes == 65536
