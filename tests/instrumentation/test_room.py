"""A tool that walks a deep tree does not break by being watched."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.helpers import Collector
from toolog.instrumentation.entry import instrument
from toolog.instrumentation.room import FRAMES, Room, give_back, make_room

DEEP_WALK = 700  # levels; fits into the default limit of 1000 beside the test's own frames

counts_c_calls = pytest.mark.skipif(
    sys.version_info[:2] == (3, 12), reason="3.12 counts calls through C against a limit that is compiled in"
)


@pytest.fixture(autouse=True)
def limit() -> Iterator[int]:
    """A recursion limit of 1000, and afterwards the one there was."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield 1000
    give_back()
    sys.setrecursionlimit(before)


class Tree:
    def walk(self, level: int) -> int:
        return 0 if level == 0 else 1 + self.walk(level - 1)

    def endless(self) -> None:
        self.endless()


@counts_c_calls
def test_a_deep_walk_is_as_deep_watched_as_bare(seen: Collector) -> None:
    """Each level is recorded, and none is the one too many; undone, the limit is the application's again."""
    assert Tree().walk(DEEP_WALK) == DEEP_WALK
    with instrument(Tree, tools="*.walk"):
        assert Tree().walk(DEEP_WALK) == DEEP_WALK
        assert sum(record.toolog_event == "tool_call_success" for record in seen.records) == DEEP_WALK + 1
    assert sys.getrecursionlimit() == 1000


def test_endless_recursion_still_ends(seen: Collector) -> None:
    """RecursionError comes about where it comes bare, and is recorded as the tool's own."""
    with instrument(Tree, tools="*.endless"):
        with pytest.raises(RecursionError):
            Tree().endless()
        assert sys.getrecursionlimit() < 1000 + FRAMES * 1500
    assert any(record.toolog_event == "tool_call_failed" for record in seen.records)


def test_room_grows_with_the_depth_and_is_bounded(limit: int) -> None:
    """A depth that came from elsewhere may be any number: room is made for what the limit allows at most."""
    make_room(40)
    first = sys.getrecursionlimit()
    assert limit < first
    make_room(41)
    assert sys.getrecursionlimit() == first
    make_room(10**9)
    assert first < sys.getrecursionlimit() <= limit + FRAMES * (limit + 200)
    give_back()
    assert (sys.getrecursionlimit(), Room.granted) == (limit, 0)


def test_a_limit_that_the_application_sets_meanwhile_stays(limit: int) -> None:
    """What it sets is what it gets, with room on top only when calls go deep again."""
    make_room(100)
    sys.setrecursionlimit(5000)
    give_back()
    assert sys.getrecursionlimit() == 5000
    make_room(100)
    assert sys.getrecursionlimit() > 5000
    give_back()
    assert sys.getrecursionlimit() == 5000
