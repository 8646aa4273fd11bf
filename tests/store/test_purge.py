"""Retention in the store: what is too old goes, wholly; what is on hold stays."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests import documents
from toolog import store
from toolog.errors import ConfigError
from toolog.store.purge import Purged

LATER = "2027-01-01"


def test_only_old_records_of_the_named_levels_go(tmp_path: Path) -> None:
    """A purge takes the levels it was told and what is older than its time, in every table, and says how
    many.
    """
    with store.open(tmp_path / "calls.db") as opened:
        opened.write(
            [
                documents.call(1),
                documents.failed(2),
                documents.call(200),
                documents.log(3, "x"),
                documents.instance(4, {}, "h"),
                documents.loss(5, 1),
                documents.started(6),
            ]
        )
        assert opened.purge(["INFO"], before="2026-11-30T12:01:00Z", dry_run=True) == Purged(3, 0)
        assert opened.size()["records"]["tool_calls"] == 3
        assert opened.purge(["INFO"], before="2026-11-30T12:01:00Z") == Purged(3, 0)
        left = [document["record_id"] for _, document in opened.follow()]
        assert left == [f"{2:032x}", f"{200:032x}", "loss-5", "start-6"]
        assert opened.purge(before=LATER) == Purged(4, 0)
        assert opened.follow() == []


def test_what_is_on_hold_stays(tmp_path: Path) -> None:
    """Records with the tag ``hold`` survive every purge and are counted."""
    held = documents.call(1, tags={"hold": "case 4711", "order": "o-1"})
    with store.open(tmp_path / "calls.db") as opened:
        opened.write([held, documents.call(2, tags={"hold": None}), documents.call(3)])
        assert opened.purge(before=LATER) == Purged(2, 1)
        assert opened.calls() == [held]


def test_what_was_purged_is_gone_from_the_file(tmp_path: Path) -> None:
    """Neither the database nor its log has a byte of a purged record's text, and the file has become
    smaller.
    """
    path = tmp_path / "calls.db"
    secret = "VeryPersonalText"
    with store.open(path) as opened:
        for start in range(0, 2000, 500):
            opened.write(
                documents.call(number, output=f"{secret} {number} " + "x" * 2000)
                for number in range(start, start + 500)
            )
        opened.write([documents.call(9999)])
        while opened.index():
            pass
        before = opened.size()["bytes"]
        assert opened.purge(before="2026-11-30T12:46:39Z").deleted == 2000
        assert opened.size()["bytes"] < before / 4
        assert [document["record_id"] for document in opened.calls()] == [f"{9999:032x}"]
        assert opened.search(secret) == []
    data = path.read_bytes()
    assert secret.encode() not in data
    assert secret.lower().encode() not in data
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.execute("INSERT INTO search (search) VALUES ('integrity-check')")
    connection.close()


def test_what_hangs_on_a_call_goes_with_it(tmp_path: Path) -> None:
    """Attempts and labels of a purged call are purged too; those of others stay."""
    attempts = [{"started": "2026-11-30T12:00:00Z", "duration_ms": 1, "status": "timeout"}]
    with store.open(tmp_path / "calls.db") as opened:
        opened.write([documents.call(number, attempts=attempts) for number in (1, 2)])
        for number in (1, 2):
            opened.label(f"{number:032x}", "good")
        opened.purge(before=documents.call(2)["timestamp"])
        assert [label["record_id"] for label in opened.labels()] == [f"{2:032x}"]
        with opened._database.reading() as connection:
            assert connection.execute("SELECT record_id FROM attempts").fetchall() == [(f"{2:032x}",)]


def test_ids_rise_after_a_purge(tmp_path: Path) -> None:
    """Whoever follows the store misses nothing after everything was purged: ids are never used again."""
    with store.open(tmp_path / "calls.db") as opened:
        opened.write([documents.call(1), documents.call(2)])
        last = opened.last_id()
        opened.purge(before=LATER)
        opened.write([documents.call(3)])
        assert [document for _, document in opened.follow(last)] == [documents.call(3)]


def test_a_purged_record_can_be_stored_again(tmp_path: Path) -> None:
    """Its id is free again, and the full-text index finds it once."""
    with store.open(tmp_path / "calls.db") as opened:
        opened.write([documents.call(1)])
        opened.index()
        opened.purge(before=LATER)
        assert opened.write([documents.call(1)]).stored == 1
        assert opened.search("shoes") == [documents.call(1)]


@pytest.mark.parametrize(("levels", "before"), [(["LOUD"], LATER), (None, "some day")])
def test_a_purge_that_makes_no_sense_deletes_nothing(
    tmp_path: Path, levels: list[str] | None, before: str
) -> None:
    """An unknown level or time is a ConfigError before anything is deleted."""
    with store.open(tmp_path / "calls.db") as opened:
        opened.write([documents.call(1)])
        with pytest.raises(ConfigError):
            opened.purge(levels, before=before)
        assert opened.calls() == [documents.call(1)]


def test_what_stays_is_passed_over_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A purge among many records that stay takes all that is due, and looks at each that stays only once."""
    monkeypatch.setattr("toolog.store.purge.CHUNK", 10)
    with store.open(tmp_path / "calls.db") as opened:
        opened.write(
            documents.failed(number) if number % 2 else documents.call(number) for number in range(2000)
        )
        steps = 0

        def tick() -> None:
            nonlocal steps
            steps += 1

        for way in (opened._database.reading, opened._database.writing):
            with way() as connection:
                connection.set_progress_handler(tick, 100)
        assert opened.purge(["INFO"], before=LATER) == Purged(1000, 0)
        for way in (opened._database.reading, opened._database.writing):
            with way() as connection:
                connection.set_progress_handler(None, 100)
        assert opened.size()["records"]["tool_calls"] == 1000
        assert opened.calls(level="INFO", limit=2000) == opened.calls(level="ERROR", limit=2000)
    assert steps < 3000, steps  # with each of a hundred steps looking at all that stays: 10,000 and more
