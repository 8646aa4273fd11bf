"""Every labelled case: what must be hidden is, what is clean comes back as the very same object."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sanitize import labelled
from toolog.sanitize import Sanitizer

SANITIZER = Sanitizer()
POSITIVE = [*labelled.KEYS, *labelled.VALUES, *labelled.TEXTS]


def strings(value: Any) -> Iterator[str]:
    """Yield every text in a value, keys and the content of JSON texts included."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from strings(key)
            yield from strings(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from strings(item)
    elif isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif value is not None:
        yield str(value)
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                yield from strings(json.loads(value))
            except ValueError:
                pass


@pytest.mark.parametrize(("value", "hide"), POSITIVE, ids=lambda value: str(value)[:40])
def test_a_labelled_secret_is_hidden(value: Any, hide: list[str]) -> None:
    """No secret is left anywhere, the given value is as it was, and masking again changes nothing."""
    before = copy.deepcopy(value)
    clean = SANITIZER.sanitize(value)
    assert [secret for secret in hide for text in strings(clean) if secret in text] == []
    assert value == before
    assert SANITIZER.sanitize(clean) == clean


@pytest.mark.parametrize("value", labelled.CLEAN, ids=lambda value: str(value)[:40])
def test_a_clean_value_comes_back_as_the_same_object(value: Any) -> None:
    """What shows no secret is not touched, not even copied."""
    assert SANITIZER.sanitize(value) is value


@pytest.mark.parametrize("style", ["mask", "last4", "pseudonym", "drop"])
@pytest.mark.parametrize(("value", "hide"), POSITIVE[::9], ids=lambda value: str(value)[:30])
def test_every_style_hides_and_is_idempotent(style: str, value: Any, hide: list[str]) -> None:
    """Whatever the style, the secret is gone (but for the last four of a number), and a second pass changes
    nothing."""
    sanitizer = Sanitizer(style=style, hmac_key="a key for the tests")
    clean = sanitizer.sanitize(value)
    assert sanitizer.sanitize(clean) == clean
    if style != "last4":
        assert [
            secret for secret in hide if len(secret) > 4 for text in strings(clean) if secret in text
        ] == []
