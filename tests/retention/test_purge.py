"""Purging by policy: the local store and rotated files, and never what is on hold."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from tests.documents import DAY, aged_log, aged_records
from toolog import store
from toolog.expiry.local import with_file_limits
from toolog.pipeline.purge import purge
from toolog.retention import Policies
from toolog.sinks.file import FileSink
from toolog.sinks.sqlite import SqliteSink

POLICIES = Policies.from_config(
    {
        "DEBUG": {"sinks": ["local"], "keep": "1 day"},
        "ERROR": {"sinks": ["local"], "keep": "30 days"},
    },
    ["local"],
)


def test_store_is_purged_by_level_and_age_but_not_what_is_on_hold(tmp_path: Path) -> None:
    """Each policy's levels go by its own keep, and a record with the tag hold stays whatever its age."""
    path = tmp_path / "calls.db"
    with store.open(path) as opened:
        opened.write(aged_records())
    sink = SqliteSink(path=path, name="local")
    assert purge(sink, POLICIES) == 2
    assert purge(sink, POLICIES) == 0
    with store.open(path) as opened:
        left = sorted(row["message"] for row in opened.logs())
    assert left == ["2", "3", "5", "6"]


def test_without_an_end_nothing_is_purged(tmp_path: Path) -> None:
    """A policy without `keep` keeps its records."""
    path = tmp_path / "calls.db"
    with store.open(path) as opened:
        opened.write([aged_log(1, "INFO", 9999 * DAY)])
    assert purge(SqliteSink(path=path, name="local"), Policies.from_config({}, ["local"])) == 0


def test_rotated_files_are_purged_by_the_longest_keep(tmp_path: Path) -> None:
    """A rotated file past its age goes, one with a record on hold stays, and the live file is not touched."""
    options = with_file_limits("local", {"type": "file", "path": str(tmp_path / "out.jsonl")}, POLICIES)
    sink = FileSink(name="local", **{key: value for key, value in options.items() if key != "type"})
    old = time.time() - 31 * DAY
    for number, hold in ((1, None), (2, "case 4711"), (3, None)):
        file = tmp_path / f"out-{number:06d}.jsonl"
        file.write_text(json.dumps(aged_log(number, "INFO", 31 * DAY, hold), separators=(",", ":")) + "\n")
        if number != 3:
            os.utime(file, (old, old))
    sink.connect()
    purge(sink, POLICIES)
    sink.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "out-000002.jsonl",
        "out-000003.jsonl",
        "out.jsonl",
    ]


def test_file_options_of_the_user_stay() -> None:
    """What the user wrote for a file is not replaced, and other sinks' options are not touched."""
    own = {"type": "file", "path": "x", "max_age": "90 days", "rotate_every": "7 days"}
    assert with_file_limits("local", own, POLICIES) == own
    assert with_file_limits("local", {"type": "sqlite"}, POLICIES) == {"type": "sqlite"}
    assert with_file_limits("local", {"type": "file"}, Policies.from_config({}, ["local"])) == {
        "type": "file"
    }
    filled = with_file_limits("local", {"type": "file", "path": "x"}, POLICIES)
    assert filled["max_age"] == 30 * DAY
    assert filled["rotate_every"] == DAY
