"""Every labelled case: what must be hidden is, what is clean comes back as the very same object."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers import check_each
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


def hides(case: tuple[Any, list[str]]) -> None:
    """Check a value that holds secrets."""
    value, hide = case
    before = copy.deepcopy(value)
    clean = SANITIZER.sanitize(value)
    assert [secret for secret in hide for text in strings(clean) if secret in text] == []
    assert value == before
    assert SANITIZER.sanitize(clean) == clean


def leaves(value: Any) -> None:
    """Check a clean value."""
    assert SANITIZER.sanitize(value) is value


def test_the_labelled_secrets_are_hidden() -> None:
    """No secret is left anywhere, the given value is as it was, and masking again changes nothing."""
    check_each(POSITIVE, hides)


def test_a_clean_value_comes_back_as_the_same_object() -> None:
    """What shows no secret is not touched, not even copied."""
    check_each(labelled.CLEAN, leaves)


@pytest.mark.parametrize("style", ["mask", "last4", "pseudonym", "drop"])
def test_every_style_hides_and_is_idempotent(style: str) -> None:
    """Whatever the style, the secret is gone (but for the last four of a number), and a second pass changes
    nothing."""
    sanitizer = Sanitizer(style=style, hmac_key="a key for the tests")

    def hides_in_style(case: tuple[Any, list[str]]) -> None:
        value, hide = case
        clean = sanitizer.sanitize(value)
        assert sanitizer.sanitize(clean) == clean
        if style != "last4":
            assert [
                secret for secret in hide if len(secret) > 4 for text in strings(clean) if secret in text
            ] == []

    check_each(POSITIVE[::9], hides_in_style)


def test_every_case_that_fails_is_named() -> None:
    """One test checks many cases: it fails with each that did not hold, also behind another; none at all is a
    failure, too."""
    with pytest.raises(AssertionError, match=r"(?s)^2 of 3 cases:.*'\\u5bc6': AssertionError.*'b': Asser"):
        check_each(["密", "a", "b"], lambda value: leaves(value if value == "a" else {"password": value}))
    with pytest.raises(AssertionError, match="no cases"):
        check_each([], leaves)
