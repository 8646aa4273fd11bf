"""Calls that have no end when the process ends: each gets one, and no code of the application runs for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolog
from tests.helpers import Collector, collecting, wrap
from tests.pipeline.programs import documents, run
from toolog.context import Mode
from toolog.instrumentation.unended import REASON, end_all


@pytest.fixture
def seen() -> Iterator[Collector]:
    """What the calls of a test record."""
    with collecting() as collector:
        yield collector


@pytest.fixture
def ending() -> Iterator[None]:
    """Let the process be one that goes on after it was told that it ends."""
    yield
    Mode.ending = False
    Mode.refresh()


def _ends(seen: Collector, name: str) -> list[dict[str, Any]]:
    found = [document for document in seen.documents if document.get("tool_name") == name]
    for document in found:
        toolog.validate(document)
    return found


def test_open_streams_are_closed_by_the_end(seen: Collector, ending: None) -> None:
    """A generator that stands, one that never began, and what is awaited end as closed, with the items so
    far; none of their code runs."""
    ran: list[str] = []

    def counting() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            ran.append("counting")

    async def streaming() -> AsyncIterator[int]:
        try:
            yield 7
        finally:
            ran.append("streaming")

    async def waiting() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ran.append("waiting")

    count, stream, wait = wrap(counting), wrap(streaming), wrap(waiting)
    loop = asyncio.new_event_loop()
    standing, fresh, open_stream = count(), count(), stream()
    next(standing)
    loop.run_until_complete(anext(open_stream))
    task = loop.create_task(wait())
    loop.run_until_complete(asyncio.sleep(0))

    end_all()
    assert ran == []
    ends = [*_ends(seen, "counting"), *_ends(seen, "streaming"), *_ends(seen, "waiting")]
    assert {(end["event"], end["status"], end["reason"]) for end in ends} == {
        ("tool_call_cancelled", "closed", REASON)
    }
    assert sorted(str(end.get("output")) for end in ends) == ["None", "[1]", "[7]", "[]"]
    assert min(end["duration_ms"] for end in ends) == 0  # of the one that never began

    assert next(standing) == 2
    standing.close()
    fresh.close()
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, open_stream.aclose(), return_exceptions=True))
    loop.close()
    assert sorted(ran) == ["counting", "streaming", "waiting"]
    assert len(_ends(seen, "counting") + _ends(seen, "streaming") + _ends(seen, "waiting")) == 4


def test_a_call_in_another_thread_has_one_end(seen: Collector, ending: None) -> None:
    """A tool that still runs in a daemon thread ends as closed, its child before it; what it returns later
    is no second end."""
    entered, go_on = threading.Event(), threading.Event()

    def inner() -> int:
        entered.set()
        go_on.wait(60)
        return 5

    tool = wrap(inner)

    def outer() -> int:
        return int(tool())

    thread = threading.Thread(target=wrap(outer), daemon=True)
    thread.start()
    assert entered.wait(60)
    end_all()
    end_all()
    go_on.set()
    thread.join(60)
    child, parent = seen.documents
    assert (child["tool_name"], parent["tool_name"]) == ("inner", "outer")
    assert child["parent_id"] == parent["span_id"]
    assert {child["reason"], parent["reason"]} == {REASON}
    assert {child["status"], parent["status"]} == {"closed"}


def test_a_program_with_open_calls_ends_silently(tmp_path: Path) -> None:
    """At the end of a program its open calls are stored as closed, a call in a daemon thread too, and
    nothing is written on stderr."""
    printed = run(
        """
        log = logging.getLogger("toolog.calls"); log.addHandler(handler("memory")); log.setLevel("INFO")

        @toolog.tool
        def numbers():
            yield 1
            yield 2

        @toolog.tool
        def sleeper(entered):
            entered.set()
            time.sleep(3600)

        held = numbers()
        print(next(held))
        entered = threading.Event()
        threading.Thread(target=sleeper, args=[entered], daemon=True).start()
        entered.wait(60)
        sys.stderr = sys.stdout
        """,
        tmp_path,
    )
    assert printed == "1\n"
    ends = {str(one["tool_name"]): one for one in documents(tmp_path)}
    assert ends["numbers"]["output"] == [1]
    assert {one["reason"] for one in ends.values()} == {REASON}
    assert len(documents(tmp_path)) == len(ends) == 2


def test_a_child_ends_its_own_calls_only(tmp_path: Path) -> None:
    """A forked child of multiprocessing ends what it began and left open, and not what its parent did."""
    run(
        """
        import multiprocessing
        log = logging.getLogger("toolog.calls"); log.addHandler(handler("process")); log.setLevel("INFO")

        @toolog.tool
        def numbers(who):
            yield who

        def child():
            global mine
            mine = numbers("child")
            next(mine)

        held = numbers("parent")
        next(held)
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
        assert process.exitcode == 0
        """,
        tmp_path,
    )
    run("handler(); assert flush(20)", tmp_path)
    ends = [(one["output"], one["reason"]) for one in documents(tmp_path)]
    assert sorted(ends) == [(["child"], REASON), (["parent"], REASON)]


def test_what_a_test_left_open_is_nobodys(tmp_path: Path) -> None:
    """A stream that is open at the end of a block of toolog.testing.capture brings up no profile at exit."""
    printed = run(
        """
        from toolog.testing import capture

        @toolog.tool
        def numbers():
            yield 1

        with capture() as records:
            held = numbers()
            print(next(held), len(records))
        sys.stderr = sys.stdout
        """,
        tmp_path,
    )
    assert printed == "1 1\n"
    assert not (tmp_path / ".toolog").exists()


def test_other_handlers_get_the_ends_too(tmp_path: Path) -> None:
    """Without a handler of ours the open calls are told to whatever handler of logging there is."""
    printed = run(
        """
        shown = logging.StreamHandler(sys.stdout)
        shown.setFormatter(logging.Formatter("%(tool_name)s %(levelname)s"))
        log = logging.getLogger("toolog.calls"); log.addHandler(shown); log.setLevel("INFO")
        log.propagate = False

        @toolog.tool
        def numbers():
            yield 1

        held = numbers()
        """,
        tmp_path,
    )
    assert printed == "numbers WARNING\n"


def test_a_signal_that_kills_closes_the_running_call(tmp_path: Path) -> None:
    """With handle_signals, SIGTERM in the middle of a call leaves its record before it does what it does."""
    run(
        """
        log = logging.getLogger("toolog.calls"); log.setLevel("INFO")
        log.addHandler(handler("memory", handle_signals=True))

        @toolog.tool
        def killed():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(3600)

        killed()
        """,
        tmp_path,
        code=-15,
    )
    (end,) = documents(tmp_path)
    assert (end["tool_name"], end["status"], end["reason"]) == ("killed", "closed", REASON)
