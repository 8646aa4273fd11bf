"""What is counted for good says the same as the rows, whatever is written, deleted and ended meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import documents
from toolog import store
from toolog.sinks.base import SinkRecord
from toolog.sinks.sqlite import SqliteSink
from toolog.store import counted, queries, schema


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting begins with the third newest id, three at once: small stores are counted as large ones are."""
    monkeypatch.setattr(counted, "LAG", 2)
    monkeypatch.setattr(counted, "STEP", 3)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[store.Store]:
    """A new store."""
    with store.open(tmp_path / "calls.db") as new:
        yield new


def count_all(opened: store.Store) -> None:
    """Count whatever can be counted."""
    while opened.count():
        pass


def figures_of_rows(opened: store.Store) -> dict[str, Any]:
    """Return the figures as they come from rows alone: a condition that holds for all makes it so."""
    return opened.stats(since="0001-01-01")


def assert_alike(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare two figures: counts and sums are equal, percentiles within the width of a band."""
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if key == "duration_ms":
            for name, wanted in value.items():
                exact = name in ("mean", "max")
                assert found[key][name] == pytest.approx(wanted, rel=1e-9 if exact else 0.051), name
        elif isinstance(value, list):
            assert len(found[key]) == len(value)
            for one, other in zip(found[key], value, strict=True):
                assert_alike(one, other)
        else:
            assert found[key] == value, key


def mixed_calls(first: int, last: int) -> list[dict[str, Any]]:
    """Return calls of several tools and instances, of all ends, some without a duration."""
    found = []
    for number in range(first, last):
        common = {
            "tool_name": f"shop.tool{number % 3 % 2}",
            "instance_id": f"i{number % 2}" if number % 4 else None,
            "duration_ms": (number * 37 % 101) ** 2 / 7 if number % 5 else number,
        }
        if number % 7 == 0:
            found.append(documents.failed(number, f"Error{number % 2}", **common))
        elif number % 11 == 0:
            rejected = {"event": "tool_call_rejected", "status": "validation_error", "level": "WARNING"}
            found.append(documents.call(number, **common, **rejected))
        else:
            found.append(
                documents.call(number, **{**common, **({"duration_ms": None} if number % 13 == 0 else {})})
            )
    return found


def test_counted_figures_are_those_of_the_rows(opened: store.Store) -> None:
    """Whether calls are counted wholly, in part or not at all, the figures are the same."""
    opened.write([documents.instance(0, {"k": 1}, "h0"), documents.instance(1, {"k": 2}, "h1")])
    opened.write(mixed_calls(0, 60))
    expected = figures_of_rows(opened)
    assert opened.stats() == expected
    opened.count()
    assert_alike(opened.stats(), expected)
    count_all(opened)
    assert_alike(opened.stats(), expected)
    opened.write(mixed_calls(60, 90))
    assert_alike(opened.stats(), figures_of_rows(opened))


@settings(max_examples=30)
@given(
    st.lists(st.floats(0, 1e9) | st.integers(0, 10**12) | st.none(), min_size=1, max_size=40),
    st.sets(st.integers(0, 40)),
)
def test_what_is_deleted_is_no_longer_counted(durations: list[float | None], gone: set[int]) -> None:
    """Calls that are deleted by SQL leave the counts, to the last one, whatever their durations were."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted, "LAG", 0)
        connection = sqlite3.connect(":memory:", isolation_level=None)
        for step in schema.MIGRATIONS:
            for statement in step:
                connection.execute(statement)
        for number, duration in enumerate(durations, 1):
            connection.execute(
                "INSERT INTO tool_calls (id, shape, tool_name, timestamp, status, duration_ms)"
                " VALUES (?, 0, 't', '2026', 'success', ?)",
                (number, duration),
            )
        connection.execute("UPDATE meta SET value = ? WHERE key = 'next_id'", (len(durations) + 1,))
        counted.count_in(connection)
        assert sum(alike.calls for alike in counted.read(connection, "tool")) == min(3, len(durations))
        while counted.count_in(connection):
            pass
        connection.executemany("DELETE FROM tool_calls WHERE id = ?", [(number,) for number in gone])
        left = len(set(range(1, len(durations) + 1)) - gone)
        assert sum(alike.calls for alike in counted.read(connection, "tool")) == left
        assert all(alike.calls > 0 for alike in counted.read(connection, "tool"))
        connection.close()


def test_a_purge_leaves_right_counts(opened: store.Store) -> None:
    """After a purge the figures are those of the calls that stay."""
    opened.write(mixed_calls(0, 80))
    count_all(opened)
    opened.purge(before="2026-11-30T12:00:40Z")
    expected = figures_of_rows(opened)
    assert expected["calls"] == 40
    found = opened.stats()
    for tally in (
        found,
        *found["tools"],
        *found["configs"],
        expected,
        *expected["tools"],
        *expected["configs"],
    ):
        del tally["first"]  # of what was counted it stays the first that ever was
        del tally["duration_ms"]["max"]
    assert_alike(found, expected)


def test_running_calls_are_found_among_many_that_ended(opened: store.Store) -> None:
    """Of counted starts, those without an end are running, until it comes or the start is purged."""
    for number in range(0, 40):
        opened.write([documents.started(number)])
        if number not in (3, 17, 39):
            opened.write([documents.call(number)])
    count_all(opened)
    assert opened.stats()["running"] == 3
    running = opened.calls(status="running")
    assert [call["record_id"] for call in running] == ["start-39", "start-17", "start-3"]
    opened.write([documents.call(3)])
    assert opened.stats()["running"] == 2
    opened.write(mixed_calls(50, 60))
    count_all(opened)
    assert opened.stats()["running"] == 2
    opened.purge(["DEBUG"], before="2026-11-30T12:00:20Z")
    assert [call["record_id"] for call in opened.calls(status="running")] == ["start-39"]


def test_a_sink_counts_what_it_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is written by the sink gets its counts without anybody asking for them."""
    monkeypatch.setattr("toolog.sinks.sqlite._SOME", 5)
    sink = SqliteSink(path=tmp_path / "calls.db")
    sink.connect()
    for first in range(0, 60, 6):
        sink.write([SinkRecord(ormsgpack.packb(one)) for one in mixed_calls(first, first + 6)])
    sink.close()
    connection = sqlite3.connect(tmp_path / "calls.db")
    assert counted.counted_id(connection) > 20
    connection.close()


@pytest.mark.parametrize(
    "filters",
    [
        {"tool": "shop.tool1"},
        {"tool": "shop.*"},
        {"status": "failed"},
        {"status": ["validation_error", "success"]},
        {"level": "WARNING"},
        {"level": "INFO"},
        {"since": "2026-11-30T12:00:50Z"},
        {"until": "2026-11-30T12:00:09Z"},
        {"instance": "i1", "status": "error"},
    ],
)
def test_the_newest_are_the_same_by_whatever_way(
    opened: store.Store, monkeypatch: pytest.MonkeyPatch, filters: dict[str, Any]
) -> None:
    """The newest calls under a condition are the same whether they are among the last rows or far behind."""
    opened.write(mixed_calls(0, 90))
    every = opened.calls(**filters, limit=1000, newest_first=False)[::-1]
    assert every
    for window in (0, 10, 1000):
        monkeypatch.setattr(queries, "WINDOW", window)
        for limit in (1, 5, 1000):
            assert opened.calls(**filters, limit=limit) == every[:limit]


def test_no_question_reads_the_whole_table(opened: store.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newest calls by failure, level or time, and running ones, are found in few steps among many others, all
    of one trace.
    """
    moment = "2026-11-30T12:00:00.000000Z"
    opened.write(
        one
        for number in range(3000)
        for one in (documents.started(number), documents.call(number, timestamp=moment))
    )
    monkeypatch.setattr(counted, "STEP", 10_000)
    count_all(opened)
    monkeypatch.setattr(queries, "WINDOW", 10)
    for filters in ({"status": "failed"}, {"level": "ERROR"}, {"since": "2027-01-01"}, {"status": "running"}):
        steps = 0

        def tick() -> None:
            nonlocal steps
            steps += 1

        with opened._database.reading() as connection:
            connection.set_progress_handler(tick, 100)
        assert opened.calls(**filters) == []
        with opened._database.reading() as connection:
            connection.set_progress_handler(None, 100)
        assert steps < 20, filters  # of a hundred instructions each; a look at each row would be 200 and more


def test_figures_of_a_time_are_those_of_all_tools(opened: store.Store) -> None:
    """Figures since a time count every tool's calls from then on, and those without a tool's name."""
    opened.write(mixed_calls(0, 50))
    opened.write([documents.call(number, tool_name=None) for number in range(50, 55)])
    found = opened.stats(since="2026-11-30T12:00:30Z", until="2026-11-30T12:00:53Z")
    assert found["calls"] == 23
    assert {tool["tool_name"]: tool["calls"] for tool in found["tools"]} == {
        "shop.tool0": 13, "shop.tool1": 7, None: 3,
    }  # fmt: skip
