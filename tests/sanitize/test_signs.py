"""What stands between a sensitive name and its value."""

from __future__ import annotations

import pytest

from toolog.sanitize import default
from toolog.sanitize.signs import ASSIGNED, NOTHING, shows_nothing


@pytest.mark.parametrize(
    ("text", "sep"),
    [
        (" = x1", "="),
        ('": "x1"', ":"),
        ("\u00a0: x1", ":"),
        ("\u202f: x1", ":"),
        (" ?= x1", "?="),
        (": str = 'x1'", "="),
        (" of the box (till Friday): x1", ":"),
        (" du compte admin est : x1", ":"),
        (" temporal: x1", ":"),
        (" до сервера — x1", "—"),
        (" is x1", "is"),
    ],
)
def test_a_sign_is_found_behind_whatever_a_label_says_more(text: str, sep: str) -> None:
    """Blanks of all kinds, types, and whom or what it is of or for come before the sign."""
    match = ASSIGNED.match(text)
    assert match is not None
    assert match["sep"] == sep


@pytest.mark.parametrize("text", [" of the box", "; x1", " and x1: 2", "://x1", "(x1)"])
def test_where_no_sign_is_nothing_is_announced(text: str) -> None:
    """Prose, the end of a statement, an address and a call have none."""
    assert ASSIGNED.match(text) is None


@pytest.mark.parametrize(("text", "nothing"), [(": expired ", True), (" = ${X}", True), (" = x1 ", False)])
def test_what_shows_at_once_that_nothing_follows_is_told(text: str, nothing: bool) -> None:
    """A word on how it is, or a variable; never another word."""
    match = NOTHING.match(text)
    assert (match is not None and shows_nothing(match, "password")) is nothing


@pytest.mark.parametrize(
    "text",
    [
        "Mot de passe\u00a0: Zq9-inv77",
        "Mot de passe\u202f: Zq9-inv77",
        "Steuer-Identifikationsnummer: 47036892816",
        "Clé d’API : Zq9-inv77",
        "Chave de API: Zq9-inv77",
        "Hasło administratora: Zq9-inv77",
        "Contraseña temporal: Zq9-inv77",
    ],
)
def test_labels_of_many_languages_announce_their_value(text: str) -> None:
    """What stands behind the sign is hidden, and masking again changes nothing."""
    clean = default().sanitize(text)
    assert "[MASKED" in clean
    assert "Zq9" not in clean
    assert default().sanitize(clean) is clean
