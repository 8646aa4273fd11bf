"""The page of the packages' own test suites."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from tests.services.shared import ROOT


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return what writes the page."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("fidelity")


def test_page_shows_what_the_table_has(page: ModuleType) -> None:
    """Each row is of a version in the table of packages, none of them is wrong, and each reason for a test
    that differs by nature stands below."""
    text = page.PAGE.read_text("utf-8")
    assert {package for package, _, _ in page.shown()} <= set(page.packages())
    assert page.shown()
    assert "**wrong**" not in text
    assert page.BEGIN + page.table(page.shown()) + page.END in text


def test_rows_are_kept_and_replaced(page: ModuleType) -> None:
    """A new result takes the place of its row, whether that was wrong or not; the others stay."""
    result = {
        "package": "click 8.5.1", "python": "3.11", "mode": "nested", "tests": 1234, "calls": 5,
        "by nature": 0, "unsteady": 1, "wrong": ["a"], "reports": [{}],
    }  # fmt: skip
    (package, python, mode), line = ("click 8.5.1", "3.11", "nested"), page.row(result)
    assert line == "| click 8.5.1 | 3.11 | nested **wrong** | 1,234 | 5 | 1 | 0 | 1 |\n"
    rows = {**page.shown(), (package, python, mode): line, ("click 0", "3.11", "nested"): "gone"}
    told = page.table(rows)
    assert line in told
    assert "gone" not in told
    assert all(row in told for key, row in page.shown().items() if key != (package, python, mode))


def test_parts_are_added_up(page: ModuleType) -> None:
    """A run made in parts is their sum, of the same part the last result counts, a run of the whole suite
    replaces its parts, and what could not be run is none."""
    key = {"package": "click 8.5.1", "python": "3.11", "mode": "nested"}
    counted = {"tests": 10, "calls": 5, "by nature": 1, "unsteady": 0, "wrong": [], "reports": []}
    first, second = {**key, **counted, "part": "a.py"}, {**key, **counted, "part": "b.py", "wrong": ["x"]}
    again = {**first, "tests": 20}
    (parts,) = page.add_up([first, second, again, {**key, "wrong": ["cannot be prepared"]}]).values()
    assert (parts["tests"], parts["calls"], parts["by nature"], parts["wrong"]) == (30, 10, 2, ["x"])
    (whole,) = page.add_up([first, second, {**key, **counted, "tests": 40}]).values()
    assert (whole["tests"], whole["wrong"]) == (40, [])
