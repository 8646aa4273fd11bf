"""The page of the fault matrix."""

from __future__ import annotations

import importlib

import pytest

from tests.services.shared import ROOT


def test_page_shows_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of the matrix stands in the table, no other does, and none of them is wrong."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    page = importlib.import_module("faults")
    assert [page.outline(name) for name in page.shown()] == [page.outline(name) for name in page.all_rows()]
    assert "**wrong**" not in page.PAGE.read_text("utf-8")
