# ruff: noqa: E501

"""Hostile texts cost time in proportion to their length, in the scan and in the walk.

A text is compared with one of a fourth of its length: a linear run takes four times as long, a quadratic one sixteen
times. Whatever else the machine does, one quiet moment out of several is enough to tell them apart.
"""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from toolog.sanitize import Sanitizer, default
from toolog.sanitize.spans import MOST

SIZE, TIMES = 8_000, 4
BOUND = 10
ATTEMPTS = 8
SMALL = 0.002
PIECES = [
    "a.a.a.", "sk-" + "sk-", "eyJ", "eyJaaaaaaaaaa.", "-----BEGIN " + "PRIVATE KEY-----\n", "-----BEGIN CERTIFICATE-----\n", "@", "a@a.",
    "1", "13800138000 ", "1-", "{", "[", '{"a":', "\\", '\\"', "password=", "password: ", "password='", 'password=\\"', "password=[",
    'password="\\', "password=a(", "password=@a", "?token={{", "%25", "?a=%3F", "a=", "a-", "a[", "://", "://a:", "https://u:p", "+1 ", "+",
    "%40", "密码", "密码：", "密码是", "<password>", "--password ", "-u a:b ", "curl -u ", "bearer a", "Basic aaaaaaaa", "Cookie: ",
    "Authorization: ", "Cookie: 'a", "4111 ", "[MASKED:", "[MASKED:a] ", "１", "a@b.co ", "api key ", "identified by '", "GB82", "password is ",
    "password=a1 ", "token: ab12\n", "a,password\n", "|password|\n", "|password|a1|", "insert into t (a,password) values (", "insert into t (password) values ('a1'),",
    "<input name='token' ", "<password ", "machine a login b ", "AUTH " + "PLAIN ", "setx token ", "set -x token ", "%22token%22%3A%22", 'name="token"\r\n\r\n',
    "**password** ", 'password"] = ', "a\tpassword\n", ",", "|", "'", "(", "('", "<a ", "<", "token", "password\n", "的密码", "пароль ", "\\n", "a.b@", "-us1", "a.b.",
    ".abcdef.", "ü@", "+49 ", "+1(", "000-", "a;password;", "&token=a1", "login a password ", "requirepass ", "mot de passe ", "is ", "４", "𝐩",
    "password  a1b2c3\n", "token  ", "token\n", "a  password\nb  c1d2e3\n", "password: |\n", "name: token\nvalue: ", "<name>token</name>", "token a1b2c3 is ",
    "-u a -p b ", "&quot;", "password (", "| token |\n", "Private-Lines: 1\n", "%3A%2F%2Fa%3Ab", "Pwd={a};", "--  ",
    "mot de passe du a b ", "password de ", "kata sandi saya:", "salasana on ", "password: &a ", "password: &a b\n", "&a \npassword: *b\n",
    'password: str = "', "password=${A:-a1} ", "password=<<A\n", 'password="""', 'password -> "a1" ', '{password,"a1"}', ':password "a1" ',
    's:8:"password";s:2:"a1";', "api_keys:\n - a1\n", "- ", "<tr><th>password</th><td>a1</td>", "password of a b ", "otp 551203 ",
    "cpf 529.982.247-25 ", "clé d’api: ", "AUTH a b1\n", "http -a a:b1 ", "net use \\\\a b1 ", "lftp -u a,b1 ", "schtasks /rp b1 ", "://a:b#",
    "://a:b#@", "?code=aaaaaaaaaaaaaaa1&state=", "password 7 a1b2c3d4e ", "secret:arn:", "a password,b c\n", "password=Some(\"",
    "||a||password||\n|a|b1|\n", "<b>password:</b> a1b2<", "482913 is your ", "password `a1b2` ", "пароль a1b2c3 ", "password ?= a1 ",
    "curl -b 'a=b1' ", "passport no. 12345 ",
    "password: !!str ", "userPassword:: VGFubmVf\n ", "userPassword:: ", "Tel. :", 'read "password: " a b ',
]  # fmt: skip


def cost(text: str) -> float:
    """Return the processor's seconds that a text takes, by scan and by walk, alone and behind a real secret."""
    sanitizer = default()
    started = time.process_time()
    sanitizer.flags(text.encode())
    sanitizer.sanitize(text)
    clean = sanitizer.sanitize("＠ password=Zq9-inv " + text)
    spent = time.process_time() - started
    assert "Zq9-inv" not in clean
    return spent


@pytest.mark.parametrize("piece", PIECES)
def test_a_hostile_text_is_read_in_linear_time(piece: str) -> None:
    """Four times as many of one piece take about four times as long, and never sixteen times."""
    small, large = piece * (SIZE // len(piece)), piece * (TIMES * SIZE // len(piece))
    ratios = []
    for _ in range(ATTEMPTS):
        ratios.append(cost(large) / max(cost(small), SMALL))
        if ratios[-1] < BOUND:
            return
    raise AssertionError(ratios)


@pytest.mark.parametrize(
    "secret", ["a{}@example.com ", "password=k{}x ", "1391234{:04} ", "?token=k{}x&a=1 "]
)
def test_a_text_of_nothing_but_secrets_is_cut(secret: str) -> None:
    """Behind two thousand finds nothing is shown any more: no secret is left, and the rest says that it was cut."""
    secrets = [secret.format(number) for number in range(3 * MOST)]
    clean = default().sanitize("".join(secrets))
    assert clean.endswith("[TRUNCATED]")
    assert [one for one in secrets if one.strip() in clean] == []
    assert clean.count("[MASKED:") == MOST
    assert default().sanitize(clean) == clean
    findings = default().explain("".join(secrets))
    assert [finding.rule for finding in findings][-1:] == ["truncated"]


def test_a_long_text_with_many_names_and_few_secrets_is_not_cut() -> None:
    """Names alone do not count: a long log of figures keeps all that is in it."""
    lines = [f"step={number} total_tokens={number * 7} token_type=bearer" for number in range(2 * MOST)]
    text = "\n".join([*lines, "password=Zq9-inv", *lines])
    clean = default().sanitize(text)
    assert clean == text.replace("Zq9-inv", "[MASKED:password]")


def test_thousands_of_own_words_and_secrets_are_scanned_for() -> None:
    """A scan grows with what it is given until it works: the last of many words and secrets is found, too."""
    words = [f"{first}{second}_ref" for first, second in pairwise("abcdefghijklmnopqrstuvwxyz")]
    many = [f"made secret {number:05} of ours" for number in range(3000)]
    own = Sanitizer(keys_add=words, known_secrets=many)
    assert own.sanitize({"a": f"x {many[-1]} y"}) == {"a": "x [MASKED:known_secret] y"}
    assert own.sanitize({"yzRef": "K-1"}) == {"yzRef": "[MASKED:key]"}


@pytest.mark.parametrize("opening", ["[", '{"a":', "(", '{"a":[{"b":'])
def test_deep_nests_in_text_are_no_trouble(opening: str) -> None:
    """JSON text nested beyond every parser's limit is read as text; nothing raises and the secret is gone."""
    text = opening * 5000 + '{"password": "Zq9-inv"'
    assert "Zq9-inv" not in Sanitizer().sanitize({"t": text})["t"]
