"""Bounds in size: what is cut, how it shows, and what is told about it."""

from __future__ import annotations

import hashlib
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolog.settings import capture
from toolog.snapshot import Limits, pack, pack_cut, plain
from toolog.snapshot.walk import Walk


def hash_of(data: bytes) -> str:
    """Return the hash of bytes as a note shows it."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def test_long_text_is_cut_and_told() -> None:
    """A text above the bound keeps its head, its size and its hash."""
    text = "word " * 20_000
    packed, cuts = pack_cut({"page": text, "title": "short"}, "output")
    found = msgpack.unpackb(packed)
    head, mark = found["page"].rsplit("...[", 1)
    assert text.startswith(head)
    assert mark == f"{100_000 - len(head):,} more]"
    assert 60_000 < len(packed) <= 65_536
    assert found["title"] == "short"
    assert cuts == {"output.page": {"size": 100_000, "unit": "bytes", "hash": hash_of(text.encode())}}


def test_cut_is_at_a_blank() -> None:
    """Words stay whole at the cut, so that half a secret does not hide from what masks it."""
    found = plain("word-of-ten " * 10_000, limits=Limits(max_bytes=1000))
    assert found.split("...[")[0].endswith("word-of-ten ")


def test_cut_inside_characters_stays_valid() -> None:
    """Bytes and texts beyond ASCII are cut between characters, and sizes count bytes."""
    text = "词" * 50_000
    packed, cuts = pack_cut(text, "output")
    assert msgpack.unpackb(packed).startswith("词" * 20_000)
    assert cuts == {"output": {"size": 150_000, "unit": "bytes", "hash": hash_of(text.encode())}}
    packed, cuts = pack_cut(text.encode(), "output")
    assert msgpack.unpackb(packed).startswith("词" * 20_000)
    assert cuts == {"output": {"size": 150_000, "unit": "bytes", "hash": hash_of(text.encode())}}


@pytest.mark.parametrize("filler", ["x", "é"])
def test_fifty_megabytes(filler: str) -> None:
    """Of a huge text only the first mebibyte is looked at, and the note says how much was hashed."""
    packed, cuts = pack_cut({"page": filler * 50_000_000}, "output")
    assert len(packed) <= capture.max_bytes
    assert cuts is not None
    note = cuts["output.page"]
    assert note["size"] == 50_000_000
    assert note["hash"] == hash_of(filler.encode() * (note["hashed"] // len(filler.encode())))


def test_ten_million_items() -> None:
    """A long list shows its first thousand items and how many more there were."""
    packed, cuts = pack_cut([7] * 10_000_000, "output")
    found = msgpack.unpackb(packed)
    assert found == [7] * 1000 + [{"...": "9,999,000 more items"}]
    assert cuts == {"output": {"size": 10_000_000, "unit": "items", "kept": 1000}}


def test_dict_shows_its_first_keys() -> None:
    """A large dict keeps its first items and gets a key that tells how many more there were."""
    found = plain(dict.fromkeys(map(str, range(1500)), 0))
    assert list(found)[:2] == ["0", "1"]
    assert found["..."] == "500 more items"


def test_the_longest_texts_are_cut_first() -> None:
    """One long text is cut before many short ones, and several long ones to the same length."""
    value = {"a": "a" * 3000, "b": "b" * 5000, "c": ["c" * 50] * 5}
    found = plain(value, limits=Limits(max_bytes=4000))
    assert found["c"] == value["c"]
    assert abs(len(found["a"]) - len(found["b"])) < 40


def test_many_short_texts_lose_their_tail() -> None:
    """Where no text is long, containers keep their first items."""
    found = plain([{"n": str(number)} for number in range(900)], limits=Limits(max_bytes=3000))
    assert found[0] == {"n": "0"}
    assert found[-1] == {"...": f"{900 - (len(found) - 1):,} more items"}


def test_shallow_values_survive_deep_ones() -> None:
    """A huge branch does not push out what stands beside it."""
    value: dict[str, Any] = {"huge": [[[list(range(50))] * 40] * 40] * 40, "status": "ok"}
    packed, cuts = pack_cut(value, "output")
    assert msgpack.unpackb(packed)["status"] == "ok"
    assert cuts is not None
    assert len(cuts) <= 51


def test_nothing_cut_says_nothing() -> None:
    """What fits is told to be whole."""
    assert pack_cut({"a": [1, (2, {3})]}, "output")[1] is None


def test_object_stays_an_object() -> None:
    """Even under an absurd bound arguments stay an object, so that the record stays valid."""
    value = {"k" * 60 + str(number): {"x": number} for number in range(10)}
    found = plain(value, limits=Limits(max_bytes=40))
    assert found == {"...": "all items"}


def test_settings_bound_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """The configured bounds hold for plain values as for others."""
    monkeypatch.setattr(capture, "max_items", 3)
    monkeypatch.setattr(capture, "max_nesting", 2)
    assert msgpack.unpackb(pack([1, 2, 3, 4])) == [1, 2, 3, {"...": "1 more items"}]
    assert msgpack.unpackb(pack({"a": {"b": {"c": 1}}})) == {"a": {"b": "[TRUNCATED]"}}
    monkeypatch.setattr(capture, "max_bytes", 100)
    assert len(pack("x" * 1000)) <= 100
    assert len(pack({"x": "x" * 90, "y": "y" * 90})) <= 100


scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.floats(), st.text(max_size=5))
rows = st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), scalars, max_size=5)
tables = st.recursive(
    st.one_of(scalars, rows),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6), st.dictionaries(st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=40,
)


class NoRows(Walk):
    """A walk in which every dict waits for its turn."""

    def _take_row(self, child: dict[Any, Any], depth: int) -> None:
        return None


@settings(max_examples=300, deadline=None)
@given(tables, st.integers(0, 30), st.integers(1, 5), st.integers(1, 4))
def test_rows_are_walked_as_any_dict(value: Any, nodes: int, items: int, nesting: int) -> None:
    """A row of scalars that is copied where it stands leaves the same as one that waits, room or not."""
    found = []
    for kind in (Walk, NoRows):
        walk = kind(Limits(max_bytes=2000, max_items=items, max_nesting=nesting))
        walk.nodes = nodes
        found.append((repr(walk.run(value)), walk.cuts, walk.nodes, walk.texts))
    assert found[0] == found[1]
