"""One scan says which of many words stand in a text."""

from __future__ import annotations

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.sanitize.literals import Literals

WORDS = ("curl", "-p", "为您的", " use ", "é")
SCAN = Literals(*WORDS)


@given(st.text(alphabet="curl-p usé为您的 x", max_size=40))
def test_each_word_that_stands_in_a_text_is_told(text: str) -> None:
    """The scan tells of each word what looking for it tells."""
    assert SCAN.held(text) == {word: word in text for word in WORDS}


def test_a_word_that_is_not_looked_for_is_no_answer() -> None:
    """Asked for another word, what was seen raises: nothing is taken for absent that was not looked for."""
    with pytest.raises(KeyError):
        SCAN.held("curl")["wget"]


def test_words_are_seen_in_packed_values() -> None:
    """MessagePack is scanned as it is, lone surrogates among it."""
    assert SCAN.seen(ormsgpack.packb({"a": ["x curl y", "é"]})) == ["curl", "é"]
    assert Literals("\ud800b").held("a\ud800b") == {"\ud800b": True}


def test_a_child_makes_its_scan_anew() -> None:
    """What is parted from in a forked child is the scan itself, and the next text is scanned by another."""
    scan = Literals("curl")
    assert scan.held("curl")["curl"]
    assert scan.after_fork_in_child() is not None
    assert scan.after_fork_in_child() is None
    assert scan.held("a curl")["curl"]
