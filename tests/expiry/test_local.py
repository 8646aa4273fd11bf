"""What is on this machine: the store, files, and sinks of the user's own."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from tests.documents import DAY, aged_log, aged_records
from toolog import expiry, store
from toolog.expiry import SinkPlan
from toolog.retention import Policies
from toolog.sinks.memory import MemorySink

TABLE = {"DEBUG": {"keep": "1 day"}, "ERROR": {"keep": "30 days"}}


class Purging(MemorySink):
    """A sink of the user's own that deletes."""

    asked: list[tuple[tuple[str, ...], float]] = []

    def purge(self, levels: list[str], before: float) -> int:
        self.asked.append((tuple(levels), before))
        return 3


class Failing(MemorySink):
    """One that breaks."""

    def purge(self, levels: list[str], before: float) -> int:
        raise OSError("the disk is gone")


def look(options: dict[str, Any], table: dict[str, Any] = TABLE, later: float = 0.0) -> SinkPlan:
    """Return the plan of a sink named local."""
    target = expiry.make_target("local", options, Policies.from_config(table, ["local"]))
    return expiry.look(target, time.time() + later)


def purge(options: dict[str, Any], table: dict[str, Any] = TABLE) -> tuple[int | None, list[str], str]:
    """Purge a sink named local; returns how many went, what was told, and trouble."""
    target = expiry.make_target("local", options, Policies.from_config(table, ["local"]))
    told: list[str] = []
    plan = expiry.look(target, time.time())
    gone = expiry.enforce(target, plan, told.append, purge=True, now=time.time())
    return gone, told, plan.trouble


def fill(path: Path) -> None:
    """Make a store with records of several levels and ages, some of them on hold."""
    with store.open(path) as opened:
        opened.write(aged_records())


def test_store_is_counted_before_it_is_purged(tmp_path: Path) -> None:
    """The plan says how many records of which levels would go and how many a hold keeps, and changes
    nothing; the purge does just that.
    """
    options = {"type": "sqlite", "path": str(tmp_path / "calls.db")}
    fill(tmp_path / "calls.db")
    found = {(piece.action, piece.policy, piece.what): piece.records for piece in look(options).pieces}
    assert found == {
        ("delete", "debug", "DEBUG, INFO, WARNING"): 1,
        ("hold", "debug", "DEBUG, INFO, WARNING"): 1,
        ("delete", "error", "ERROR, CRITICAL"): 1,
        ("hold", "error", "ERROR, CRITICAL"): 1,
    }
    assert look(options).pieces == look(options).pieces
    gone, told, trouble = purge(options)
    assert (gone, len(told), trouble) == (2, 2, "")
    assert {piece.action for piece in look(options).pieces} == {"hold"}
    assert purge(options) == (0, [], "")


def test_a_store_that_nobody_purges_is_drift(tmp_path: Path) -> None:
    """What is old since less than a day and a half is due, what is older is overdue; a hold never is."""
    options = {"type": "sqlite", "path": str(tmp_path / "calls.db")}
    with store.open(tmp_path / "calls.db") as opened:
        opened.write([aged_log(1, "INFO", 2 * DAY), aged_log(2, "INFO", 90 * DAY, hold="case 4711")])
    assert look(options).drift == []
    [sentence] = look(options, later=DAY).drift
    assert "overdue" in sentence


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """Looking and purging make no file."""
    options = {"type": "sqlite", "path": str(tmp_path / "none.db")}
    assert "no store" in look(options).notes[0]
    assert purge(options) == (0, [], "")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_store_is_trouble(tmp_path: Path) -> None:
    """A path that holds something else is named, and left as it is."""
    (tmp_path / "calls.db").write_text("no database")
    options = {"type": "sqlite", "path": str(tmp_path / "calls.db")}
    assert "is not a database" in look(options).trouble
    assert purge(options)[0] is None
    assert (tmp_path / "calls.db").read_text() == "no database"


def test_files_are_listed_and_deleted(tmp_path: Path) -> None:
    """Rotated files past the longest keep are listed with size and age, and go; one with a hold stays."""
    path = tmp_path / "out.jsonl"
    old = time.time() - 31 * DAY
    for number, hold in ((1, None), (2, "case 4711"), (3, None)):
        file = tmp_path / f"out-{number:06d}.jsonl"
        file.write_text(json.dumps(aged_log(number, "INFO", 31 * DAY, hold), separators=(",", ":")) + "\n")
        if number != 3:
            os.utime(file, (old, old))
    options = {"type": "file", "path": str(path)}
    plan = look(options)
    assert [(piece.action, Path(piece.what).name) for piece in plan.pieces] == [
        ("delete", "out-000001.jsonl"),
        ("hold", "out-000002.jsonl"),
    ]
    assert plan.pieces[0].bytes == (tmp_path / "out-000001.jsonl").stat().st_size
    assert plan.drift == []
    assert look(options, later=2 * DAY).drift != []
    gone, told, trouble = purge(options)
    assert (gone, trouble) == (1, "")
    assert told == [f"deleted 1 files of {path}"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out-000002.jsonl", "out-000003.jsonl"]


def test_a_file_shared_by_policies_says_what_it_really_keeps(tmp_path: Path) -> None:
    """A policy whose records stay longer than it asks, for another's sake, is named."""
    plan = look({"type": "file", "path": str(tmp_path / "out.jsonl")})
    assert [(term.policy, term.bounds.earliest, term.bounds.latest) for term in plan.terms] == [
        ("debug", 30 * DAY, 31 * DAY),
        ("error", 30 * DAY, 31 * DAY),
    ]
    [note] = plan.notes
    assert "debug asks for 1 days" in note
    assert "30 days" in note


def test_a_file_that_nobody_writes_to_any_more_goes(tmp_path: Path) -> None:
    """The file being written is rotated and deleted when its last record is past its age."""
    path = tmp_path / "out.jsonl"
    path.write_text('{"record_id":"1"}\n')
    os.utime(path, (time.time() - 31 * DAY,) * 2)
    options = {"type": "file", "path": str(path)}
    [piece] = look(options).pieces
    assert (piece.action, piece.what) == ("delete", str(path))
    assert purge(options)[0] == 1
    assert [(one.name, one.stat().st_size) for one in tmp_path.iterdir()] == [("out.jsonl", 0)]


def test_a_sink_of_ones_own_is_asked(tmp_path: Path) -> None:
    """A sink with a purge of its own is asked for each policy with an end; what it is to delete it knows."""
    Purging.asked = []
    options = {"type": "tests.expiry.test_local:Purging"}
    plan = look(options)
    assert (plan.engine, plan.pieces) == ("its own purge", [])
    assert Purging.asked == []
    assert purge(options)[0] == 6
    assert [levels for levels, _ in Purging.asked] == [("DEBUG", "INFO", "WARNING"), ("ERROR", "CRITICAL")]


def test_a_sink_of_ones_own_that_breaks_is_trouble() -> None:
    """What its purge raises names the sink, and ends nothing else."""
    gone, told, trouble = purge({"type": "tests.expiry.test_local:Failing"})
    assert (gone, told) == (None, [])
    assert "'local'" in trouble
    assert "the disk is gone" in trouble


def test_a_sink_that_keeps_nothing_says_so() -> None:
    """Where nobody deletes, no end is promised."""
    plan = look({"type": "console"})
    assert plan.engine == "nobody"
    assert {term.bounds.earliest for term in plan.terms} == {None}
    assert plan.drift == []


# -- a clock that is wrong, and what nobody asked for


def ahead(options: dict[str, Any], days: float, **how: bool) -> tuple[int | None, str]:
    """Purge by a clock that runs ahead; returns how many went, and trouble."""
    target = expiry.make_target("local", options, Policies.from_config(TABLE, ["local"]))
    now = time.time() + days * DAY
    plan = expiry.look(target, now)
    return expiry.enforce(target, plan, lambda _: None, purge=True, now=now, **how), plan.trouble


def test_a_clock_that_runs_ahead_empties_no_store(tmp_path: Path) -> None:
    """When nothing came for so long that all would go at once, the clock is doubted: nothing is deleted
    before somebody says that it is right. The plan says so, too.
    """
    options = {"type": "sqlite", "path": str(tmp_path / "calls.db")}
    with store.open(tmp_path / "calls.db") as opened:
        opened.write([aged_log(1, "INFO", 60), aged_log(2, "ERROR", 60)])
    for days in (3, 40):
        gone, trouble = ahead(options, days)
        assert gone is None
        assert "by this host's clock" in trouble
        assert "--trust-clock" in trouble
    assert any("--trust-clock" in note for note in look(options, later=40 * DAY).notes)
    assert not look(options).notes
    assert ahead(options, 40, trust_clock=True) == (2, "")


def test_a_store_that_is_purged_daily_is_never_doubted(tmp_path: Path) -> None:
    """One that fell silent is emptied day by day, without a question."""
    options = {"type": "sqlite", "path": str(tmp_path / "calls.db")}
    with store.open(tmp_path / "calls.db") as opened:
        opened.write([aged_log(number, "ERROR", number * DAY) for number in range(1, 29)])
    gone = 0
    for day in range(32):
        went, trouble = ahead(options, day)
        assert trouble == ""
        gone += went or 0
    assert gone == 28


def test_a_clock_that_runs_ahead_deletes_no_files(tmp_path: Path) -> None:
    """Files nobody wrote for longer than they are kept go only when somebody says that the clock is right."""
    path = tmp_path / "out.jsonl"
    path.write_text('{"record_id":"2"}\n')
    (tmp_path / "out-000001.jsonl").write_text('{"record_id":"1"}\n')
    for file in tmp_path.iterdir():
        os.utime(file, (time.time() - 40 * DAY,) * 2)
    options = {"type": "file", "path": str(path)}
    gone, trouble = ahead(options, 0)
    assert gone is None
    assert "--trust-clock" in trouble
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    assert ahead(options, 0, trust_clock=True) == (2, "")


def test_levels_that_no_policy_names_any_more_are_left_and_named(tmp_path: Path) -> None:
    """Records of a policy that was removed stay in the store, and the plan says how many."""
    fill(tmp_path / "calls.db")
    plan = look({"type": "sqlite", "path": str(tmp_path / "calls.db")}, {"ERROR": {"keep": "30 days"}})
    [note] = plan.notes
    assert note.startswith("no policy sends DEBUG, INFO, WARNING here any more: 3 records are left alone")
    fine = look({"type": "sqlite", "path": str(tmp_path / "calls.db")}, {"DEBUG": {}})
    assert fine.notes == []


def test_a_path_that_is_a_directory_is_trouble(tmp_path: Path) -> None:
    """It is told, for stores and files alike, before anything is done."""
    for kind in ("file", "sqlite"):
        options = {"type": kind, "path": str(tmp_path)}
        assert str(tmp_path) in look(options).trouble
        gone, _, trouble = purge(options)
        assert gone is None
        assert str(tmp_path) in trouble


def test_a_policy_between_the_names_of_levels_is_planned_as_it_is_kept(tmp_path: Path) -> None:
    """A store knows names of levels, so the longest keep of a name counts: the plan says that, and why."""
    options = {"type": "sqlite", "path": str(tmp_path / "calls.db")}
    plan = look(options, {"INFO": {"keep": "7 days"}, "25": {"keep": "1 day"}})
    lives = {term.policy: (term.bounds.earliest, term.bounds.latest) for term in plan.terms}
    assert lives == {"info": (7 * DAY, 8 * DAY), "25": (DAY, 8 * DAY)}
    assert any("25 asks for 1 days" in note and "the longest keep counts" in note for note in plan.notes)
    alike = look(options, {"INFO": {"keep": "7 days"}, "25": {"keep": "7 days"}})
    assert not any("asks for" in note for note in alike.notes)
