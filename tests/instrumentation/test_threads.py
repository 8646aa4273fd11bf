"""Calls in threads, pools and other processes keep their parent, without any code of the user's."""

from __future__ import annotations

import asyncio
import multiprocessing.pool
import multiprocessing.process
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from watching import Records, run, tool, watch

import toolog
from toolog.context import current
from toolog.instrumentation.threads import instrument_threads

CLASSES: tuple[type, ...] = (
    threading.Thread,
    ThreadPoolExecutor,
    ProcessPoolExecutor,
    multiprocessing.process.BaseProcess,
    multiprocessing.pool.Pool,
)


@pytest.fixture(autouse=True)
def records() -> Iterator[Records]:
    """Return the records that the test makes, with threads instrumented."""
    with instrument_threads(), watch() as found:
        yield found


@tool
def child(number: int = 0) -> int:
    """Stand for a tool that is called elsewhere than where the work began."""
    return number


def in_thread() -> None:
    """Call the child in a thread of one's own."""
    thread = threading.Thread(target=child)
    thread.start()
    thread.join()


def in_subclass() -> None:
    """Call the child in a thread whose class overrides run."""

    class Own(threading.Thread):
        def run(self) -> None:
            child()

    thread = Own()
    thread.start()
    thread.join()


def in_timer() -> None:
    """Call the child in a timer."""
    timer = threading.Timer(0, child)
    timer.start()
    timer.join()


def in_pool() -> None:
    """Call the child in a pool, by submit and by map."""
    with ThreadPoolExecutor(2) as pool:
        pool.submit(child).result()
        list(pool.map(child, range(3)))


OLD_POOL = ThreadPoolExecutor(1)


def in_an_older_pool() -> None:
    """Call the child in a pool that was there, and had worked, before."""
    OLD_POOL.submit(child).result()


def in_executor() -> None:
    """Call the child in the loop's executor and with to_thread."""

    async def main() -> None:
        await asyncio.get_running_loop().run_in_executor(None, child, 1)
        await asyncio.to_thread(child, 2)

    asyncio.run(main())


def in_anyio() -> None:
    """Call the child in a worker thread of anyio."""
    anyio.run(anyio.to_thread.run_sync, child)


def in_thread_pool_of_multiprocessing() -> None:
    """Call the child in multiprocessing's pool of threads, in each way."""
    with multiprocessing.pool.ThreadPool(2) as pool:
        pool.apply(child)
        pool.map(child, range(3))
        pool.starmap(child, [(1,)])
        list(pool.imap(child, range(3)))
        list(pool.imap_unordered(child, range(4), chunksize=2))


WAYS = [in_thread, in_subclass, in_timer, in_pool, in_an_older_pool, in_executor, in_anyio]


@pytest.mark.parametrize("way", [*WAYS, in_thread_pool_of_multiprocessing])
def test_the_parent_is_kept(records: Records, way: Callable[[], None]) -> None:
    """Whatever thread a tool hands its work to, calls there are its children, with session and tags."""
    OLD_POOL.submit(int).result()
    with toolog.session("order-1", customer="c"):
        tool(way)()
    parent = records.of(way.__name__)
    children = records.all("child")
    assert children
    assert {record["parent_id"] for record in children} == {parent["span_id"]}
    assert {record["trace_id"] for record in children} == {parent["trace_id"]}
    assert {(record["depth"], record["session_id"]) for record in children} == {(1, "order-1")}
    assert {record["tags"]["customer"] for record in children} == {"c"}


def test_work_has_the_scope_it_was_handed_over_in(records: Records) -> None:
    """A pool whose thread began inside a call gives later work its own parent, or none."""
    pool = ThreadPoolExecutor(1)

    def first() -> None:
        pool.submit(child, 1).result()

    def second() -> None:
        pool.submit(child, 2).result()

    tool(first)()
    tool(second)()
    pool.submit(child, 3).result()
    pool.shutdown()
    parents = {record["input"]["number"]: record["parent_id"] for record in records.all("child")}
    spans = {name: records.of(name)["span_id"] for name in ("first", "second")}
    assert parents == {1: spans["first"], 2: spans["second"], 3: None}


def test_plain_threads_stay_plain(records: Records) -> None:
    """Outside of any call a thread gets no scope, and nothing stays behind in its namespace."""
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(current.get()))
    names = set(vars(thread))
    thread.start()
    thread.join()
    assert seen == [None]

    def spawn() -> set[str]:
        thread = threading.Thread(target=lambda: seen.append(current.get()))
        thread.start()
        thread.join()
        return set(vars(thread))

    assert {name for name in tool(spawn)() if "toolog" in name} == set()
    assert seen[-1].tool_name == "spawn"
    assert not {name for name in names if "toolog" in name}


def test_errors_pass_through(records: Records) -> None:
    """What the work raises comes out of the future as it is; a thread started twice raises as ever."""
    fault = ValueError("x")

    def fail() -> None:
        raise fault

    def outer() -> None:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(fail).exception() is fault
        thread = threading.Thread(target=int)
        thread.start()
        with pytest.raises(RuntimeError, match="only be started once"):
            thread.start()
        thread.join()

    tool(outer)()
    assert records.of("outer")["status"] == "success"


def test_undo_is_exact_and_repeating_changes_nothing() -> None:
    """All namespaces have their very objects back, in their order; a second call returns the same object."""
    first = instrument_threads()
    assert instrument_threads() is first
    assert "threading.Thread.start" in first.patched
    first.undo()
    before = [list(vars(cls).items()) for cls in CLASSES]
    again = instrument_threads()
    assert [list(vars(cls).items()) for cls in CLASSES] != before
    again.undo()
    again.undo()
    assert [list(vars(cls).items()) for cls in CLASSES] == before
    assert again.patched == []


def test_a_patch_on_top_survives_undo(monkeypatch: pytest.MonkeyPatch, records: Records) -> None:
    """What somebody put on top of ours stays, and ours below it passes through."""
    below = threading.Thread.start
    calls: list[threading.Thread] = []

    def theirs(self: threading.Thread) -> None:
        calls.append(self)
        below(self)

    monkeypatch.setattr(threading.Thread, "start", theirs)
    instrument_threads().undo()
    tool(in_thread)()
    assert threading.Thread.start is theirs
    assert len(calls) == 1
    assert records.of("child")["parent_id"] is None


PROGRAM = """
    import multiprocessing
    import sys
    from concurrent.futures import ProcessPoolExecutor
    from watching import tool, watch
    import toolog
    from toolog.context import current

    def place():
        scope = current.get()
        return None if scope is None else (scope.trace_id, scope.span_id, scope.depth, scope.bag.session_id)

    def where(number=0):
        return number, place()

    def tell(queue):
        queue.put(place())

    class Tell:
        queue = None
        def run(self):
            self.queue.put(place())

    class ForkOwn(Tell, multiprocessing.get_context("fork").Process):
        pass

    class SpawnOwn(Tell, multiprocessing.get_context("spawn").Process):
        pass

    def main(method):
        context = multiprocessing.get_context(method)
        early = ProcessPoolExecutor(1, mp_context=context)
        early.submit(where).result()
        toolog.instrument_threads()

        def work():
            assert early.submit(where, 1).result() == (1, place())
            assert list(early.map(where, [1, 2])) == [(1, place()), (2, place())]
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                assert pool.submit(where).result() == (0, place())
            with context.Pool(1) as pool:
                assert pool.apply(where, (3,)) == (3, place())
                assert pool.map(where, [4]) == [(4, place())]
                assert pool.apply_async(where, kwds={"number": 5}).get() == (5, place())
                assert list(pool.imap(where, [6])) == [(6, place())]
                pool.close()
                pool.join()
            queue = context.SimpleQueue()
            process = context.Process(target=tell, args=(queue,))
            process.start()
            assert queue.get() == place()
            process.join()
            return "done"

        def own(kind):
            queue = context.SimpleQueue()
            process = kind()
            process.queue = queue
            process.start()
            assert queue.get() == place()
            process.join()
            assert not [name for name in vars(process) if "toolog" in name]

        with watch() as records, toolog.session("order-1"):
            print(tool(work)())
            if method != "forkserver":
                tool(own)({"fork": ForkOwn, "spawn": SpawnOwn}[method])
        assert early.submit(where, 9).result() == (9, None)
        early.shutdown()
        assert {record["status"] for record in records} == {"success"}

    if __name__ == "__main__":
        main(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_other_processes_keep_the_parent(method: str, tmp_path: Path) -> None:
    """Work handed to process pools and processes knows the call it was handed over in, however they start."""
    assert run(PROGRAM, method, file=tmp_path / "program.py") == "done\n"
