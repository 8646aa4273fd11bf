"""How labelled cases are made: secrets of a vendor's shape are put together here, at run time, never
committed."""

import hashlib
import json
import string
from typing import Any

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"
URLSAFE = ALNUM + "-_"


def made(size: int, alphabet: str = ALNUM, seed: str = "") -> str:
    """Return `size` characters of `alphabet`, the same for the same arguments, that look drawn at random."""
    stream = hashlib.shake_256(f"{seed}/{size}/{alphabet}".encode()).digest(size * 2)
    drawn = "".join(alphabet[(stream[2 * i] * 256 + stream[2 * i + 1]) % len(alphabet)] for i in range(size))
    kinds = _kinds(alphabet, seed) if size > 12 else ""
    return drawn[: len(drawn) - len(kinds)] + kinds


def _kinds(alphabet: str, seed: str) -> str:
    """Return one letter of each kind the alphabet has, so that no drawn secret lacks a digit by chance."""
    turn = len(seed)
    kinds = ["qwkzxv", "QWKZXV", "739258"]
    return "".join(kind[turn % 6] for kind in kinds if kind[turn % 6] in alphabet)


def luhn(digits: str) -> str:
    """Return `digits` with the check digit that makes it a payment card's number."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return digits + str(-total % 10)


def resident(digits: str) -> str:
    """Return the 17 `digits` with the check character of a Chinese resident id."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return digits + "10X98765432"[sum(int(d) * w for d, w in zip(digits, weights, strict=True)) % 11]


def hiding(why: str, given: Any, *hide: str, expect: Any = None) -> dict[str, Any]:
    """Return a case that holds secrets: `hide` may not be left, what stands around it must be.

    Without `expect` the input with each secret replaced is expected.
    """
    wanted = _replaced(given, hide) if expect is None else expect
    return {"kind": "positive", "why": why, "input": given, "expect": wanted, "hide": list(hide)}


def clean(why: str, given: Any) -> dict[str, Any]:
    """Return a case in which there is nothing to hide, however much it looks like it."""
    return {"kind": "negative", "why": why, "input": given, "expect": given, "hide": []}


def numbered(letter: str, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cases with their ids: `letter`, p or n, and a number."""
    return [{"id": f"{letter}{case['kind'][0]}{place:03}", **case} for place, case in enumerate(cases, 1)]


def _replaced(given: Any, hide: tuple[str, ...]) -> Any:
    if isinstance(given, dict):
        return {_replaced(key, hide): _replaced(item, hide) for key, item in given.items()}
    if isinstance(given, list):
        return [_replaced(item, hide) for item in given]
    if isinstance(given, str):
        for secret in sorted(hide, key=len, reverse=True):
            given = given.replace(secret, "<MASK>")
        return given
    if given is not None and not isinstance(given, bool) and str(given) in hide:
        return "<MASK>"
    return given


def as_lines(cases: list[dict[str, Any]]) -> str:
    """Return the cases as JSON lines, the form in which labelled cases are exchanged."""
    return "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
