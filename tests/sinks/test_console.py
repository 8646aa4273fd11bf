"""The console sink: readable lines, colours where they belong, and streams that misbehave."""

from __future__ import annotations

import io
import os
import sys

import pytest

from tests import documents
from tests.sinks.contract import batch
from toolog.sinks.console import ConsoleSink, wants_color


def shown(
    monkeypatch: pytest.MonkeyPatch, *found: dict[str, object], encoding: str = "utf-8", **options: object
) -> str:
    """Return what a console sink writes for some records on a stream that is no terminal."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding=encoding))
    sink = ConsoleSink(**options)  # type: ignore[arg-type]
    sink.connect()
    assert sink.write(batch(found)) is None
    return raw.getvalue().decode(encoding)


def test_a_call_is_one_line_with_its_output_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time, mark, indentation by depth, tool, arguments, result, duration; what it printed is tied below."""
    text = shown(monkeypatch, documents.call(1, depth=1, stdout="one\ntwo\n", output=[1, 2]))
    assert text == (
        "12:00:01.000 ✓   search(query='shoes 1') → [1, 2] 12.5 ms\n"
        "                 │ one\n"
        "                 │ two\n"
    )


def test_each_event_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures, rejections, cancellations, starts, logs, losses, instances and evaluations are told apart."""
    judged = {"overall_score": 0.25, "passed": False}
    text = shown(
        monkeypatch,
        documents.failed(2, retry_count=2),
        documents.call(3, event="tool_call_rejected", status="validation_error", duration_ms=0.25),
        documents.call(4, event="tool_call_cancelled", status="cancelled"),
        documents.call(5, event="tool_call_cancelled", status="closed", reason="the process ended"),
        documents.started(5),
        documents.log(6, "paid\x07", level="WARNING"),
        documents.loss(7, 3),
        documents.instance(8, {"top_k": 5}, "h"),
        documents.call(9, event="evaluation", evaluation=judged),
        documents.call(10, level="WARNING", output="x" * 100, duration_ms=65_000),
        {"record_id": "bare", "event": "from_later"},
    )
    assert text.splitlines() == [
        "12:00:02.000 ✗ search 12.5 ms after 2 retries ValueError: refused (query='shoes 2')",
        "12:00:03.000 ⊘ search validation_error 250 us (query='shoes 3')",
        "12:00:04.000 ◌ search cancelled 12.5 ms (query='shoes 4')",
        "12:00:05.000 ◌ search closed 12.5 ms the process ended (query='shoes 5')",
        "12:00:05.000 ▶ search(query='shoes 5')",
        "12:00:06.500 │ shop: paid\\x07",
        "12:00:00.000 ‼ 3 records dropped: queue_full",
        "11:00:00.000 ◇ instance Search {'top_k': 5}",
        "12:00:09.000 ★ search not passed, score 0.25",
        "12:00:10.000 ✓ search(query='shoes 10') → '" + "x" * 46 + "… 65.00 s slow",
        "             ? from_later",
    ]


def test_plain_ascii_where_the_encoding_has_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """On an ASCII stream the marks are ASCII, and other characters are escapes instead of an error."""
    text = shown(monkeypatch, documents.call(1, output="日本"), encoding="ascii")
    assert text == "12:00:01.000 + search(query='shoes 1') -> '\\u65e5\\u672c' 12.5 ms\n"


def test_hostile_text_cannot_reach_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Escape sequences, control characters and direction overrides of a tool come out as visible escapes."""
    evil = "\x1b[2J\x1b]0;title\x07\r\u202eabc\x9b31m\u2028"
    text = shown(
        monkeypatch,
        documents.call(1, tool_name=evil, input={evil: evil}, output=evil, stdout=evil),
        documents.failed(2, kind=evil, message=evil),
        documents.log(3, evil, logger=evil),
    )
    assert set(text) & set("\x1b\x07\r\u202e\x9b\u2028") == set()
    assert text.count("\n") == 3 + len(evil.splitlines())


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours: on a terminal; never with NO_COLOR or a dumb one; always with FORCE_COLOR or when asked
    for.
    """

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_color(Terminal()) is True
    assert wants_color(io.StringIO()) is False
    assert wants_color(Terminal(), "never") is False
    assert wants_color(io.StringIO(), "always") is True
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_color(io.StringIO()) is True
    monkeypatch.setenv("NO_COLOR", "1")
    assert wants_color(Terminal()) is False
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "0")
    assert wants_color(Terminal()) is False
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert wants_color(Terminal()) is False
    assert "\x1b[32m✓" in shown(monkeypatch, documents.call(1), color="always")


def test_only_so_many_printed_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that prints a book shows its first lines and how many there are more."""
    text = shown(monkeypatch, documents.call(1, stdout="x\n" * 100), printed=2)
    assert text.splitlines()[1:] == [" " * 15 + "│ x"] * 2 + [" " * 15 + "│ … 98 more lines"]


def test_a_closed_or_broken_stream_is_contained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that went away, a closed stream or none at all never raises."""
    sink = ConsoleSink()
    sink.connect()
    reading, writing = os.pipe()
    os.close(reading)
    broken = os.fdopen(writing, "w")
    closed = io.StringIO()
    closed.close()
    for stream in (broken, closed, None):
        monkeypatch.setattr(sys, "stderr", stream)
        assert sink.write(batch([documents.call(1)])) is None
    with pytest.raises(BrokenPipeError):
        broken.close()


def test_whatever_stands_in_a_stream_s_place_is_contained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program's own stream without ``flush``, with an encoding that nobody knows, or that raises: the
    records are taken all the same, and what can be written is.
    """
    written: list[str] = []

    class Bare:
        def write(self, text: str) -> None:
            written.append(text)

    class Odd(Bare):
        encoding: object = "klingon"

        def isatty(self) -> bool:
            raise RuntimeError("no idea")

    class Numbered(Odd):
        encoding = 5

    class Broken(Bare):
        def write(self, text: str) -> None:
            raise RuntimeError("not today")

    sink = ConsoleSink()
    sink.connect()
    for kind in (Bare, Odd, Numbered, Broken):
        monkeypatch.setattr(sys, "stderr", kind())
        assert sink.write(batch([documents.call(1)])) is None
    assert len(written) == 3
    assert all("search" in text for text in written)


def test_stdout_can_be_chosen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """``stream: stdout`` writes there, to whatever it is at that time."""
    sink = ConsoleSink(stream="stdout")
    sink.connect()
    sink.write(batch([documents.call(1)]))
    captured = capsys.readouterr()
    assert "search" in captured.out
    assert captured.err == ""
