"""What a tool prints: on the record, apart for concurrent calls, and on the terminal as ever."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import io
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from watching import Records, run, tool, watch

import toolog
from toolog.context import Mode
from toolog.instrumentation import capture_output
from toolog.settings import capture


@pytest.fixture(autouse=True)
def records(monkeypatch: pytest.MonkeyPatch) -> Iterator[Records]:
    """Return the records that the test makes, with prints collected."""
    monkeypatch.setattr(capture, "capture_output", True)
    Mode.refresh()
    with watch() as found:
        yield found
    capture_output.undo()
    monkeypatch.undo()
    Mode.refresh()


@tool
def say(text: str, **options: Any) -> None:
    """Stand for a tool that prints."""
    print(text, **options)


def test_lines_are_on_the_record_and_on_the_terminal(
    records: Records, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both streams are collected apart, and what is below them (here: pytest's) sees them too."""

    def both() -> None:
        print("to out")
        print("to err", file=sys.stderr)

    tool(both)()
    record = records.of("both")
    assert (record["stdout"], record["stderr"]) == ("to out\n", "to err\n")
    assert tuple(capsys.readouterr()) == ("to out\n", "to err\n")


def test_silent_tools_have_no_such_fields(records: Records) -> None:
    """A tool that prints nothing has neither field."""
    tool(lambda: None, "silent")()
    assert not {"stdout", "stderr"} & records.of("silent").keys()


def test_a_call_inside_has_its_own(records: Records) -> None:
    """What a nested tool prints is its own; the outer record has the rest."""

    def outer() -> None:
        print("before")
        say("inside")
        print("after")

    tool(outer)()
    assert records.of("say")["stdout"] == "inside\n"
    assert records.of("outer")["stdout"] == "before\nafter\n"


def test_failing_tools_keep_their_lines(records: Records) -> None:
    """What was printed before an exception is on the failed record."""

    def broken() -> None:
        print("about to fail")
        raise ValueError

    with pytest.raises(ValueError):
        tool(broken)()
    assert records.of("broken")["stdout"] == "about to fail\n"


def test_threads_are_apart(records: Records) -> None:
    """Concurrent threads print each into their own record."""
    barrier = threading.Barrier(4)

    def talk(name: str) -> None:
        for line in range(5):
            barrier.wait(60)
            print(name, line)

    watched = tool(talk)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(watched, "abcd"))
    for record in records.all("talk"):
        name = record["input"]["name"]
        assert record["stdout"] == "".join(f"{name} {line}\n" for line in range(5))


def test_tasks_and_streams_are_apart(records: Records) -> None:
    """Concurrent tasks and interleaved generators print each into their own record."""

    async def talk(name: str) -> None:
        for line in range(5):
            await asyncio.sleep(0)
            print(name, line)

    async def main() -> None:
        await asyncio.gather(*[tool(talk)(name) for name in "abcd"])

    asyncio.run(main())
    for record in records.all("talk"):
        name = record["input"]["name"]
        assert record["stdout"] == "".join(f"{name} {line}\n" for line in range(5))

    def lines(name: str) -> Iterator[int]:
        print(name, "begins")
        yield 1
        print(name, "ends")

    for _ in zip(tool(lines)("x"), tool(lines)("y"), strict=False):
        print("the caller")
    assert [record["stdout"] for record in records.all("lines")] == ["x begins\nx ends\n", "y begins\n"]


def test_outside_of_calls_nothing_is_collected(records: Records) -> None:
    """A session is no call: what is printed there belongs to no record."""
    say("one")
    with toolog.session("order-1"):
        print("between")
        say("two")
    assert [record["stdout"] for record in records] == ["one\n", "two\n"]


def test_buffer_writes_are_collected(records: Records) -> None:
    """Bytes written to the buffer count, also when a character is split over two writes."""
    data = "grün".encode()

    def binary() -> None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data[:3])
        sys.stdout.buffer.write(data[3:])
        sys.stdout.buffer.writelines([b"!", b"\n"])
        sys.stdout.buffer.flush()

    tool(binary)()
    assert records.of("binary")["stdout"] == "grün!\n"


def test_writelines_and_print_to_the_stream(records: Records) -> None:
    """Every way to write text through `sys.stdout` counts, and `write` returns what it did."""

    def ways() -> int:
        sys.stdout.writelines(["a", "b"])
        print("c", end="", file=sys.stdout, flush=True)
        return sys.stdout.write("dé")

    assert tool(ways)() == 2
    assert records.of("ways")["stdout"] == "abcdé"


def test_redirects_on_top_coexist(records: Records) -> None:
    """A redirect around a call gets what the tool prints, the record too; afterwards all is as before."""
    say("first")
    below = sys.stdout
    target = io.StringIO()
    with contextlib.redirect_stdout(target):
        say("redirected")
        print("by the caller")
    assert sys.stdout is below
    assert target.getvalue() == "redirected\nby the caller\n"
    assert records[-1]["stdout"] == "redirected\n"


def test_a_stream_on_top_that_writes_on_to_ours_counts_once(records: Records) -> None:
    """What passes a tee or a prefixing stream of the application's is on the record once, as the tool wrote
    it; so is what bytes pass."""
    say("first")

    class Prefixed:
        def __init__(self, below: Any) -> None:
            self.below = below
            self.encoding = below.encoding
            self.buffer = below.buffer

        def write(self, text: str) -> int:
            self.below.write(f"[app] {text}")
            return len(text)

    def both() -> None:
        print("text", end="")
        sys.stdout.buffer.write(b"bytes")
        sys.stdout.buffer.flush()

    with contextlib.redirect_stdout(Prefixed(sys.stdout)):
        say("second")
        tool(both)()
    assert [record.get("stdout") for record in records] == ["first\n", "second\n", "textbytes"]


def test_what_a_tool_redirects_itself_is_its_own(records: Records) -> None:
    """Text that a tool sends elsewhere by its own redirect was never printed."""

    def quiet() -> str:
        target = io.StringIO()
        with contextlib.redirect_stdout(target):
            print("kept")
        return target.getvalue()

    assert tool(quiet)() == "kept\n"
    assert "stdout" not in records.of("quiet")


def test_undo_is_exact(records: Records) -> None:
    """After undo the very streams are back, and a stream that somebody kept still writes through."""
    out, err = sys.stdout, sys.stderr
    capture_output.install()
    capture_output.install()
    kept = sys.stdout
    assert kept is not out
    capture_output.undo()
    assert (sys.stdout, sys.stderr) == (out, err)
    kept.write("still there\n")
    capture_output.undo()
    assert sys.stdout is out


def test_the_stream_is_transparent() -> None:
    """The tapped stream has the type, attributes and methods of the one below."""
    below = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", line_buffering=True)
    with contextlib.redirect_stdout(below):
        capture_output.install()
        tapped: Any = sys.stdout
        assert isinstance(tapped, io.TextIOWrapper)
        assert tapped.encoding == "latin-1"
        assert tapped.line_buffering
        assert not tapped.isatty()
        assert (tapped.writable(), tapped.readable(), tapped.closed) == (True, True, False)
        assert repr(tapped) == repr(below)
        tapped.reconfigure(encoding="utf-8")
        assert below.encoding == "utf-8"
        tapped.mode = "w"
        assert below.mode == "w"
        with pytest.raises(io.UnsupportedOperation):
            tapped.fileno()
        with pytest.raises(TypeError):
            tapped.write(b"bytes")
        with pytest.raises(TypeError, match="cannot pickle"):
            copy.copy(tapped)
        capture_output.undo()
        assert sys.stdout is below


def test_long_prints_are_bounded(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the text is cut, with the size and a hash of the whole on the record."""
    monkeypatch.setattr(capture, "max_bytes", 2_000)
    import hashlib

    def chatter() -> None:
        for _ in range(300):
            print("0123456789" * 10)

    tool(chatter)()
    whole = ("0123456789" * 10 + "\n") * 300
    record = records.of("chatter")
    assert len(record["stdout"]) < 2_000
    assert whole.startswith(record["stdout"][:800])
    assert record["truncated"]["stdout"] == {
        "size": len(whole),
        "unit": "bytes",
        "hash": "sha256:" + hashlib.sha256(whole.encode()).hexdigest(),
    }


def test_trouble_of_ours_never_reaches_the_caller(
    records: Records, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """When collecting breaks, the text is still written and the call goes on."""

    def breaks(*args: object) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(capture_output.Collected, "add", breaks)
    say("still there")
    monkeypatch.setattr(capture_output, "install", breaks)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    say("elsewhere")
    assert [record["status"] for record in records] == ["success", "success"]
    assert capsys.readouterr().out == "still there\n"


def test_an_unknown_encoding_is_read_as_text(records: Records) -> None:
    """A stream that names an encoding Python does not know is collected as UTF-8."""

    class Odd(io.StringIO):
        encoding = "klingon"  # type: ignore[assignment]
        buffer = io.BytesIO()

    def binary() -> None:
        sys.stdout.buffer.write("grün\n".encode())

    with contextlib.redirect_stdout(Odd()):
        tool(binary)()
    assert records.of("binary")["stdout"] == "grün\n"


def test_no_stream_at_all(monkeypatch: pytest.MonkeyPatch, records: Records) -> None:
    """A process without stdout (a service, pythonw) is no trouble."""
    monkeypatch.setattr(sys, "stdout", None)
    say("nowhere")
    assert records.of("say")["status"] == "success"
    assert sys.stdout is None


def test_a_real_terminal_program_is_unchanged() -> None:
    """Without pytest: order, text, flushing, `input` and the exit are those of the plain program."""
    out = run("""
        import sys, io
        from watching import tool, watch
        from toolog.context import Mode
        from toolog.settings import capture
        capture.capture_output = True
        Mode.refresh()

        @tool
        def talk():
            print("one")
            sys.stdout.buffer.write(b"two\\n") if sys.stdout.flush() is None else None
            sys.stdout.buffer.flush()
            print("three", flush=True)
            assert sys.stdout.fileno() == 1
            sys.stdin = io.StringIO("answer\\n")
            return input("question? ")

        with watch() as records:
            assert talk() == "answer"
        print()
        print(repr(records[0]["stdout"]))
        assert sys.__stdout__ is not sys.stdout
    """)
    assert out.splitlines() == ["one", "two", "three", "question? ", r"'one\ntwo\nthree\nquestion? '"]
