"""Ids of calls."""

from __future__ import annotations

from toolog.ids import Ids


def test_no_id_is_zero() -> None:
    """The id that W3C calls invalid is farther away than a process can count, wherever it begins."""
    for _ in range(100):
        Ids.reseed()
        start = next(Ids.counter)
        steps = -start * pow(Ids.step, -1, 2**64) % 2**64
        assert (start + steps * Ids.step) % 2**64 == 0
        assert steps >= 2**63
