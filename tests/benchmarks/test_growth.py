"""The tables of growth: taken from real runs, shown as table, chart and page."""

from __future__ import annotations

import importlib
import json
import sys
import xml.etree.ElementTree
from pathlib import Path
from types import ModuleType

import pytest

from toolog import store

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def beside_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmarks are scripts that import each other, and no package."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


@pytest.fixture
def growth() -> ModuleType:
    """benchmarks/growth.py."""
    return importlib.import_module("growth")


def test_a_growth_is_measured_and_drawn(
    growth: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One table is taken in fresh processes, printed as JSON, and drawn as a readable SVG."""
    arguments = [
        "growth.py",
        "--quick",
        "--only",
        "queue",
        "--max",
        "1000",
        "--json",
        "--charts",
        str(tmp_path),
    ]
    monkeypatch.setattr(sys, "argv", arguments)
    assert growth.main() == 0
    rows = json.loads(capsys.readouterr().out)["queue"]
    assert [row["size"] for row in rows] == [10, 1000]
    assert all(row["put"] > 0 for row in rows)
    drawn = xml.etree.ElementTree.parse(tmp_path / "queue.svg").getroot()
    assert len(drawn.findall("{http://www.w3.org/2000/svg}circle")) == 2


def test_every_growth_has_a_measurement_and_a_text(growth: ModuleType) -> None:
    """Tables, measurements and the page's texts are of the same names; what is drawn is a column."""
    assert set(growth.GROWTHS) == set(importlib.import_module("page").TEXTS)
    assert set(growth.GROWTHS) == set(importlib.import_module("growing").MEASUREMENTS)
    for table in growth.GROWTHS.values():
        assert set(table.drawn) <= set(table.columns)
        assert list(table.sizes) == sorted(table.sizes)


def test_a_page_takes_the_later_of_two_figures(growth: ModuleType) -> None:
    """Figures of several runs become one table by size, and a missed must is written as missed."""
    page = importlib.import_module("page")
    tables = page.merge(
        [
            {"queue": [{"size": 10, "put": 1.0, "mib": 1.0}, {"size": 1000, "put": 1.5, "mib": 2.0}]},
            {"queue": [{"size": 1000, "put": 2.5, "mib": 3.0}]},
        ]
    )
    assert [row["put"] for row in tables["queue"]] == [1.0, 2.5]
    row = {"title": "a call", "better": "lower", "must": 7, "aim": 5, "measured": 9.0}
    text = page.write({"quick": True, "rows": [row, {**row, "measured": 6.0}]}, tables)
    assert "1 of 2 musts hold" in text
    assert "| a call | 9.00 | ≤ 7 (missed) | 5 |" in text
    assert "| 1,000 | 2.50 | 3.00 |" in text


def test_a_large_store_is_what_the_writer_would_have_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied calls are whole records with ids of their own, found by trace, session, tool and time."""
    stores = importlib.import_module("stores")
    monkeypatch.setattr(stores, "BASE", 100)
    stores.fill(tmp_path / "calls.db", 500)
    with store.open(tmp_path / "calls.db") as opened:
        size = opened.size()
        assert (size["records"]["tool_calls"], size["records"]["tool_starts"]) == (500, 500)
        newest = opened.calls(limit=3)
        assert len({call["record_id"] for call in newest}) == 3
        assert len(opened.trace(newest[0]["trace_id"])) == 10
        assert opened.stats()["running"] == 0
        assert len(opened.calls(session=newest[0]["session_id"], limit=100)) == 25
        opened.write([{**newest[0], "record_id": "one more"}])
        assert opened.calls(limit=1)[0]["record_id"] == "one more"
