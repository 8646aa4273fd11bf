"""Times and settings as search servers write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.expiry.cluster import is_as_wanted, parse_time, write_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(604_800, "7d"), (86_400, "1d"), (129_600, "36h"), (90, "90s"), (0.5, "500ms"), (5400, "90m")],
)
def test_a_time_is_written_in_its_largest_unit(seconds: float, text: str) -> None:
    """Seven days are `7d`, not 604800 seconds."""
    assert write_time(seconds) == text


@given(st.integers(min_value=1, max_value=10**12))
def test_a_time_is_read_as_it_was_written(milliseconds: int) -> None:
    """Writing and reading a duration loses nothing."""
    assert parse_time(write_time(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)


@pytest.mark.parametrize("other", ["", "d", "7", "7 days", "0ms1", "1.2.3s", 7, None, ["7d"]])
def test_what_is_no_time_is_none(other: Any) -> None:
    """Only the servers' own form counts."""
    assert parse_time(other) is None


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"age": "7d"}, {"age": "168h"}, True),
        ({"age": "7d"}, {"age": "8d"}, False),
        ({"enabled": True}, {"enabled": "true"}, True),
        ({"priority": 251}, {"priority": "251"}, True),
        ({"states": [{"name": "a"}]}, {"states": [{"name": "a", "retry": {}}]}, True),
        ({"states": [{"name": "a"}]}, {"states": [{"name": "a"}, {"name": "b"}]}, False),
        ({"states": []}, {"states": "none"}, False),
        ({"a": {"b": 1}}, {"a": None}, False),
        ({"a": None}, {}, False),
        ("x", "y", False),
    ],
)
def test_a_server_may_add_and_rewrite(wanted: Any, found: Any, same: bool) -> None:
    """What a server adds, and another way of writing a time, a flag or a number, is no difference."""
    assert is_as_wanted(wanted, found) is same
