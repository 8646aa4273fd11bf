# ruff: noqa: SIM905 - word lists read better as text
"""Value rules: secrets and personal data that are recognized by their own shape, wherever they stand.

Every finder takes the folded text (see `fold.py`: same length as the original) and yields `(start, end,
rule)` spans. All of them are linear in the length of the text: starts are pinned by look-behinds or literals,
runs are possessive or bounded, and the long alternation of vendor prefixes runs in re2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import re2

from toolog.sanitize import checks
from toolog.sanitize.vendors import HOOKS, VENDORS

Span = tuple[int, int, str]
Finder = Callable[[str], Iterator[Span]]


_MEMORY = 32 << 20


@cache
def _vendor_scan() -> Any:
    """Answer the scan for vendor keys: a long alternation, so it runs in re2, made when first needed."""
    shapes = []
    for _, prefix, body, least, exact in VENDORS:
        shapes.append(f"{prefix}{body}{{{exact}}}" if exact else f"{prefix}{body}{{{least}}}{body}*")
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY
    options.log_errors = False
    return re2.compile(("(?:^|[^A-Za-z0-9_-])(" + "|".join(shapes) + ")").encode(), options)


def forget() -> Any:
    """Part from the scan for vendor keys; it is made again when it is needed. Answer it."""
    parted = _vendor_scan() if _vendor_scan.cache_info().currsize else None
    _vendor_scan.cache_clear()
    return parted


_HOOK = re.compile("(?:" + "|".join(path for _, path in HOOKS) + r")([A-Za-z0-9_./@:%=-]{8,}+)")
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{4,}+(?:\.[A-Za-z0-9_-]*+){0,3}")
_PEM_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PEM_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{0,5}")
_PEM_BODY = re.compile(r"(?:\\+[nr]|\s){0,8}(?:[A-Za-z0-9+/=]{16}|[A-Z][\w-]{2,20}:|$|[A-Za-z0-9+/=]{0,15}$)")
_BEARER = re.compile(r"(?<![A-Za-z0-9_])bearer(?:[ \t]|%20|\+)++([A-Za-z0-9._~+/=-]{8,}+)", re.I)
_BASIC = re.compile(r"(?<![A-Za-z0-9_])basic[ \t]+([A-Za-z0-9+/]{8,}+={0,2})", re.I)
_AT = re.compile(r"@|%(?:25){0,3}40")
_LOCAL_BACKWARDS = re.compile(r"[A-Za-z0-9._%+'\u00c0-\u024f-]{1,64}+")
_URL_USER = re.compile(r"[^\s/?#\"'<>@]*+")
_DOMAIN = re.compile(r"(?:[A-Za-z0-9\u00c0-\u024f-]{1,63}+\.){1,10}([A-Za-z]{2,24})(?![A-Za-z0-9])")
_FOREIGN_DOMAIN = re.compile(
    r"[^\W_\x00-\x7f][\w-]{0,62}\.(?:[A-Za-z]{2,24}|[^\W\d_\x00-\x7f]{2,10})(?![A-Za-z0-9])"
)
_NOT_TLD = frozenset(
    "png jpg jpeg gif svg webp bmp ico css js mjs json html htm txt yaml yml xml csv tsx jsx map".split()
)
_CN_MOBILE = re.compile(
    r"(?<![0-9A-Za-z_])(?:(?:\+|00)?86[ -]?)?1[3-9][0-9]([ -]?)[0-9]{4}\1[0-9]{4}(?![0-9A-Za-z_])"
)
_PLUS = re.compile(r"(?<![0-9A-Za-z_+])\+(?=[1-9(])")
_PLUS_DIGITS = re.compile(r"[ .\-/]{0,2}\(?([0-9]++)\)?")
_TRUNK = re.compile(r" ?\(0\)(?=[ 0-9])")
_NANP = re.compile(
    r"(?<![0-9A-Za-z_+])(?:1[ .-])?"
    r"(?:\([2-9][0-9]{2}\)[ .-]?[2-9][0-9]{2}[ .-]|[2-9][0-9]{2}([ .-])[2-9][0-9]{2}\1)"
    r"[0-9]{4}(?![0-9A-Za-z_])"
)
_RESIDENT = re.compile(r"(?<![0-9A-Za-z_])[1-9][0-9]{5}([ -]?)[0-9]{8}\1[0-9]{3}[0-9Xx](?![0-9A-Za-z_])")
_CARD = re.compile(
    r"(?<![0-9A-Za-z_])(?:[0-9]{14,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{1,3})?"
    r"|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5})(?![0-9A-Za-z_])"
)
_SSN = re.compile(r"(?<![0-9A-Za-z_])([0-9]{3})-([0-9]{2})-([0-9]{4})(?![0-9A-Za-z_])")
_IBAN = re.compile(
    r"(?<![0-9A-Za-z_])(?:"
    + "|".join(checks.IBAN_COUNTRIES)
    + r")[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"
    r"(?![0-9A-Za-z_])"
)


def _alone(text: str, start: int, end: int) -> bool:
    """Tell whether a number stands for itself: not inside an identifier, a decimal, an amount or a
    version."""
    if start:
        before = text[start - 1]
        if before in "-." and start > 1 and text[start - 2].isascii() and text[start - 2].isalnum():
            return False
        if before in ".$€£¥":
            return False
    after = text[end : end + 2]
    if after[:1] == "%":
        return False
    return not (len(after) == 2 and after[0] in "-." and after[1].isascii() and after[1].isalnum()
                and (after[0] == "-" or after[1].isdigit()))  # fmt: skip


def _random(text: str) -> bool:
    """Tell whether a token looks made by a machine: a digit in it, or capitals among small letters."""
    return any(char.isdigit() for char in text) or (
        not text.islower() and not text.isupper() and text[1:] != text[1:].lower()
    )


def find_private_keys(text: str) -> Iterator[Span]:
    """Find private keys in armour; without an end, the rest of the text belongs to the key."""
    at = 0
    closed = text.rfind("END ") > 0
    while begin := _PEM_BEGIN.search(text, at):
        end = _PEM_END.search(text, begin.end()) if closed else None
        closed = end is not None
        if end is not None:
            yield begin.start(), end.end(), "private_key"
            at = end.end()
        elif _PEM_BODY.match(text, begin.end()):
            yield begin.start(), len(text), "private_key"
            return
        else:
            at = begin.end()


def find_jwts(text: str) -> Iterator[Span]:
    """Find JSON web tokens, also cut ones."""
    for match in _JWT.finditer(text):
        end = match.end()
        while text[end - 1] == ".":
            end -= 1
        yield match.start(), end, "jwt"


def find_vendor_keys(text: str) -> Iterator[Span]:
    """Find keys that carry a vendor's prefix, and the secret part of web hook addresses."""
    view = text.encode("ascii", "replace")
    for match in _vendor_scan().finditer(view):
        start, end = match.span(1)
        key = text[start:end].rstrip(".-") if text[start:end][-1] in ".-" else text[start:end]
        end = start + len(key)
        after = text[end : end + 1]
        if _random(key[4:]) and not (after.isascii() and (after.isalnum() or after == "_")):
            yield start, end, "vendor_key"


def find_web_hooks(text: str) -> Iterator[Span]:
    """Find the secret part of web hook addresses."""
    for match in _HOOK.finditer(text):
        end = match.end(1)
        while text[end - 1] in ".:":
            end -= 1
        yield match.start(1), end, "web_hook"


def find_credentials(text: str) -> Iterator[Span]:
    """Find Bearer and Basic credentials."""
    for match in _BEARER.finditer(text):
        token = match.group(1).rstrip(".")
        if any(char.isdigit() for char in token) or (len(token) >= 20 and _random(token)):
            yield match.start(1), match.start(1) + len(token), "bearer"
    for match in _BASIC.finditer(text):
        if _is_basic(match.group(1)):
            yield match.start(1), match.end(1), "basic"


def _is_basic(token: str) -> bool:
    import base64  # only when something looks like Basic credentials

    try:
        plain = base64.b64decode(token + "=" * (-len(token) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in plain and plain.isprintable()


def find_emails(text: str) -> Iterator[Span]:
    """Find e-mail addresses; `git@host:`, a URL's user, versions and retina images are none."""
    done = 0
    for at in _AT.finditer(text):
        local = _LOCAL_BACKWARDS.match(text[max(done, at.start() - 64) : at.start()][::-1])
        if local is None:
            continue
        domain = _DOMAIN.match(text, at.end(), at.end() + 255) or _FOREIGN_DOMAIN.match(
            text, at.end(), at.end() + 255
        )
        if domain is None or (domain.lastindex and domain.group(1).lower() in _NOT_TLD):
            continue
        begin = at.start() - local.end()
        start = begin + len(text[begin : at.start()]) - len(text[begin : at.start()].lstrip(".'%"))
        name = text[start : at.start()]
        head = text.rfind("://", max(0, start - 256), start)
        if not name or (at.group() == "@" and head >= 0 and _URL_USER.fullmatch(text, head + 3, start)):
            continue
        if name == "git":
            continue
        yield start, domain.end(), "email"
        done = domain.end()


def find_phones(text: str) -> Iterator[Span]:
    """Find Chinese mobiles, numbers with a country code, and North American numbers with separators."""
    for match in _CN_MOBILE.finditer(text):
        if _alone(text, match.start(), match.end()):
            yield match.start(), match.end(), "phone"
    for plus in _PLUS.finditer(text):
        end = _international(text, plus.end())
        if end:
            yield plus.start(), end, "phone"
    for match in _NANP.finditer(text):
        spaced = match.group(1) == " "
        if _alone(text, match.start(), match.end()) and not (
            spaced and _in_row(text, match.start(), match.end())
        ):
            yield match.start(), match.end(), "phone"


def _in_row(text: str, start: int, end: int) -> bool:
    """Tell whether numbers stand before or behind, one space away: a row of numbers, not a telephone
    number."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return (before[1:] == " " and before[:1].isdigit()) or (after[:1] == " " and after[1:].isdigit())


def _international(text: str, at: int) -> int:
    """Answer where the number behind a plus ends, or 0 when it is none: calling code and length decide."""
    digits, end, groups = "", 0, 0
    bounds: tuple[int, int] | None = None
    while len(digits) <= 15:
        trunk = _TRUNK.match(text, at) if groups == 1 else None
        match = _PLUS_DIGITS.match(text, trunk.end() if trunk else at)
        if match is None or (groups == 0 and match.start(1) != at and text[at] != "("):
            break
        grown = digits + match.group(1)
        bounds = checks.phone_size(grown)
        if len(grown) > 3 and bounds is None:
            return 0
        if bounds and len(grown) > bounds[1]:
            break
        digits, at, groups = grown, match.end(), groups + 1
        end = at if text[at - 1] != ")" or "(" in match.group() else at - 1
    bounds = checks.phone_size(digits) if digits else None
    if bounds is None or not bounds[0] <= len(digits) <= bounds[1]:
        return 0
    return end if _alone(text, end, end) and not text[end : end + 1].isdigit() else 0


def find_resident_ids(text: str) -> Iterator[Span]:
    """Find Chinese resident ids."""
    for match in _RESIDENT.finditer(text):
        compact = match.group().replace(" ", "").replace("-", "")
        if checks.is_resident_id(compact) and _alone(text, match.start(), match.end()):
            yield match.start(), match.end(), "id_number"


def find_cards(text: str) -> Iterator[Span]:
    """Find payment cards and bank accounts (IBAN)."""
    for match in _CARD.finditer(text):
        digits = match.group().replace(" ", "").replace("-", "")
        if checks.is_card(digits) and _alone(text, match.start(), match.end()):
            yield match.start(), match.end(), "card"


def find_ibans(text: str) -> Iterator[Span]:
    """Find international bank account numbers."""
    for match in _IBAN.finditer(text):
        for piece in (match.group(), match.group().rpartition(" ")[0]):
            if piece and checks.is_iban(piece.replace(" ", "")):
                yield match.start(), match.start() + len(piece), "iban"
                break


def find_ssns(text: str) -> Iterator[Span]:
    """Find US social security numbers."""
    for match in _SSN.finditer(text):
        if checks.is_ssn(*match.groups()) and _alone(text, match.start(), match.end()):
            yield match.start(), match.end(), "ssn"


#: Finder by name; the name is also the family in the prefilter, so a finder runs only where the scan saw its
#: shape.
FINDERS: dict[str, Finder] = {
    "private_key": find_private_keys,
    "jwt": find_jwts,
    "vendor_key": find_vendor_keys,
    "web_hook": find_web_hooks,
    "credentials": find_credentials,
    "email": find_emails,
    "phone": find_phones,
    "id_number": find_resident_ids,
    "card": find_cards,
    "iban": find_ibans,
    "ssn": find_ssns,
}


#: Smaller integers are no telephone number, card or id.
LEAST_NUMBER = 13_000_000_000


def int_rule(number: int) -> str | None:
    """Answer the rule for an integer that is a mobile, card or resident id as such, else None."""
    if number < LEAST_NUMBER:
        return None
    if number < 20_000_000_000:
        return "phone"
    text = str(number)
    if len(text) in (15, 16) and checks.is_card(text):
        return "card"
    return "id_number" if len(text) == 18 and checks.is_resident_id(text) else None
