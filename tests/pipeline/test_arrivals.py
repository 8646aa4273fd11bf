"""Flush says True when what was accepted has arrived, wherever it went meanwhile; what is given up was not
delivered.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import wait_until
from tests.pipeline.handlers import Make, making
from tests.pipeline.programs import arrived, run
from toolog.all_pipelines import stats
from toolog.errors import SinkUnavailable
from toolog.handler import ToologHandler
from toolog.pipeline import accepted
from toolog.sinks.base import Answer, Batch, BatchLimits, decode
from toolog.sinks.memory import MemorySink
from toolog.spool import Frame


class Gated(MemorySink):
    """Takes a batch when all of its messages are allowed (None: any); remembers what it was asked to take."""

    batch = BatchLimits(max_records=20, max_age=0.01)
    max_backoff = 0.02

    def __init__(self) -> None:
        super().__init__(name="gated")
        self.allowed: set[str] | None = set()
        self.asked: set[str] = set()

    def write(self, batch: Batch) -> Answer | None:
        messages = {str(record.decode()["message"]) for record in batch}
        self.asked |= messages
        if self.allowed is not None and not messages <= self.allowed:
            raise SinkUnavailable("not now")
        return super().write(batch)


class Crawling(MemorySink):
    """Takes its time for a batch, and takes it in two halves if it is told to."""

    batch = BatchLimits(max_records=40, max_age=0.01)
    max_backoff = 0.02
    seconds = 0.5
    in_halves = False

    def write(self, batch: Batch) -> Answer | None:
        time.sleep(self.seconds)
        if self.in_halves and len(batch) > 1:
            super().write(batch[1::2])
            return Answer(retry=frozenset(record.record_id for record in batch[::2]))
        return super().write(batch)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes a handler with a small spool, and its logger; closes it."""
    spool = {"path": str(tmp_path / "spool"), "max_size": "256 KiB", "segment_size": "16 KiB"}
    with making(tmp_path, durability="process", spool=spool, shutdown_timeout=0.3) as make:

        def build(sink: MemorySink, **options: Any) -> tuple[logging.Logger, ToologHandler]:
            log, handler = make(sinks={sink.name: sink}, **options)
            wait_until(lambda: handler.pipeline.shipping.is_shipper)
            return log, handler

        yield build


def _document(frame: Frame) -> dict[str, Any]:
    return decode(frame.payload, frame.serializer)


class Flush(threading.Thread):
    """A flush on a thread of its own; ``answer`` is what it returned."""

    def __init__(self, handler: ToologHandler) -> None:
        super().__init__()
        self.answer: bool | None = None
        self._handler = handler
        self.start()

    def run(self) -> None:
        """Flush."""
        self.answer = self._handler.flush(20)


def test_flush_waits_for_what_is_carried_over(make: Make) -> None:
    """What a full spool keeps when it gives up the rest of a segment has not arrived by being moved."""
    sink = Gated()
    log, handler = make(sink)
    for number in range(200):
        (log.error if number % 10 == 0 else log.debug)("%d", number)
    flush = Flush(handler)
    wait_until(lambda: sink.asked)
    before = {path.name for path in (handler.pipeline.options.directory).glob("*.seg")}
    assert handler.pipeline.shipping.make_room(logging.ERROR)
    assert {path.name for path in (handler.pipeline.options.directory).glob("*.seg")} - before
    time.sleep(0.3)
    assert flush.answer is None
    sink.allowed = None
    flush.join(20)
    assert flush.answer is True
    errors = {int(str(row["message"])) for row in sink.records if row["level"] == "ERROR"}
    assert errors == set(range(0, 200, 10))


def test_flush_waits_for_what_leaves_memory(make: Make) -> None:
    """What was held in memory while the disk failed has not arrived by being moved to the disk."""
    sink = Gated()
    log, handler = make(sink)
    outlet = handler.pipeline.outlet
    outlet.fail(OSError("the disk is full"))
    outlet._again_at = time.monotonic() + 1000
    for number in range(100):
        log.info("%d", number)
    wait_until(lambda: len(handler.pipeline.held.frames) == 100 and sink.asked)
    flush = Flush(handler)
    time.sleep(0.2)
    outlet._again_at = 0.0
    wait_until(lambda: not outlet.degraded)
    taken = {str(one["message"]) for one in map(_document, list(handler.pipeline.held.frames.values()))}
    assert 0 < len(taken) < 100  # what a reader took is not moved
    sink.allowed = taken
    wait_until(lambda: not handler.pipeline.held.frames)
    time.sleep(0.3)
    assert flush.answer is None
    sink.allowed = None
    flush.join(20)
    assert flush.answer is True
    assert {int(str(row["message"])) for row in sink.records} == set(range(100))
    assert stats()["stored"] == {"gated": 100}


def test_flush_waits_for_what_is_written_again(make: Make) -> None:
    """What was in a segment that somebody deleted is written again, and flush waits for it there."""
    sink = Gated()
    log, handler = make(sink)
    for number in range(30):
        log.info("%d", number)
    flush = Flush(handler)
    wait_until(lambda: sink.asked)
    for path in handler.pipeline.options.directory.glob("*.seg"):
        path.unlink()
    time.sleep(0.6)
    assert flush.answer is None
    sink.allowed = None
    flush.join(20)
    assert flush.answer is True
    assert {int(str(row["message"])) for row in sink.records} == set(range(30))


@pytest.mark.parametrize("how", ["slow", "hung", "in halves"])
def test_nothing_is_both_given_up_and_delivered(make: Make, how: str) -> None:
    """While a write takes longer than anybody waits, or half of a batch is stored, a full spool gives up
    others: accepted = delivered + dropped, exactly.
    """
    sink = Crawling(name="crawling")
    sink.in_halves = how == "in halves"
    if how == "hung":
        sink.__dict__["timeout"] = 0.05
        sink.seconds = 1.0
    before = accepted()
    log, handler = make(sink, queue={"when_full": "drop_oldest", "max_records": 100})
    for number in range(2500):
        log.info("%d %s", number, "x" * 300)
        if number % 20 == 0:
            time.sleep(0.02)
    assert stats()["dropped"]["spool_full"]["INFO"] > 0
    sink.seconds = 0.0
    sink.in_halves = False
    assert handler.flush(30), stats()
    figures = stats()
    delivered = set(sink.rows)
    dropped = sum(number for by_level in figures["dropped"].values() for number in by_level.values())
    assert len(delivered) + dropped == accepted() - before, figures
    assert figures["stored"] == {"crawling": len(delivered)}
    assert bool(figures["timeouts"]) is (how == "hung")


def test_a_death_while_room_is_made_doubles_nothing(tmp_path: Path) -> None:
    """Killed when what stays was carried over and the original not deleted yet: whoever ships next delivers
    each record once, and none is missing.
    """
    run(
        """
        from toolog.spool import Spool
        log = attach(handler("process", ship="none"))
        for number in range(100):
            (log.error if number % 2 else log.info)("%d", number)
        logging.getLogger("app").handlers[0].close()
        unlink = os.unlink
        def die(path, *args, **kwargs):
            if str(path).endswith(".seg"):
                os.kill(os.getpid(), signal.SIGKILL)
            unlink(path, *args, **kwargs)
        os.unlink = die
        spool = Spool("spool")
        spool.drop_oldest(1 << 20, [spool.reader("out")], below=40)
        """,
        tmp_path,
        code=-9,
    )
    assert len([name for name in os.listdir(tmp_path / "spool") if name.endswith(".seg")]) == 2
    run(
        """
        attach(handler("process")).info("100")
        assert flush(20), stats()
        """,
        tmp_path,
    )
    assert arrived(tmp_path) == dict.fromkeys(range(101), 1)
