"""Durations and sizes in the tables of retention."""

from __future__ import annotations

import pytest

from toolog.report.retention import period


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.5, "0.5 s"), (90, "90 s"), (7200, "2 hours"), (129_600, "36 hours"), (86_400, "1 day"),
        (7 * 86_400, "7 days"), (86_401, "1 day 1 s"), (86_400 + 120, "1 day 2 minutes"),
    ],
)  # fmt: skip
def test_a_duration_is_said_in_as_few_units_as_it_takes(seconds: float, shown: str) -> None:
    """Whole days, hours and minutes by themselves; more than a day and something else in two units."""
    assert period(seconds) == shown
