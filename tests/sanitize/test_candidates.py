"""Where in a text names stand that may have a value behind them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.sanitize import vocabulary as vocab
from toolog.sanitize.candidates import candidates, one_byte
from toolog.sanitize.words import KeyWords

WORDS = KeyWords()
NAMES = sorted({*vocab.STRONG, *vocab.SHAPED})


def names_in(text: str) -> list[tuple[int, int]]:
    """Return where names stand in a text."""
    return list(candidates(WORDS).names(text, one_byte(text)))


@given(st.text(st.characters(codec=None)))
def test_one_byte_stands_for_each_character(text: str) -> None:
    """ASCII stands for itself, and no other character looks like it."""
    view = one_byte(text)
    assert len(view) == len(text)
    assert all(
        (byte == ord(char)) if char.isascii() else byte >= 0x80 for byte, char in zip(view, text, strict=True)
    )


@given(
    st.sampled_from(NAMES),
    st.sampled_from([str.lower, str.upper, str.title]),
    st.sampled_from(["NFC", "NFD"]),
    st.sampled_from(["", "x ", "。", "пр ", "1\n", "é, "]),
    st.sampled_from(["=", ": ", "：", '":', " = "]),
)
def test_a_name_of_the_vocabulary_with_a_sign_is_found(
    name: str, case: type[str], form: str, before: str, sign: str
) -> None:
    """In any case, composed or not, whatever stands before it."""
    written = unicodedata.normalize(form, case(name))
    text = f"{before}{written}{sign}value"
    assert any(before + text[start:end] == before + written for start, end in names_in(text)) or (
        WORDS.judge(written) is None
    )


@pytest.mark.parametrize(
    "piece", ["password=a ", "api key: b, ", "пароль: c\n", "密码：d。", "x1=2 token=3 "]
)
def test_many_names_close_together_are_found_as_few_are(piece: str) -> None:
    """Whether they are searched for one by one or read in one go: the same names at the same places."""
    few, many = (names_in(piece * times) for times in (1, 2000))
    named = {piece[start:end] for start, end in few}
    text = piece * 2000
    kept = [(start, end) for start, end in many if text[start:end] in named]
    assert kept == [
        (at * len(piece) + start, at * len(piece) + end) for at in range(2000) for start, end in few
    ]
