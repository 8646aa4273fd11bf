"""Keys that search servers refuse, written in another way and read back."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.sinks.search import keys as known
from toolog.sinks.search.keys import (
    are_known_keys,
    escape_key,
    escape_keys,
    learn_keys,
    may_have_odd_keys,
    unescape_key,
    unescape_keys,
)

keys = st.one_of(
    st.text(max_size=10).filter(lambda text: not any("\ud800" <= sign <= "\udfff" for sign in text)),
    st.text("%.2E0a \x00\n", max_size=6),
)
trees: Any = st.recursive(
    st.none() | keys,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=10,
)


@given(keys)
def test_every_key_comes_back(key: str) -> None:
    """A key is what it was after it was escaped and read back."""
    assert unescape_key(escape_key(key)) == key


@given(keys, keys)
def test_no_two_keys_become_one(one: str, other: str) -> None:
    """Different keys stay different."""
    assert (escape_key(one) == escape_key(other)) == (one == other)


@given(keys)
def test_escaped_keys_are_plain(key: str) -> None:
    """What is sent is not empty, not white space, and has no NUL and no ambiguous dots."""
    escaped = escape_key(key)
    assert escaped.strip(" \t\r\n\x0b\x0c")
    assert "\x00" not in escaped
    assert ".." not in escaped
    assert not escaped.startswith(".")
    assert not escaped.endswith(".")


@given(trees)
def test_odd_keys_are_noticed(tree: Any) -> None:
    """A document in which a key would change never passes as one without odd keys."""
    text = orjson.dumps({"input": tree})
    assert may_have_odd_keys(text) or escape_keys(tree) == tree


@given(trees)
def test_trees_come_back(tree: Any) -> None:
    """A value of any shape is what it was after its keys were escaped and read back."""
    assert unescape_keys(escape_keys(tree)) == tree


@pytest.mark.parametrize("key", ["name", "a.b", "a b", "läufer", "a-b_c:d", "A1", "$x", "日本"])
def test_usual_keys_stay_as_they_are(key: str) -> None:
    """Keys that no server minds are not changed, so that users can query them as they know them."""
    assert escape_key(key) == key


def test_usual_documents_are_seen_as_such() -> None:
    """A usual document is not walked for odd keys."""
    assert not may_have_odd_keys(orjson.dumps({"input": {"query": "red shoes, size 42.", "n": [1, 2.5]}}))


@given(st.dictionaries(keys, trees, max_size=4))
def test_known_keys_are_not_odd(tree: dict[str, Any]) -> None:
    """A value whose keys are all known, at every depth, is one that escaping leaves as it is."""
    learn_keys(tree)
    assert not are_known_keys(tree) or escape_keys(tree) == tree


def test_plain_keys_are_known_once_they_were_met() -> None:
    """The keys of a value are known from its second time on, whatever the texts in it say."""
    value = {"test_keys_note": '100 % ... ": ', "test_keys_rows": [{"test_keys_name": 1}, [2]]}
    assert not are_known_keys(value)
    learn_keys(value)
    assert are_known_keys(value)


def test_an_odd_key_in_between_is_not_known() -> None:
    """One odd key, however deep, makes a value one that is looked at, each time anew."""
    value = {"test_keys_a": [{"test_keys_b": {"": 1}}]}
    for _ in range(2):
        learn_keys(value)
        assert not are_known_keys(value)


def test_keys_that_are_data_are_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more keys are learned than there is room for, and none of a large object."""
    monkeypatch.setattr(known, "_MOST_LEARNED", len(known._learned) + 10)
    for number in range(1000):
        learn_keys({f"test_keys_{number}": number})
    learn_keys({f"test_keys_large_{number}": number for number in range(1000)})
    assert len(known._learned) == known._MOST_LEARNED
