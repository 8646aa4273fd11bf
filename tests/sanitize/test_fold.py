"""Folding keeps the length and finds the plain form of look-alikes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolog.sanitize.fold import fold, fold_numbers


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    """A position in the folded text is a position in the original."""
    assert len(fold(text)) == len(fold_numbers(text)) == len(text)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_is_its_own_plain_form(text: str) -> None:
    """Plain text comes back as the same object."""
    assert fold(text) is text
    assert fold_numbers(text) is text


def test_look_alikes_become_plain() -> None:
    """Fullwidth and mathematical letters, and the digits of other scripts, are read as what they stand
    for."""
    assert fold("ｐａｓｓ＠１") == "pass@1"
    assert fold("𝐩𝐚𝐬𝐬") == "pass"
    assert fold_numbers("١٢３–४") == "123-4"
    assert fold("m² №5 ℃ ½") == "m² №5 ℃ ½"
    assert fold("\ud800é") == "?é"
