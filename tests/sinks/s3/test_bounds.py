"""Bounds hold whatever comes after a crash: other batch limits, other policies, numbers out of order."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.sinks.s3.bucket import SEGMENT
from toolog.sinks import SinkRecord
from toolog.sinks.s3.bounds import Ledger, Share

Place = tuple[int, int]
"""A record's serial number and level."""


def records(places: Sequence[Place], policies: dict[int, str]) -> list[SinkRecord]:
    """Return records of one segment in this order."""
    return [
        SinkRecord(b"", level=level, policy=policies[level], segment=SEGMENT, seq=seq)
        for seq, level in places
    ]


def by_key(shares: Sequence[Share]) -> dict[str, list[int]]:
    """Return the serial numbers in each object."""
    return {share.bounds.key: [one.seq for one in share.records] for share in shares}


ONE = {20: "info", 40: "info"}
TWO = {20: "info", 40: "error"}
places = st.lists(st.sampled_from([20, 40]), min_size=1, max_size=12).flatmap(
    lambda levels: st.permutations(list(enumerate(levels, 1)))
)


@given(
    places, st.integers(1, 12), st.integers(1, 4), st.sampled_from([ONE, TWO]), st.sampled_from([ONE, TWO])
)
@example([(1, 20), (3, 20), (2, 20)], 3, 2, ONE, ONE)
@example([(2, 20), (1, 20), (3, 20), (4, 20)], 4, 1, ONE, ONE)
@example([(1, 20), (2, 20), (4, 20), (3, 20)], 3, 1, TWO, ONE)
def test_what_was_planned_is_made_again(
    order: list[Place], planned: int, limit: int, before: dict[int, str], after: dict[int, str]
) -> None:
    """In whatever order the numbers stand: what was planned before a crash becomes the very same objects in
    batches of any size, each of them in one batch; what comes behind is in no object twice.
    """
    first = Ledger()
    wanted = by_key(first.divide(records(order[:planned], before), "", "msgpack"))
    second = Ledger()
    second.load(json.loads(json.dumps(first.to_state())))
    found: dict[str, list[int]] = {}
    place = 0
    while place < len(order):
        end = min(place + limit, len(order))
        while end < len(order) and second.goes_on(SEGMENT, order[end - 1][0]):
            end = min(end + limit, len(order))
        batch = records(order[place:end], after)
        made = by_key(second.divide(batch, "", "jsonl"))
        assert not set(made) & set(found)
        found |= made
        second.finish(batch)
        place = end
    assert {key: found[key] for key in wanted} == wanted
    assert sorted(seq for one in found.values() for seq in one) == sorted(seq for seq, _ in order)
    assert len(second) == 0


def test_bounds_do_not_hold_a_batch_for_ever() -> None:
    """Where the last record of an object was given up, the bounds are forgotten once the segment is far
    beyond them.
    """
    ledger = Ledger()
    ledger.divide(records([(1, 20), (2, 20)], ONE), "", "msgpack")
    ledger.finish(records([(1, 20), (3, 20)], ONE))
    assert len(ledger) == 1
    ledger.finish(records([(9000, 20)], ONE))
    assert len(ledger) == 0


@pytest.mark.parametrize("segments", [1, 100])
def test_a_plan_is_short(segments: int) -> None:
    """The bounds of two objects for each of a hundred segments take less than half of the room that a cursor
    has on a full disk.
    """
    ledger = Ledger()
    batch = [
        SinkRecord(b"", level=level, policy=TWO[level], segment=SEGMENT[:-6] + f"{number:06d}", seq=seq)
        for number in range(1, segments + 1)
        for seq, level in ((1, 20), (2, 40), (99_999, 20), (100_000, 40))
    ]
    ledger.divide(batch, "a/longer/prefix/of/a/bucket", "msgpack")
    assert len(ledger) == 2 * segments
    assert len(json.dumps(ledger.to_state(), separators=(",", ":"))) < 160 + 130 * segments
