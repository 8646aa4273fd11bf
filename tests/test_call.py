"""A call in flight: what is prepared for its record."""

from __future__ import annotations

import threading

import ormsgpack

from tests.helpers import wrap
from toolog.call import Call, Ids, Plan, packed_process


def _nothing() -> None: ...


def test_a_thread_is_described_in_one_go() -> None:
    """Code that runs while a thread is first described (a finalizer, a signal handler) finds it whole."""
    met: list[bytes] = []
    asked: list[bool] = []

    class Naming(threading.Thread):
        """A thread whose name is asked for, and that records something just then."""

        @property
        def name(self) -> str:
            if threading.current_thread() is self and not asked:
                asked.append(True)
                met.append(packed_process())
                met.append(Call(Plan(_nothing, tool_name="nothing"), None).process)
            return "named"

        @name.setter
        def name(self, value: str) -> None: ...

        def run(self) -> None:
            met.append(packed_process())

    thread = Naming()
    thread.start()
    thread.join()
    assert len(met) == 3
    assert {ormsgpack.unpackb(packed)["thread"] for packed in met} == {"named"}


def test_traces_are_told_apart_by_few_digits() -> None:
    """The first eight digits of traces differ, and so do the last sixteen, by which others sample."""
    plan = Plan(_nothing, tool_name="nothing")
    traces = [Call(plan, None).trace for _ in range(1000)]
    assert len({trace[:8] for trace in traces}) == 1000
    assert len({trace[16:] for trace in traces}) == 1000
    assert {len(trace) for trace in traces} == {32}
    ratio = sum(int(trace[16:], 16) < 2**62 for trace in traces) / 1000
    assert 0.2 < ratio < 0.3


def test_no_id_is_zero() -> None:
    """The id that W3C calls invalid is farther away than a process can count, wherever it begins."""
    for _ in range(100):
        Ids.reseed()
        start = next(Ids.counter)
        steps = -start * pow(Ids.step, -1, 2**64) % 2**64
        assert (start + steps * Ids.step) % 2**64 == 0
        assert steps >= 2**63


def test_children_share_their_parents_trace() -> None:
    """A call inside a call takes its trace, one level deeper."""
    plan = Plan(_nothing, tool_name="nothing")
    root = Call(plan, None)
    child = Call(plan, root)
    assert (child.trace, child.depth, child.parent) == (root.trace, 1, root)
    assert wrap(_nothing)() is None


def test_a_trace_is_found_however_deep_calls_nest() -> None:
    """The innermost of more calls than Python nests functions is asked first, and knows its root's trace."""
    plan = Plan(_nothing, tool_name="nothing")
    root = innermost = Call(plan, None)
    for _ in range(5000):
        innermost = Call(plan, innermost)
    assert innermost.trace == root.trace
