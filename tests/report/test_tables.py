"""Waterfalls and tables: known data in golden text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import documents
from tests.report.test_tree import order
from toolog import report, store
from toolog.sinks.lines import duration


def trace() -> list[dict[str, Any]]:
    """Return a trace of one second with two calls in it, one failed, and one that is running."""
    at = "2026-11-30T12:00:00.{:06d}Z".format
    return [
        documents.call(1, span_id="1" * 16, timestamp=at(0), tool_name="plan", duration_ms=1000),
        documents.call(2, span_id="2" * 16, parent_id="1" * 16, timestamp=at(100_000), duration_ms=300.0),
        documents.failed(3, span_id="3" * 16, parent_id="1" * 16, timestamp=at(500_000), duration_ms=250),
        documents.started(4, span_id="4" * 16, parent_id="3" * 16, timestamp=at(600_000), tool_name="http"),
    ]


GOLDEN = """\
call                      0                               1.00 s      took
plan                      ██████████████████████████████████████     1.00 s
  search                     ███████████                             300 ms
  search                                     ██████████              250 ms
                          ValueError: refused
    http                                        ░░░░░░░░░░░░░░░░    running
"""


def test_a_waterfall() -> None:
    """Bars begin where calls began and are as long as they took; a running call's bar is open to the end."""
    assert report.text(report.waterfall(reversed(trace()), width=78)) == GOLDEN


@pytest.mark.parametrize("width", [10, 40, 79, 200])
def test_a_waterfall_keeps_its_width(width: int) -> None:
    """No line is wider than asked for (down to what it needs at least)."""
    for line in report.text(report.waterfall(order(), width=width)).splitlines():
        assert len(line) <= max(width, 40)


def test_a_waterfall_of_nothing_or_nonsense() -> None:
    """No calls, no durations or no times give a waterfall all the same."""
    assert report.text(report.waterfall([])).startswith("call")
    broken = documents.call(1, timestamp="soon", duration_ms="long")
    assert "running" in report.text(report.waterfall([broken]))
    assert len(report.spans([documents.call(1, duration_ms=0)])) == 1


def test_spans_are_plain_data() -> None:
    """The waterfall's data says when each call began after the first, how long it took and how it ended."""
    data = json.loads(json.dumps([span.data() for span in report.spans(trace())]))
    assert [(span["tool_name"], span["depth"], span["duration_ms"]) for span in data] == [
        ("plan", 0, 1000),
        ("search", 1, 300),
        ("search", 1, 250),
        ("http", 2, None),
    ]
    assert data[2]["start_ms"] == pytest.approx(500)
    assert data[3]["status"] == "running"


SUMMARY = (
    "4 calls, 75.0% successful, 1 running, 7 records dropped"
    "  2026-11-30T12:00:01.000000Z to 2026-11-30T12:00:04.000000Z"
)


def test_tables_of_figures(tmp_path: Path) -> None:
    """The tables show what the store answered: everything, each tool, each configuration."""
    with store.open(tmp_path / "calls.db") as opened:
        opened.write(
            [
                documents.instance(1, {"top_k": 5}, "sha256:five"),
                documents.call(1, duration_ms=10.0, instance_id="i1"),
                documents.call(2, duration_ms=10.0),
                documents.failed(3, "Ev\x1bl", duration_ms=1000),
                documents.call(4, tool_name="pay", duration_ms=5),
                documents.started(9),
                documents.loss(1, 7),
            ]
        )
        shown = report.text(report.stats_table(opened.stats()))
        instances = report.text(report.instances_table(opened.instances()))
        opened.write([documents.call(5, session_id="order\n1")])
        sessions = report.text(report.sessions_table(opened.sessions()))
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert shown.splitlines()[0] == SUMMARY
    assert rows[3] == "search 3 66.7% 340 ms 10 ms 1.00 s 1.00 s 1.00 s Ev\\x1bl 1"
    assert rows[4] == "pay 1 100.0% 5 ms 5 ms 5 ms 5 ms 5 ms"
    assert rows[5].startswith("all 4 75.0%")
    assert rows[8].startswith("Search sha256:five 1 1 100.0%")
    assert instances.splitlines()[1].split()[:5] == ["i1", "Search", "shop", "2026-11-30T11:00:00", "1"]
    assert "{'top_k': 5}" in instances
    assert sessions.splitlines()[1].split()[0] == "order\\n1"


def test_columns_are_aligned_whatever_their_characters() -> None:
    """Wide characters count twice, so the next column begins at one place; numbers stand at the right."""
    shown = report.text(report.table(("name", "n"), [["日本", "5"], ["ab", "500"]], right=[1]))
    assert shown == "name    n\n日本    5\nab    500\n"


def test_an_empty_store_has_a_table_too(tmp_path: Path) -> None:
    """No calls is an answer, not an error."""
    with store.open(tmp_path / "calls.db") as opened:
        assert report.text(report.stats_table(opened.stats())) == "0 calls, none successful\n"
        assert report.text(report.instances_table(opened.instances())).count("\n") == 1


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0 us"), (0.0125, "12 us"), (0.9994, "999 us"), (1, "1 ms"), (12.345, "12.3 ms"),
        (999.4, "999 ms"), (999.9, "1.00 s"), (1500, "1.50 s"), (99_999, "100.00 s"), (600_000, "10.0 min"),
        (None, ""), (True, ""), ("x", ""),
    ],
)  # fmt: skip
def test_durations(milliseconds: Any, shown: str) -> None:
    """A duration has about three figures and the unit that fits."""
    assert duration(milliseconds) == shown
