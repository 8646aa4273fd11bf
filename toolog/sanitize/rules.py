# ruff: noqa: SIM905 - word lists read better as text
"""Value rules: secrets and personal data that are recognized by their own shape, wherever they stand.

Every finder takes the folded text (see `fold.py`: same length as the original) and yields `(start, end,
rule)` spans. All of them are linear in the length of the text: starts are pinned by look-behinds or literals,
runs are possessive or bounded, and the long alternation of vendor prefixes runs in re2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from heapq import merge
from typing import Any

from re2 import _re2

from toolog.sanitize import checks
from toolog.sanitize.vendors import HOOKS, VENDORS

Span = tuple[int, int, str]
Finder = Callable[[str], Iterator[Span]]
Runs = Sequence[tuple[int, int]]


_MEMORY = 32 << 20
#: How hashes of passwords begin, among the keys of vendors.
_HASHES = ("$", "pbkdf2", "scrypt:", "grub.")
_LEAST_CAPITALS, _LEAST_DIFFERENT = 16, 8
#: So many numbers of one text are remembered, and so many characters decide whether a plus begins one.
_MOST_KNOWN, _LONGEST_PHONE = 1024, 128
_ANYWHERE = _re2.RE2.Anchor.UNANCHORED


@cache
def _vendor_scan() -> Any:
    """Answer the scan for vendor keys: a long alternation, so it runs in re2, made when first needed."""
    shapes = []
    for _, prefix, body, least, exact in VENDORS:
        shapes.append(f"{prefix}{body}{{{exact}}}" if exact else f"{prefix}{body}{{{least}}}{body}*")
    options = _re2.RE2.Options()
    options.encoding = _re2.RE2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = _MEMORY
    options.log_errors = False
    return _re2.RE2(("(?:^|[^A-Za-z0-9_-])(?:" + "|".join(shapes) + ")").encode(), options)


def forget() -> Any:
    """Part from the scan for vendor keys; it is made again when it is needed. Answer it."""
    parted = _vendor_scan() if _vendor_scan.cache_info().currsize else None
    _vendor_scan.cache_clear()
    return parted


#: (What is optional is not given back: a number before a mask that stands there is no secret.)
_HOOKS = tuple(re.compile(f"{path.replace(')?', ')?+')}({body}{{8,}}+)") for _, path, body in HOOKS)
#: How the address of each begins, as it stands in texts.
_HOOK_STARTS = tuple(
    re.match(r"(?:\(\?:)?((?:[a-z]|\\\.)+)", path)[1].replace("\\", "")  # type: ignore[index]
    for _, path, _ in HOOKS
)
# Each expression begins with a literal or a class, so that `re` looks for it in C; what may not stand before
# is asked behind it.
_JWT = re.compile(r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{4,}+(?:\.[A-Za-z0-9_-]*+){0,3}")
_SEALED = r"(?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V[0-9])"
_PEM_BEGIN = re.compile(rf"-----? ?BEGIN {_SEALED} ?-{{4,5}}")
_PEM_END = re.compile(rf"-----? ?END {_SEALED} ?-{{0,5}}")
#: The part of a PuTTY key file that is secret, up to its last line.
_PUTTY = re.compile(
    r"Private-Lines: [0-9]{1,4}(?P<nl>\r?\n|\\{1,8}r\\{1,8}n|\\{1,8}n)"
    r"([A-Za-z0-9+/=]++(?:(?P=nl)(?!Private-)[A-Za-z0-9+/=]++)*+)"
    r"(?:(?P=nl)Private-(?:MAC|Hash): ([0-9a-f]++))?"
)
_PEM_BODY = re.compile(r"(?:\\+[nr]|\s){0,8}(?:[A-Za-z0-9+/=]{16}|[A-Z][\w-]{2,20}:|$|[A-Za-z0-9+/=]{0,15}$)")
_BEARER = re.compile(r"[Bb](?<![A-Za-z0-9_].)(?i:earer)(?:[ \t]|%20|\+)++([A-Za-z0-9._~+/=-]{8,}+)")
_BASIC = re.compile(r"[Bb](?<![A-Za-z0-9_].)(?i:asic)[ \t]+([A-Za-z0-9+/]{8,}+={0,2})")
_LOCAL = r"A-Za-z0-9._%+'\u00c0-\u024f-"
#: Signs that are in no name before an `@`, encoded.
_ENCODED_SIGN = re.compile(r"%(?:25){0,3}(?:2[0236CFcf]|3[A-Fa-f]|40|5[BbDd]|7[BbDd]|0[AaDd])")
_LOCAL_BACKWARDS = re.compile(f"[{_LOCAL}]{{1,64}}+")
_URL_USER = re.compile(r"[^\s/?#\"'<>@]*+")
#: The sign of an address, and the domain behind it.
_AT = re.compile(
    rf"(?:@(?<=[{_LOCAL}]@)|%(?<=[{_LOCAL}]%)(?:25){{0,3}}40)"
    r"(?:(?:[A-Za-z0-9\u00c0-\u024f-]{1,63}+\.){1,10}(?P<tld>[A-Za-z]{2,24})(?![A-Za-z0-9])"
    r"|[^\W_\x00-\x7f][\w-]{0,62}\.(?:[A-Za-z]{2,24}|[^\W\d_\x00-\x7f]{2,10})(?![A-Za-z0-9]))"
)
_NOT_TLD = frozenset(
    "png jpg jpeg gif svg webp bmp ico css js mjs json html htm txt yaml yml xml csv tsx jsx map"
    # kinds of units of systemd: `getty@tty1.service`
    " service socket target mount automount swap timer slice scope device".split()
)
#: Methods of matrices, which a product of two calls at its end: `attn@v.reshape(b, n, -1)`.
_OF_MATRICES = frozenset(
    "transpose reshape view permute mean sum astype conj flatten squeeze unsqueeze softmax contiguous item"
    " detach numpy ravel swapaxes clone expand".split()
)
#: The number of an object of Java, and one of its methods: `PasswordEncoder@5f2a1b7c.matches(...)`.
_OF_OBJECT = re.compile(r"@(?=[a-f]{0,8}[0-9])[0-9a-f]{5,8}\.[a-z][A-Za-z]*\(")
#: Where enough digits stand close together for any number that is looked for.
_NUMBERS = re.compile(r"[0-9+(](?:[ ()./+-]{0,4}+[0-9]){8,}+")
_CN_MOBILE = re.compile(r"1[3-9][0-9]([ -]?)[0-9]{4}\1[0-9]{4}(?![0-9A-Za-z_])")
_CN_CODE = re.compile(r"(\+|00|)86[ -]?$")
_PLUS = re.compile(r"\+(?<![0-9A-Za-z_+]\+)(?=\(?[1-9](?:[ .\-/()]{0,6}[0-9]){8})")
_PLUS_DIGITS = re.compile(r"[ .\-/]{0,2}\(?([0-9]++)\)?")
_TRUNK = re.compile(r" ?\(0\)(?=[ 0-9])")
_NANP = re.compile(
    r"[(2-9](?:(?<=\()[2-9][0-9]{2}\)[ .-]?[2-9][0-9]{2}[ .-]|(?<!\()[0-9]{2}([ .-])[2-9][0-9]{2}\1)"
    r"[0-9]{4}(?![0-9A-Za-z_])"
)
_NANP_CODE = re.compile(r"()1[ .-]$")
_RESIDENT = re.compile(r"[1-9](?<![0-9A-Za-z_].)[0-9]{5}([ -]?)[0-9]{8}\1[0-9]{3}[0-9Xx](?![0-9A-Za-z_])")
_CARD = re.compile(
    r"[0-9](?<![0-9A-Za-z_].)(?:[0-9]{13,18}|[0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{1,3})?"
    r"|[0-9]{3}([ -])[0-9]{6}\2[0-9]{4,5})(?![0-9A-Za-z_])"
)
_SSN = re.compile(r"([0-9](?<![0-9A-Za-z_].)[0-9]{2})([- ])([0-9]{2})\2([0-9]{4})(?![0-9A-Za-z_])")
#: With blanks it is one only where its name was told before.
_SSN_TOLD = re.compile(r"social[ _-]?security|\bssn\b", re.I)
_SSN_NEAR = 120
_IBAN = re.compile(
    rf"[A-Z](?<![0-9A-Za-z_].)[A-Z](?=[0-9]{{2}})(?<={'|'.join(checks.IBAN_COUNTRIES)})"
    r"[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![0-9A-Za-z_])"
)


def _at_places(
    expression: re.Pattern[str], text: str, literal: Any, find: Callable[[Any, int], int]
) -> Iterator[re.Match[str]]:
    """Yield the matches of an expression that begins with a literal, which is looked for alone."""
    at = find(literal, 0)
    while at >= 0:
        match = expression.match(text, at)
        if match is not None:
            yield match
        at = find(literal, match.end() if match else at + 1)


def number_runs(text: str) -> list[tuple[int, int]]:
    """Answer where enough digits stand close together for any number that is looked for, and two characters
    more."""
    return [(run.start(), run.end() + 2) for run in _NUMBERS.finditer(text)]


def _numbers(
    expression: re.Pattern[str], text: str, runs: Runs | None, least: int
) -> Iterator[re.Match[str]]:
    """Yield the matches of an expression for numbers, which is asked only where there are enough digits.

    :param least: how many characters such a number has at least.
    """
    for start, end in number_runs(text) if runs is None else runs:
        if end - start >= least:
            yield from expression.finditer(text, start, end)


def _passes(number: str, check: Callable[[str], bool], known: dict[str, bool]) -> bool:
    """Tell whether a number passes a check of its digits.

    :param known: the numbers of the text that were checked already.
    """
    passes = known.get(number)
    if passes is None:
        passes = check(number.replace(" ", "").replace("-", ""))
        if len(known) < _MOST_KNOWN:
            known[number] = passes
    return passes


def _with_code(code: re.Pattern[str], text: str, at: int, not_behind: str) -> int:
    """Answer where a number begins when its calling code is part of it; -1 when it is part of a word."""
    found = code.search(text, max(0, at - 6), at)
    for begin in (found.start(), found.end(1), at) if found else (at,):
        before = text[begin - 1] if begin else " "
        if not (before.isascii() and before.isalnum()) and before not in not_behind:
            return begin
    return -1


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
    """Tell whether a token looks made by a machine: a digit in it, capitals among small letters, or many
    different capitals without a gap."""
    if any(char.isdigit() for char in text):
        return True
    if text.isupper():  # capitals alone: no words so long, and no bases of DNA
        return len(text) >= _LEAST_CAPITALS and text.isalpha() and len(set(text)) >= _LEAST_DIFFERENT
    return not text.islower() and text[1:] != text[1:].lower()


def find_private_keys(text: str) -> Iterator[Span]:
    """Find private keys in armour, and those of PuTTY; without an end, the rest of the text belongs to a
    key."""
    return merge(_putty_keys(text), _armoured_keys(text))


def _putty_keys(text: str) -> Iterator[Span]:
    for lines in _PUTTY.finditer(text) if "Private-Lines" in text else ():
        yield *lines.span(2), "private_key"
        if lines.group(3):
            yield *lines.span(3), "private_key"


def _armoured_keys(text: str) -> Iterator[Span]:
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
    match, size = _vendor_scan().Match, len(view)
    end = 0
    while True:
        [(start, end)] = match(_ANYWHERE, view, end, size)
        if start < 0:
            return
        first = text[start]  # the character before the key, but for one that begins the text
        start += 0 if first.isascii() and first.isalnum() else 1
        start += 3 if text.startswith("bot", start) else 0  # (a part of the address)
        key = text[start:end].rstrip(".-") if text[start:end][-1] in ".-" else text[start:end]
        end = start + len(key)
        after = text[end : end + 1]
        if _random(key[4:]) and not (after.isascii() and (after.isalnum() or after == "_")):
            yield start, end, "password" if key.startswith(_HASHES) else "vendor_key"


def find_web_hooks(text: str) -> Iterator[Span]:
    """Find the secret part of web hook addresses."""
    spans = []
    for literal, expression in zip(_HOOK_STARTS, _HOOKS, strict=True):
        for match in _at_places(expression, text, literal, text.find):
            start, end = match.span(1)
            while text[end - 1] in ".:":
                end -= 1
            spans.append((start, end, "web_hook"))
    yield from sorted(spans)


def find_credentials(text: str) -> Iterator[Span]:
    """Find Bearer and Basic credentials."""
    lowered = text.encode("ascii", "replace").lower()
    return merge(_bearers(text, lowered), _basics(text, lowered))


def _bearers(text: str, lowered: bytes) -> Iterator[Span]:
    for match in _at_places(_BEARER, text, b"bearer", lowered.find):
        token = match.group(1).rstrip(".")
        if any(char.isdigit() for char in token) or (len(token) >= 20 and _random(token)):
            yield match.start(1), match.start(1) + len(token), "bearer"


def _basics(text: str, lowered: bytes) -> Iterator[Span]:
    for match in _at_places(_BASIC, text, b"basic", lowered.find):
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
        last = (at.group("tld") or "").lower()
        if local is None or last in _NOT_TLD:
            continue
        if text.startswith("(", at.end()) and (last in _OF_MATRICES or _OF_OBJECT.match(text, at.start())):
            continue
        begin = at.start() - local.end()
        if "%" in text[begin : at.start()]:
            for sign in _ENCODED_SIGN.finditer(text, begin, at.start()):
                begin = sign.end()
        start = begin + len(text[begin : at.start()]) - len(text[begin : at.start()].lstrip(".'%"))
        name = text[start : at.start()]
        head = text.rfind("://", max(0, start - 256), start)
        if not name or (text[at.start()] == "@" and head >= 0 and _URL_USER.fullmatch(text, head + 3, start)):
            continue
        if name == "git":
            continue
        yield start, at.end(), "email"
        done = at.end()


def find_phones(text: str, runs: Runs | None = None) -> Iterator[Span]:
    """Find Chinese mobiles, numbers with a country code, and North American numbers with separators."""
    return merge(_chinese(text, runs), _with_country(text), _american(text, runs))


def _chinese(text: str, runs: Runs | None) -> Iterator[Span]:
    for match in _numbers(_CN_MOBILE, text, runs, 11):
        start = _with_code(_CN_CODE, text, match.start(), "_")
        if start >= 0 and _alone(text, start, match.end()):
            yield start, match.end(), "phone"


def _with_country(text: str) -> Iterator[Span]:
    known: dict[str, int] = {}
    for plus in _PLUS.finditer(text):
        at = plus.end()
        shown = text[at : at + _LONGEST_PHONE]
        size = known.get(shown)
        if size is None:
            end = _international(text, at)
            size = end - at if end else 0
            if len(known) < _MOST_KNOWN:
                known[shown] = size
        if size:
            yield plus.start(), at + size, "phone"


def _american(text: str, runs: Runs | None) -> Iterator[Span]:
    for match in _numbers(_NANP, text, runs, 12):
        start = _with_code(_NANP_CODE, text, match.start(), "_+")
        spaced = match.group(1) == " "
        if start < 0 or not _alone(text, start, match.end()):
            continue
        if not (spaced and _in_row(text, start, match.end())):
            yield start, match.end(), "phone"


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


def find_resident_ids(text: str, runs: Runs | None = None) -> Iterator[Span]:
    """Find Chinese resident ids."""
    known: dict[str, bool] = {}
    for match in _numbers(_RESIDENT, text, runs, 18):
        if _passes(match.group(), checks.is_resident_id, known) and _alone(text, match.start(), match.end()):
            yield match.start(), match.end(), "id_number"


def find_cards(text: str, runs: Runs | None = None) -> Iterator[Span]:
    """Find payment cards and bank accounts (IBAN)."""
    known: dict[str, bool] = {}
    for match in _numbers(_CARD, text, runs, 14):
        if _passes(match.group(), checks.is_card, known) and _alone(text, match.start(), match.end()):
            yield match.start(), match.end(), "card"


def find_ibans(text: str) -> Iterator[Span]:
    """Find international bank account numbers."""
    known: dict[str, bool] = {}
    for match in _IBAN.finditer(text):
        for piece in (match.group(), match.group().rpartition(" ")[0]):
            if piece and _passes(piece, checks.is_iban, known):
                yield match.start(), match.start() + len(piece), "iban"
                break


def find_ssns(text: str, runs: Runs | None = None) -> Iterator[Span]:
    """Find US social security numbers."""
    for match in _numbers(_SSN, text, runs, 11):
        start, end = match.span()
        area, sign, group, serial = match.groups()
        if not checks.is_ssn(area, group, serial) or not _alone(text, start, end):
            continue
        if sign == "-" or (
            _SSN_TOLD.search(text, max(0, start - _SSN_NEAR), start) and not _in_row(text, start, end)
        ):
            yield start, end, "ssn"


#: Finder by name; the name is also the family in the prefilter, so a finder runs only where the scan saw its
#: shape.
FINDERS: dict[str, Finder] = {
    "private_key": find_private_keys,
    "jwt": find_jwts,
    "vendor_key": find_vendor_keys,
    "web_hook": find_web_hooks,
    "credentials": find_credentials,
    "email": find_emails,
    "iban": find_ibans,
}
#: The finders of numbers, which look where enough digits are (`number_runs`).
NUMBER_FINDERS: dict[str, Callable[[str, Runs | None], Iterator[Span]]] = {
    "phone": find_phones,
    "id_number": find_resident_ids,
    "card": find_cards,
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
