"""Log lines made during a call name it; outside they are as they were, with empty fields."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator

import pytest
from watching import Records, tool, watch

import toolog
from toolog.instrumentation import loglines


@pytest.fixture(autouse=True)
def records() -> Iterator[Records]:
    """Return the records that the test makes, with log lines marked."""
    loglines.install()
    with watch() as found:
        yield found
    loglines.undo()


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s|%(tool_name)s|%(span_id)s|%(trace_id)s"))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """Return what a formatter makes of each line of the logger `shop.stock` with the three fields."""
    logger = logging.getLogger("shop.stock")
    handler = _Lines()
    logger.addHandler(handler)
    yield handler.lines
    logger.removeHandler(handler)


def log(text: str, **extra: str) -> None:
    """Log a line, as any library does."""
    logging.getLogger("shop.stock").warning(text, extra=extra)


def test_lines_of_a_call_name_it(records: Records, lines: list[str]) -> None:
    """A formatter shows tool, span and trace of the call that the line was made in."""
    tool(log)("low")
    record = records.of("log")
    assert lines == [f"low|log|{record['span_id']}|{record['trace_id']}"]


def test_outside_of_calls_the_fields_are_empty(lines: list[str]) -> None:
    """The same formatter works outside of any call."""
    log("idle")
    with toolog.session("order-1"):
        log("in a session")
    assert lines == ["idle|||", "in a session|||"]


def test_continued_traces_show(lines: list[str]) -> None:
    """Where a foreign trace was attached, its ids show, without a tool."""
    with toolog.attach({"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}):
        log("remote")
    assert lines == [f"remote||{'b' * 16}|{'a' * 32}"]


def test_extra_of_the_same_name_wins(lines: list[str]) -> None:
    """Whoever gives `trace_id` or `tool_name` in `extra` keeps it, in a call and outside; nothing raises."""
    log("mine", trace_id="t", tool_name="n")
    tool(log)("mine", trace_id="t", tool_name="n", span_id="s")
    assert lines == ["mine|n||t", "mine|n|s|t"]


async def test_streams_and_tasks(records: Records, lines: list[str]) -> None:
    """Lines of interleaved streams and tasks name each their own call."""

    async def talk(name: str) -> AsyncIterator[str]:
        for _ in range(2):
            await asyncio.sleep(0)
            log(name)
            yield name

    async def consume(name: str) -> None:
        async for _ in tool(talk)(name):
            log("caller")

    await asyncio.gather(consume("a"), consume("b"))
    spans = {record["input"]["name"]: record["span_id"] for record in records.all("talk")}
    assert sorted(line.split("|")[0:3] for line in lines) == sorted(
        [["a", "talk", spans["a"]]] * 2 + [["b", "talk", spans["b"]]] * 2 + [["caller", "", ""]] * 4
    )


def test_callers_place_is_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    """The line's file and function are those of who logged."""
    tool(log)("here")
    (line,) = [record for record in caplog.records if record.name == "shop.stock"]
    assert (line.funcName, line.pathname) == ("log", __file__)


def test_undo_is_exact() -> None:
    """After undo `Logger.makeRecord` is the very function it was; install and undo may be repeated."""
    loglines.undo()
    held = logging.Logger.makeRecord
    factory = logging.getLogRecordFactory()
    names = list(vars(logging.Logger))
    loglines.install()
    loglines.install()
    assert logging.Logger.makeRecord is not held
    assert logging.getLogRecordFactory() is factory
    loglines.undo()
    loglines.undo()
    assert logging.Logger.makeRecord is held
    assert list(vars(logging.Logger)) == names


def test_another_patch_on_top(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody else's patch of `makeRecord` stays; below it ours is switched off, and on again."""
    ours = logging.Logger.makeRecord

    def theirs(self: logging.Logger, *args: object, **kwargs: object) -> logging.LogRecord:
        return ours(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(logging.Logger, "makeRecord", theirs)
    loglines.undo()
    log("off")
    assert logging.Logger.makeRecord is theirs
    assert not hasattr(caplog.records[-1], "tool_name")
    loglines.install()
    log("on")
    assert vars(caplog.records[-1])["tool_name"] == ""
