"""Secrets in the options of sinks: where they come from, and that they are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolog.errors import ConfigError, SinkDenied
from toolog.sinks.secret import Secret, resolve_secret

WORD = "an-invented-" + "word"


def test_text_is_the_secret() -> None:
    """A plain text is the secret, blanks and all; only a line break at its end is no part of it."""
    assert resolve_secret(f" {WORD} \n", "api_key").read() == f" {WORD} "


def test_environment_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable is read with each use, so that a new value needs no restart."""
    secret = resolve_secret({"env": "A_KEY_OF_TESTS"}, "api_key")
    for word in (WORD, WORD + "2"):
        monkeypatch.setenv("A_KEY_OF_TESTS", word)
        assert secret.read() == word


def test_file_is_read_each_time(tmp_path: Path) -> None:
    """A file is read with each use, and the line break at its end is no part of the secret."""
    file = tmp_path / "key"
    secret = resolve_secret({"file": str(file)}, "api_key")
    for word in (WORD, WORD + "2"):
        file.write_text(word + "\n")
        assert secret.read() == word


def test_function_is_asked_each_time() -> None:
    """A function is asked with each use."""
    words = iter([WORD, WORD + "2"])
    secret = resolve_secret(lambda: next(words), "api_key")
    assert [secret.read(), secret.read()] == [WORD, WORD + "2"]


def test_a_secret_is_taken_as_it_is() -> None:
    """What is resolved already is not wrapped again."""
    secret = resolve_secret(WORD, "api_key")
    assert resolve_secret(secret, "another") is secret


def _raise() -> str:
    raise KeyError(WORD)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"env": "A_VARIABLE_THAT_NOBODY_SETS"}, "A_VARIABLE_THAT_NOBODY_SETS is not set"),
        ({"file": "/nonexistent/key"}, "/nonexistent/key cannot be read: No such file"),
        (lambda: None, "it is a NoneType"),
        (lambda: "  ", "it is empty"),
        (_raise, "its function raised KeyError"),
        (lambda: WORD + "\n" + WORD, "line break"),
    ],
)
def test_a_missing_secret_says_where(value: object, says: str) -> None:
    """A secret that is not there now denies access, saying which one is missing and why, never quoting it."""
    with pytest.raises(SinkDenied) as caught:
        resolve_secret(value, "api_key of sink 'search'").read()
    assert "no api_key of sink 'search'" in str(caught.value)
    assert says in str(caught.value)
    assert WORD not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "is empty"),
        (5, "not a int"),
        (None, "not a NoneType"),
        ({}, "one of"),
        ({"env": "A", "file": "b"}, "not both"),
        ({"envv": WORD}, "did you mean 'env'?"),
        ({"env": ""}, "the name of a variable"),
        ({"file": 5}, "a path"),
    ],
)
def test_what_is_no_secret_is_refused(value: object, says: str) -> None:
    """Anything else is a ConfigError that names the option and never quotes the value."""
    with pytest.raises(ConfigError) as caught:
        resolve_secret(value, "api_key of sink 'search'")
    assert says in str(caught.value)
    assert "api_key of sink 'search'" in str(caught.value)
    assert WORD not in str(caught.value)


def test_never_shown() -> None:
    """Neither repr nor str nor format shows a secret."""
    secret = Secret(WORD, "api_key")
    assert f"{secret}{secret!r}{[secret]}" == "******[***]"


def test_equal_when_fetched_from_the_same_place() -> None:
    """Two secrets are equal when they come from the same place."""
    assert resolve_secret({"env": "A"}, "x") == resolve_secret({"env": "A"}, "y")
    assert resolve_secret({"env": "A"}, "x") != resolve_secret({"file": "A"}, "x")
    assert len({resolve_secret({"env": "A"}, "x"), resolve_secret({"env": "A"}, "x")}) == 1
