"""The handler as an object: no lock, pickles to its configuration, tells what it counted."""

from __future__ import annotations

import copy
import io
import logging
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.programs import complain, run
from toolog.all_pipelines import flush, stats
from toolog.errors import ConfigError
from toolog.handler import ToologHandler
from toolog.sinks.memory import MemorySink
from toolog.spool import SpoolWriter


@pytest.fixture
def handler(tmp_path: Path) -> Iterator[ToologHandler]:
    """A handler that ships to a file."""
    made = ToologHandler(
        "INFO",
        spool={"path": str(tmp_path / "spool")},
        sinks={"out": {"type": "file", "path": str(tmp_path / "out.jsonl")}},
    )
    yield made
    made.close()


def line(text: str, level: int = logging.INFO) -> logging.LogRecord:
    """Return a log line of an application."""
    return logging.LogRecord("app", level, "", 0, text, None, None)


def test_handler_has_no_lock_and_acquire_is_harmless(handler: ToologHandler) -> None:
    """There is nothing to deadlock on, and code that acquires a handler's lock still works."""
    assert handler.lock is None
    handler.acquire()
    assert handler.handle(line("while acquired"))
    handler.release()


def test_filters_apply(handler: ToologHandler, tmp_path: Path) -> None:
    """A filter that says no keeps a record out, and one that answers another record replaces it (from 3.12
    on).
    """
    handler.addFilter(lambda record: "secret" not in record.getMessage())
    assert handler.handle(line("open"))
    assert not handler.handle(line("secret"))
    if sys.version_info >= (3, 12):
        handler.addFilter(lambda record: line("another"))
        assert handler.handle(line("open"))
    assert handler.flush(20)
    text = (tmp_path / "out.jsonl").read_text()
    assert '"open"' in text
    assert "secret" not in text
    assert ('"another"' in text) == (sys.version_info >= (3, 12))


def test_pickles_and_copies_to_its_configuration(tmp_path: Path) -> None:
    """A handler travels as what it was made from; the copy works and has the same options."""
    made = ToologHandler(
        "WARNING",
        spool={"path": str(tmp_path / "spool")},
        sinks={"out": {"type": "file", "path": str(tmp_path / "out.jsonl")}},
        queue={"max_records": 77},
    )
    for twin in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert twin is not made
        assert twin.level == logging.WARNING
        assert twin.options == made.options
        assert twin.options.max_records == 77
        twin.close()
    made.close()


def test_handler_goes_to_a_spawned_process(handler: ToologHandler, tmp_path: Path) -> None:
    """A handler can be an argument of a process that is spawned; what it logs there arrives."""
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=_log_there, args=(handler,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert handler.flush(20)
    again = ToologHandler(
        spool={"path": str(tmp_path / "spool")},
        sinks={"out": {"type": "file", "path": str(tmp_path / "out.jsonl")}},
    )
    assert again.flush(20)
    again.close()
    handler.close()
    assert '"from the child"' in (tmp_path / "out.jsonl").read_text()


def _log_there(handler: ToologHandler) -> None:
    handler.handle(line("from the child"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sink": {}}, ["sink", "sinks"]),
        ({"sinks": {}}, ["sinks is empty"]),
        ({"sinks": {"a": {"type": "sqlit"}}}, ["sqlit", "sqlite"]),
        ({"sinks": {"a": {"type": "memory", "colour": 1}}}, ["colour", "'a'"]),
        ({"sinks": {"a": {"type": "memory", "batch": {"max_record": 1}}}}, ["max_record", "max_records"]),
        ({"retention": {"INFO": {"sinks": ["stoer"]}}}, ["stoer", "store"]),
        ({"serializer": "jsno"}, ["jsno", "json"]),
        ({"capture": {"max_dept": 1}}, ["max_dept", "max_depth"]),
        ({"capture": 3}, ["capture", "table"]),
        ({"sanitizer": {"keys_ad": ["x"]}}, ["keys_ad", "keys_add"]),
        ({"level": "CHATTY"}, ["CHATTY"]),
        ({"sinks": {"a": {"type": "s3"}}}, ["'a'", "bucket"]),
    ],
)
def test_wrong_options_are_told(options: dict[str, object], words: list[str], tmp_path: Path) -> None:
    """Every wrong option is a ConfigError at once, which names it and the nearest right one."""
    with pytest.raises(ConfigError) as caught:
        ToologHandler(**{"spool": {"path": str(tmp_path / "spool")}, **options})  # type: ignore[arg-type]
    for word in words:
        assert word in str(caught.value)


def test_log_line_becomes_a_log_event(handler: ToologHandler, tmp_path: Path) -> None:
    """An application's log line is shipped as a `log` event with its level, logger, exception and extras,
    masked.
    """
    import json

    from toolog.schema import validate

    log = logging.getLogger("shop.payment")
    log.setLevel(1)
    log.propagate = False
    log.handlers = [handler]
    try:
        raise ValueError("no funds, password=hunter2")
    except ValueError:
        log.exception("payment of %s failed", "order-1", extra={"name_": "x", "api_key": "abcdefgh12345"})
    log.handlers = []
    assert handler.flush(20)
    (document,) = [json.loads(row) for row in (tmp_path / "out.jsonl").read_text().splitlines()]
    validate(document)
    assert document["event"] == "log"
    assert document["level"] == "ERROR"
    assert document["logger"] == "shop.payment"
    assert document["message"] == "payment of order-1 failed"
    assert document["error"]["type"].endswith("ValueError")
    assert document["attributes"]["name_"] == "x"
    assert "hunter2" not in json.dumps(document)
    assert "abcdefgh12345" not in json.dumps(document)


@pytest.mark.parametrize("timeout", [None, "soon", "-1 s", True, float("nan"), [1]])
def test_flush_says_what_a_timeout_is(timeout: Any) -> None:
    """What is no time to wait is a ConfigError, not an error of our own arithmetic."""
    with pytest.raises(ConfigError, match="timeout of flush"):
        flush(timeout)


@pytest.mark.parametrize("timeout", [30, "30 s", float("inf")])
def test_flush_takes_seconds_or_a_text(timeout: Any, tmp_path: Path) -> None:
    """A number, a text with a unit, and a time without an end are all times to wait."""
    handler = ToologHandler(spool={"path": str(tmp_path)}, sinks={"memory": {}})
    try:
        assert flush(timeout)
    finally:
        handler.close()


def test_stats_and_flush_know_all_handlers(tmp_path: Path) -> None:
    """`toolog.flush` waits for every handler, and `toolog.stats` adds them up."""
    sinks = [MemorySink(name="one"), MemorySink(name="two")]
    made = [
        ToologHandler(spool={"path": str(tmp_path / sink.name)}, sinks={sink.name: sink}, durability="memory")
        for sink in sinks
    ]
    before = stats()
    for one in made:
        one.handle(line("text"))
    assert flush(20)
    assert [len(sink.rows) for sink in sinks] == [1, 1]
    after = stats()
    assert after["accepted"] - before["accepted"] == 2
    assert after["in_spool"] == {"one": 0, "two": 0}
    for one in made:
        one.close()


def test_late_record_of_a_memory_only_handler_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no spool can be made, a record after close() is lost, and that is counted."""
    (tmp_path / "spool").write_text("no directory")
    made = ToologHandler(spool={"path": str(tmp_path / "spool")}, sinks={"one": MemorySink(name="one")})
    made.close()
    before = stats()["dropped"].get("late", {}).get("INFO", 0)
    made.handle(line("too late"))
    assert stats()["dropped"]["late"]["INFO"] == before + 1
    capsys.readouterr()


def test_repr_shows_no_options(handler: ToologHandler) -> None:
    """The handler's text names its directory and sinks, never a sink's options."""
    assert "out" in repr(handler)
    assert "INFO" in repr(handler)


def test_sub_interpreter_is_refused() -> None:
    """In a sub-interpreter the first use of toolog is refused in plain words, before anything can hang."""
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    script = f"""
import {name} as interpreters
inside = interpreters.create()
interpreters.run_string(inside[0] if isinstance(inside, tuple) else inside, '''
import toolog
try:
    toolog.ToologHandler
except Exception as error:
    print(type(error).__name__, error, flush=True)
''')
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ConfigError toolog does not run in a sub-interpreter"), done.stdout


def test_no_record_waits_on_io_of_a_text_stream(handler: ToologHandler) -> None:
    """Handling a record writes nothing to any stream of the process."""
    stream = io.StringIO()
    before, sys.stderr = sys.stderr, stream
    try:
        handler.handle(line("quiet"))
    finally:
        sys.stderr = before
    assert stream.getvalue() == ""


class Broken(SpoolWriter):
    """A writer with an error of its own in it."""

    def append(self, levelno: int, serializer: int, payload: bytes) -> int:
        raise ZeroDivisionError


@pytest.mark.parametrize("durability", ["process", "memory"])
def test_what_an_error_of_ours_costs_is_counted_as_broken(durability: str, tmp_path: Path) -> None:
    """Whatever breaks on the caller's way, the books balance: accepted, and dropped as ``broken``."""
    before = stats()
    sink = MemorySink()
    made = ToologHandler(
        durability=durability, spool={"path": str(tmp_path / "spool")}, sinks={"memory": sink}
    )
    assert made.pipeline.outlet.writer is not None
    whole, made.pipeline.outlet.writer = made.pipeline.outlet.writer, Broken(tmp_path / "other")
    if durability == "memory":
        made.pipeline.queues.max_records = None  # type: ignore[assignment]  # an error in the queue itself
    made.handle(line("lost"))
    made.pipeline.outlet.writer, made.pipeline.queues.max_records = whole, 1000
    made.handle(line("kept"))
    assert made.flush(20)
    made.close()
    after = stats()
    assert after["accepted"] - before["accepted"] == len(sink.rows) + 1  # a loss record may be among them
    assert after["dropped"]["broken"]["INFO"] - before["dropped"].get("broken", {}).get("INFO", 0) == 1
    assert [one["message"] for one in sink.records if one["event"] == "log"] == ["kept"]


def test_a_line_of_which_no_record_can_be_made_is_counted_as_broken(
    handler: ToologHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The application goes on, and the line is accepted and dropped."""
    before = stats()

    def fail(record: logging.LogRecord) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("toolog.handler.record_from_log", fail)
    assert handler.handle(line("lost"))
    handler.close()
    after = stats()
    stored = after["stored"].get("out", 0) - before["stored"].get("out", 0)  # a loss record tells it
    assert after["accepted"] - before["accepted"] == stored + 1
    assert after["dropped"]["broken"]["INFO"] - before["dropped"].get("broken", {}).get("INFO", 0) == 1


@pytest.mark.parametrize("level", [None, "x", 45.5, object(), -5, 10**30, [1]])
def test_a_line_with_an_impossible_level_never_raises_and_is_counted(
    handler: ToologHandler, level: object
) -> None:
    """Whatever an application puts into a log record, the books balance and the application goes on."""
    before = stats()
    broken = logging.LogRecord("app", 40, "", 0, "text", None, None)
    broken.levelno = level  # type: ignore[assignment]
    assert handler.handle(broken)
    assert handler.flush(20)
    handler.close()
    after = stats()

    def total(figures: dict[str, dict[str, dict[str, int]]]) -> int:
        return sum(sum(by_level.values()) for by_level in figures["dropped"].values())

    stored = after["stored"].get("out", 0) - before["stored"].get("out", 0)
    assert after["accepted"] - before["accepted"] == stored + total(after) - total(before)


def test_a_handler_that_could_not_be_made_is_not_flushed_at_exit(tmp_path: Path) -> None:
    """After a ConfigError `logging` knows nothing of the handler: the program's end is quiet."""
    complaints = complain(
        """
        try:
            handler(sinks={"out": {"type": "flie"}})
        except toolog.ConfigError as error:
            kept = error
        """,
        tmp_path,
    )
    assert complaints == ""


def test_who_only_writes_needs_no_clients(tmp_path: Path) -> None:
    """With ship="none" a sink's client, module and secrets may be missing; what is wrong there is still told,
    and without it the client is still needed.
    """
    printed = run(
        """
        for name in ("elasticsearch", "boto3", "opensearchpy"):
            sys.modules[name] = None
        search = {"type": "elasticsearch", "hosts": ["https://es:9200"], "api_key": {"env": "NO_KEY"}}
        sinks = {"search": search,
                 "archive": {"type": "s3", "bucket": "acme-toolog"}, "own": {"type": "not_here:Sink"}}
        made = handler(sinks=sinks, ship="none")
        attach(made).info("1")
        assert flush(20)
        assert stats()["in_spool"] == {"search": 1, "archive": 1, "own": 1}
        assert toolog.configure("prod", ship="none", sinks=sinks, spool={"path": "other"})
        for wrong in ({"sinks": sinks}, {"ship": "none", "sinks": {"out": {"type": "file", "paht": "x"}}}):
            try:
                handler(**{"spool": {"path": "third"}, **wrong})
            except toolog.ConfigError as error:
                print(error)
        """,
        tmp_path,
    )
    assert "pip install 'toolog[elasticsearch]'" in printed.splitlines()[0]
    assert "did you mean 'path'" in printed.splitlines()[1]
