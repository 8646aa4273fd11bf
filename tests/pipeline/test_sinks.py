"""Sinks that fail, hang, refuse and recover: each alone, nothing lost, nothing stored twice."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers import wait_until
from tests.pipeline.handlers import Make, making
from tests.pipeline.programs import complain
from toolog import counters
from toolog.all_pipelines import stats
from toolog.errors import SinkDenied, SinkRejected, SinkUnavailable
from toolog.pipeline import accepted
from toolog.sinks.base import Answer, Batch, BatchLimits
from toolog.sinks.memory import MemorySink


class Fickle(MemorySink):
    """A memory sink that does before each write what a test says."""

    batch = BatchLimits(max_records=1000, max_age=0.01)
    max_backoff = 0.05

    def __init__(self, name: str = "fickle") -> None:
        super().__init__(name=name)
        self.before: Callable[[Batch], Answer | None] = lambda batch: None
        self.sizes: list[int] = []

    def write(self, batch: Batch) -> Answer | None:
        self.sizes.append(len(batch))
        answer = self.before(batch)
        if answer is None:
            return super().write(batch)
        kept = [r for r in batch if r.record_id not in answer.rejected and r.record_id not in answer.retry]
        super().write(kept)
        return answer


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes handlers with their loggers, and closes them."""
    with making(tmp_path, shutdown_timeout=0.5) as make:
        yield make


def messages(sink: MemorySink) -> list[str]:
    """Return the messages that a sink stored, in order."""
    return [str(row["message"]) for row in sink.records]


def test_each_sink_gets_what_its_policies_say(make: Make) -> None:
    """Records go by level to the sinks of their policy, and nowhere below the lowest one."""
    everything, errors = MemorySink(name="everything"), MemorySink(name="errors")
    log, handler = make(
        sinks={"everything": everything, "errors": errors},
        retention={"INFO": {"sinks": ["everything"]}, "ERROR": {"sinks": ["everything", "errors"]}},
    )
    before = accepted()
    for level in (10, 20, 30, 40, 50):
        log.log(level, "%d", level)
    assert handler.flush(20)
    assert messages(everything) == ["20", "30", "40", "50"]
    assert messages(errors) == ["40", "50"]
    policies = {record.level: record.policy for batch in everything.deliveries for record in batch}
    assert policies == {20: "info", 30: "info", 40: "error", 50: "error"}
    assert accepted() - before == 4


def test_sink_that_is_down_is_tried_until_it_is_back(make: Make) -> None:
    """What a sink cannot take is kept and tried again; another sink gets everything meanwhile."""
    down, up = Fickle("down"), MemorySink(name="up")
    failures = iter(range(8))

    def refuse(batch: Batch) -> None:
        if next(failures, None) is not None:
            raise SinkUnavailable("not now")

    down.before = refuse
    log, handler = make(sinks={"down": down, "up": up})
    for number in range(100):
        log.info("%d", number)
    assert up.wait_for(100, 60)
    assert handler.flush(30)
    assert messages(down) == messages(up) == [str(number) for number in range(100)]
    assert not stats()["dropped"]
    assert stats()["delivered_again"] > 0


def test_breaker_sends_small_probes(make: Make) -> None:
    """After five failures in a row only a small batch is sent, until one gets through."""
    sink = Fickle()
    failures = iter(range(12))

    def refuse(batch: Batch) -> None:
        if next(failures, None) is not None:
            raise SinkUnavailable("not now")

    sink.before = refuse
    log, handler = make(sinks={"fickle": sink}, durability="process", ship="background")
    handler.pipeline.paused = True
    for number in range(200):
        log.info("%d", number)
    handler.pipeline.paused = False
    assert handler.flush(30)
    assert max(sink.sizes[6:12]) <= 16
    assert messages(sink) == [str(number) for number in range(200)]


def test_hung_sink_delays_nobody(make: Make) -> None:
    """A sink that never returns holds up neither another sink nor the caller, and flush says so."""
    hung, up = Fickle("hung"), MemorySink(name="up")
    release = threading.Event()
    hung.before = lambda batch: release.wait(60) and None  # type: ignore[func-returns-value]
    log, handler = make(sinks={"hung": hung, "up": up})
    for number in range(500):
        log.info("%d", number)
    assert up.wait_for(500, 60)
    assert handler.flush(0.1) is False
    assert stats()["in_spool"]["up"] == 0
    assert stats()["in_spool"]["hung"] == 500
    release.set()
    assert handler.flush(20)
    assert len(hung.rows) == 500


def test_partial_answers_are_followed_by_the_record(make: Make, tmp_path: Path) -> None:
    """Of one batch some are stored, some refused for good, some to be tried again: each goes its own way,
    once.
    """
    sink = Fickle()
    asked: set[str] = set()

    def answer(batch: Batch) -> Answer | None:
        rejected = {r.record_id: "too blue" for r in batch if str(r.decode()["message"]).endswith("3")}
        again = {r.record_id for r in batch if str(r.decode()["message"]).endswith("7")} - asked
        asked.update(again)
        return Answer(rejected, frozenset(again))

    sink.before = answer
    log, handler = make(sinks={"fickle": sink})
    for number in range(40):
        log.info("%d", number)
    assert handler.flush(20)
    stored = sorted(map(int, messages(sink)))
    assert stored == [number for number in range(40) if number % 10 != 3]
    letters = [
        json.loads(line)
        for line in (tmp_path / "spool" / "dead-letters" / "fickle.jsonl").read_text().splitlines()
    ]
    assert sorted(int(letter["record"]["message"]) for letter in letters) == [3, 13, 23, 33]
    assert {(letter["sink"], letter["reason"], letter["status"]) for letter in letters} == {
        ("fickle", "too blue", "rejected")
    }
    figures = stats()
    assert figures["stored"] == {"fickle": 36}
    assert figures["dead_letters"] == {"fickle": 4}
    assert figures["in_spool"] == {"fickle": 0}


@pytest.mark.parametrize("field", ["rejected", "retry"])
def test_an_answer_about_other_records_says_nothing(make: Make, field: str) -> None:
    """An answer that names what was not in the batch (positions, say) leaves open what is stored: all of it
    comes again, and none counts as stored before.
    """
    sink = Fickle()
    wrong = Answer(rejected={"0": "bad"}) if field == "rejected" else Answer(retry={"0"})
    answers = [wrong, wrong]

    def answer(batch: Batch) -> Answer | None:
        return answers.pop() if answers else None

    sink.before = answer
    log, handler = make(sinks={"fickle": sink})
    for number in range(20):
        log.info("%d", number)
    assert handler.flush(20)
    assert stats()["stored"] == {"fickle": 20}
    assert stats()["dead_letters"] == {}
    assert stats()["retries"]["fickle"] == 2


@pytest.mark.parametrize("take", [-1, 0, None])
def test_a_pace_that_takes_nothing_sensible_gets_records_all_the_same(make: Make, take: int | None) -> None:
    """A pace of less than one record is one: no write is empty, and nothing is left for ever."""

    class Slow:
        def __init__(self) -> None:
            self.take = take

        def wait(self) -> float:
            return 0.0

    sink = Fickle()
    sink.pace = Slow()  # type: ignore[attr-defined]
    log, handler = make(sinks={"fickle": sink})
    for number in range(5):
        log.info("%d", number)
    assert handler.flush(20)
    assert messages(sink) == [str(number) for number in range(5)]
    assert min(sink.sizes) >= 1


@pytest.mark.parametrize("trouble", [ValueError, SinkRejected, RecursionError])
def test_poison_record_is_a_dead_letter_and_the_others_arrive(
    make: Make, tmp_path: Path, trouble: type[Exception]
) -> None:
    """One record that the sink breaks on is found by halving; everything around it is stored."""
    sink = Fickle()

    def choke(batch: Batch) -> None:
        if any(record.decode()["message"] == "13" for record in batch):
            raise trouble("cannot swallow this")

    sink.before = choke
    log, handler = make(sinks={"fickle": sink})
    for number in range(50):
        log.info("%d", number)
    assert handler.flush(30)
    assert sorted(map(int, messages(sink))) == [number for number in range(50) if number != 13]
    (line,) = (tmp_path / "spool" / "dead-letters" / "fickle.jsonl").read_text().splitlines()
    assert json.loads(line)["record"]["message"] == "13"
    assert "cannot swallow this" in json.loads(line)["reason"]


def test_dead_letters_are_bounded(make: Make, tmp_path: Path) -> None:
    """What does not fit into the dead-letter file is dropped, counted, and told as a loss."""
    sink = Fickle()
    sink.before = lambda batch: Answer(
        {r.record_id: "no" for r in batch if r.decode()["event"] == "log"}, frozenset()
    )
    log, handler = make(sinks={"fickle": sink}, dead_letters={"max_size": 2000})
    for number in range(50):
        log.info("%d", number)
    assert handler.flush(30)
    file = tmp_path / "spool" / "dead-letters" / "fickle.jsonl"
    assert file.stat().st_size <= 2000
    figures = stats()
    kept = len(file.read_text().splitlines())
    assert figures["dead_letters"] == {"fickle": kept}
    assert figures["dropped"] == {"dead_letters": {"INFO": 50 - kept}}
    handler.close()
    losses = [row for row in sink.records if row["event"] == "loss"]
    assert sum(row["count"] for row in losses) == 50 - kept
    assert {(row["reason"], row["sink"]) for row in losses} == {("dead_letters", "fickle")}


def test_sink_that_cannot_connect_is_tried_again(make: Make) -> None:
    """A sink that is not there at the start gets everything once it is."""
    attempts = iter(range(3))

    class Late(Fickle):
        def connect(self) -> None:
            if next(attempts, None) is not None:
                raise SinkUnavailable("still booting")
            super().connect()

    sink = Late()
    log, handler = make(sinks={"fickle": sink})
    log.info("1")
    assert handler.flush(30)
    assert messages(sink) == ["1"]


def test_batches_keep_their_limits(make: Make) -> None:
    """No batch is larger than the sink's limits, and a small one does not wait longer than its age."""
    sink = MemorySink(name="small")
    sink.batch = BatchLimits(7, 1 << 20, 0.05)  # type: ignore[attr-defined]
    log, _ = make(sinks={"small": sink}, durability="process")
    for number in range(100):
        log.info("%d", number)
    assert sink.wait_for(100, 60)
    assert max(len(batch) for batch in sink.deliveries) <= 7


def test_unshipped_records_wait_for_the_next_handler(make: Make) -> None:
    """What a closed handler could not deliver, the next one delivers, each record once."""
    down = Fickle("one")
    down.before = lambda batch: (_ for _ in ()).throw(SinkUnavailable("down"))  # type: ignore[assignment]
    log, handler = make(sinks={"one": down})
    for number in range(30):
        log.info("%d", number)
    handler.close()
    assert not down.rows
    up = MemorySink(name="one")
    _, again = make(sinks={"one": up})
    assert up.wait_for(30, 60)
    assert again.flush(20)
    assert sorted(map(int, messages(up))) == list(range(30))


def test_drops_are_told_as_loss_records(make: Make) -> None:
    """What the full queue gave up is counted by reason and level, and stands in loss records."""
    sink = MemorySink(name="one")
    log, handler = make(sinks={"one": sink}, durability="memory", queue={"max_records": 10})
    before = accepted()
    handler.pipeline.worker.paused = True
    time.sleep(0.05)  # the worker finishes the round that it is in
    for number in range(100):
        log.info("%d", number)
    log.error("important")
    handler.pipeline.worker.paused = False
    assert handler.flush(20)
    dropped = stats()["dropped"]["queue_full"]
    handler.close()
    losses = [row for row in sink.records if row["event"] == "loss"]
    assert sum(row["count"] for row in losses) == sum(dropped.values())
    assert dropped.keys() == {"INFO"}
    assert "important" in [row.get("message") for row in sink.records]
    assert accepted() - before == 101 + len(losses)
    assert len(sink.rows) == 101 + len(losses) - sum(dropped.values())


def test_purge_runs_on_a_timer(make: Make) -> None:
    """A sink with a purge of its own is asked again and again, for the levels of each policy that has an
    end.
    """
    asked: list[tuple[tuple[str, ...], float]] = []

    class Purging(MemorySink):
        def purge(self, levels: list[str], before: float) -> int:
            asked.append((tuple(levels), before))
            return 0

    sink = Purging(name="one")
    make(
        sinks={"one": sink},
        retention={"DEBUG": {"sinks": ["one"]}, "INFO": {"sinks": ["one"], "keep": "7 days"}},
        purge_every=0.1,
    )
    wait_until(lambda: len(asked) >= 3)
    assert {levels for levels, _ in asked} == {("INFO", "WARNING", "ERROR", "CRITICAL")}
    assert all(abs(time.time() - 7 * 86400 - before) < 60 for _, before in asked)


def test_purge_runs_while_records_come_without_a_pause(make: Make) -> None:
    """A sink that always has something to write is purged all the same, a little later."""
    asked: list[float] = []
    stop = threading.Event()

    class Busy(Fickle):
        batch = BatchLimits(max_records=10, max_age=0.01)

        def purge(self, levels: list[str], before: float) -> int:
            asked.append(before)
            return 0

    sink = Busy(name="one")
    log, _ = make(sinks={"one": sink}, retention={"INFO": {"keep": "7 days"}}, purge_every=0.1)

    def slowly(batch: Batch) -> None:
        for _ in range(20):  # faster than they are written
            log.info("more")
        stop.wait(0.02)

    sink.before = slowly
    log.info("first")
    wait_until(lambda: len(asked) >= 4)
    sink.before = lambda batch: None


def test_a_sink_that_cannot_be_reached_says_why_once(tmp_path: Path) -> None:
    """What a sink says about its place stands on stderr, and not only the name of an error."""
    (tmp_path / "calls.db").write_text("no database")
    complaints = complain(
        """
        made = handler(sinks={"out": {"type": "sqlite", "path": "calls.db"}}, shutdown_timeout=0.1)
        log = attach(made)
        log.info("one")
        assert not flush(0.3)
        """,
        tmp_path,
    )
    assert complaints.count(f"sink out: connect ({tmp_path}/calls.db is not a SQLite database") == 1


def test_a_denial_opens_the_breaker_at_once(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """A sink that denies us access gets only probes; its message is told once, and nothing is lost."""
    sink = Fickle()
    doors = {"open": False}

    def guard(batch: Batch) -> Answer | None:
        if not doors["open"]:
            raise SinkDenied("api_key is wrong: make a new one")
        return None

    sink.before = guard
    counters._internal.addHandler(caplog.handler)
    try:
        log, handler = make(sinks={"fickle": sink})
        for number in range(100):
            log.info("%s", number)
        wait_until(lambda: len(sink.sizes) >= 3)
        assert stats()["breaker_open"] == ["fickle"]
        assert max(sink.sizes[1:]) <= 16
        doors["open"] = True
        assert handler.flush(60)
    finally:
        counters._internal.removeHandler(caplog.handler)
    assert len(sink.rows) == 100
    told = [record.getMessage() for record in caplog.records if "api_key" in record.getMessage()]
    assert told == ["toolog: sink fickle: unavailable (api_key is wrong: make a new one)"]
