"""kill -9 at random moments, and who ships what a dead process left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from tests.helpers import wait_until
from tests.pipeline.programs import arrived, assert_complete, documents, ledger, run, start, waiting

KILLS = int(os.environ.get("TOOLOG_KILLS", "5"))
"""How many programs are killed: few by default, a hundred before a release."""

EMIT_FOR_EVER = """
log = attach(handler(sys.argv[2], **SINK))
note = open_ledger()
print("go", flush=True)
number = int(sys.argv[1]) * 1_000_000
while True:
    log.info("%d", number)
    note(number)
    number += 1
"""
FILE = "SINK = {}\n"
SQLITE = 'SINK = {"sinks": {"store": {"type": "sqlite", "path": "calls.db"}}}\n'


def kill(folder: Path, script: str, life: int, mode: str, moment: float) -> None:
    """Start a program and kill it ``moment`` seconds after its first record may come."""
    program = start(script, folder, str(life), mode)
    assert program.stdout is not None
    assert program.stdout.readline() == "go\n"
    try:
        program.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        program.send_signal(signal.SIGKILL)
    program.communicate()
    assert program.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_killed_programs_lose_nothing_and_store_nothing_twice(tmp_path: Path) -> None:
    """What had returned before each kill is in the sink's file after the next start, each once, and little
    else.
    """
    moments = random.Random(7)
    for life in range(KILLS):
        kill(tmp_path, FILE + EMIT_FOR_EVER, life, "process", moments.uniform(0.0, 0.3))
    run("handler(); assert flush(50), stats()", tmp_path)
    accepted, found = set(ledger(tmp_path)), arrived(tmp_path)
    assert accepted <= set(found)
    assert set(found.values()) <= {1}
    # Each kill may have come between the record and its line in the ledger.
    assert len(set(found) - accepted) <= KILLS
    assert not waiting(tmp_path)


@pytest.mark.slow
def test_killed_programs_and_the_store(tmp_path: Path) -> None:
    """The same holds for the SQLite store, counted by SQLite itself."""
    import sqlite3

    moments = random.Random(11)
    for life in range(KILLS):
        kill(tmp_path, SQLITE + EMIT_FOR_EVER, life, "process", moments.uniform(0.0, 0.3))
    run(SQLITE + "handler(**SINK); assert flush(50), stats()", tmp_path)
    with sqlite3.connect(tmp_path / "calls.db") as connection:
        rows = [int(row[0]) for row in connection.execute("SELECT message FROM logs")]
    connection.close()
    accepted = set(ledger(tmp_path))
    assert len(rows) == len(set(rows))
    assert accepted <= set(rows)
    assert len(set(rows) - accepted) <= KILLS


def test_memory_durability_may_lose_but_never_repeats(tmp_path: Path) -> None:
    """A kill takes what was still in the queue; what arrived was accepted, and arrived once."""
    kill(tmp_path, FILE + EMIT_FOR_EVER, 0, "memory", 0.2)
    run("handler(); assert flush(50), stats()", tmp_path)
    found = arrived(tmp_path)
    assert set(found.values()) <= {1}
    assert len(set(found) - set(ledger(tmp_path))) <= 1


def test_dead_segments_are_adopted_when_a_handler_starts(tmp_path: Path) -> None:
    """A process that logs nothing at all ships what a dead one left, as soon as it has a handler."""
    run(
        """
        log = attach(handler())
        for number in range(20):
            log.info("%d", number)
        os._exit(0)
        """,
        tmp_path,
    )
    program = start("made = handler(); time.sleep(60)", tmp_path)
    wait_until(lambda: len(arrived(tmp_path)) >= 20)
    program.kill()
    program.communicate()
    assert_complete(tmp_path, list(range(20)))


def test_shipper_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """Of two programs on one directory one ships; when it is killed the other one goes on, and nothing comes
    twice.
    """
    forever = """
    log = attach(handler())
    note = open_ledger(sys.argv[2])
    number = int(sys.argv[1])
    print("go", flush=True)
    while not os.path.exists("stop"):
        log.info("%d", number)
        note(number)
        number += 1
        time.sleep(0.002)
    assert flush(30), stats()
    """
    first = start(forever, tmp_path, "0", "first")
    assert first.stdout is not None
    first.stdout.readline()
    second = start(forever, tmp_path, "1000000", "second")
    assert second.stdout is not None
    second.stdout.readline()
    wait_until(lambda: any(number >= 1_000_000 for number in arrived(tmp_path)))
    first.kill()
    first.communicate()
    (tmp_path / "stop").touch()
    _, complaints = second.communicate(timeout=60)
    assert second.returncode == 0, complaints
    run("handler(); assert flush(30)", tmp_path)
    accepted, found = {*ledger(tmp_path, "first"), *ledger(tmp_path, "second")}, arrived(tmp_path)
    assert accepted <= set(found)
    assert set(found.values()) <= {1}
    assert len(set(found) - accepted) <= 1


def test_a_death_in_the_very_first_batch_leaves_nothing_twice(tmp_path: Path) -> None:
    """The file's length is noted before the first batch too, so that the next process cuts what was never
    acknowledged.
    """
    run(
        """
        from toolog.sinks.file import FileSink
        class Dying(FileSink):
            def write(self, batch):
                super().write(batch)
                os._exit(9)
        log = attach(handler(sinks={"out": {"type": "__main__:Dying", "path": "out.jsonl"}}))
        for number in range(5):
            log.info("%d", number)
        flush(20)
        """,
        tmp_path,
        code=9,
    )
    run("handler(); assert flush(20)", tmp_path)
    assert_complete(tmp_path, list(range(5)))


TOOL_CALLS = """
import sqlite_utils
made = handler("process", sinks={"store": {"type": "sqlite", "path": "calls.db"}, "out": {"type": "file",
    "path": "out.jsonl", "batch": {"max_age": 0.01}}}, retention={"INFO": {"sinks": ["store", "out"]}})
attach(made, "toolog")
toolog.instrument(sqlite_utils)
note = open_ledger()
def work(number):
    table = sqlite_utils.Database(memory=True)["orders"]
    while True:
        table.insert({"id": number}, pk="id")
        note(number)
        number += 1
for thread in range(4):
    threading.Thread(target=work, args=((int(sys.argv[1]) * 4 + thread) * 1_000_000,)).start()
print("go", flush=True)
"""
SHIP_ALL = """
made = handler("process", sinks={"store": {"type": "sqlite", "path": "calls.db"}, "out": {"type": "file",
    "path": "out.jsonl", "batch": {"max_age": 0.01}}}, retention={"INFO": {"sinks": ["store", "out"]}})
assert flush(50), stats()
"""


@pytest.mark.slow
def test_killed_programs_and_the_calls_of_a_real_package(tmp_path: Path) -> None:
    """Tool calls of an instrumented package in four threads: each that had returned is once in the store and
    once in the file, counted by SQLite and by `json` alone.
    """
    import sqlite3

    moments = random.Random(13)
    for life in range(KILLS):
        kill(tmp_path, TOOL_CALLS, life, "process", moments.uniform(0.0, 0.4))
    run(SHIP_ALL, tmp_path)
    with sqlite3.connect(tmp_path / "calls.db") as connection:
        rows = [
            row[0] for row in connection.execute("SELECT json_extract(input, '$.record.id') FROM tool_calls")
        ]
    connection.close()
    lines = [
        one["input"]["record"]["id"] for one in documents(tmp_path) if one["event"] == "tool_call_success"
    ]  # type: ignore[index]
    accepted = set(ledger(tmp_path))
    for found in (rows, lines):
        assert len(found) == len(set(found))
        assert accepted <= set(found)
        assert len(set(found) - accepted) <= 4 * KILLS  # a kill between the record and its line in the ledger
