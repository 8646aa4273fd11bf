# ruff: noqa: E501

"""The key predicate judges whole words."""

from __future__ import annotations

import pytest

from toolog.sanitize.words import KeyWords, split

WORDS = KeyWords()


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("APIToken", ["api", "token"]),
        ("userPassword", ["user", "password"]),
        ("x-api-key", ["x", "api", "key"]),
        ("new_password2", ["new", "password"]),
        ("HTTPServerName", ["http", "server", "name"]),
        ("ｐａｓｓｗｏｒｄ", ["password"]),
        ("客户phone", ["客户", "phone"]),
        ("a,b", ["a", "", "b"]),
        ("", []),
        ("123", []),
    ],
)
def test_a_key_is_cut_into_words(key: str, words: list[str]) -> None:
    """camelCase, acronyms, separators, digits and scripts cut; what cannot join a pair leaves an empty word."""
    assert split(key) == words


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("password", "password"), ("DB_PASSWORD", "password"), ("apiKey", "api_key"), ("API key", "api_key"),
        ("aws_secret_access_key", "api_key"), ("Authorization", "authorization"), ("Set-Cookie", "cookie"),
        ("phone_number", "phone"), ("national_id", "id_number"), ("cardNumber", "card"), ("cvv", "code"),
        ("身份证号码", "id_number"), ("用户密码", "password"), ("пароль", "password"), ("ssh_private_key", "private_key"),
    ],
)  # fmt: skip
def test_a_sensitive_key_names_its_rule(key: str, rule: str) -> None:
    """The verdict on a key is the rule whose mask stands in for its value."""
    verdict = WORDS.judge(key)
    assert verdict is not None
    assert verdict[0] == rule


@pytest.mark.parametrize(
    "key",
    ["author", "max_tokens", "tokens_used", "session_notes", "token_type", "secretary", "password_min_length", "iPhone",
     "public_key", "next_page_token", "密码长度", "длинный", "is_phone_valid", "k" * 200, "forgot your password?",
     "a very long sentence that mentions a password somewhere", "x" * 129 + "password"],
)  # fmt: skip
def test_a_harmless_key_gets_no_verdict(key: str) -> None:
    """Substrings, counters, metadata, and sentences are no names of secrets."""
    assert WORDS.judge(key) is None


def test_added_phrases_win_over_harmless_tails() -> None:
    """A user's phrase makes a key sensitive in every spelling, even when it ends harmlessly."""
    words = KeyWords(added=["customer_id"])
    assert words.judge("customerId") == ("key", "")
    assert words.judge("old-customer-id") == ("key", "")
    assert words.judge("customer") is None


def test_removed_words_are_no_longer_sensitive() -> None:
    """A removed word, pair or whole key is judged harmless; everything else stays."""
    words = KeyWords(removed=["phone", "api_key", "session_cookie"])
    assert words.judge("phone_number") is None
    assert words.judge("home_phone") is None
    assert words.judge("apiKey") is None
    assert words.judge("session_cookie") is None
    assert words.judge("password") is not None


def test_the_memory_of_keys_is_bounded() -> None:
    """Judging many different keys does not grow without bound, and stays right."""
    words = KeyWords()
    for number in range(10_000):
        words.judge(f"field{number}x")
    assert len(words._memory) <= 4096
    assert words.judge("password") is not None
