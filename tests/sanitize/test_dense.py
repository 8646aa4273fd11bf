"""Dense hostile texts: how much is done for them grows as their length does, whatever they are made of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from toolog.sanitize import default

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from hostile import PIECES, RECORDS, SECRETS, text_of

SIZE, TIMES = 2_000, 4
#: A linear run takes four times as many steps for a text four times as long, a quadratic one sixteen times.
BOUND = 6
#: What is asked once for each text, whatever its length.
BASE = 3_000
#: No text may cost more calls than this for each of its characters.
MOST_EACH = 20


def calls(run: Callable[[], Any]) -> int:
    """Return how many functions of Python and of C are called."""
    count = 0

    def seen(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", PIECES)
def test_four_times_as_much_of_a_dense_text_takes_four_times_as_many_steps(kind: str) -> None:
    """For texts of every kind, behind a secret of every kind: calls grow with the length, and are few for
    each character."""
    sanitizer = default()
    small, large = (SECRETS + text_of(PIECES[kind], size) for size in (SIZE, TIMES * SIZE))
    sanitizer.sanitize(large)  # (the judgements of names are remembered)
    few, many = calls(lambda: sanitizer.sanitize(small)), calls(lambda: sanitizer.sanitize(large))
    assert many <= BOUND * few + BASE
    assert many <= MOST_EACH * len(large) + BASE


@pytest.mark.parametrize("kind", RECORDS)
def test_four_times_as_large_a_record_takes_four_times_as_many_steps(kind: str) -> None:
    """For records whose secrets stand in them again, or in every row: calls grow with the size."""
    sanitizer = default()
    small, large = (RECORDS[kind](size) for size in (SIZE, TIMES * SIZE))
    sanitizer.sanitize(large)
    few, many = calls(lambda: sanitizer.sanitize(small)), calls(lambda: sanitizer.sanitize(large))
    assert many <= BOUND * few + BASE
    assert many <= MOST_EACH * TIMES * SIZE + BASE
