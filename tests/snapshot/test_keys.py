"""Keys of dicts: any type becomes a text, clashing keys are told apart, none is lost."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Any

import pytest

from toolog.snapshot import plain


class Size(enum.Enum):
    BIG = 1


class Key:
    pass


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({1: "a", "1": "b"}, {"1 (int)": "a", "1": "b"}),
        ({"1": "b", 1: "a"}, {"1": "b", "1 (int)": "a"}),
        ({1: "a"}, {"1": "a"}),
        ({True: 1, None: 2, 1.5: 3}, {"true": 1, "null": 2, "1.5": 3}),
        ({"null": 1, None: 2}, {"null": 1, "null (NoneType)": 2}),
        ({"1 (int)": 0, 1: 1, "1": 2}, {"1 (int)": 0, "1 (int) 2": 1, "1": 2}),
        ({(1, "a", None): 1}, {"(1, a, null)": 1}),
        ({b"x": 1, b"\xff": 2}, {"x": 1, "base64:/w==": 2}),
        ({dt.date(2026, 1, 2): 1}, {"2026-01-02": 1}),
        ({Size.BIG: 1}, {f"{__name__}.Size.BIG": 1}),
        ({"a\ud800": 1, "a\\ud800": 2}, {"a\\ud800 (str)": 1, "a\\ud800": 2}),
        ({float("nan"): 1}, {"NaN": 1}),
        ({2**70: 1}, {str(2**70): 1}),
    ],
)
def test_keys(value: Any, expected: Any) -> None:
    """Each kind of key has one text; a clash adds the key's type."""
    assert plain(value) == expected


def test_objects_as_keys_are_numbered() -> None:
    """Keys that show as their type only are numbered, so that all values stay."""
    found = plain({Key(): number for number in range(300)})
    name = f"<{__name__}.Key>"
    assert list(found.values()) == list(range(300))
    assert list(found)[:3] == [name, f"{name} ({__name__}.Key)", f"{name} ({__name__}.Key) 2"]


def test_long_keys_are_cut_and_stay_apart() -> None:
    """Two keys that differ behind their thousandth character do not become one."""
    found = plain({"k" * 2000 + "a": 1, "k" * 2000 + "b": 2})
    assert list(found.values()) == [1, 2]
    assert all(len(key) < 1100 for key in found)


def test_a_real_key_that_looks_like_the_mark_stays() -> None:
    """The mark of a shortened dict does not overwrite a key of that name."""
    found = plain({"...": "mine", **{str(number): number for number in range(2000)}})
    assert found["..."] == "mine"
    assert found["... 2"] == "1,001 more items"
