"""The books balance whatever a sink does: accepted = stored + dead letters + dropped + in the spool."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import wait_until
from tests.pipeline.handlers import making
from tests.pipeline.programs import run
from toolog import counters
from toolog.all_pipelines import stats
from toolog.errors import SinkRejected, SinkUnavailable
from toolog.handler import ToologHandler
from toolog.pipeline import accepted
from toolog.sinks.base import Answer, Batch, BatchLimits
from toolog.sinks.memory import MemorySink


class Odd(MemorySink):
    """A memory sink that answers its first calls as a test says, and the others as it should."""

    batch = BatchLimits(max_records=7, max_age=0.001)
    max_backoff = 0.01

    def __init__(self) -> None:
        super().__init__(name="odd")
        self.answers: Iterator[Callable[[Batch], Any]] = iter(())
        self.calls = 0

    def write(self, batch: Batch) -> Any:
        self.calls += 1
        answer = next(self.answers, None)
        return super().write(batch) if answer is None else answer(batch)


class BadWords(Exception):
    """Cannot be shown."""

    def __str__(self) -> str:
        raise ValueError("no words")


def raising(error: BaseException) -> Callable[[Batch], Any]:
    """Return a call that raises."""

    def call(batch: Batch) -> Any:
        raise error

    return call


def rejecting(reason: Any) -> Callable[[Batch], Any]:
    """Return a call that refuses the first record and wants the others again."""

    def call(batch: Batch) -> Any:
        first, *others = [record.record_id for record in batch]
        return Answer({first: reason}, frozenset(others))

    return call


ODD_CALLS: dict[str, Callable[[Batch], Any]] = {
    "unavailable": raising(SinkUnavailable("not now")),
    "rejected": raising(SinkRejected("never")),
    "broke": raising(ValueError("a fault")),
    "without words": raising(BadWords()),
    "rejected without words": raising(SinkRejected(BadWords())),
    "exit": raising(SystemExit(1)),
    "number": lambda batch: len(batch),
    "true": lambda batch: True,
    "dict": lambda batch: {"rejected": {}},
    "rejected list": lambda batch: Answer(rejected=[record.record_id for record in batch]),  # type: ignore[arg-type]
    "rejected none": lambda batch: Answer(rejected=None),  # type: ignore[arg-type]
    "retry text": lambda batch: Answer(retry=batch[0].record_id),  # type: ignore[arg-type]
    "again text": lambda batch: Answer(again="3"),  # type: ignore[arg-type]
    "reason of another type": rejecting(ValueError("400")),
    "reason without words": rejecting(BadWords()),
    "reason that is no text": rejecting("half a pair: \ud800"),
    "reason of retry": lambda batch: Answer(
        retry=frozenset({batch[0].record_id}),
        reason=BadWords(),  # type: ignore[arg-type]
    ),
    "partial": lambda batch: Answer(retry=frozenset(record.record_id for record in batch[1:])),
}


def _is_served(handler: ToologHandler) -> bool:
    runners = handler.pipeline.shipping.runners
    return bool(runners) and all(runner.alive for runner in runners)


def run_odd(directory: Path, names: list[str], number: int = 25) -> tuple[Odd, dict[str, Any]]:
    """Log records into a sink that answers in these ways; check that nothing is lost or counted twice.

    Returns the sink and the figures.
    """
    sink = Odd()
    calls = [ODD_CALLS[name] for name in names]

    def keep(call: Callable[[Batch], Any]) -> Callable[[Batch], Any]:
        def answer(batch: Batch) -> Any:
            found = call(batch)
            if isinstance(found, Answer) and isinstance(found.retry, frozenset):
                dead = found.rejected if isinstance(found.rejected, dict) else {}
                out = {*found.retry, *dead}
                MemorySink.write(sink, [record for record in batch if record.record_id not in out])
            return found

        return answer

    sink.answers = iter([keep(call) for call in calls])
    with making(directory.parent, durability="process", shutdown_timeout=0.5) as make:
        before = accepted()
        log, handler = make(sinks={"odd": sink})
        # Else `flush` ships on this thread, where an interruption is the application's.
        wait_until(lambda: _is_served(handler))
        for place in range(number):
            log.info("%d", place)
        assert handler.flush(30), stats()
        figures = stats()
        assert accepted() - before == number
    box = directory / "dead-letters" / "odd.jsonl"
    letters = [json.loads(line) for line in box.read_text().splitlines()] if box.exists() else []
    stored = {int(str(row["message"])) for row in sink.records}
    dead = Counter(int(letter["record"]["message"]) for letter in letters)
    assert stored | set(dead) == set(range(number))
    assert not dead or max(dead.values()) == 1
    assert figures["dropped"] == {}
    assert figures["in_spool"] == {"odd": 0}
    counted = figures["stored"].get("odd", 0) + figures["dead_letters"].get("odd", 0)
    assert counted == number
    assert figures["dead_letters"].get("odd", 0) == len(letters)
    return sink, figures


@pytest.mark.parametrize("name", sorted(ODD_CALLS))
def test_no_answer_of_a_sink_loses_a_record(tmp_path: Path, name: str) -> None:
    """Whatever a sink returns or raises, once or three times in a row, each record is stored or a dead
    letter in the end.
    """
    run_odd(tmp_path / "spool", [name] * 3)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from(sorted(ODD_CALLS)), max_size=10))
def test_no_row_of_answers_loses_a_record(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    """Nor do such answers in any order; each record is counted once."""
    run_odd(tmp_path_factory.mktemp("odd") / "spool", names)


@pytest.mark.parametrize("where", ["cursor_state", "goes_on", "plan", "pace", "restore"])
def test_what_else_a_sink_breaks_in_loses_no_record(tmp_path: Path, where: str) -> None:
    """The optional methods of a sink may break too: it is tried again, and everything arrives."""
    sink = Odd()
    left = [3]

    def broken(*_: object) -> Any:
        if left[0]:
            left[0] -= 1
            raise RuntimeError("a fault of the sink")
        return {"cursor_state": {"one": 1}, "pace": 0.0}.get(where, False)

    class Pace:
        take = None
        wait = staticmethod(broken)

    sink.__dict__[where] = Pace() if where == "pace" else broken
    with making(tmp_path, durability="process") as make:
        log, handler = make(sinks={"odd": sink})
        for place in range(20):
            log.info("%d", place)
        assert handler.flush(20), stats()
        assert left == [0]
        assert {int(str(row["message"])) for row in sink.records} == set(range(20))
        assert stats()["stored"] == {"odd": 20}


def test_a_sink_that_answers_no_answer_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The author of such a sink reads what is wrong, and its records wait."""
    counters._internal.addHandler(caplog.handler)
    try:
        run_odd(tmp_path / "spool", ["number"] * 2)
    finally:
        counters._internal.removeHandler(caplog.handler)
    assert any("write returned a value of type int; None" in line for line in caplog.messages)


@pytest.mark.parametrize(
    "fault", ["return 1", "raise SystemExit(3)", "raise SinkUnavailable(retry_after=60)"]
)
def test_a_flush_without_threads_survives_such_a_sink(tmp_path: Path, fault: str) -> None:
    """Where the caller's own thread ships, flush keeps to its timeout whatever the sink does, only what ends
    a process comes out of it, and the next one ships what that one did not.
    """
    run(
        f"""
        import _thread
        from toolog.errors import SinkUnavailable
        from toolog.sinks.memory import MemorySink
        def refuse(*args, **kwargs):
            raise RuntimeError("can't start new thread")
        _thread.start_new_thread = refuse
        class Faulty(MemorySink):
            well = False
            def write(self, batch):
                if self.well:
                    return super().write(batch)
                {fault}
        sink = Faulty(name="faulty")
        log = attach(handler("memory", sinks={{"faulty": sink}}))
        for number in range(3):
            log.info("%d", number)
        began = time.monotonic()
        try:
            assert flush(1) is False
        except SystemExit:
            pass
        assert time.monotonic() - began < 30
        sink.well = True
        assert flush(70)
        assert stats()["stored"] == {{"faulty": 3}}
        assert len(sink.rows) == 3
        """,
        tmp_path,
    )


def test_an_answer_that_was_lost_costs_no_count(tmp_path: Path) -> None:
    """Records that a sink stored before its answer was lost are counted as stored, when they are known."""
    sink = Odd()

    def commit_and_fail(batch: Batch) -> Any:
        MemorySink.write(sink, batch)
        raise SinkUnavailable("no answer")

    sink.answers = iter([commit_and_fail, lambda batch: Answer(again=len(batch))])
    with making(tmp_path, durability="process") as make:
        log, handler = make(sinks={"odd": sink})
        for place in range(20):
            log.info("%d", place)
        assert handler.flush(20)
        assert {int(str(row["message"])) for row in sink.records} == set(range(20))
        assert stats()["stored"] == {"odd": 20}
        assert stats()["delivered_again"] >= 1


def test_a_batch_that_comes_again_makes_no_second_letter(tmp_path: Path) -> None:
    """One record refused, the others not stored yet: over restarts, there is one dead letter in the end, and
    no count of what is still in the spool.
    """
    box = tmp_path / "spool" / "dead-letters" / "odd.jsonl"
    for turn in range(3):
        sink = Odd()
        last = turn == 2

        def answer(batch: Batch, last: bool = last) -> Any:
            ids = {str(record.decode()["message"]): record.record_id for record in batch}
            rejected = {ids["3"]: "too blue"} if "3" in ids else {}
            return Answer(rejected, frozenset() if last else frozenset(ids.values()) - set(rejected))

        sink.answers = iter([answer] * 1000)
        with making(tmp_path, durability="process", shutdown_timeout=0.1) as make:
            log, handler = make(sinks={"odd": sink})
            for place in range(6 if turn == 0 else 0):
                log.info("%d", place)
            if turn == 0:
                wait_until(lambda sink=sink: sink.calls >= 3)
            assert handler.flush(60 if last else 0.3) is last
        figures = stats()
        counted = figures["stored"].get("odd", 0) + figures["dead_letters"].get("odd", 0)
        assert counted == (6 if last else 0)
    assert len(box.read_text().splitlines()) == 1
