"""A clock that jumps ahead deletes nothing at once."""

from __future__ import annotations

import time

import pytest

from toolog.pipeline import clock as module
from toolog.pipeline.clock import JUMP, PATIENCE, Clock

DAY = 86400.0


class Times:
    """The time that passed, and what the clock says."""

    def __init__(self) -> None:
        self.passed = 1000.0
        self.wall = 1_700_000_000.0

    def go(self, seconds: float) -> None:
        self.passed += seconds
        self.wall += seconds


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    """Both are in the test's hand."""
    made = Times()
    monkeypatch.setattr(module, "passed", lambda: made.passed)
    monkeypatch.setattr(module, "wall", lambda: made.wall)
    return made


def test_time_that_passes_is_believed(times: Times) -> None:
    """However late a look is, and with what a time server puts right, ages are taken from the clock."""
    clock = Clock()
    for seconds in (1, 3600, 40 * DAY):
        times.go(seconds)
        times.wall += 30
        assert clock.is_trusted()


def test_a_jump_ahead_is_not_believed_for_a_day(times: Times, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is deleted for a day after it, which is told; then the clock is believed again."""
    told: list[str] = []
    monkeypatch.setattr(module, "tell", lambda reason, text: told.append(text))
    clock = Clock()
    times.wall += 30 * DAY
    assert not clock.is_trusted()
    assert told == ["the clock jumped ahead by 30.0 days: nothing is purged for a day"]
    times.go(PATIENCE - 1)
    assert not clock.is_trusted()
    times.go(1)
    assert clock.is_trusted()


def test_a_clock_that_was_put_right_is_believed_at_once(times: Times) -> None:
    """After a jump back nothing is waited for."""
    clock = Clock()
    times.wall += 30 * DAY
    assert not clock.is_trusted()
    times.wall -= 30 * DAY
    assert clock.is_trusted()


def test_a_jump_back_deletes_nothing_more(times: Times) -> None:
    """A clock that was ahead from the start, and is put right, is believed."""
    clock = Clock()
    times.wall -= 2 * JUMP
    assert clock.is_trusted()


def test_the_time_that_passed_is_not_the_clocks() -> None:
    """It never goes back, and a clock that nobody sets keeps step with it."""
    before, said = module.passed(), module.wall()
    time.sleep(0.01)
    assert 0.01 <= module.passed() - before <= module.wall() - said + JUMP
