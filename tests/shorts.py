"""Records in the spool's short form, made by hand: what a program writes, and what it never does."""

from __future__ import annotations

from typing import Any

import ormsgpack
from hypothesis import strategies as st

from toolog.record import SHORT

HEAD: dict[str, Any] = {
    "event": "tool_call_success",
    "level": "INFO",
    "status": "success",
    "tool_name": "look_up",
    "tool": {"module": "shop", "qualname": "look_up", "type": "function", "package": "shop"},
    "schema_version": "1.0",
    "host": "web-1",
}
PROCESS: dict[str, Any] = {"process": {"pid": 4711, "thread": "MainThread"}}
OWN = 7  # record_id, timestamp, trace_id, span_id, parent_id, depth and duration_ms


def make_short(
    content: dict[str, Any],
    head: dict[str, Any] = HEAD,
    process: dict[str, Any] = PROCESS,
    *,
    lineage: dict[str, Any] | None = None,
    trace: str = "0af7651916cd43dd8448eb211c80319c",
    wall: int = 1_796_000_000_123_456_789,
    duration: int = 17_183,
    number: int = 0x0102030405060708,
) -> bytes:
    """Return the short form of a record; ``lineage`` that of a call within another one.

    ``wall`` and ``duration`` are nanoseconds; ``process`` begins with the field of that name.
    """
    total = len(head) + OWN + len(process) + len(content)
    heads = _head_of(total) + _pairs(head)
    lines = b"" if lineage is None else trace.encode() + _pairs(lineage)
    processes = _pairs(process).removeprefix(b"\xa7process")
    sizes = len(heads), len(lines), len(processes)
    numbers = SHORT.pack(wall, duration, number, b"4485ab8f33a30423", b"ce212cd9", *sizes)
    return numbers + heads + lines + processes + _pairs(content)


def shorts(values: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Short forms with such values in their content, of programs and of nobody."""
    names = st.sampled_from(["input", "output", "tags", "session_id", "config", "message", "x", "event"])
    usual = {name: st.just(value) for name, value in HEAD.items()}
    odd = st.fixed_dictionaries(usual, optional={"service": values, "config": values, "x": values})
    parent = st.fixed_dictionaries({"parent_id": st.none() | st.just("1" * 16), "depth": st.integers(0, 300)})
    within = st.dictionaries(st.sampled_from(["pid", "thread", "task", "x"]), st.none() | st.text(max_size=3))
    instances = st.tuples(within, st.text(max_size=20)).map(
        lambda drawn: {"process": drawn[0], "instance_id": drawn[1]}
    )
    return st.builds(
        make_short,
        st.dictionaries(names, values, max_size=5),
        st.just(HEAD) | odd,
        st.just(PROCESS) | within.map(lambda process: {"process": process}) | instances,
        lineage=st.none() | parent | st.just({"depth": 1, "parent_id": 5}),
        trace=st.just("ab" * 16) | st.just('"' * 32),
        wall=st.integers(-(2**63), 2**63 - 1) | st.integers(10**18, 2 * 10**18),
        duration=st.integers(0, 10**12) | st.integers(-(2**63), 2**63 - 1),
        number=st.integers(0, 2**64 - 1),
    )


def _head_of(pairs: int) -> bytes:
    return bytes([0x80 + pairs]) if pairs < 16 else b"\xde" + pairs.to_bytes(2)


def _pairs(fields: dict[str, Any]) -> bytes:
    return ormsgpack.packb(fields)[1 if len(fields) < 16 else 3 :]
