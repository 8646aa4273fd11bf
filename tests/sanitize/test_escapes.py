"""What stands right behind an escape is found as if it stood behind the sign itself."""

from __future__ import annotations

import json

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog import Sanitizer
from toolog.sanitize.escapes import blank_escapes

SANITIZER = Sanitizer()
ESCAPES = [
    "\\n", "\\t", "\\r\\n", "\\\\n", "%20", "%0A", "%250A", "\\u000a", "\\u0020", "\\x0a",
    "\x1b[32m", "\\x1b[1;31m", "\\033[0m", "\\u001b[7m",
]  # fmt: skip
SECRETS = {
    "vendor_key": "sk-" + "proj-" + "l0QvPbVeq2VrUzJ9kWsDrZnV7nov6dhW5Vn7BlQQ4Qxem",
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz",
    "phone": "13812345678",
    "card": "4111 1111 1111 1111",
    "iban": "DE89370400440532013000",
    "ssn": "536-90-4399",
    "id_number": "11010519491231002X",
    "email": "ada@example.org",
}  # fmt: skip


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("rule", SECRETS)
def test_a_secret_right_behind_an_escape_is_masked(rule: str, escape: str) -> None:
    """Keys and numbers behind an escaped sign or a colour's end are masked, flagged, and the escape stays."""
    text = f"a {escape}{SECRETS[rule]} b"
    assert SANITIZER.sanitize(text) == f"a {escape}[MASKED:{rule}] b"
    assert SANITIZER.flags(ormsgpack.packb({"note": text}))
    assert SANITIZER.flags(json.dumps({"note": text}).encode())
    assert SANITIZER.flags(json.dumps({"note": text}, ensure_ascii=False).encode())


def test_a_letter_that_is_no_escape_is_a_part_of_the_word() -> None:
    """What only looks like a key or number, as a letter or digit stands before it, stays."""
    for text in ("xn13812345678", "/n13812345678", "C:\\data\\u00e9", "%41" + "13812345678", "m13812345678"):
        assert SANITIZER.sanitize(text) == text


def test_what_is_read_out_of_a_mask_is_no_secret() -> None:
    """A mask that stands where a user's name and password could be is left whole."""
    key = "rk_" + "live_" + "51H8xQ2eZvKYlo2CkJ7"
    assert SANITIZER.sanitize(f"curl -u {key}: https://x.example") == (
        "curl -u [MASKED:vendor_key]: https://x.example"
    )
    selector = 'input[type="password"]:focus { outline: 0; }'
    assert SANITIZER.sanitize(selector) == selector


@given(st.text(alphabet="\\nrtux%0259aA[;m\x1b b1-", max_size=60))
def test_blanks_take_the_same_room(text: str) -> None:
    """The text keeps its length, and whatever is no escape its place."""
    blank = blank_escapes(text)
    assert len(blank) == len(text)
    assert all(new == old or new in " \t\n" for old, new in zip(text, blank, strict=True))
