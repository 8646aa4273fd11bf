"""A search cluster counts what the local store counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import documents
from tests.archive.test_cluster import RECORDS, fill, options, told
from tests.sinks.search.cluster import Cluster
from toolog import store
from toolog.archive import figures
from toolog.archive.figures import instances, stats
from toolog.archive.question import Question


def instance(number: int, config_hash: str, created: str, **fields: Any) -> dict[str, Any]:
    """Return the record of a tool instance."""
    return {
        "schema_version": "1.0",
        "record_id": f"instance-{number}",
        "event": "tool_instance",
        "level": "INFO",
        "timestamp": f"2026-11-30T11:00:0{number}.123456Z",
        "instance_id": f"inst-{number}",
        "tool": {"module": "shop.pay", "qualname": "Till", "package": "shop", "type": "datastore"},
        "config": {"currency": "EUR", "retries": number},
        "config_hash": config_hash,
        "created_at": created,
        **fields,
    }


MORE: list[dict[str, Any]] = [
    instance(1, "hash-a", "2026-11-30T11:00:01.000001Z"),
    instance(2, "hash-a", "2026-11-30T11:00:02.000002Z", recreated_from="inst-1"),
    instance(3, "hash-b", "2026-11-30T11:00:03.000003Z", config=None),
    *(
        documents.call(
            100 + number,
            tool_name=f"till.{'charge' if number % 3 else 'refund'}",
            instance_id=f"inst-{number % 4 + 1}",  # of one instance nothing else is known
            duration_ms=number * number / 7,
            timestamp=f"2026-11-30T13:00:{number % 60:02d}.{number:06d}Z",
            session_id=f"order-{number % 2}",
        )
        for number in range(120)
    ),
    documents.started(300, tool_name="till.charge"),
    documents.started(301, tool_name="till.refund"),
    {
        "schema_version": "1.0",
        "record_id": "loss-1",
        "event": "loss",
        "level": "WARNING",
        "timestamp": "2026-11-30T12:00:00.000000Z",
        "reason": "queue_full",
        "count": 17,
    },
]


def nearly(found: Any, expected: Any) -> bool:
    """Whether two answers are the same, numbers to three digits."""
    if isinstance(expected, float) and not isinstance(found, str) and found is not None:
        return bool(found == pytest.approx(expected, rel=2e-3))
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(nearly(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(nearly, found, expected))
    return bool(found == expected)


def by_key(answer: dict[str, Any]) -> dict[str, Any]:
    """Return figures with the configurations in an order that does not depend on equal counts."""
    return {**answer, "configs": sorted(answer["configs"], key=lambda one: str(one["config_hash"]))}


def test_the_same_figures(streams: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls, rates, latencies, errors, tools, configurations, running calls and losses are those of a local
    store with the same records, whatever they are filtered by.
    """
    fill(streams, [*RECORDS, *MORE])
    questions = [
        {},
        {"tool": "till.*"},
        {"tool": "till.[a-d]*"},
        {"session": "order-1"},
        {"since": "2026-11-30T13:00:30Z"},
        {"tool": "nothing"},
        {"tool": "stuck"},
    ]
    with store.open(tmp_path / "calls.db") as held:
        held.write([*RECORDS, *MORE])
        for at_once in (5000, 20):
            monkeypatch.setattr(figures, "_AT_ONCE", at_once)
            for given in questions if at_once == 5000 else questions[:1]:
                found = by_key(stats(options(streams), Question(**given), told))  # type: ignore[arg-type]
                expected = by_key(held.stats(**given))  # type: ignore[arg-type]
                for key in expected:
                    assert nearly(found[key], expected[key]), (given, key, found[key], expected[key])
        assert instances(options(streams), told) == held.instances()


def test_a_cluster_without_any_records(streams: Cluster, tmp_path: Path) -> None:
    """Where nothing was shipped yet the figures are those of an empty store."""
    with store.open(tmp_path / "calls.db") as held:
        assert stats(options(streams), Question(), told) == held.stats()
    assert instances(options(streams), told) == []
