"""What is told to keep all bounds keeps them."""

from __future__ import annotations

from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolog import snapshot
from toolog.settings import capture
from toolog.snapshot import _EXACT, _is_simple
from toolog.snapshot.modest import is_doubtful, is_modest
from toolog.snapshot.walk import MAX_NODES

texts = st.one_of(st.text(max_size=8), st.sampled_from(['"', "\\", "[{", "]}", '"[', "x" * 700, "ü" * 600]))
leaves = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), texts)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=20,
)


def ask(value: Any) -> bool:
    """Return the answer for a value, with the configured bounds."""
    if not is_modest(value, capture.max_items, capture.max_nesting, MAX_NODES, capture.max_bytes):
        return False
    return not is_doubtful(ormsgpack.packb(value, None, _EXACT))


def nest(inner: Any, levels: int, kind: str) -> Any:
    """Return a value inside so many lists or dicts."""
    for level in range(levels):
        inner = [inner] if kind == "list" or (kind == "both" and level % 2) else {"a": inner, "b": 1}
    return inner


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.lists(trees, max_size=5), st.dictionaries(texts, trees, max_size=5)))
def test_what_is_modest_passes_the_look_at_each_item(value: Any) -> None:
    """For any nested value that the packer takes: a yes of the quick question is a yes of the slow one."""
    try:
        modest = ask(value)
    except ormsgpack.MsgpackEncodeError:  # a lone surrogate
        return
    assert not modest or _is_simple(value)


@pytest.mark.parametrize("kind", ["list", "dict", "both"])
def test_depth_is_never_underestimated(kind: str) -> None:
    """At any depth beyond the bound the answer is no, whatever the containers."""
    for levels in range(1, 60):
        value = nest([1, {"x": 2}], levels, kind)
        assert not ask(value) or levels + 2 <= capture.max_nesting


@pytest.mark.parametrize(
    "value",
    [
        list(range(2000)),
        {"k" * 1025: 1, "b": [1]},
        [{"k" * 1025: 1}] * 40,
        [{"a": 1, 2: 3}] * 40,
        [float("nan")],
        [1e999],
        [b"bytes"],
        [["x" * 9000]],
        [[number] * 900 for number in range(20)],
        [["x" * 40_000], ["y" * 40_000]],
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_may_break_a_bound_is_left_to_the_slow_look(value: Any) -> None:
    """Many items in one or in all, long keys and texts, what is no number and bytes get no yes."""
    assert not ask(value)


@pytest.mark.parametrize(
    "inner",
    [["leaf"], {"a": 1}, ["x" * 60_000], {"k" * 60_000: 1}],
    ids=["in lists", "in dicts", "a long text", "a long key"],
)
def test_what_would_be_gigabytes_is_never_packed(inner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One container that stands in many places is counted at each, before the packer, which knows no
    bounds, writes anything.
    """
    written: list[int] = []

    def packb(value: Any, *options: Any) -> bytes:
        packed: bytes = ormsgpack.packb(value, *options)
        written.append(len(packed))
        return packed

    monkeypatch.setattr(snapshot, "_packb", packb)
    for width, levels in ((2, 30), (900, 3)):
        grown = inner
        for _ in range(levels):
            grown = [grown] * width
        assert len(snapshot.pack(grown)) <= capture.max_bytes
    assert written == []


def test_ordinary_results_are_modest() -> None:
    """Rows of a table and nested documents of some kilobytes are."""
    assert ask({"rows": [{"id": number, "title": "walnut lamp", "price": 19.9} for number in range(50)]})
    assert ask([{"user": {"name": "Ada", "tags": ["a", "b"]}, "ok": None}])
