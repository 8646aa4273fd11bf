"""JSON in base64."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from toolog.sanitize import Sanitizer

SANITIZER = Sanitizer()
TOLD = {"user": "ann", "password": "Zq9-inv"}


def encoded(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON in base64."""
    return base64.b64encode(json.dumps(value, indent=indent).encode()).decode()


@pytest.mark.parametrize(
    "blob",
    [
        encoded(TOLD),
        encoded(TOLD, indent=2),
        encoded([TOLD]),
        encoded({"db": {"api_key": "Zq9inv77"}}),
        base64.urlsafe_b64encode(json.dumps({"secret": "Zq9>>>???"}).encode()).decode(),
    ],
)
def test_json_in_base64_that_tells_a_secret_is_hidden(blob: str) -> None:
    """All of it goes, in whatever text it stands, and the text around it stays."""
    for before, after in (("", ""), ("state=", "&page=2"), ("at ", ", then"), ("https://x.example/?s=", "")):
        assert SANITIZER.sanitize(before + blob + after) == f"{before}[MASKED:secret]{after}"


@pytest.mark.parametrize(
    "value",
    [
        {"last_id": "01HZX3", "dir": "next", "n": 50},
        {"password_required": True, "token_count": 12},
        {"password": "${DB_PASSWORD}"},
    ],
)
def test_cursors_and_states_without_a_secret_stay(value: dict[str, Any]) -> None:
    """JSON in base64 in which nothing would be hidden is no secret."""
    text = f"cursor={encoded(value)}"
    assert SANITIZER.sanitize(text) is text
