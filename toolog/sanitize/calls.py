# ruff: noqa: SIM905 - word lists read better as text
"""Secrets among the arguments of calls whose name says what they are (`setPassword("x1")`), and in the pairs
of user and password that clients are given (`NetworkCredential("ann", "x1")`, `auth=("ann", "x1")`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from toolog.sanitize.literals import Held
from toolog.sanitize.plausible import is_mask, is_pointer, is_reference
from toolog.sanitize.rules import Span
from toolog.sanitize.words import Verdict, split

#: What begins the arguments of a call that may hold a secret: a literal, or a variable before it.
#: (without bounds, which would multiply the states of a scan)
OPENING = r"\([ ]?(?:[A-Za-z0-9_.$]*[ ]?,[ ]?)?[bNL@]?\\*[\"'`]"
_LITERAL = r"(?:[bNL@]?(?P<{0}>\\{{0,8}}[\"'`])(?P<{1}>[^\"'`\\\r\n]{{0,512}}+)(?P={0}))"
_ARGUMENTS = re.compile(
    rf"(?:\([ ]?|[ ])(?:{_LITERAL.format('q1', 'first')}|[\w.$]{{1,60}}+)"
    rf"(?:\s{{0,40}}+,\s{{0,40}}+{_LITERAL.format('q2', 'second')}"
    rf"(?:\s{{0,40}}+,\s{{0,40}}+{_LITERAL.format('q3', 'third')})?+)?+(?:\s{{0,40}}+[,).]|(?=[ ]?[\r\n]|$))"
)
#: Functions that sign in, which take a user and a password.
LOGINS = (
    "getConnection(",
    "mysqli",
    "PDO(",
    "ogin(",
    "og_in(",
    "ogIn(",
    "ign_in(",
    "ignIn(",
    "uthenticate(",
)
_CONNECT = re.compile(r"(?:[gG]etConnection|mysqli?(?:_connect)?|PDO)(?=\()")
_LOGIN = re.compile(r"[lLsSaA](?<!@.)(?:og_?[iI]n|ign_?[iI]n|uthenticate)(?=\()")
#: What functions do with a secret that they are told, as their first word.
_TELLING = frozenset(
    "set with change reset update add use hash verify check encrypt login authenticate".split()
)
#: What takes a user and a password, as its last word.
_PAIRED = frozenset(("credential", "credentials", "creds", "auth", "authentication", "login"))
_PAIRED_RULES = frozenset(("credential", "authorization"))
_TOLD_RULES = frozenset(("password", "api_key", "token", "secret", "private_key"))
#: What a credential is made of, where it is the only argument.
_KEYED = frozenset(("key", "token", "secret", "password"))
#: What functions do that are told a name, as their first word.
_GETTING = frozenset(
    """get find load fetch read has is lookup require create generate make new delete remove rotate revoke
    list show expect describe build issue request resolve test store save""".split()
)
#: Names of methods that ask for one that is called so as often as they are told one.
_ASKING = frozenset(("token", "tokens", "secret", "secrets", "key"))


def find_argument(
    text: str, start: int, end: int, verdict: Verdict, judge: Callable[[str], object]
) -> Span | None:
    """Answer the span of the secret among the arguments behind a sensitive name, or None when there is none.

    :param start, end: where the name of what is called stands.
    :param judge: the key predicate.
    """
    match = _ARGUMENTS.match(text, end)
    if match is None or not any(map(str.isdigit, match.group())):
        return None
    words = split(text[start:end].rpartition(".")[2])
    if not words:
        return None
    if words[-1] in _PAIRED or verdict[0] in _PAIRED_RULES:
        # (of a client and its secret, somebody's name or address comes first)
        place = "third" if match["third"] and "secret" in words else "second"
        if match["second"] is None and not _KEYED.isdisjoint(words):
            place = "first"
        return (*match.span(place), "password") if _is_told(match[place], judge) else None
    if verdict[1] or verdict[0] not in _TOLD_RULES or text[end] == " ":
        return None
    method = text[start - 1 : start] == "." or "." in text[start:end]
    if words[0] not in _TELLING and not (method and _is_name(text[start:end], judge)):
        return None
    place = "first" if match["second"] is None else "second"
    return (*match.span(place), verdict[0]) if _is_told(match[place], judge) else None


def find_logins(text: str, judge: Callable[[str], object], held: Held) -> Iterator[Span]:
    """Find passwords behind users in calls that sign somebody in (`server.login("ann", "x1")`).

    :param judge: the key predicate.
    :param held: which words (`LOGINS`) stand in the text.
    """
    if not any(map(held.__getitem__, LOGINS)):
        return
    for call in _LOGIN.finditer(text):
        match = _ARGUMENTS.match(text, call.end())
        if match is not None and match["first"] and _is_told(match["second"], judge):
            yield *match.span("second"), "password"
    for call in _CONNECT.finditer(text):
        match = _ARGUMENTS.match(text, call.end())
        if match is not None and _is_told(match["third"], judge):
            yield *match.span("third"), "password"


def pair_secret(text: str, start: int) -> tuple[int, int] | None:
    """Answer where the password stands in a pair of user and password, or None when it is none.

    :param start: where its bracket stands.
    """
    match = _ARGUMENTS.match(text, start)
    if match is None or match["first"] is None or not _is_told(match["second"], lambda name: None):
        return None
    return match.span("second")


def _is_name(name: str, judge: Callable[[str], object]) -> bool:
    """Tell whether the last part of a dotted name is nothing but a sensitive name (`.apiKey("x1")`)."""
    last = name.rpartition(".")[2]
    words = split(last)
    return (
        len(words) <= 2
        and not (len(words) == 1 and words[0] in _ASKING)
        and words[0] not in _GETTING
        and judge(last) is not None
        and (len(words) == 1 or judge(words[0]) is None)
    )


def _is_told(value: str | None, judge: Callable[[str], object]) -> bool:
    """Tell whether an argument is a secret itself, and not a name or a text to be shown."""
    if value is None or len(value) < 4 or " " in value or value[0] == "/" or not any(map(str.isdigit, value)):
        return False
    return not (is_mask(value) or is_reference(value) or is_pointer(value) or judge(value) is not None)
