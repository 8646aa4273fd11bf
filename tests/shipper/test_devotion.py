"""The interpreter of a process that does nothing but ship."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest

from toolog import breath
from toolog.shipper import devotion
from toolog.shipper.devotion import TIDY_EVERY, YOUNG, Tidying, devoted


def test_it_ends_as_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile nobody rests and the garbage collector looks seldom; afterwards all is as it was."""
    rests: list[float] = []
    monkeypatch.setattr(breath, "sleep", rests.append)
    monkeypatch.setattr(breath, "STRETCH", 0.0)
    before = gc.get_threshold()
    with devoted():
        assert gc.get_threshold() == (YOUNG, *before[1:])
        breath.breathe()
        assert not rests
    breath.breathe()
    assert len(rests) == 1
    assert gc.get_threshold() == before


def test_a_collector_that_is_off_stays_off() -> None:
    """Whoever ships in an interpreter that never looks for garbage does not make it do so."""
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with devoted():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_errors_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only refers to itself is found within the time, and not looked for before."""
    now = [0.0]
    collected: list[None] = []
    monkeypatch.setattr(devotion, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(devotion, "gc", SimpleNamespace(collect=lambda: collected.append(None)))
    tidying = Tidying()
    for _ in range(10):
        tidying.tidy()
        now[0] += TIDY_EVERY / 4
    assert len(collected) == 2
