"""The page of the fault matrix."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from tests.services.shared import ROOT


def test_page_shows_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of the matrix stands in the table, and no other does."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    page = importlib.import_module("faults")
    assert [page.outline(name) for name in page.shown()] == [page.outline(name) for name in page.all_rows()]


def test_page_takes_what_was_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A row that was measured replaces what stood there, however often it was done; one that was wrong, and
    those that nobody measured, leave it as it was.
    """
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    page = importlib.import_module("faults")
    copy = tmp_path / "page.md"
    copy.write_text(page.PAGE.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(page, "PAGE", copy)
    before = page.lines_shown()
    measured = [
        {"row": "s3: kill -9 at random, 7 times", "accepted": 4321, "seconds": 65.4, "wrong": []},
        {"row": "search: the server hangs for 2 min", "accepted": 4321, "wrong": ["lost 1"]},
    ]
    (tmp_path / "rows.json").write_text(json.dumps(measured), "utf-8")
    page.main([str(tmp_path / "rows.json")])
    changed = [line for line, old in zip(page.lines_shown(), before, strict=True) if line != old]
    assert changed == ["| s3: kill -9 at random, 7 times | 4,321 |  |  |  |  |  |  |  |  | 65 |  |"]
