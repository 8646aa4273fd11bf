"""What a text says again and again is looked at once, and the finds are those of looking at all of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from toolog.sanitize import default, repeats
from toolog.sanitize.candidates import one_byte
from toolog.sanitize.repeats import BEYOND, LEAST, Repeats
from toolog.sanitize.rules import Span

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from hostile import PIECES, text_of

SIZE = 40_000
KINDS = (
    *("assignments, secrets", "assignments, sensitive, empty", "assignments, blocks", "colons, secrets"),
    *("quotes, assigned", "quotes, layers", "json text, in json", "headers", "cookies", "markup", "elements"),
    *("python", "keywords", "calls", "sql", "labels, two words", "devices", "chinese", "validators"),
)
#: What may end an assignment, a quote, a line or an element that was open before.
DISTURBING = ("\n", '"', "<", "password=", "password='Zq9-inv' ", " ")


def find(text: str, least: int, monkeypatch: pytest.MonkeyPatch) -> list[Span]:
    """Return what is found behind names, by a search that looks for repeats from so many characters on."""
    monkeypatch.setattr("toolog.sanitize.text.LEAST", least)
    return list(default().common.named._assigned(text, one_byte(text), {}))


@pytest.mark.parametrize("kind", KINDS)
def test_the_finds_of_a_text_that_repeats_are_those_of_reading_it_all(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without looking for repeats the same values are found, wherever the repeats are disturbed."""
    text = text_of(PIECES[kind], SIZE)
    for number, sign in enumerate(DISTURBING):
        at = SIZE * (number + 1) // (len(DISTURBING) + 2)
        text = text[:at] + sign + text[at:]
    text += text_of(PIECES[kind], SIZE)
    assert find(text, LEAST, monkeypatch) == find(text, len(text) + 1, monkeypatch)


@pytest.mark.parametrize("share", range(0, 100, 7))
def test_a_secret_among_thousands_of_the_same_names_is_masked(share: int) -> None:
    """What stands once in a text that says the same again and again is found wherever it is."""
    pieces = ["password= "] * 8_000
    pieces[len(pieces) * share // 100] = "password=Zq9-inv "
    clean = default().sanitize("".join(pieces))
    assert "Zq9-inv" not in clean
    assert clean.count("[MASKED:password]") == 1


def test_most_of_a_text_that_repeats_is_not_looked_at() -> None:
    """From the second piece on the finds are known up to where the text ends or goes on in another way."""
    piece = "a password=Zq9-inv and more "
    text = piece * (4 * BEYOND // len(piece))
    known = Repeats(text)
    jumped = 0
    for at in range(text.index("password"), len(text), len(piece)):
        if at < max(known.since, jumped):
            continue
        ahead, jumped = known.ahead(at, -1)
        if jumped > at:
            break
        known.note(at, (at + 9, at + 16, "password"), 0)
    found = list(ahead)
    assert jumped - at > len(text) // 2
    assert all(text[start:end] == "Zq9-inv" for start, end, _ in found)
    assert len(found) == (jumped - at) // len(piece)


def test_what_reaches_far_is_looked_at_again() -> None:
    """A search that read without bounds says nothing of the pieces that follow."""
    text = "password= " * 8_000
    known = Repeats(text)
    for at in range(0, len(text) // 2, 10):
        if at >= known.since:
            assert known.ahead(at, -1)[1] == at
            known.note(at, None, len(text))


@pytest.mark.parametrize("text", ["password= " * 100, "".join(f"key{n}=value{n} " for n in range(5_000))])
def test_texts_that_do_not_repeat_or_are_short_are_left_alone(text: str) -> None:
    """A short text, and one of pieces that are all different, has no stretch of repeats."""
    assert Repeats(text).since > len(text)
    assert repeats.LEAST > 1_000
