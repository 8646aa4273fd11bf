"""The queries of docs/reference/search.md against a real server: each finds what the page says."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import documents
from tests.services.opensearch import OpenSearch
from tests.sinks.contract import batch
from tests.sinks.search.cluster import Cluster
from toolog.record import stamp
from toolog.sinks import create

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "search.md"
QUERY = re.compile(r"^### (.+)\n(?:(?!###).*\n)*?```http\nPOST .*/_search\n((?:.*\n)*?)```", re.M)
OTHER_TRACE = "1af7651916cd43dd8448eb211c80319d"

CALLS = [
    documents.call(
        1, tool_name="pay", duration_ms=10, session_id="order-1001", input={"order": {"id": "o-1"}}
    ),
    documents.call(2, tool_name="pay", duration_ms=30, session_id="order-1001", tags={"customer": "c-7"}),
    documents.call(3, tool_name="pay", duration_ms=1000, trace_id=OTHER_TRACE),
    documents.call(4, tool_name="search", duration_ms=5, input={"query": "red shoes", "limit": 10}),
    documents.failed(
        5, "CardError", "the card was refused by the bank", tool_name="pay", session_id="order-1001"
    ),
    documents.failed(6, "CardError", "refused: no such card", tool_name="pay"),
    documents.call(7, tool_name="search", status="timeout", event="tool_call_failed", level="ERROR"),
    documents.call(8, tool_name="plan", output="a plain text that says: ship it"),
    documents.call(9, tool_name="fetch", input={"text": "x" * 9000}),
    documents.call(10, tool_name="rate", evaluation={"overall_score": 0.25, "passed": False}),
]
FOUND: dict[str, list[int]] = {
    "One trace, in the order of its calls": [1, 2, 4, 5, 6, 7, 8, 9, 10],
    "One session": [1, 2, 5],
    "The calls of one tool": [1, 2, 3, 5, 6],
    "What failed in the last day": [5, 6, 7],
    "One status": [7],
    "A phrase in the error": [5],
    "A value in the arguments": [1],
    "Anywhere in the arguments": [4],
    "A tag": [2],
    "Slow calls": [3],
    "Records that were cut": [9],
    "Results that were judged bad": [10],
}
"""Heading on the page -> numbers of the calls that its query finds."""


def queries() -> dict[str, dict[str, Any]]:
    """Return the page's queries by their headings."""
    return {title: json.loads(body) for title, body in QUERY.findall(PAGE.read_text("utf-8"))}


@pytest.fixture(scope="module")
def shelf(opensearch: OpenSearch) -> Iterator[Cluster]:
    """A namespace with the calls in it, for all tests of this module."""
    streams = Cluster(opensearch.url, "tqueries")
    sink = create("search", {"type": "opensearch", "hosts": [opensearch.url], "namespace": "tqueries"})
    sink.connect()
    now = time.time() - 60
    recent = [
        {**one, "timestamp": stamp(int((now + number) * 1e9)).decode()} for number, one in enumerate(CALLS)
    ]
    assert sink.write(batch(recent)) is None
    sink.close()
    yield streams
    streams.ask("DELETE", f"/_data_stream/{streams.streams}")
    streams.ask("DELETE", "/_index_template/toolog-tqueries")


@pytest.mark.parametrize("title", FOUND)
def test_finds_what_the_page_says(shelf: Cluster, title: str) -> None:
    """The query under this heading finds exactly the calls it is meant to find."""
    body = queries()[title]
    body["size"] = 100
    hits = shelf.search(**body)["hits"]["hits"]
    numbers = [int(hit["_id"], 16) for hit in hits]
    if "sort" in body:
        assert numbers == FOUND[title]
    assert sorted(numbers) == FOUND[title]


def test_percentiles_of_the_duration_by_tool(shelf: Cluster) -> None:
    """The table of durations by tool has a bucket for each, with its percentiles in milliseconds."""
    answer = shelf.search(**queries()["How long each tool takes"])
    buckets = {one["key"]: one for one in answer["aggregations"]["tools"]["buckets"]}
    assert set(buckets) == {"pay", "search", "plan", "fetch", "rate"}
    assert buckets["pay"]["doc_count"] == 5
    assert buckets["pay"]["duration"]["values"]["50.0"] == pytest.approx(12.5)
    assert buckets["pay"]["duration"]["values"]["99.0"] == pytest.approx(1000, rel=0.1)


def test_errors_by_type_and_tool(shelf: Cluster) -> None:
    """The errors of each tool are counted by their type."""
    answer = shelf.search(**queries()["Which errors, by tool"])
    [pay] = [one for one in answer["aggregations"]["tools"]["buckets"] if one["key"] == "pay"]
    assert pay["types"]["buckets"] == [{"key": "CardError", "doc_count": 2}]


def test_the_page_has_no_query_that_is_not_tried() -> None:
    """Each query on the page is one of these tests."""
    assert queries().keys() == FOUND.keys() | {"How long each tool takes", "Which errors, by tool"}


@pytest.mark.parametrize(
    ("field", "value", "numbers"),
    [
        ("trace.id", OTHER_TRACE, [3]),
        ("gen_ai.tool.name", "plan", [8]),
        ("session.id", "order-1001", [1, 2, 5]),
        ("log.level", "ERROR", [5, 6, 7]),
        ("event.outcome", "failure", [5, 6, 7]),
        ("event.action", "tool_call_failed", [5, 6, 7]),
        ("error.type", "CardError", [5, 6]),
        ("output_wrapped", True, [1, 2, 3, 4, 7, 8, 9, 10]),
    ],
)
def test_names_of_other_conventions(shelf: Cluster, field: str, value: Any, numbers: list[int]) -> None:
    """Aliases and names of ECS and of the gen-ai conventions find the same."""
    assert shelf.ids({"term": {field: value}}) == [CALLS[number - 1]["record_id"] for number in numbers]
