"""What waits in memory: bounded, and a higher level is never given up for a lower one."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolog.pipeline.held import Held, HeldReader
from toolog.pipeline.queues import Queues, lane_of

LEVELS = (5, 10, 20, 30, 40, 50)


class Fixture:
    """Queues with a ledger of what they dropped and spilled."""

    def __init__(
        self, bound: int, when_full: str = "drop_newest", timeout: float = 0.0, spills: bool = True
    ) -> None:
        self.dropped: list[int] = []
        self.spilled: list[Any] = []
        self.spills = spills
        self.held = Held()
        self.queues = Queues(
            bound,
            when_full,
            timeout,
            on_drop=lambda reason, levelno: self.dropped.append(levelno),
            spill=self.spill,
            held=self.held,
        )

    def spill(self, levelno: int, code: int, payload: Any) -> bool:
        if self.spills:
            self.spilled.append(payload)
        return self.spills

    def payloads(self) -> list[Any]:
        return [item[3] for item in self.queues.take(10_000)]


def test_records_come_out_in_the_order_in_which_they_came() -> None:
    """Lanes of levels do not change the order of arrival."""
    box = Fixture(100)
    for number in range(60):
        box.queues.put(LEVELS[number % len(LEVELS)], number)
    assert box.payloads() == list(range(60))
    assert len(box.queues) == 0


@pytest.mark.parametrize(
    ("when_full", "expected"), [("drop_newest", [0, 1, 2]), ("drop_oldest", [1, 2, 3]), ("block", [0, 1, 2])]
)
def test_policy_decides_between_records_of_one_level(when_full: str, expected: list[int]) -> None:
    """Of equals drop_newest gives up the newest, drop_oldest the oldest; block drops the newest when time is
    up.
    """
    box = Fixture(3, when_full)
    for number in range(4):
        box.queues.put(20, number)
    assert box.payloads() == expected
    assert box.dropped == [20]


@settings(deadline=None)  # how long an example takes says nothing here
@given(
    st.lists(st.sampled_from(LEVELS), max_size=60),
    st.integers(min_value=1, max_value=10),
    st.sampled_from(["drop_newest", "drop_oldest", "block", "spill"]),
)
def test_no_higher_level_is_dropped_while_a_lower_one_is_held(
    levels: list[int], bound: int, when_full: str
) -> None:
    """For any sequence and policy the bound holds, nothing vanishes uncounted, and the highest levels are
    kept.
    """
    box = Fixture(bound, when_full, spills=False)
    for number, level in enumerate(levels):
        before = len(box.dropped)
        box.queues.put(level, number)
        for lost in box.dropped[before:]:
            waiting = [item[1] for lane in box.queues._lanes for item in lane]
            assert all(lane_of(one) >= lane_of(lost) for one in waiting)
        assert len(box.queues) <= bound
    kept = [levels[number] for number in box.payloads()]
    assert Counter(kept) + Counter(box.dropped) == Counter(levels)
    best = sorted(map(lane_of, levels), reverse=True)[:bound]
    assert sorted(map(lane_of, kept), reverse=True) == best


@settings(deadline=None)  # how long an example takes says nothing here
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(LEVELS)), max_size=60), st.integers(1, 8))
def test_what_is_held_counts_towards_the_same_bound(steps: list[tuple[bool, int]], bound: int) -> None:
    """Records in the queue and records that the disk did not take are bounded together, by the same rule."""
    box = Fixture(bound)
    for number, (sealed, level) in enumerate(steps):
        if sealed:
            box.queues.hold(level, 1, b"%d" % number)
        else:
            box.queues.put(level, number)
        assert len(box.queues) + len(box.held) <= bound
    kept = [item[1] for item in box.queues.take(1000)]
    kept += [frame.levelno for frame in box.held.take_untouched(1000)]
    assert Counter(kept) + Counter(box.dropped) == Counter(level for _, level in steps)
    best = sorted((lane_of(level) for _, level in steps), reverse=True)[:bound]
    assert sorted(map(lane_of, kept), reverse=True) == best


def test_held_record_that_a_sink_has_taken_is_not_given_up() -> None:
    """What every reader has read may be on its way to a sink: it is delivered, not dropped."""
    box = Fixture(2)
    reader = HeldReader(box.held, lambda levelno: True)
    box.queues.hold(10, 1, b"a")
    box.queues.hold(10, 1, b"b")
    assert [frame.payload for frame in reader.read(1)] == [b"a"]
    box.queues.put(40, "error")
    box.queues.put(40, "another")
    assert box.dropped == [10, 40]
    assert [frame.payload for frame in box.held.take_all()] == [b"a"]


def test_blocked_caller_goes_on_when_there_is_room() -> None:
    """Under `block` a caller waits for the worker, and drops nothing when room comes in time."""
    box = Fixture(1, "block", timeout=30.0)
    box.queues.put(20, 1)
    caller = threading.Thread(target=box.queues.put, args=(20, 2))
    caller.start()
    assert box.payloads() == [1]
    caller.join(20)
    assert box.payloads() == [2]
    assert not box.dropped


async def test_event_loop_never_waits_for_room() -> None:
    """In a thread that runs an event loop `block` drops at once instead of holding up all other tasks."""
    box = Fixture(1, "block", timeout=3600.0)
    box.queues.put(20, 1)
    await asyncio.sleep(0)
    box.queues.put(20, 2)
    assert box.dropped == [20]


@pytest.mark.parametrize("works", [True, False])
def test_spill_carries_the_record_past_the_queue(works: bool) -> None:
    """Under `spill` the caller writes to the spool itself; what that cannot take is dropped like the
    newest.
    """
    box = Fixture(1, "spill", spills=works)
    box.queues.put(20, 1)
    box.queues.put(20, 2)
    assert box.spilled == ([2] if works else [])
    assert box.dropped == ([] if works else [20])
    assert box.payloads() == [1]


def test_threads_lose_nothing() -> None:
    """Eight threads that put at once, with one that takes, account for every record."""
    box = Fixture(10_000)
    taken: list[Any] = []
    threads = [
        threading.Thread(target=lambda base=base: [box.queues.put(20, base + n) for n in range(1000)])
        for base in range(0, 8000, 1000)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken += box.payloads()
    taken += box.payloads()
    assert sorted(taken) == list(range(8000))


def test_mark_tells_what_came_before() -> None:
    """A flush knows whether what was there when it began has left the queue."""
    box = Fixture(10)
    box.queues.put(40, 1)
    mark = box.queues.mark()
    box.queues.put(20, 2)
    assert box.queues.has_before(mark)
    box.queues.take(1)
    assert not box.queues.has_before(mark)


def test_pressure_begins_when_more_than_half_of_the_room_is_taken() -> None:
    """What the disk did not take counts as much as what waits."""
    box = Fixture(4)
    box.queues.put(20, "first")
    box.queues.put(20, "second")
    assert not box.queues.is_pressed()
    box.queues.hold(20, 1, b"third")
    assert box.queues.is_pressed()
