"""Questions to the store: filters, words, traces, sessions, figures on known data, following, users' own
SQL.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlite_utils
from hypothesis import given
from hypothesis import strategies as st

from tests import documents
from toolog import store
from toolog.errors import ConfigError
from toolog.store.figures import percentile
from toolog.store.filters import moment


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[store.Store]:
    """A new store."""
    with store.open(tmp_path / "calls.db") as new:
        yield new


def numbers(found: list[dict[str, Any]]) -> list[int]:
    """Return the numbers of calls made by tests.documents."""
    return [int(document["record_id"].removeprefix("start-").removeprefix("log-"), 16) for document in found]


@pytest.fixture
def filled(opened: store.Store) -> store.Store:
    """Eight calls of two tools in two sessions, one of them failed, one rejected, one running."""
    opened.write(
        [
            documents.call(0, tool_name="shop.search", session_id="order-1"),
            documents.failed(1, tool_name="shop.pay", session_id="order-1", trace_id="b" * 32),
            documents.call(2, tool_name="shop.pay", session_id="order-2"),
            documents.call(
                3, event="tool_call_rejected", status="unknown_tool", level="WARNING", tool_name="ship"
            ),
            documents.call(4, event="tool_call_cancelled", status="cancelled", level="WARNING"),
            documents.started(5, tool_name="shop.search"),
            documents.started(6, tool_name="shop.pay"),
            documents.call(6, tool_name="shop.pay", instance_id="i1"),
            documents.log(7, "the card was refused", session_id="order-1", trace_id="b" * 32),
        ]
    )
    return opened


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [6, 5, 4, 3, 2, 1, 0]),
        ({"newest_first": False, "limit": 2}, [0, 1]),
        ({"limit": 3}, [6, 5, 4]),
        ({"tool": "shop.pay"}, [6, 2, 1]),
        ({"tool": "shop.*"}, [6, 5, 2, 1, 0]),
        ({"tool": "shop"}, []),
        ({"status": "success"}, [6, 2, 0]),
        ({"status": "running"}, [5]),
        ({"status": ["running", "cancelled"]}, [5, 4]),
        ({"status": "error"}, [3, 1]),
        ({"status": "failed"}, [1]),
        ({"status": "rejected"}, [3]),
        ({"session": "order-1"}, [1, 0]),
        ({"trace": "b" * 32}, [1]),
        ({"instance": "i1"}, [6]),
        ({"level": "WARNING"}, [4, 3, 1]),
        ({"level": "ERROR"}, [1]),
        ({"since": "2026-11-30T12:00:03Z"}, [6, 5, 4, 3]),
        ({"until": datetime(2026, 11, 30, 12, 0, 2, tzinfo=UTC)}, [1, 0]),
        ({"since": "2026-11-30T13:00:01+01:00", "until": "2026-11-30T12:00:03"}, [2, 1]),
        ({"text": "refused"}, [1]),
        ({"text": "shoes 4"}, [4]),
        ({"text": "shoes", "tool": "shop.pay", "limit": 1}, [6]),
    ],
)
def test_calls_by_filters(filled: store.Store, filters: dict[str, Any], expected: list[int]) -> None:
    """Each filter keeps exactly its calls; together they all hold; newest first unless asked otherwise."""
    assert numbers(filled.calls(**filters)) == expected


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"status": "sucess"}, "did you mean 'success'"),
        ({"level": "WARNNG"}, "did you mean 'WARNING'"),
        ({"since": "yesterdayish"}, "neither a time"),
        ({"since": float("nan")}, "is no time"),
        ({"until": True}, "is no time"),
        ({"until": []}, "is no time"),
    ],
)
def test_a_filter_that_makes_no_sense_is_told(
    filled: store.Store, filters: dict[str, Any], message: str
) -> None:
    """A misspelt status, level or time is a ConfigError with what would be right, not an empty answer."""
    with pytest.raises(ConfigError, match=message):
        filled.calls(**filters)


def test_a_call_without_an_end_is_running(filled: store.Store) -> None:
    """A start whose end is missing is shown as running; one whose end is there is not shown twice."""
    running = filled.calls(status="running")
    assert numbers(running) == [5]
    assert running[0] == {**documents.started(5, tool_name="shop.search"), "status": "running"}
    filled.write([documents.call(5, tool_name="shop.search")])
    assert filled.calls(status="running") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("needle", True),
        ("NEEDLE", True),
        ("needle haystack", True),
        ("needle absent", False),
        ('"haystack needle"', True),
        ('"needle haystack"', False),
        ("need*", True),
        ("need", False),
        ("o-17", True),
        ("17-o", False),
        ("second", True),
        ("Läufer", True),
        ("laufer", True),
        ("日本", True),
        ("語日", False),
        ("printed", True),
        ("warned", True),
        ('un"balanced', False),
        ("AND OR NOT ( ) :", False),
        ("input:needle", False),
        ("%", False),
        ("'; DROP TABLE tool_calls", False),
    ],
)
@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "not yet indexed"])
def test_words_are_found(opened: store.Store, text: str, found: bool, indexed: bool) -> None:
    """Words, phrases and beginnings in names, inputs, outputs, errors and prints; any text is a safe
    question.
    """
    opened.write(
        [
            documents.call(
                1,
                input={"q": "haystack needle\nsecond line", "order": "o-17"},
                output=["日本語 Läufer"],
                stdout="it printed",
                stderr="it warned",
            ),
            documents.call(2, input={}, output="nothing here"),
        ]
    )
    if indexed:
        assert opened.index() == 0
    assert numbers(opened.search(text)) == ([1] if found else [])
    assert opened.size()["records"]["tool_calls"] == 2


def test_a_word_without_blanks_reads_no_more_than_it_must(opened: store.Store) -> None:
    """A word of a script without spaces between words is looked for from the newest call on, until there are
    enough; a phrase of two is found over a line end.
    """
    opened.write([documents.call(number, input={"q": "東京\n駅"}) for number in range(1, 3001)])
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    with opened._database.reading() as connection:
        connection.set_progress_handler(count, 1000)
    assert numbers(opened.calls(text="東京", limit=2)) == [3000, 2999]
    assert steps < 20
    assert numbers(opened.calls(text='"東京 駅"', limit=1)) == [3000]


def test_log_lines_and_errors_are_searched_too(filled: store.Store) -> None:
    """The same words are found in a failed call and in the log line about it."""
    found = filled.search("refused")
    assert [document["event"] for document in found] == ["log", "tool_call_failed"]
    assert [document["record_id"] for document in filled.logs(level="INFO")] == ["log-7"]


def test_a_trace_is_whole_and_in_order(filled: store.Store) -> None:
    """A trace has its calls, starts and log lines by time; a unique beginning of its id is enough."""
    found = filled.trace("b" * 32)
    assert [document["record_id"] for document in found] == [f"{1:032x}", "log-7"]
    assert filled.trace("bbbbbb") == found
    assert filled.trace("bbb") == []
    assert filled.trace("c" * 32) == []
    filled.write([documents.call(50, trace_id="b" * 31 + "c")])
    with pytest.raises(ConfigError, match="several traces"):
        filled.trace("bbbbbb")


def test_sessions_are_listed(filled: store.Store) -> None:
    """Each session with its first and last call, its calls, traces, failures and tools; the latest first."""
    assert filled.sessions() == [
        {
            "session_id": "order-2",
            "first": "2026-11-30T12:00:02.000000Z",
            "last": "2026-11-30T12:00:02.000000Z",
            "calls": 1,
            "traces": 1,
            "failed": 0,
            "tools": 1,
        },
        {
            "session_id": "order-1",
            "first": "2026-11-30T12:00:00.000000Z",
            "last": "2026-11-30T12:00:01.000000Z",
            "calls": 2,
            "traces": 2,
            "failed": 1,
            "tools": 2,
        },
    ]
    assert len(filled.sessions(limit=1)) == 1


def test_figures_of_known_data(opened: store.Store) -> None:
    """Counts, success rate, errors by type and percentiles are those of a hundred calls known beforehand."""
    opened.write(documents.call(number, duration_ms=float(number)) for number in range(1, 91))
    opened.write(documents.failed(number, "IOError", duration_ms=1000.0) for number in range(91, 96))
    opened.write(documents.failed(number, "ValueError", duration_ms=2000) for number in range(96, 99))
    rejected = {"event": "tool_call_rejected", "status": "validation_error", "level": "WARNING"}
    opened.write(
        documents.call(number, **rejected, duration_ms=0.1, error={"type": "ArgumentsInvalid"})
        for number in (99, 100)
    )
    opened.write([documents.loss(1, 7), documents.loss(2, 5), documents.started(500)])
    figures = opened.stats()
    assert figures["calls"] == 100
    assert figures["successes"] == 90
    assert figures["success_rate"] == 0.9
    assert figures["statuses"] == {"success": 90, "execution_error": 8, "validation_error": 2}
    assert figures["errors"] == {"IOError": 5, "ValueError": 3, "ArgumentsInvalid": 2}
    assert (figures["running"], figures["dropped"]) == (1, 12)
    # 98 calls ran: 1..90 ms, five times 1000, three times 2000.
    expected = {"mean": (90 * 91 / 2 + 5000 + 6000) / 98, "p50": 49, "p95": 1000, "p99": 2000, "max": 2000}
    assert figures["duration_ms"] == pytest.approx(expected)
    assert [tool["tool_name"] for tool in figures["tools"]] == ["search"]
    assert figures["tools"][0]["duration_ms"] == figures["duration_ms"]
    assert opened.stats(tool="pay")["calls"] == 0
    assert opened.stats(since="2026-11-30T12:01:00Z")["calls"] == 41


def test_figures_of_nothing(opened: store.Store) -> None:
    """An empty store has figures too: no calls, no rate, no percentiles."""
    figures = opened.stats()
    assert figures["calls"] == 0
    assert figures["success_rate"] is None
    assert set(figures["duration_ms"].values()) == {None}
    assert figures["tools"] == figures["configs"] == []


def test_figures_by_configuration(opened: store.Store) -> None:
    """Calls of differently configured instances of one class are told apart by the configuration's hash."""
    opened.write(
        [
            documents.instance(1, {"top_k": 5}, "sha256:five"),
            documents.instance(2, {"top_k": 5}, "sha256:five"),
            documents.instance(3, {"top_k": 50}, "sha256:fifty", recreated_from="i1"),
            *(documents.call(number, instance_id="i1", duration_ms=10) for number in range(3)),
            documents.call(3, instance_id="i2", duration_ms=20),
            documents.failed(4, instance_id="i3"),
        ]
    )
    configs = {config["config_hash"]: config for config in opened.stats()["configs"]}
    assert configs["sha256:five"]["calls"] == 4
    assert configs["sha256:five"]["instances"] == 2
    assert configs["sha256:five"]["duration_ms"]["mean"] == 12.5
    assert configs["sha256:fifty"]["success_rate"] == 0
    newest = opened.instances()[0]
    assert newest["instance_id"] == "i3"
    assert newest["config"] == {"top_k": 50}
    assert (newest["class_name"], newest["package"], newest["recreated_from"]) == ("Search", "shop", "i1")
    assert (newest["calls"], newest["successes"]) == (1, 0)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(
    values: list[float], share: float
) -> None:
    """The nearest-rank definition holds for any numbers."""
    found = percentile(sorted(values), share)
    assert found is not None
    assert sum(value <= found for value in values) >= share * len(values)
    assert sum(value < found for value in values) < max(1, math.ceil(share * len(values)))


def test_following_sees_each_record_once(opened: store.Store) -> None:
    """``follow`` from the last id gives what came since, of all kinds in the order of arrival, in pieces."""
    opened.write([documents.call(1)])
    after = opened.last_id()
    later = [documents.log(2, "x"), documents.call(3), documents.loss(4, 1), documents.call(5)]
    opened.write(later)
    seen = []
    while found := opened.follow(after, limit=3):
        seen += [document for _, document in found]
        after = found[-1][0]
    assert seen == later
    assert after == opened.last_id()


def test_labels_stay_with_their_record(opened: store.Store) -> None:
    """A label has its word, author, note and time; one for a record that is not there is an error."""
    opened.write([documents.call(1)])
    record_id = documents.call(1)["record_id"]
    opened.label(record_id, "wrong", author="kim", note="other shoes")
    opened.label(record_id, "good")
    found = opened.labels(record_id)
    assert [(label["label"], label["author"], label["note"]) for label in found] == [
        ("wrong", "kim", "other shoes"),
        ("good", "", ""),
    ]
    assert opened.labels() == found
    with pytest.raises(ConfigError, match="no record"):
        opened.label("nowhere", "good")


def test_attempts_are_rows_of_their_own(opened: store.Store) -> None:
    """The tries of a retried call can be queried, and its record still has them as they were."""
    attempts = [
        {"started": "2026-11-30T12:00:00Z", "duration_ms": 5, "status": "timeout", "error": {"type": "T"}},
        {"started": "2026-11-30T12:00:01Z", "duration_ms": 7.5, "status": "success"},
        "not an attempt",
    ]
    opened.write([documents.call(1, attempts=attempts, retry_count=1)])
    with opened._database.reading() as connection:
        rows = connection.execute("SELECT number, duration_ms, status, error_type FROM attempts").fetchall()
    assert rows == [(1, 5, "timeout", "T"), (2, 7.5, "success", None)]
    assert opened.record(documents.call(1)["record_id"]) == documents.call(
        1, attempts=attempts, retry_count=1
    )


def test_users_can_query_it_themselves(filled: store.Store) -> None:
    """sqlite-utils reads the tables and every documented view, and searches the full-text index."""
    filled.index()
    database = sqlite_utils.Database(filled.path)
    assert {"tool_calls", "tool_instances", "attempts", "evaluations", "labels", "logs", "losses"} <= set(
        database.table_names()
    )
    assert set(database.view_names()) == {
        "calls", "errors", "tool_stats", "instance_calls", "scores", "search_source",
    }  # fmt: skip
    for view in database.view_names():
        list(database[view].rows)
    assert [row["status"] for row in database["calls"].rows_where("tool_name = ?", ["shop.search"])] == [
        "success",
        "running",
    ]
    assert [row["message"] for row in database["errors"].rows_where("status = 'execution_error'")] == [
        "refused"
    ]
    found = list(database.query("SELECT tool_name FROM search WHERE search MATCH 'refused'"))
    assert {row["tool_name"] for row in found} == {"shop.pay", None}
    assert (
        next(database.query("SELECT json_extract(input, '$.query') AS q FROM tool_calls"))["q"] == "shoes 0"
    )
    database.close()


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("2026-11-30", "2026-11-30T00:00:00.000000Z"),
        ("2026-11-30T12:00:00.5Z", "2026-11-30T12:00:00.500000Z"),
        (
            datetime(2026, 11, 30, 12, tzinfo=timezone(timedelta(hours=-5))),
            "2026-11-30T17:00:00.000000Z",
        ),
        (datetime(2026, 11, 30, 12), "2026-11-30T12:00:00.000000Z"),
        (1764504000.5, "2025-11-30T12:00:00.500000Z"),
        (0, "1970-01-01T00:00:00.000000Z"),
        (1e300, "9999-12-31T23:59:59.999999Z"),
        ("1e9 days", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_points_in_time(given_: Any, expected: str) -> None:
    """Times in any zone or notation become texts that compare as times do."""
    assert moment(given_) == expected


def test_a_duration_is_a_time_before_now() -> None:
    """``15 min`` means a quarter of an hour ago."""
    found = datetime.fromisoformat(moment("15 min"))
    assert abs((datetime.now(UTC) - found) - timedelta(minutes=15)) < timedelta(minutes=1)
