"""Sizes, durations and paths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.errors import ConfigError
from toolog.units import parse_duration, parse_path, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("16 MiB", 16 * 2**20), ("1GiB", 2**30), ("2 kB", 2000), ("1_000", 1000), (512, 512), ("1.5 KiB", 1536)],
)
def test_sizes(text: object, size: int) -> None:
    """A size is a number of bytes or a number with a unit, with or without a space."""
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5 s", 5.0), ("250ms", 0.25), ("7 days", 604800.0), ("10 min", 600.0), (2.5, 2.5), ("1 h", 3600.0)],
)
def test_durations(text: object, seconds: float) -> None:
    """A duration is a number of seconds or a number with a unit."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("units", "seconds"),
    [
        ("us usec usecs microsecond microseconds", 1e-6),
        ("ms msec msecs millisecond milliseconds", 1e-3),
        ("s sec secs second seconds", 1.0),
        ("m min mins minute minutes", 60.0),
        ("h hr hrs hour hours", 3600.0),
        ("d day days", 86400.0),
        ("w wk wks week weeks", 604800.0),
    ],
)
def test_units_of_time_have_their_usual_short_forms(units: str, seconds: float) -> None:
    """Each unit is known by its name and its short forms, one and many, in any case."""
    for unit in units.split():
        assert parse_duration(f"5 {unit}") == parse_duration(f"5{unit.upper()}") == 5 * seconds
    for wrong in units.split():
        with pytest.raises(ConfigError):
            parse_duration(f"1,5 {wrong}")


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "MiB",
        "5 parsecs",
        "-1 s",
        -1,
        True,
        None,
        "nan",
        float("inf"),
        [],
        "1..2 s",
        "1,5 s",
        "1,500 s",
        "1__0",
        10**400,
    ],
)
def test_nonsense_is_refused(wrong: object) -> None:
    """What is no size or duration is a ConfigError that names the setting and shows an example."""
    with pytest.raises(ConfigError, match=r"queue\.timeout"):
        parse_duration(wrong, "queue.timeout")
    with pytest.raises(ConfigError, match=r"spool\.max_size"):
        parse_size(wrong, "spool.max_size")


@given(st.text())
def test_any_text_is_a_number_or_a_config_error(text: str) -> None:
    """Whatever the text, the answer is a number that is not negative, or a ConfigError."""
    try:
        assert parse_size(text) >= 0
    except ConfigError:
        pass


def test_paths() -> None:
    """A path is a text or a path object that a file can have; the rest is told with where it stood."""
    assert parse_path(Path("a") / "b") == os.path.join("a", "b")
    assert parse_path("~") == os.path.expanduser("~")
    for wrong in ("", 7, None, ["a"], "a\0b", "a\ud800"):
        with pytest.raises(ConfigError, match="here is a path"):
            parse_path(wrong, "here")
