"""A secret is found in every spelling, wherever it stands, in whatever pieces its bytes come; nothing
else is."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.audit import Secrets
from toolog.audit.search import Needles, Search
from toolog.errors import ConfigError

SECRET = "Zq9/inv+\"ü' & made"

WAYS: list[tuple[str, str, Callable[[str], bytes]]] = [
    ("as it is", "plain", lambda text: text.encode()),
    ("JSON", "JSON-escaped", lambda text: json.dumps(text).encode()),
    ("JSON, not only ASCII", "JSON-escaped", lambda text: json.dumps(text, ensure_ascii=False).encode()),
    ("JSON in JSON", "JSON-escaped", lambda text: json.dumps(json.dumps(text)).encode()),
    ("JSON with escaped slashes", "JSON-escaped", lambda text: json.dumps(text).replace("/", "\\/").encode()),
    ("URL", "URL-quoted", lambda text: quote(text).encode()),
    ("part of a URL", "URL-quoted", lambda text: quote(text, safe="").encode()),
    ("form", "URL-quoted", lambda text: quote_plus(text).encode()),
    ("URL in a URL", "URL-quoted", lambda text: quote(quote(text, safe=""), safe="").encode()),
    ("HTML", "HTML-escaped", lambda text: html.escape(text).encode()),
    ("repr", "escaped as in Python", lambda text: repr(text).encode()),
    ("ascii", "escaped as in Python", lambda text: ascii(text).encode()),
    ("repr of bytes", "escaped as in Python", lambda text: repr(text.encode()).encode()),
    ("hexadecimal", "hexadecimal", lambda text: text.encode().hex().encode()),
    ("large hexadecimal", "hexadecimal", lambda text: text.encode().hex().upper().encode()),
    ("UTF-16", "UTF-16", lambda text: text.encode("utf-16-le")),
    ("UTF-16, big end first", "UTF-16", lambda text: text.encode("utf-16-be")),
    ("PowerShell", "UTF-16 in base64", lambda text: base64.b64encode(("x " + text).encode("utf-16-le"))),
    ("source in two parts", "in pieces", lambda text: f"f({text[:7]!r} {text[7:]!r})".encode()),
    ("source over two lines", "in pieces", lambda text: f"f({text[:7]!r}\n      + {text[7:]!r})".encode()),
]  # fmt: skip


def found(data: bytes, *secrets: str) -> set[str]:
    """Return the spellings in which anything was found."""
    return {hit.spelling for hit in Search(Needles(Secrets(secrets or (SECRET,)))).feed(data)}


@pytest.mark.parametrize(("spelling", "write"), [way[1:] for way in WAYS], ids=[way[0] for way in WAYS])
def test_a_secret_is_found_in_every_spelling(spelling: str, write: Callable[[str], bytes]) -> None:
    """What other programs make of a text is still known for what it is, with anything around it."""
    data = write(SECRET)
    assert spelling in found(data)
    assert spelling in found(b"\x00\xffabc" + data + b"xyz\n")


@given(st.binary(max_size=10), st.text(min_size=8, max_size=40), st.binary(max_size=10), st.booleans())
def test_base64_is_found_at_any_place(before: bytes, secret: str, after: bytes, urls: bool) -> None:
    """Wherever in the encoded bytes the secret begins and ends, in both alphabets, it is found."""
    encode = base64.urlsafe_b64encode if urls else base64.b64encode
    data = encode(before + secret.encode("utf-8", "surrogatepass") + after)
    assert found(data, secret) & {"base64", "plain"}


@given(st.lists(st.integers(min_value=0, max_value=60), max_size=8), st.integers(min_value=0, max_value=30))
def test_a_secret_across_pieces_is_found_once(cuts: list[int], before: int) -> None:
    """However the bytes are cut on their way, a secret is found, and each spelling told once."""
    data = b"." * before + SECRET.encode() + b" and " + SECRET.encode() + b"." * 10
    search = Search(Needles(Secrets([SECRET])))
    ends = [0, *sorted(cuts), len(data)]
    hits = [hit for low, high in pairwise(ends) for hit in search.feed(data[low:high])]
    plain = [hit for hit in hits if hit.spelling == "plain"]
    assert [hit.at for hit in plain] == [before]


def test_half_of_a_long_secret_is_a_leak() -> None:
    """What was cut off shows enough when half of a long secret is left; a few characters show nothing."""
    long = "k7Gq2Zx9Lm4Vb8Nc1Rt6Wp3Ys5"
    assert found(f"token={long[:13]}[TRUNCATED]".encode(), long) == {"half of it"}
    assert found(f"token={long[:6]}[TRUNCATED]".encode(), long) == set()
    assert found(f"token=****{long[-4:]}".encode(), long) == set()


def test_what_is_not_there_is_not_found() -> None:
    """Nothing is told of bytes that hold other secrets, masks, or random data."""
    data = b"password=[MASKED:password] Zq9 inv made " + bytes(range(256)) * 40
    assert found(data) == set()


@pytest.mark.parametrize("given_secrets", [[], ["abc"], ["good one", "x"], [5], {"a": ""}], ids=str)
def test_secrets_that_say_nothing_are_refused(given_secrets: object) -> None:
    """No secrets, or ones too short to mean anything, are a mistake that is told at once, and not shown."""
    with pytest.raises(ConfigError) as caught:
        Secrets(given_secrets)  # type: ignore[arg-type]
    assert "abc" not in str(caught.value)


def test_what_holds_secrets_does_not_show_them() -> None:
    """The repr and text of all that the search holds in its hands shows no secret."""
    secrets = Secrets({"$NAME": SECRET})
    shown = f"{secrets!r} {secrets} {secrets.all!r} {secrets.all[0]} {Needles(secrets)!r}"
    assert SECRET not in shown
    assert "$NAME" in shown
