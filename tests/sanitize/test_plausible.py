"""Is this a secret, or only text about one?"""

from __future__ import annotations

from typing import Any

import pytest

from toolog.sanitize import default
from toolog.sanitize.plausible import fits_shape, is_mask, is_reference, is_scheme


@pytest.mark.parametrize(
    "value",
    [
        "PyJWT==2.10.1",
        "cookie>=0.4,<1",
        {"dependencies": {"cookie": "~0.6.0", "passport": "^0.7.0", "jwt": ">=1.0 <3"}},
        'cookie = "0.18"',
        {"permissions": {"id-token": "write", "secrets": "read"}},
        {"rules": [{"resources": "x", "secrets": ["get", "list", "watch"]}]},
        {"secrets": [{"name": "GH", "created_at": "2024-11-04"}]},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer undefined"},
        "headers: { Authorization: 'Bearer', Accept: 'a/b' }",
        "authorization: 'Bearer ' + value",
        "password:  16 bytes",
        "Mot de passe : 12 caractères minimum",
        "Contraseña: mínimo 8 caracteres",
        "cookies: 14 set",
        "next token: IDENT",
    ],
    ids=str,
)
def test_what_is_only_told_of_a_secret_stays(value: Any) -> None:
    """Versions, permissions, schemes, lengths and counts come back as the very same object."""
    assert default().sanitize(value) is value


@pytest.mark.parametrize(
    "value",
    [
        {"password": "1.2.3"},
        {"password": "write"},
        {"Authorization": "Bearer Zq9-inv77"},
        {"token": "482913"},
        {"SecretString": '{"username": "a", "password": "Zq9-inv77"}'},
        "pin==4821",
        "cookie: 0.18-Zq9inv",
    ],
    ids=str,
)
def test_what_can_be_a_secret_is_hidden(value: Any) -> None:
    """A password may look like a version or a word; numbers of more than three digits may be codes."""
    assert "[MASKED" in str(default().sanitize(value))


def test_places_in_vaults_are_references_and_stars_are_masks() -> None:
    """Where a secret is kept, and what somebody hid already, shows none."""
    for text in ("op://ops/db/password", "vault://kv/db#password", "projects/a/secrets/b/versions/1"):
        assert is_reference(text)
    assert is_reference("${X:-}")
    assert not is_reference("${X:-Zq9}")
    assert is_mask("gho_************")
    assert not is_mask("gho_Zq9-inv77")


def test_a_scheme_without_a_credential_is_none() -> None:
    """A word of a scheme alone, or with a word that says nothing."""
    assert is_scheme("Basic")
    assert is_scheme("Bearer [object Object]")
    assert not is_scheme("Bearer Zq9-inv77")
    assert not is_scheme("Zq9-inv77")


def test_numbers_of_papers_are_told_from_decimals() -> None:
    """They have nine signs and four digits at least; a sine has a point in it."""
    assert fits_shape("ABCPE1234F", "paper")
    assert fits_shape("046 454 286", "paper")
    assert not fits_shape("0.70710678", "paper")
    assert not fits_shape("2617/7616", "paper")
