"""A call in flight: what is prepared for its record."""

from __future__ import annotations

from tests.helpers import wrap
from toolog.call import Call, Plan


def _nothing() -> None: ...


def test_traces_are_told_apart_by_few_digits() -> None:
    """The first eight digits of traces differ, and so do the last sixteen, by which others sample."""
    plan = Plan(_nothing, tool_name="nothing")
    traces = [Call(plan, None).trace for _ in range(1000)]
    assert len({trace[:8] for trace in traces}) == 1000
    assert len({trace[16:] for trace in traces}) == 1000
    assert {len(trace) for trace in traces} == {32}
    ratio = sum(int(trace[16:], 16) < 2**62 for trace in traces) / 1000
    assert 0.2 < ratio < 0.3


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
