"""What stands between a sensitive name and its value, and what there shows at once that no value follows."""

from __future__ import annotations

import re

from toolog.sanitize.languages import BE, OF, WHOSE
from toolog.sanitize.notations import TYPED
from toolog.sanitize.plausible import says_nothing

#: Values that go on to the end of the line, or over many words.
_LONG_VALUES = frozenset(("authorization", "cookie", "seed_phrase"))
#: Quotes as JSON and HTML write them where no quote can stand.
ESCAPED = r"\\{1,8}u002[27]|&(?:quot|#3[49]|apos);"
#: Blanks, and those that French puts before a colon.
BLANK = r"[ \t\xa0\u202f]"
_IS = rf"(?:is|was|are|ist|lautet|est|es|é|è|{'|'.join(BE)})"
_SIGN_NEXT = rf"(?={BLANK}{{0,4}}[:=：])|(?=[ ](?:[—–→⇒]|-{{1,2}}>|{_IS})[ ])"
#: What a label says more before its sign: `Token (read only):`, `password for bob:`, `API key provided:`,
#: `mot de passe du compte admin est :`, `kata sandi saya:`.
_MORE = (
    r"(?:\([^()\n]{1,40}\)"
    rf"|(?:for|of|to|{'|'.join(OF)})(?:[ ](?!{_IS}{BLANK})(?:[\w@'’-]|\.(?=\w)){{1,64}}+){{1,6}}+"
    r"(?:[ ]\([^()\n]{1,40}\))?"
    rf"|(?:{'|'.join(WHOSE)})|provided|given|entered|received)"
)
#: What stands between a name and its value: a closing quote, blanks, a sign (or `is`).
ASSIGNED = re.compile(
    rf"(?P<close>(?:{ESCAPED}|\\{{0,8}}[\"'`])\]?|\*{{1,3}})?"
    rf"(?P<type>{TYPED})?(?P<gap>{BLANK}{{0,20}}+(?:(?:is|es|est|ist|lautet|[éè]){BLANK}{{0,4}}(?=[:=：]))?)"
    rf"(?:(?P<more>{_MORE})(?:[ ]{_IS}(?={BLANK}{{0,4}}[:=：]))?(?:{_SIGN_NEXT}){BLANK}{{0,4}})?"
    r"(?P<sep>={1,3}>|-{1,2}>|[→⇒]|:=|[?]?={1,3}|[:：](?![:/])"
    rf"|(?<= )(?:{_IS}|[—–])(?= )|[是为為](?=\S)"
    # (in LDIF: what follows is in base64)
    r"|::(?=[ ]{1,4}[A-Za-z0-9+/]{6,4096}+={0,2}[ \t]{0,4}(?:[\r\n]|\\{1,8}[nr]|$)))"
)
#: What may stand there that shows no secret, as far as that can be told at once: an empty value before the
#: next name, a variable, a mask, what closes a bracket; or one word, which then decides.
NOTHING = re.compile(
    rf"(?:(?:{ESCAPED}|\\{{0,8}}[\"'`])\]?|\*{{1,3}})?+"
    r"(?:(?P<empty>=(?![=>])[ \t]{1,20}+[\w.-]{1,60}=)"
    r"|[ \t]{0,20}+(?>={1,3}>|:=|[?]?={1,3}|[:：](?![:/]))[ \t]{0,20}+"
    r"(?:(?P<told>[A-Za-z/]{1,20}+)[.!?,:;]*+(?=[\s\"'`<>{}\[\]]|$)(?![ \t]{0,4}[=<\[?|])"
    r"|(?P<quote>[\"'`])\[MASKED:[a-z0-9_]{1,40}(?::[0-9a-f]{12})?\](?P=quote)"
    r"|:[A-Za-z_]{1,60}+(?=[ \t\r\n]|$)"
    r"|<(?!<)|[}\]]|\$\{(?![A-Za-z_]\w{0,100}:?-[^}\s$]{0,512}[0-9])|\[(?!\s{0,8}[bruf]{0,2}[\"'])|$))"
)


def shows_nothing(match: re.Match[str], rule: str) -> bool:
    """Tell whether no secret stands behind a name.

    :param match: what `NOTHING` matched there.
    """
    told = match["told"]
    return rule not in _LONG_VALUES and (told is None or says_nothing(told))
