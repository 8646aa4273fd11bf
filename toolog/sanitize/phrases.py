"""Secrets that no sign of assignment announces: one-letter flags of well-known programs, and Chinese
sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from toolog.sanitize.plausible import is_mask, is_reference
from toolog.sanitize.rules import Span
from toolog.sanitize.words import Verdict

_USER = re.compile(r"-(?<!\S-)(?:u|-user|-proxy-user)[ =]?[\"']?([^\s:\"'@/]{1,128}):([^\s\"']{1,512}+)")
_SHORT = (
    (
        re.compile(r"mysql(?<!\wmysql)(?:dump|admin|import)?\b[^\n]{0,200}?\s-p([^\s\"'-][^\s\"']{1,200}+)"),
        "mysql",
    ),
    (re.compile(r"sshpass(?<!\wsshpass)\s{1,4}-p[ ]?[\"']?([^\s\"']{1,200}+)"), "sshpass"),
    (
        re.compile(
            r"(?:docker(?<!\wdocker)|podman(?<!\wpodman))\s{1,4}login\b"
            r"[^\n]{0,200}?\s-p[ ]{1,4}[\"']?([^\s\"'-][^\s\"']{1,200}+)"
        ),
        " login",
    ),
    (
        re.compile(r"redis-cli(?<!\wredis-cli)\b[^\n]{0,200}?\s-a[ ]{1,4}[\"']?([^\s\"'-][^\s\"']{1,200}+)"),
        "redis-cli",
    ),
)
#: The lines of a `.netrc`, where only blanks stand between names and values.
_NETRC = re.compile(
    r"(?:machine(?<!\wmachine)\s{1,8}\S{1,255}|default(?<!\wdefault))\s{1,8}login\s{1,8}\S{1,255}\s{1,8}(?:account\s{1,8}\S{1,255}\s{1,8})?"
    r"password\s{1,8}(\S{1,512}+)"
)
#: How servers of Redis and of mail are told a password.
_TOLD = re.compile(
    r"(?:requirepass(?<!\wrequirepass)\s{1,4}|masterauth(?<!\wmasterauth)\s{1,4}"
    r"|AUTH(?<!\wAUTH)\s{1,4}(?:PLAIN|LOGIN|default)\s{1,4})([^\s\"']{4,512}+)"
)
_SPOKEN = re.compile(
    r"(?P<name>[密口令私验校驗手电卡身](?:(?<=[密口])[码碼令]|(?<=令)牌|(?<=[密私])[钥鑰]|(?<=[验校])证?码|(?<=驗)證碼"
    r"|(?<=手)机号?码?|(?<=手)機號?碼?|(?<=电)话号?码?|(?<=卡)号|(?<=身)份证号?码?))"
    r"(?:[是为為]|[:：])?[ ]?"
    r"(?P<value>[!-&(-+./-Z^-~-]{4,128}+)"
)


def find_program_passwords(text: str) -> Iterator[Iterator[Span]]:
    """Yield the searches for passwords that well-known programs and servers are told, each in the text's
    order."""
    if "login" in text:
        yield _shown(_NETRC.finditer(text), 1)
    yield _shown(_TOLD.finditer(text), 1, wordy=False)
    if "-" not in text:
        return
    lowered = text.lower()
    first = lowered.find("curl")
    if first >= 0:
        users = _USER.finditer(text, first)
        yield _shown((user for user in users if not (user.group(1).isdigit() and user.group(2).isdigit())), 2)
    for pattern, program in _SHORT:
        if program in lowered:
            yield _shown(pattern.finditer(text), 1)


def _shown(matches: Iterable[re.Match[str]], group: int, *, wordy: bool = True) -> Iterator[Span]:
    for match in matches:
        secret = match.group(group)
        if is_mask(secret) or is_reference(secret) or secret.startswith("[MASKED:"):
            continue
        if wordy or not secret.isalpha():
            yield match.start(group), match.end(group), "password"


def find_spoken(text: str, judge: Callable[[str], Verdict | None]) -> Iterator[Span]:
    """Find `密码是...` and `验证码482913`: Chinese writes no blank and often no sign between name and
    value."""
    for match in _SPOKEN.finditer(text):
        value = match.group("value").rstrip(".,!?")
        verdict = judge(match.group("name"))
        if (
            verdict is None
            or not any(char.isdigit() for char in value)
            or is_mask(value)
            or is_reference(value)
        ):
            continue
        if text[match.start("value") - 1] in "是为為:： " or (
            verdict[0] == "code" and value.isdigit() and len(value) <= 8
        ):
            yield match.start("value"), match.start("value") + len(value), verdict[0]
