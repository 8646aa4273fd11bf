"""A sink that is served by policy: what is refused in one of its places waits, and holds up nobody."""

from __future__ import annotations

import logging
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import wait_until
from tests.pipeline.handlers import Make, making
from tests.pipeline.programs import ledger, run, start, waiting
from toolog import counters
from toolog.all_pipelines import flush, stats
from toolog.errors import SinkDenied
from toolog.pipeline import Options
from toolog.retention import Policies
from toolog.shipper.status import take_status
from toolog.sinks.base import Answer, Batch, BatchLimits
from toolog.sinks.memory import MemorySink

whole_lock = threading.Lock()
RETENTION = {"INFO": {"sinks": ["places"]}, "ERROR": {"sinks": ["places"]}}


class Places(MemorySink):
    """Keeps the records of each policy in a place of their own, of which some may be closed, or hang."""

    batch = BatchLimits(max_records=50, max_age=0.01)
    max_backoff = 0.05
    timeout = 0.2

    def __init__(self, name: str = "places") -> None:
        super().__init__(name=name)
        self.closed: set[str] = set()
        self.go_on = threading.Event()
        self.policy = ""
        self.made: dict[str, Places] = {}
        self.whole = self

    def for_policy(self, policy: str) -> Places:
        made = self.made[policy] = Places(self.name)
        made.policy, made.whole = policy, self.whole
        return made

    def write(self, batch: Batch) -> Answer | None:
        whole = self.whole
        assert self.policy in ("info", "error")
        assert {record.policy for record in batch} == {self.policy}
        if f"hanging {self.policy}" in whole.closed:
            whole.go_on.wait(60)
        if self.policy in whole.closed:
            raise SinkDenied(f"{self.policy} is closed")
        with whole_lock:
            whole.connect()
            return MemorySink.write(whole, batch)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes a handler with its logger, and closes it."""
    usual = {"durability": "process", "retention": RETENTION, "shutdown_timeout": 0.3}
    with making(tmp_path, **usual) as make:
        yield lambda sink, **options: make(sinks={"places": sink}, **options)


def numbers(sink: MemorySink) -> Counter[int]:
    """Return how often each number was stored."""
    return Counter(int(str(record["message"])) for record in sink.records)


def log_both(log: logging.Logger, first: int, last: int) -> None:
    """Log numbers; the odd ones are errors."""
    for number in range(first, last):
        (log.error if number % 2 else log.info)("%d", number)


def test_a_closed_place_holds_up_no_other(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """While one policy's records are refused, all later ones of the other policy are stored; when the place
    is open again, each of those that waited is stored once.
    """
    internal = logging.getLogger("toolog.internal")
    internal.addHandler(caplog.handler)
    sink = Places()
    sink.closed = {"error"}
    log, _ = make(sink)
    for first in range(0, 500, 100):
        log_both(log, first, first + 100)
        wait_until(lambda last=first: len(sink.records) == last // 2 + 50)  # type: ignore[misc]
    assert {number % 2 for number in numbers(sink)} == {0}
    wait_until(lambda: stats()["breaker"] == {"places": "open"})
    wait_until(lambda: stats()["in_spool"] == {"places": 250})  # (acknowledged a little later than written)
    assert stats()["dead_letters"] == {}
    assert not flush(0.1)
    sink.closed = set()
    assert flush(30), stats()
    internal.removeHandler(caplog.handler)
    assert numbers(sink) == Counter(range(500))
    assert stats()["stored"] == {"places": 500}
    assert stats()["breaker"] == {"places": "closed"}
    told = [one.getMessage() for one in caplog.records if "left in peace" in one.getMessage()]
    assert len(told) == 1
    assert "sink places, policy error" in told[0]


def test_a_place_that_hangs_holds_up_no_other(make: Make) -> None:
    """A write that does not return keeps only its own policy's records; they are stored when it does."""
    sink = Places()
    sink.closed = {"hanging info"}
    log, _ = make(sink)
    log_both(log, 0, 300)
    wait_until(lambda: len(sink.records) == 150)
    wait_until(lambda: stats()["timeouts"] == {"places": 1})
    log_both(log, 300, 400)
    wait_until(lambda: len(sink.records) == 200)
    assert {number % 2 for number in numbers(sink)} == {1}
    sink.closed = set()
    sink.go_on.set()
    assert flush(30), stats()
    assert numbers(sink) == Counter(range(400))


def test_what_waits_for_a_closed_place_is_there_after_a_restart(make: Make, tmp_path: Path) -> None:
    """The next handler sends what waited, and nothing of what the other policy had; the status says for which
    policy something waits.
    """
    sink = Places()
    sink.closed = {"error"}
    log, handler = make(sink)
    log_both(log, 0, 200)
    wait_until(lambda: len(sink.records) == 100)
    handler.close()
    assert sorted(waiting(tmp_path, "places")) == list(range(1, 200, 2))
    options = Options(
        directory=tmp_path / "spool",
        sinks={"places": sink},
        policies=Policies.from_config(RETENTION, ["places"]),
    )
    status = take_status(options)
    assert status["in_spool"] == {"places": 100}
    assert status["by_policy"] == {"places": {"info": 0, "error": 100}}
    again = Places()
    make(again)
    wait_until(lambda: len(again.records) == 100)
    assert flush(30)
    assert numbers(again) == Counter(range(1, 200, 2))
    assert not waiting(tmp_path, "places")


@pytest.mark.parametrize("before", [{"INFO": {"sinks": ["places"]}}, {"DEBUG": {"sinks": ["places"]}}])
def test_policies_may_change_between_two_starts(make: Make, before: dict[str, Any]) -> None:
    """A sink that one policy named goes on by two where it stood, and by one again, with nothing twice."""
    plain = MemorySink(name="places")
    log, handler = make(plain, retention=before)
    log_both(log, 0, 100)
    wait_until(lambda: len(plain.records) == 100)
    assert flush(30)
    handler.close()
    sink = Places()
    log, handler = make(sink)
    log_both(log, 100, 200)
    assert flush(30)
    handler.close()
    assert numbers(sink) == Counter(range(100, 200))
    plain = MemorySink(name="places")
    log, handler = make(plain, retention=before)
    log_both(log, 200, 300)
    assert flush(30)
    assert numbers(plain) == Counter(range(200, 300))


def test_damage_is_counted_once_for_a_sink(make: Make, tmp_path: Path) -> None:
    """A damaged frame is one, however many tracks pass over it."""
    sink = Places()
    log, handler = make(sink, ship="none")
    log_both(log, 0, 20)
    handler.close()
    (segment,) = (tmp_path / "spool").glob("*.seg")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    counters.reset()
    make(sink)
    wait_until(lambda: len(sink.records) == 19)
    assert flush(30)
    assert stats()["damaged"] == {"places": 1}


def test_records_in_memory_are_served_by_policy_too(make: Make) -> None:
    """While the disk fails, a closed place does not hold up what memory has for another."""
    sink = Places()
    sink.closed = {"error"}
    log, handler = make(sink)
    outlet = handler.pipeline.outlet
    outlet.fail(OSError("the disk is full"))
    outlet._again_at = time.monotonic() + 1000
    log_both(log, 0, 100)
    wait_until(lambda: len(sink.records) == 50)
    sink.closed = set()
    wait_until(lambda: len(sink.records) == 100)
    assert numbers(sink) == Counter(range(100))
    outlet._again_at = 0.0
    assert flush(30)


def test_a_sink_that_keeps_a_state_is_served_on_one_track(make: Make) -> None:
    """A sink that must know how far it came has one cursor, whatever it offers besides."""

    class Stateful(Places):
        def for_policy(self, policy: str) -> Places:
            raise AssertionError("not asked for")

        def cursor_state(self) -> dict[str, Any]:
            return {"length": len(self.records)}

        def write(self, batch: Batch) -> Answer | None:
            return MemorySink.write(self, batch)

    sink = Stateful()
    log, handler = make(sink)
    log_both(log, 0, 100)
    assert flush(30)
    assert numbers(sink) == Counter(range(100))
    assert len(handler.pipeline.shipping.runners) == 1


def test_what_a_place_refuses_for_good_is_a_dead_letter_of_the_sink(make: Make, tmp_path: Path) -> None:
    """Letters of all policies stand in the file of their sink, and each comes again by its own policy."""

    class Picky(Places):
        def for_policy(self, policy: str) -> Places:
            made = Picky()
            made.policy, made.whole = policy, self.whole
            return made

        def write(self, batch: Batch) -> Answer | None:
            if "no" not in self.whole.closed:
                return super().write(batch)
            return Answer(rejected={record.record_id: "no" for record in batch})

    from toolog.pipeline.letters import read_letters, send_again

    sink = Picky()
    sink.closed = {"no"}
    log, _ = make(sink)
    log_both(log, 0, 10)
    assert flush(30)
    assert stats()["dead_letters"] == {"places": 10}
    sink.closed = set()
    directory = tmp_path / "spool"
    assert send_again(directory, read_letters(directory), max_size=1 << 30) == 10
    wait_until(lambda: len(sink.records) == 10)
    assert numbers(sink) == Counter(range(10))
    wait_until(lambda: stats()["resent"] == {"places": 10})


# -- kill -9 -------------------------------------------------------------------------------------------------

TABLES = """
import sqlite3
from toolog.errors import SinkDenied
from toolog.sinks.base import BatchLimits
class Tables:
    batch = BatchLimits(max_records=20, max_age=0.01)
    max_backoff = 0.1
    def __init__(self, *, name, policy=""):
        self.name, self.policy = name, policy
    def for_policy(self, policy):
        return Tables(name=self.name, policy=policy)
    def connect(self):
        self.database = sqlite3.connect(self.policy + ".db", isolation_level=None, timeout=30)
        self.database.execute("create table if not exists rows (id text primary key, number int)")
    def write(self, batch):
        if os.path.exists(self.policy + ".closed"):
            raise SinkDenied("closed")
        rows = [(one.record_id, int(one.decode()["message"])) for one in batch]
        self.database.executemany("insert or ignore into rows values (?, ?)", rows)
    def close(self):
        self.database.close()
def tables():
    one = {"sinks": ["places"]}
    made = handler(
        sinks={"places": {"type": "__main__:Tables"}}, retention={"INFO": one, "ERROR": one},
        spool={"path": "spool", "segment_size": "64 KiB"},
    )
    return made, attach(made)
"""


def rows(folder: Path, policy: str) -> list[int]:
    """Return the numbers that one place holds."""
    with sqlite3.connect(folder / f"{policy}.db", timeout=30) as database:
        found = [int(number) for (number,) in database.execute("select number from rows order by number")]
    database.close()
    return found


@pytest.mark.slow
def test_killed_programs_with_a_closed_place(tmp_path: Path) -> None:
    """Programs are killed at random moments while one place is closed: the others' records get on from life
    to life, and when it opens everything is stored once.
    """
    (tmp_path / "error.closed").touch()
    moments = random.Random(5)
    for life in range(3):
        program = start(
            TABLES
            + """
made, log = tables()
note = open_ledger()
print("go", flush=True)
number = int(sys.argv[1]) * 1_000_000
while True:
    (log.error if number % 2 else log.info)("%d", number)
    note(number)
    number += 1
    time.sleep(0.0005)
""",
            tmp_path,
            str(life),
        )
        assert program.stdout is not None
        assert program.stdout.readline() == "go\n"
        try:
            program.communicate(timeout=moments.uniform(0.1, 0.5))
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGKILL)
        program.communicate()
    accepted = set(ledger(tmp_path))
    even = {number for number in accepted if number % 2 == 0}
    wait_for_them = """
made, log = tables()
database = sqlite3.connect("info.db", timeout=30)
wait(lambda: database.execute("select count(*) from rows").fetchone()[0] >= int(sys.argv[1]), 50)
"""
    run(TABLES + wait_for_them, tmp_path, str(len(even)))
    assert even <= set(rows(tmp_path, "info"))
    assert rows(tmp_path, "error") == []
    assert len(waiting(tmp_path, "places")) >= len(accepted - even)
    (tmp_path / "error.closed").unlink()
    run(TABLES + "made, log = tables()\nassert flush(50), stats()", tmp_path)
    found = Counter(rows(tmp_path, "info") + rows(tmp_path, "error"))
    assert accepted <= set(found)
    assert set(found.values()) == {1}
    assert len(set(found) - accepted) <= 3  # killed between the record and its line in the ledger
    assert not waiting(tmp_path, "places")
    assert not list((tmp_path / "spool").glob("*.seg"))
