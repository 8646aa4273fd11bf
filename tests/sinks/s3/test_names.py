"""Keys of objects: made from a segment's name, and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.sinks.s3 import names
from toolog.spool.naming import SegmentName, address, stamp

SEGMENT = "20261129T133000123456Z_web-1.shop_4711_0123456789ab_000017"


def test_a_key_says_where_its_records_come_from() -> None:
    """Policy, date, hour, host, process, segment and bounds stand in it, Hive-style."""
    assert names.key("calls", "error", SEGMENT, 5, 812, "msgpack") == (
        "calls/policy=error/date=2026-11-29/hour=13/"
        "web-1.shop-4711-20261129T133000123456Z_0123456789ab_000017-5-812.msgpack.zst"
    )
    assert names.key("", "error", SEGMENT, 5, 812, "jsonl").startswith("policy=error/date=")


def test_a_lifecycle_rule_finds_a_policy_and_no_other() -> None:
    """The prefix of a policy ends with a slash, so that it is not also that of `error-audit`."""
    assert names.policy_prefix("/calls/", "error") == "calls/policy=error/"
    other = names.key("calls", "error-audit", SEGMENT, 1, 2, "msgpack")
    assert not other.startswith(names.policy_prefix("calls", "error"))


segments = st.builds(
    SegmentName,
    stamp=st.integers(10**18, 4 * 10**18).map(stamp),
    host=st.from_regex(r"[A-Za-z0-9.-]{1,40}", fullmatch=True),
    pid=st.integers(1, 2**22),
    random=st.from_regex(r"[0-9a-f]{12}", fullmatch=True),
    number=st.integers(0, 10**9),
    to=st.sampled_from(["", address("archive"), address("a/b c")]),
)
prefixes = st.sampled_from(["", "calls", "a/b=c/d", "policy=x/date=2026-01-01"])


@given(segments, prefixes, st.text(min_size=1, max_size=20), st.integers(1), st.integers(1))
def test_every_key_is_read_back(
    segment: SegmentName, prefix: str, policy: str, first: int, last: int
) -> None:
    """Whatever the segment, prefix and policy are called, the facts come out of the key as they went in."""
    key = names.key(prefix, policy, str(segment), first, last, "msgpack")
    found = names.parse(key)
    assert found is not None
    assert (found.prefix, found.policy, found.host, found.pid) == (prefix, policy, segment.host, segment.pid)
    assert (found.date, found.hour) == (segment.date, segment.hour)
    assert (found.first, found.last, found.format, found.part) == (first, last, "msgpack", "")
    part = names.parse(names.with_part(key, "0123abcd"))
    assert part is not None
    assert (part.part, part.first, part.last) == ("0123abcd", first, last)


@given(segments, segments)
def test_keys_of_two_segments_differ(one: SegmentName, other: SegmentName) -> None:
    """Two segments never give one key, and a record carried over keeps its origin."""
    if (one.stamp, one.host, one.pid, one.random, one.number) != (
        other.stamp, other.host, other.pid, other.random, other.number,
    ):  # fmt: skip
        assert names.key("", "p", str(one), 1, 2, "jsonl") != names.key("", "p", str(other), 1, 2, "jsonl")


@pytest.mark.parametrize("key", ["", "calls/x.msgpack.zst", "policy=e/date=2026-11-29/hour=13/x.jsonl.zst"])
def test_other_keys_are_not_ours(key: str) -> None:
    """A key that somebody else made is no key of ours."""
    assert names.parse(key) is None


def test_no_segment_no_key() -> None:
    """A text that is no segment's name makes no key."""
    with pytest.raises(ValueError, match="no segment"):
        names.key("", "p", "memory", 1, 2, "jsonl")
    assert names.is_segment(names.invented_segment("20261129T133000123456Z"))
    assert not names.was_on_disk(names.invented_segment("20261129T133000123456Z"))
