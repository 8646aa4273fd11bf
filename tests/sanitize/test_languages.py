"""Sensitive words of many languages: as keys, in text, and without the marks of their letters."""

from __future__ import annotations

import unicodedata

import pytest

from toolog.sanitize import default, languages
from toolog.sanitize import vocabulary as vocab

NUMBER = "4821 7730 9915"


@pytest.mark.parametrize("rule", sorted(languages.WORDS))
def test_each_word_is_sensitive_as_a_key_and_in_text(rule: str) -> None:
    """Whether composed or not, in capitals or not, as a key and in front of a sign."""
    missed = []
    for word in languages.WORDS[rule].split():
        for spelling in (word, unicodedata.normalize("NFD", word), word.upper()):
            text = f"a\n{spelling}: 48217730\nb"
            if "48217730" in str(default().sanitize({spelling: "48217730"})):
                missed.append(spelling)
            if "48217730" in default().sanitize(text):
                missed.append(text)
    assert missed == []


def test_each_pair_is_sensitive_as_a_key_and_as_a_label() -> None:
    """With an underscore as a key, and with a blank in front of a sign."""
    missed = []
    for _, firsts, seconds in languages.PAIRS:
        for first in firsts.split():
            for second in seconds.split():
                if NUMBER in str(default().sanitize({f"{first}_{second}": NUMBER})):
                    missed.append(f"{first}_{second}")
                if "48217730" in default().sanitize(f"x, {first} {second}: 48217730, y"):
                    missed.append(f"{first} {second}")
    assert missed == []


def test_a_word_of_value_s_look_is_sensitive_with_such_a_value_only() -> None:
    """`nik` is a number in Indonesia and a name elsewhere."""
    assert default().sanitize({"nik": "3273014507920003"}) == {"nik": "[MASKED:id_number]"}
    assert default().sanitize({"clave": "Zq9inv77"}) == {"clave": "[MASKED:password]"}
    for clean in (
        {"nik": "Nikolas"},
        {"clave": "primaria"},
        {"portable": "oui"},
        "nie: wieder",
        "mobil: nej",
    ):
        assert default().sanitize(clean) is clean


def test_marks_may_be_left_out() -> None:
    """Names in programs seldom have them, and other scripts have no such spelling."""
    assert languages.spellings("rodné") == {"rodné", "rodne"}
    assert languages.spellings("fødselsnummer") == {"fødselsnummer", "fodselsnummer"}
    assert languages.spellings("пароль") == {"пароль"}
    assert ("rodne", "cislo") in vocab.PAIRS
