"""Value rules find what has the shape and passes the arithmetic, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.sanitize import checks
from toolog.sanitize.rules import FINDERS, find_cards, find_emails, find_phones, find_private_keys, int_rule


@pytest.mark.parametrize(
    "digits", ["4111111111111111", "378282246310005", "6200000000000005", "5555555555554444"]
)
def test_cards_pass(digits: str) -> None:
    """Known test numbers of the card schemes are cards."""
    assert checks.is_card(digits)


@given(st.integers(min_value=0, max_value=9), st.integers(min_value=0, max_value=14))
def test_one_wrong_digit_is_no_card(digit: int, place: int) -> None:
    """Changing one digit of a card breaks it: the Luhn check sees every single-digit error."""
    number = list("4111111111111111")
    changed = number[place] != str(digit)
    number[place] = str(digit)
    assert checks.is_card("".join(number)) is not changed


def test_resident_ids_need_province_date_and_check_digit() -> None:
    """A wrong province, a day that never was, or a wrong check character is no id."""
    assert checks.is_resident_id("110101190001010014")
    assert not checks.is_resident_id("110101190001010011")
    assert not checks.is_resident_id("110101190002300014")
    assert not checks.is_resident_id("990101190001010014")


def test_ibans_need_length_and_remainder() -> None:
    """An IBAN has its country's length and leaves the remainder 1."""
    assert checks.is_iban("DE89370400440532013000")
    assert not checks.is_iban("DE89370400440532013001")
    assert not checks.is_iban("DE8937040044053201300")


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("13800138000/13900139000", [(0, 11), (12, 23)]),
        ("a 138-0013-8000.", [(2, 15)]),
        ("+86 138 0013 8000", [(0, 17)]),
        ("order-13800138000-77", []),
        ("+44 20 7946 0958 12:30", [(0, 16)]),
        ("+1 (415) 555-0132 or", [(0, 17)]),
        ("212 345 6789 1234", []),
        ("1748503543012", []),
    ],
)
def test_phone_spans(text: str, spans: list[tuple[int, int]]) -> None:
    """Exactly the number is found, with its country code, and never part of a longer one."""
    found = sorted({(start, end) for start, end, _ in find_phones(text)})
    joined: list[tuple[int, int]] = []
    for start, end in found:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    assert joined == spans


def test_emails_stop_at_their_domain() -> None:
    """An address ends with its domain, also before Chinese text; a URL's user is none."""
    assert list(find_emails("联系dana@example.com谢谢")) == [(2, 18, "email")]
    assert list(find_emails("ssh://git@host.example/x")) == []
    assert list(find_emails("git@host.example:x/y")) == []


def test_a_cut_private_key_takes_the_rest() -> None:
    """Without its end a private key reaches to the end of the text."""
    begin = "-----BEGIN " + "PRIVATE KEY-----"
    text = f"log: {begin}\nMIIEinventedAAAABBBB"
    assert list(find_private_keys(text)) == [(5, len(text), "private_key")]
    assert list(find_private_keys(f"it starts with {begin} as usual")) == []


def test_cards_inside_identifiers_and_decimals_are_left() -> None:
    """A card's digits in a decimal, an identifier or a longer number are no card."""
    for text in (
        "0.4111111111111111",
        "x4111111111111111",
        "4111111111111111_1",
        "a-4111111111111111",
        "94111111111111111123",
    ):
        assert list(find_cards(text)) == []


def test_integers_are_judged_like_their_digits() -> None:
    """An integer may be a mobile, a card or an id by itself."""
    assert int_rule(13800138000) == "phone"
    assert int_rule(4111111111111111) == "card"
    assert int_rule(110101190001010014) == "id_number"
    assert int_rule(1748503543012) is None
    assert int_rule(42) is None


@given(st.text(max_size=200))
def test_finders_answer_spans_inside_the_text(text: str) -> None:
    """Whatever the text, no finder raises, and every span lies inside it."""
    for finder in FINDERS.values():
        for start, end, rule in finder(text):
            assert 0 <= start < end <= len(text)
            assert rule
