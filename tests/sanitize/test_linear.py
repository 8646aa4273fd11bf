# ruff: noqa: E501

"""Hostile texts cost time in proportion to their length, in the scan and in the walk.

The bound is far above what a linear run needs on a slow machine, and far below what a quadratic one takes.
"""

from __future__ import annotations

import time

import pytest

from toolog.sanitize import Sanitizer, default

SIZE = 40_000
SECONDS = 3.0
PIECES = [
    "a.a.a.", "sk-" + "sk-", "eyJ", "eyJaaaaaaaaaa.", "-----BEGIN " + "PRIVATE KEY-----\n", "-----BEGIN CERTIFICATE-----\n", "@", "a@a.",
    "1", "13800138000 ", "1-", "{", "[", '{"a":', "\\", '\\"', "password=", "password: ", "password='", 'password=\\"', "password=[",
    'password="\\', "password=a(", "password=@a", "?token={{", "%25", "?a=%3F", "a=", "a-", "a[", "://", "://a:", "https://u:p", "+1 ", "+",
    "%40", "密码", "密码：", "密码是", "<password>", "--password ", "-u a:b ", "curl -u ", "bearer a", "Basic aaaaaaaa", "Cookie: ",
    "Authorization: ", "Cookie: 'a", "4111 ", "[MASKED:", "[MASKED:a] ", "１", "a@b.co ", "api key ", "identified by '", "GB82", "password is ",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_a_hostile_text_is_read_in_linear_time(piece: str) -> None:
    """Many of one piece, alone and behind a real secret, are masked long before a quadratic run would end."""
    sanitizer = default()
    text = piece * (SIZE // len(piece))
    started = time.process_time()
    sanitizer.flags(text.encode())
    sanitizer.sanitize(text)
    clean = sanitizer.sanitize("＠ password=Zq9-inv " + text)
    assert time.process_time() - started < SECONDS
    assert "Zq9-inv" not in clean


@pytest.mark.parametrize("opening", ["[", '{"a":', "(", '{"a":[{"b":'])
def test_deep_nests_in_text_are_no_trouble(opening: str) -> None:
    """JSON text nested beyond every parser's limit is read as text; nothing raises and the secret is gone."""
    text = opening * 5000 + '{"password": "Zq9-inv"'
    assert "Zq9-inv" not in Sanitizer().sanitize({"t": text})["t"]
