"""Logging from the strangest places: signal handlers, finalizers, sinks' clients, values in log lines."""

from __future__ import annotations

import gc
import logging
from pathlib import Path

import pytest

from tests.helpers import wait_until
from tests.pipeline.programs import HANGING_SINK, arrived, assert_complete, run
from toolog.handler import ToologHandler
from toolog.sinks.base import Batch
from toolog.sinks.memory import MemorySink

MODES = ("memory", "process", "power")


@pytest.mark.parametrize("mode", MODES)
def test_signal_handler_that_logs(mode: str, tmp_path: Path) -> None:
    """Hundreds of signals whose handler logs, in the middle of logging: no deadlock, nothing lost, nothing
    twice.
    """
    run(
        """
        log = attach(handler(sys.argv[1]))
        import itertools
        counter, count = itertools.count(), 0
        def on_alarm(number, frame):
            global count
            count = next(counter)
            log.info("%d", 1_000_000 + count)
            signal.setitimer(signal.ITIMER_REAL, 0.0003)  # the next one: handlers do not pile up
        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.0003)
        number = 0
        deadline = time.monotonic() + 30
        while count < 300 and time.monotonic() < deadline:
            log.info("%d", number)
            number += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert flush(30), stats()
        """,
        tmp_path,
        mode,
    )
    found = arrived(tmp_path)
    assert set(found.values()) == {1}
    main = sorted(number for number in found if number < 1_000_000)
    signals = sorted(number for number in found if number >= 1_000_000)
    assert main == list(range(len(main)))
    assert signals == list(range(1_000_000, 1_000_000 + len(signals)))
    assert len(signals) >= 300


@pytest.mark.parametrize("mode", MODES)
def test_finalizer_that_logs(mode: str, tmp_path: Path) -> None:
    """Objects whose __del__ logs, collected in the middle of anything, neither deadlock nor lose a record."""
    run(
        """
        import gc
        log = attach(handler(sys.argv[1]))
        class Noisy:
            def __init__(self, number):
                self.number, self.self = number, self
            def __del__(self):
                log.info("%d", 1000 + self.number)
        gc.set_threshold(5)
        for number in range(200):
            Noisy(number)
            log.info("%d", number)
        gc.collect()
        assert flush(30), stats()
        """,
        tmp_path,
        mode,
    )
    assert_complete(tmp_path, [*range(200), *range(1000, 1200)])


def test_what_a_sinks_client_logs_is_not_shipped(tmp_path: Path) -> None:
    """A handler on the root logger, and a sink whose client logs at DEBUG: one record stays one record, and
    the client's lines are counted.
    """
    (tmp_path / "talking.py").write_text(
        "import json, logging\n"
        "class Sink:\n"
        "    def __init__(self, name): self.name = name\n"
        "    def connect(self): logging.getLogger('any.name').warning('connecting')\n"
        "    def write(self, batch):\n"
        "        for _ in range(60): logging.getLogger('any.name').warning('sending')\n"
        "        with open('out.jsonl', 'a') as file:\n"
        "            for record in batch: file.write(json.dumps(record.decode()) + '\\n')\n"
        "    def close(self): logging.getLogger('any.name').warning('closing')\n"
    )
    run(
        """
        sys.path.insert(0, ".")
        root = logging.getLogger()
        root.setLevel(1)
        sinks = {"out": {"type": "talking:Sink", "batch": {"max_age": 0.01}}}
        root.addHandler(handler("memory", sinks=sinks))
        logging.getLogger("app").info("1")
        assert flush(30)
        figures = stats()
        assert figures["stored"] == {"out": 1}, figures
        assert figures["own_records"] >= 61, figures
        """,
        tmp_path,
    )
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("mode", ["memory", "process"])
def test_what_a_sinks_client_logs_into_a_queue_is_not_shipped(mode: str, tmp_path: Path) -> None:
    """Where a QueueListener's thread brings the lines to the handler, those of a sink's client end there."""
    (tmp_path / "talking.py").write_text(
        "import logging\n"
        "from toolog.sinks.file import FileSink\n"
        "class Sink(FileSink):\n"
        "    def write(self, batch):\n"
        "        logging.getLogger('any.name').warning('sending')\n"
        "        return super().write(batch)\n"
    )
    run(
        """
        import logging.handlers, queue
        sys.path.insert(0, ".")
        sinks = {"out": {"type": "talking:Sink", "path": "out.jsonl", "batch": {"max_age": 0.01}}}
        lines = queue.Queue()
        listener = logging.handlers.QueueListener(lines, handler(sys.argv[1], sinks=sinks))
        listener.start()
        root = logging.getLogger()
        root.setLevel(1)
        root.addHandler(logging.handlers.QueueHandler(lines))
        for number in range(3):
            logging.getLogger("app").info("%d", number)
            deadline = time.monotonic() + 60
            while stats()["own_records"] <= number and time.monotonic() < deadline:
                time.sleep(0.01)
        listener.stop()
        assert flush(30)
        figures = stats()
        assert figures["accepted"] == 3, figures
        assert figures["own_records"] >= 3, figures
        """,
        tmp_path,
        mode,
    )
    assert_complete(tmp_path, [0, 1, 2])


def test_value_that_logs_when_asked_for_its_text(tmp_path: Path) -> None:
    """A log line's argument whose __str__ logs itself again ends, and the line arrives."""
    run(
        """
        log = attach(handler())
        class Echo:
            def __str__(self):
                log.info("%s", self)
                return "7"
        log.info("%s", Echo())
        assert flush(20)
        assert stats()["reentrant"] >= 1, stats()
        """,
        tmp_path,
    )
    assert 1 <= sum(arrived(tmp_path).values()) <= 10


def test_event_loop_is_not_held_up_by_a_hung_sink(tmp_path: Path) -> None:
    """Ten thousand tasks log while the sink hangs and the queue is full: the loop goes on, whatever the
    policy.
    """
    (tmp_path / "hanging.py").write_text(HANGING_SINK)
    run(
        """
        sys.path.insert(0, ".")
        import asyncio
        log = attach(handler("memory", queue={"max_records": 100, "when_full": "block", "timeout": "50 s"},
                             sinks={"out": {"type": "hanging:Sink"}}, shutdown_timeout=0.2))
        async def task(number):
            await asyncio.sleep(0)
            log.info("%d", number)
        async def main():
            await asyncio.gather(*(task(number) for number in range(10_000)))
        began = time.monotonic()
        asyncio.run(main())
        assert time.monotonic() - began < 40, "a task waited for room"
        """,
        tmp_path,
    )


class Cycle:
    """Garbage that only the collector finds, and that logs when it does."""

    def __init__(self, number: int) -> None:
        self.number, self.me = number, self

    def __del__(self) -> None:
        logging.getLogger("tests.finalizers").info("%d", self.number)


class Talking(MemorySink):
    """A sink whose client logs."""

    def write(self, batch: Batch) -> None:
        logging.getLogger("tests.finalizers").info("own")
        super().write(batch)


def test_a_finalizer_that_is_run_on_our_thread_is_the_applications(tmp_path: Path) -> None:
    """The collector runs on whatever thread allocates: what a finalizer logs there arrives like any other,
    and what a sink's client logs still does not.
    """
    sink = Talking()
    made = ToologHandler(spool={"path": str(tmp_path / "spool")}, sinks={"memory": sink})
    log = logging.getLogger("tests.finalizers")
    log.setLevel(logging.INFO)
    log.addHandler(made)
    gc.disable()
    try:
        for number in range(20):
            Cycle(number)
        made.pipeline.salvage = gc.collect  # type: ignore[method-assign,assignment]  # the worker calls it
        wait_until(lambda: len(sink.rows) >= 20)
    finally:
        gc.enable()
        log.removeHandler(made)
        made.close()
    assert sorted(int(one["message"]) for one in sink.records) == list(range(20))
