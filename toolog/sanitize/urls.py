"""Secrets inside addresses: passwords of users, and sensitive parameters of queries and fragments, also
percent-encoded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote

from toolog.sanitize.plausible import fits_shape, is_mask, is_reference
from toolog.sanitize.rules import Span
from toolog.sanitize.words import ALIKE, Verdict

Hold = Callable[[Iterable[str]], set[str]]

_URL_USER = re.compile(r"://(\[MASKED:[^\]\s]{1,60}\]|[^\s/?#\"'<>@:\\]*+)(?::([^\s/?#\"'<>`\\]++)|(?=@))")
#: The same in an address that stands encoded in another: all its signs as often encoded as its `://`.
_ENCODED_USER = re.compile(
    r"%(?P<twice>(?:25){0,3})3[Aa]%(?P=twice)2[Ff]%(?P=twice)2[Ff]"
    r"(?:[^\s%&#\"'<>]|%(?!(?P=twice)(?:3[Aa]|40|2[Ff]|3[Ff]|2[36]))){0,256}+%(?P=twice)3[Aa]"
    r"(?P<secret>(?:[^\s%&#\"'<>]|%(?!(?P=twice)(?:40|2[Ff]|3[Ff]|2[36]))){1,512}+)(?=%(?P=twice)40)"
)
#: A password with signs in it that part an address, and the host behind it.
_ODD = re.compile(r"[^\s\"'<>`\\]+")
_HOST = re.compile(r"[\w\[][\w.\[\]-]{1,253}+(?:[:/?,;\s\"'<>)\\]|$)")
_LONGEST_ODD = 200
#: What stands in the place of a password where the user is the token.
_NO_PASSWORDS = frozenset(("x-oauth-basic", "x-oauth", "x", "X", "oauth2", "api", "none"))
_QUERY_SIGN, _QUERY_IS = r"[?&#;%](?:(?<!%)|(?:25){0,3}(?:3[Ff]|26|23|3[Bb]))", r"(?:=|%(?:25){0,3}3[Dd])"
_QUERY = re.compile(
    _QUERY_SIGN
    + r"(?P<name>(?:[\w.\[\]-]|%(?:25){0,3}+(?!3[Dd]|26|23|3[BbFf])[0-9A-Fa-f]{2}){1,100}+)"
    + _QUERY_IS
)
#: From so many parameters on, only those of sensitive names are looked for a second time, if so few are.
_MANY, _FEW = 512, 32
_QUERY_VALUE = r"(?:[^&#\s\"'<>;`\\%]|%(?!(?:25){0,3}(?:26|23)))"
_QUERY_HEAD = re.compile(_QUERY_VALUE + "{1,4096}+")
_SETTING = re.compile(_QUERY_VALUE.replace("&#", "&") + "{1,4096}+")
_QUERY_REST = re.compile(_QUERY_VALUE + "*+")
#: JSON inside a query: `%22token%22%3A%22x1`.
_ENCODED_PAIR = re.compile(
    r"%(?:25){0,3}22(?P<name>[\w.-]{1,60}+)%(?:25){0,3}22(?:\+|%(?:25){0,3}20)*+(?::|%(?:25){0,3}3[Aa])"
    r"(?:\+|%(?:25){0,3}20)*+%(?:25){0,3}22(?P<value>(?:[^%&#\s\"'<>]|%(?!(?:25){0,3}22)){1,4096}+)"
)
_LONGEST = 4096
_LEAST_TOKEN = 20
_SIGNATURE = re.compile("sig|hmac|sid", re.I)
#: What stands near a code that is exchanged for a token.
_SIGN_IN = re.compile(r"[?&](?:state|session_state|redirect_uri|grant_type)=|callback|oauth", re.I)
_QUERY_NAMES = {"sig": "signature", "signature": "signature", "hmac": "signature", "sid": "cookie"}


def find_url_users(text: str) -> Iterator[Span]:
    """Find passwords in `scheme://user:password@host`, and long random users that are a token by
    themselves."""
    if "://" not in text:
        return
    for match in _URL_USER.finditer(text):
        user, secret = match.groups()
        at = -1 if secret is None else secret.rfind("@")
        odd = _odd_secret(text, match) if secret is not None and at < 0 else 0
        if odd:
            yield match.start(2), odd, "url_password"
        elif secret is None or at == 0 or (at > 0 and secret[:at] in _NO_PASSWORDS):
            mixed = any(char.isdigit() for char in user) and any(char.isalpha() for char in user)
            if len(user) >= _LEAST_TOKEN and mixed and not is_mask(user):
                yield match.start(1), match.end(1), "url_password"
        elif at > 0 and not is_mask(secret[:at]) and not is_reference(secret[:at]):
            yield match.start(2), match.start(2) + at, "url_password"


def _odd_secret(text: str, match: re.Match[str]) -> int:
    """Answer where a password ends that has signs in it which should have been encoded (`app:a#b/c@db1`).

    0 when there is none.
    """
    user, secret = match.groups()
    start, end = match.end(1) + 1, match.end()
    if text[end : end + 1] not in ("/", "?", "#") or (user and secret.isdigit()):
        return 0  # a port
    at = text.find("@", end, end + _LONGEST_ODD)
    if at < 0 or not _ODD.fullmatch(text, start, at) or not _HOST.match(text, at + 1):
        return 0
    return 0 if is_mask(text[start:at]) or is_reference(text[start:at]) else at


def find_encoded_users(text: str) -> Iterator[Span]:
    """Find the passwords of `scheme%3A%2F%2Fuser%3Apassword%40host`."""
    for match in _ENCODED_USER.finditer(text) if "%" in text and "40" in text else ():
        if not is_mask(match.group("secret")) and not match.group("secret").startswith("[MASKED:"):
            yield *match.span("secret"), "url_password"


def find_encoded_pairs(text: str, judge: Callable[[str], Verdict | None]) -> Iterator[Span]:
    """Find the values of JSON that stands percent-encoded in an address.

    :param judge: the key predicate.
    """
    for match in _ENCODED_PAIR.finditer(text) if "%" in text and "22" in text else ():
        verdict = judge(match.group("name"))
        if verdict is not None and _shows(match.group("value"), verdict):
            yield *match.span("value"), verdict[0]


def find_parameters(text: str, judge: Callable[[str], Verdict | None], hold: Hold) -> Iterator[Span]:
    """Find the values of sensitive query and fragment parameters.

    :param judge: the key predicate.
    :param hold: answers which of many names hold a word of the vocabulary.
    """
    if "=" not in text and "%" not in text:
        return
    names = _QUERY.findall(text)
    alike = {name: name if "%" in name else name.translate(ALIKE) for name in set(names)}
    judged = _verdicts(set(alike.values()), judge, hold)
    verdicts = {name: judged[form] for name, form in alike.items() if form in judged}
    if not verdicts:
        return
    query = _QUERY
    if len(names) > _MANY and len(verdicts) <= _FEW:
        some = "|".join(map(re.escape, sorted(verdicts, key=len, reverse=True)))
        query = re.compile(f"{_QUERY_SIGN}(?P<name>{some}){_QUERY_IS}")
    done = 0
    known: dict[tuple[str, Verdict], bool] = {}  # (what was given, and whether that shows a secret)
    for match in query.finditer(text):
        if match.start() < done:
            continue
        verdict = verdicts.get(match.group("name"))
        # (`;` is what parts the settings of a connection, in which `#` is a sign like others)
        head = _SETTING if text[match.start()] == ";" else _QUERY_HEAD
        found = head.match(text, match.end()) if verdict else None
        if verdict is None or found is None:
            continue
        given = found.group(), verdict
        shown = known.get(given)
        if shown is None:
            shown = _shows(*given)
            if len(known) < _MANY:
                known[given] = shown
        if not shown:
            continue
        if verdict[1] == "oauth" and not _SIGN_IN.search(
            text, max(0, match.start() - 200), found.end() + 200
        ):
            continue
        start, end = found.span()
        if end - start == _LONGEST:
            end = _QUERY_REST.match(text, end).end()  # type: ignore[union-attr]
        if verdict[0] == "cookie" and text[match.start()] == ";":
            end = min(end, *(at for sign in "?#" if (at := text.find(sign, start, end)) >= 0), end)
        while end > start and text[end - 1] in ".,)]}":
            end -= 1
        if end > start:
            yield start, end, verdict[0]
            done = end


def _verdicts(names: set[str], judge: Callable[[str], Verdict | None], hold: Hold) -> dict[str, Verdict]:
    """Answer the verdicts on the sensitive ones of some names, as they are written in addresses."""
    plain = {}
    for name in names:
        decoded = name
        for _ in range(4):
            if "%" not in decoded:
                break
            decoded = unquote(decoded)
        plain[name] = decoded
    suspects = hold(plain.values())
    suspects |= {
        name for name in plain.values() if name == "code" or not name.isascii() or _SIGNATURE.search(name)
    }
    made = ((name, judge(shown) or _query_rule(shown)) for name, shown in plain.items() if shown in suspects)
    return {name: verdict for name, verdict in made if verdict is not None}


def _shows(value: str, verdict: Verdict) -> bool:
    if is_mask(value) or is_reference(value) or value.startswith("[MASKED:"):
        return False
    if value.lower() in ("true", "false", "null", "none", "required"):
        return False
    return not verdict[1] or fits_shape(unquote(value), verdict[1])


def _query_rule(name: str) -> Verdict | None:
    if name == "code":
        return Verdict(("code", "oauth"))
    last = re.split(r"[^a-z]+", name.lower().rstrip("]"))[-1]
    return Verdict((_QUERY_NAMES[last], "")) if last in _QUERY_NAMES else None
