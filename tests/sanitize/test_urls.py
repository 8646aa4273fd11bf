"""Secrets inside addresses."""

from __future__ import annotations

import pytest

from toolog.sanitize import default

WORD = "Zq9-inv77"


@pytest.mark.parametrize("secret", ["Zq9#inv77", "Zq9/inv77", "Zq9?inv77", "Zq9#in/v?77:x"])
@pytest.mark.parametrize("scheme", ["postgres", "amqps", "mongodb+srv", "redis", "neo4j+s", "https"])
def test_a_password_may_have_signs_of_addresses_in_it(scheme: str, secret: str) -> None:
    """It goes to the sign before the host, whatever should have been encoded in it."""
    text = f"url: {scheme}://app:{secret}@db1:5432/shop"
    assert default().sanitize(text) == f"url: {scheme}://app:[MASKED:url_password]@db1:5432/shop"


@pytest.mark.parametrize(
    "text",
    [
        "https://host:8080/@user/repo",
        "http://host:80?to=a@b",
        "https://example.com/a#b@c",
        "https://app.internal/?code=SUMMER2024",
        "https://app.internal/items?code=AT-4004-1180-2231-77&page=2",
    ],
)
def test_a_port_and_a_code_of_anything_else_stay(text: str) -> None:
    """What follows a port is a path; a code is one of sign-in only beside what belongs to that."""
    assert default().sanitize(text) is text


def test_a_code_that_is_exchanged_for_a_token_is_hidden() -> None:
    """Beside a state, or on the way back from signing in, a long code is a secret."""
    text = f"GET /cb?code=4-0AfJohXn7{WORD}&state=ab12 HTTP/1.1"
    assert default().sanitize(text) == "GET /cb?code=[MASKED:code]&state=ab12 HTTP/1.1"


def test_a_setting_of_a_connection_goes_to_its_semicolon() -> None:
    """A sign of numbers in a password ends no setting."""
    text = "jdbc:sqlserver://sql7:1433;user=app;password=Zq9#inv77;encrypt=true"
    clean = "jdbc:sqlserver://sql7:1433;user=app;password=[MASKED:password];encrypt=true"
    assert default().sanitize(text) == clean
