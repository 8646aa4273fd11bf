"""Secrets that no sign of assignment announces: Chinese sentences, keys of the web, numbers behind names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from heapq import merge

from toolog.sanitize.literals import Held
from toolog.sanitize.plausible import fits_shape, is_mask, is_reference
from toolog.sanitize.rules import Span
from toolog.sanitize.words import Verdict

_SPOKEN = re.compile(
    r"(?P<name>[密口令私验校驗手电卡身](?:(?<=[密口])[码碼令]|(?<=令)牌|(?<=[密私])[钥鑰]|(?<=[验校])证?码|(?<=驗)證碼"
    r"|(?<=手)机号?码?|(?<=手)機號?碼?|(?<=电)话号?码?|(?<=卡)号|(?<=身)份证号?码?))"
    r"(?:[是为為]|[:：])?[ ]?"
    r"(?:[「『“](?P<quoted>[^「」『』“”\r\n]{4,64}+)[」』”]|(?P<value>[!-&(-+./-Z^-~-]{4,128}+))"
)

#: Japanese and Korean put a particle between the name and the value.
_PARTICLED = re.compile(
    r"(?P<name>[パ暗ト비암토](?:(?<=パ)スワード|(?<=暗)証番号|(?<=ト)ークン|(?<=비)밀번호|(?<=암)호|(?<=토)큰))"
    r"(?:は|が|는|은|이|가)[ ]?"
    r"(?:[「『“](?P<quoted>[^「」『』“”\r\n]{4,64}+)[」』”]|(?P<value>[!-&(-+./-Z^-~-]{4,128}+))"
)
#: The private members of a JSON Web Key in text that is no JSON.
_WEB_KEY = re.compile(
    r"\"(?<!\w\")(?:d|p|q|dp|dq|qi|k)\\{0,8}\"\s{0,4}:\s{0,4}\\{0,8}\"([A-Za-z0-9_-]{16,}+)(?=\\{0,8}\")"
)


#: A code that is told before what it is: `482913 is your verification code`.
_CODE_FIRST = re.compile(
    r"(?P<value>[0-9](?<![\w.,:/-].)(?:[0-9]{2}[ -][0-9]{3}|[0-9]{3,7}))"
    r"(?: is your (?:[^\W\d_]{1,20} ){0,2}"
    r"(?:(?:verification|security|login|access|activation|time|sms|mfa)[ -]code|OTP|PIN)"
    r"| es (?:tu|su) código de (?:verificación|acceso|seguridad)| est votre code de (?:vérification|sécurité)"
    r"| é o seu código de (?:verificação|acesso|segurança)"
    r"| ist (?:dein|Ihr) (?:Bestätigungs|Sicherheits|Einmal)code"
    r"|[是为](?:您|你)的[^\x00-\x7f]{0,8}[码碼])(?!\w)"
)
#: What the searches look for in a text before they read it.
_TELLING = (
    " is your ",
    " es tu ",
    " es su ",
    " est votre ",
    " é o seu ",
    " ist dein ",
    " ist Ihr ",
    "是您的",
    "是你的",
    "为您的",
)
SHOWN = ("kty", *_TELLING)
#: Words for a password in languages that put nothing but a blank behind them in short notes.
_NOTED = re.compile(
    r"[пП비암ס](?<![^\W_].)(?:(?<=[пП])арол[ья]|(?<=비)(?:번|밀번호)|(?<=암)호|(?<=ס)יסמה)"
    r"[ ]{1,2}(?P<value>(?=[!-~]{0,63}[0-9])(?=[!-~]{0,63}[A-Za-z])[!-+./-~-]{6,64}+)(?![^\s,.;!?)])"
)
#: Rules of numbers that are told with nothing but a blank behind their name (`CPF 529.982.247-25`).
NUMBERED_RULES = frozenset(("id_number", "passport", "ssn", "code", "card", "phone"))
_NO = r"[ \t]{1,4}(?:(?:no|nr|num|number|nummer|n[°º]|№)\.?[ \t]{1,4})?"
_CODE = re.compile(r"[ \t]{1,4}[\[(\u3010]?(?P<value>[0-9]{3}[ -][0-9]{3}|[0-9]{4,8})(?![\w%]|[.,:/ -][0-9])")
_PAPER = re.compile(
    rf"(?i:{_NO})"
    r"(?P<value>\(?(?:[A-Z]{1,3}[ -]?)?[0-9](?:[ ./)-]{0,2}[0-9]){4,24}+"
    r"(?:[ -]?[A-Z]{1,2}(?![A-Za-z0-9]))?"
    r"|(?=[A-Z]{0,6}[0-9])[A-Z0-9]{6,20})(?![A-Za-z0-9_])"
)
#: What begins such a number, behind its name.
NUMBER_AHEAD = re.compile(rf"(?i:{_NO})[\[(\u3010]?[A-Z]{{0,6}}[0-9]")
_BARE_PHONE = 9
_LEAST_DIGITS = {"code": 4, "card": 8, "phone": 7}
_DATE = re.compile(r"(?:19|20)[0-9]{2}[./ -][0-9]{1,2}[./ -][0-9]{1,2}")


def find_noted(text: str, held: Held) -> Iterator[Span]:
    """Find codes that are told before what they are.

    :param held: which words (`SHOWN`) stand in the text.
    """
    if any(map(held.__getitem__, _TELLING)):
        for match in _CODE_FIRST.finditer(text):
            yield *match.span("value"), "code"


def find_noted_passwords(text: str) -> Iterator[Span]:
    """Find passwords that stand right behind their name in notes of other scripts (`пароль Zq9-inv`)."""
    for match in _NOTED.finditer(text):
        if not is_mask(match["value"]) and not is_reference(match["value"]):
            yield *match.span("value"), "password"


def number_behind(text: str, end: int, verdict: Verdict) -> Span | None:
    """Answer the span of the number that stands right behind its name, or None when it is none.

    :param end: where the name ends.
    """
    match = (_CODE if verdict[0] == "code" else _PAPER).match(text, end)
    if match is None:
        return None
    value = match["value"]
    digits = sum(map(str.isdigit, value))
    if digits < _LEAST_DIGITS.get(verdict[0], 5) or _DATE.match(value):
        return None
    if verdict[0] == "phone" and digits < _BARE_PHONE and value[0] not in "(0":
        return None  # (so many of something)
    if verdict[0] in ("phone", "card") and value[0].isalpha():
        return None
    shape = verdict[1]
    if shape and not fits_shape(value.replace(" ", "") if shape == "digits" else value, shape):
        return None
    return *match.span("value"), verdict[0]


def find_web_keys(text: str, held: Held) -> Iterator[Span]:
    """Find the private members of JSON Web Keys that stand in text.

    :param held: which words (`SHOWN`) stand in the text.
    """
    if held["kty"]:
        for match in _WEB_KEY.finditer(text):
            yield *match.span(1), "private_key"


def find_spoken(text: str, judge: Callable[[str], Verdict | None]) -> Iterator[Span]:
    """Find `密码是...` and `验证码482913`: Chinese writes no blank and often no sign between name and
    value."""
    particled = _PARTICLED.finditer(text) if any(sign in text for sign in "はが는은이가") else iter(())
    for match in merge(_SPOKEN.finditer(text), particled, key=re.Match.start):
        part = "value" if match["quoted"] is None else "quoted"
        value = match[part] if match["quoted"] else match[part].rstrip(".,!?")
        verdict = judge(match.group("name"))
        if (
            verdict is None
            or not any(char.isdigit() for char in value)
            or is_mask(value)
            or is_reference(value)
        ):
            continue
        if text[match.start(part) - 1] in "是为為:： はが는은이가「『“" or (
            verdict[0] == "code" and value.isdigit() and len(value) <= 8
        ):
            yield match.start(part), match.start(part) + len(value), verdict[0]
