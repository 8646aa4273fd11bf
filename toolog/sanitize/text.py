"""Secrets in free text that are recognized by the name in front of them: assignments, headers, flags, URLs, markup.

`find_named` yields `(start, end, rule)` spans of the values only, so that `password=` stays readable. The name is judged by
the one key predicate; the value by `plausible.py`. Linear: every name and every value is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from toolog.sanitize.plausible import fits_shape, is_mask, is_reference, shows_secret
from toolog.sanitize.rules import Span
from toolog.sanitize.words import KeyWords, Verdict

_PAIR = re.compile(
    r"(?<![\w.$%\[\]])(?<!\w-)(?P<name>[^\W\d][\w.$\[\]-]{0,100}+)"
    r"(?P<close>\\{0,8}[\"'`])?(?P<gap>[ \t]{0,20}+)(?P<sep>=>|:=|={1,3}|[:：](?![:/])|(?<= )(?:is|was|are)(?= )|[是为為](?=\S))"
)
_SEPARATED = re.compile(r"[ \t]{0,20}+(?:\\{0,8}[rn]?(?=\\{0,8}[\"']))?")
_OPEN = re.compile(r"[bruf]{0,2}(?P<quote>\\{0,8}[\"'`])")
_BARE = re.compile(r"[^\s\"'`<>{}\[\]]{1,2048}+")
_STOP = re.compile(r"(?:[;,&|](?=\s|$|[\w.%\[\]-]{1,60}\s?[=:])|;|\)(?=[\s.,;:)\]}\"']|$)|\\+[nrt\"'](?=.|$)|,(?=\s|$))")
_LINE_END = re.compile(r"[\r\n\"'`]|\\+[nr\"']")
_SCHEME = re.compile(
    r"(?P<scheme>Bearer|Basic|Digest|Token|ApiKey|Api-Key|Negotiate|NTLM|Hawk|AWS4-HMAC-SHA256|OAuth|Key|SharedKey|GoogleLogin)"
    r"(?:[ \t]++|%20)(?=\S)", re.I
)  # fmt: skip
_TWO_WORDS = re.compile(r"([^\W\d_]{2,20})[ \t]$")
_DIGITS_RUN = re.compile(r"\+?\(?[0-9][0-9() .-]{3,24}[0-9]")
_FLAG = re.compile(r"(?<![\w-])--?(?P<name>[A-Za-z][\w-]{1,60}+)[ \t]+(?P<quote>[\"'])?(?=[^\s-]|-[^-\s])")
_USER = re.compile(r"(?<!\S)(?:-u|--user|--proxy-user)[ =]?[\"']?([^\s:\"'@/]{1,128}):([^\s\"']{1,512}+)")
_SHORT = (
    (re.compile(r"\bmysql(?:dump|admin|import)?\b[^\n]{0,200}?\s-p([^\s\"'-][^\s\"']{1,200}+)"), "mysql"),
    (re.compile(r"\bsshpass\s{1,4}-p[ ]?[\"']?([^\s\"']{1,200}+)"), "sshpass"),
    (re.compile(r"\bredis-cli\b[^\n]{0,200}?\s-a[ ]{1,4}[\"']?([^\s\"'-][^\s\"']{1,200}+)"), "redis-cli"),
)
_URL_USER = re.compile(r"://([^\s/?#\"'<>@:\\]{0,128}+)(?::([^\s/?#\"'<>`\\]{1,512}+)|(?=@))")
_QUERY = re.compile(
    r"(?:[?&#;]|%(?:25){0,3}(?:3[Ff]|26|23|3[Bb]))(?P<name>(?:[\w.\[\]-]|%(?:25){0,3}(?!3[Dd]|26|23|3[BbFf])[0-9A-Fa-f]{2}){1,100}+)"
    r"(?P<eq>=|%(?:25){0,3}3[Dd])(?P<value>(?:[^&#\s\"'<>;`\\%]|%(?!(?:25){0,3}(?:26|23)))++)"
)  # fmt: skip
_CALL = re.compile(r"[A-Za-z_][\w.]{0,100}+\(")
_MARKUP = re.compile(r"<(?P<name>[A-Za-z_][\w.:-]{0,100}+)(?:\s[^<>]{0,200}+)?>(?P<value>[^<>]{1,2048}+)</")
_QUOTED_NEXT = re.compile(r"(?<![\w-])(?P<name>[A-Za-z_][\w-]{2,60}+)[ \t]{1,4}(?:BY[ \t]{1,4}|by[ \t]{1,4})?'(?P<value>[^'\n]{1,512}+)'")
_QUERY_NAMES = {"sig": "signature", "signature": "signature", "hmac": "signature", "sid": "cookie"}


class NamedText:
    """Finds named secrets in text with one vocabulary.

    :param words: the key predicate.
    """

    def __init__(self, words: KeyWords) -> None:
        self._words = words

    def find(self, text: str) -> Iterator[Span]:
        """Yield the spans of all values behind sensitive names in folded text; they may overlap."""
        yield from self._urls(text)
        taken = set()
        for span in self._queries(text):
            taken.add(span[0])
            yield span
        yield from self._pairs(text, taken)
        if "-" in text:
            yield from self._flags(text)
        if "</" in text:
            yield from self._markup(text)
        if "'" in text:
            yield from self._quoted_next(text)

    def _judge(self, name: str) -> Verdict | None:
        return self._words.judge(name)

    # -- addresses --------------------------------------------------------------------------------------------------

    def _urls(self, text: str) -> Iterator[Span]:
        if "://" not in text:
            return
        for match in _URL_USER.finditer(text):
            secret = match.group(2)
            if secret is None:
                user = match.group(1)
                if len(user) >= 20 and any(c.isdigit() for c in user) and any(c.isalpha() for c in user) and not is_mask(user):
                    yield match.start(1), match.end(1), "url_password"
                continue
            at = secret.rfind("@")
            if at > 0 and not is_mask(secret[:at]) and not is_reference(secret[:at]):
                yield match.start(2), match.start(2) + at, "url_password"

    def _queries(self, text: str) -> Iterator[Span]:
        if "=" not in text and "%" not in text:
            return
        for match in _QUERY.finditer(text):
            name = match.group("name")
            for _ in range(4):
                if "%" not in name:
                    break
                name = unquote(name)
            verdict = self._judge(name)
            rule = verdict[0] if verdict else _query_rule(name)
            value = match.group("value")
            if rule is None or is_mask(value) or is_reference(value) or value.startswith("[MASKED:"):
                continue
            if verdict and verdict[1] and not fits_shape(unquote(value), verdict[1]):
                continue
            start, end = match.span("value")
            while end > start and text[end - 1] in ".,)]}":
                end -= 1
            if verdict and value.lower() in ("true", "false", "null", "none", "required"):
                continue
            if end > start:
                yield start, end, rule

    # -- name and value ---------------------------------------------------------------------------------------------

    def _pairs(self, text: str, taken: set[int]) -> Iterator[Span]:
        at, size = 0, len(text)
        while match := _PAIR.search(text, at):
            name, close, sep = match.group("name"), match.group("close"), match.group("sep")
            at = max(match.end("name"), at + 1)
            verdict = self._judge(name)
            if verdict is None and not close:
                verdict = self._two_words(text, match.start("name"), name)
            if verdict is None or match.end() in taken:
                continue
            start = _SEPARATED.match(text, match.end()).end()  # type: ignore[union-attr]
            if start >= size or (start in taken):
                continue
            span = self._value(text, match, start, sep, verdict)
            if span is not None:
                yield span
                at = max(at, span[1])

    def _two_words(self, text: str, start: int, name: str) -> Verdict | None:
        """Judge a label of two words (`API key: ...`); only pairs count, a strong word further off is prose."""
        before = _TWO_WORDS.search(text, max(0, start - 21), start)
        if before is None:
            return None
        first, second = before.group(1).lower(), name.lower()
        rule = self._words.pairs.get((first, second)) or self._words.strong.get(first + second)
        return Verdict((rule, "")) if rule else None

    def _value(self, text: str, match: re.Match[str], start: int, sep: str, verdict: Verdict) -> Span | None:
        rule, shape = verdict
        opened = _OPEN.match(text, start)
        spoken = sep[0].isalpha() and not sep == ":"
        if opened is not None:
            return self._quoted(text, opened, rule, shape)
        if text[start] == "[" and not is_mask(text[start : start + 64].partition("]")[0] + "]"):
            return self._listed(text, start, rule)
        if sep == "=" and start > match.end() and not match.group("gap") and re.match(r"[\w.-]{1,60}=", text[start : start + 62]):
            return None  # `password= user=bob`: the value is empty
        if rule in ("authorization", "cookie") and sep in (":", "="):
            span = self._header(text, match, start, rule)
            if span is not None:
                return span
        bare = _BARE.match(text, start)
        if bare is None:
            return None
        end = bare.end()
        if rule in ("phone", "card", "id_number", "ssn") and (run := _DIGITS_RUN.match(text, start)) and run.end() > 0:
            end = max(run.end(), self._cut(text, start, end))
        else:
            end = self._cut(text, start, end)
        while end > start and text[end - 1] in ",;" or (end > start + 1 and text[end - 1] in ".!?" and text[end : end + 1] in ("", " ", "\n")):
            end -= 1
        value, rest = text[start:end], text[end : end + 40]
        if not value or value[0] in "(|" or (rule != "phone" and _CALL.match(value)):
            return None
        if value.startswith("[MASKED") or (shape and not fits_shape(value, shape)):
            return None
        if spoken and not (len(value) >= 4 and any(c.isdigit() for c in value) and (rule == "code" or not value.isdigit() or len(value) > 5)):
            return None
        strict = spoken or (sep == ":" and bool(start > match.end())) or match.group("gap") != ""
        if rule == "phone" and strict and sum(c.isdigit() for c in value) < 5:
            return None
        if strict and rule in ("card", "code", "id_number", "ssn", "passport") and not any(c.isdigit() for c in value):
            return None
        if not shows_secret(value, strict=strict, rest=rest, sensitive=self._judge):
            return None
        return start, end, rule

    @staticmethod
    def _cut(text: str, start: int, end: int) -> int:
        stop = _STOP.search(text, start, min(len(text), end + 1))
        return stop.start() if stop is not None and stop.start() < end else end

    def _quoted(self, text: str, opened: re.Match[str], rule: str, shape: str) -> Span | None:
        quote, start = opened.group("quote"), opened.end()
        if len(quote) == 1:
            at = start
            closing = re.compile(r"(?:[^\\\n" + quote + r"]|\\.)*+").match(text, at)
            end = closing.end() if closing else at
        else:
            end = text.find(quote, start, start + 8192)
            if end < 0:
                line = text.find("\n", start)
                end = len(text) if line < 0 else line
        value = text[start:end]
        if not value or is_mask(value) or is_reference(value) or value.isspace() or (shape and not fits_shape(value, shape)):
            return None
        if quote == "`" and value.isalpha():
            return None
        return start, end, rule

    @staticmethod
    def _listed(text: str, start: int, rule: str) -> Span | None:
        end = text.find("]", start, start + 4096)
        inner = text[start + 1 : end] if end > 0 else text[start + 1 : start + 4096]
        if not re.search(r"[\"'][^\"']{2,}", inner) or "MASKED:" in inner:
            return None
        first = re.search(r"[\"']", inner)
        last = max(inner.rfind('"'), inner.rfind("'"))
        if first is None or last <= first.start():
            return None
        return start + 1 + first.end(), start + 1 + last, rule

    def _header(self, text: str, match: re.Match[str], start: int, rule: str) -> Span | None:
        line = _LINE_END.search(text, start)
        end = line.start() if line else len(text)
        if rule == "cookie":
            name = match.group("name").lower()
            if match.group("sep") == ":" and name.endswith("cookie") and "=" in text[start:end] and text[start:end].strip():
                return None if text.startswith("[MASKED:", start) else (start, end, rule)
            return None
        scheme = _SCHEME.match(text, start)
        if scheme is None:
            return None
        at = scheme.end()
        if text.startswith(("[MASKED:", "****"), at):
            return at, at, rule
        if scheme.group("scheme").lower() in ("bearer", "basic", "token", "apikey", "api-key", "key"):
            bare = _BARE.match(text, at)
            if bare is None:
                return None
            end = self._cut(text, at, bare.end())
            if not shows_secret(text[at:end], strict=True, rest=text[end : end + 40], sensitive=self._judge):
                return at, at, rule
        while end > at and text[end - 1] in " \t":
            end -= 1
        return at, end, rule

    # -- command lines, markup, SQL -----------------------------------------------------------------------------------

    def _flags(self, text: str) -> Iterator[Span]:
        for match in _FLAG.finditer(text):
            verdict = self._judge(match.group("name"))
            if verdict is None:
                continue
            start = match.end()
            if match.group("quote"):
                end = text.find(match.group("quote"), start, start + 4096)
                end = len(text) if end < 0 else end
                ok = end > start and not is_mask(text[start:end]) and not is_reference(text[start:end])
            else:
                bare = _BARE.match(text, start)
                if bare is None:
                    continue
                end = self._cut(text, start, bare.end())
                ok = shows_secret(text[start:end], strict=True, rest=text[end : end + 40], sensitive=self._judge)
            if ok and (not verdict[1] or fits_shape(text[start:end], verdict[1])):
                yield start, end, verdict[0]
        lowered = text.lower()
        if "curl" in lowered or "wget" in lowered or "http" in lowered:
            for match in _USER.finditer(text):
                if not (match.group(1).isdigit() and match.group(2).isdigit()) and "curl" in lowered[: match.start()]:
                    secret = match.group(2)
                    if not is_mask(secret) and not is_reference(secret) and not secret.startswith("[MASKED:"):
                        yield match.start(2), match.end(2), "password"
        for pattern, program in _SHORT:
            if program in lowered:
                for match in pattern.finditer(text):
                    if not is_mask(match.group(1)) and not is_reference(match.group(1)):
                        yield match.start(1), match.end(1), "password"

    def _markup(self, text: str) -> Iterator[Span]:
        for match in _MARKUP.finditer(text):
            verdict = self._judge(match.group("name").rpartition(":")[2])
            value = match.group("value")
            if verdict is None or is_mask(value) or is_reference(value) or value.isspace():
                continue
            if verdict[1] and not fits_shape(value, verdict[1]):
                continue
            yield match.start("value"), match.end("value"), verdict[0]

    def _quoted_next(self, text: str) -> Iterator[Span]:
        """Find `IDENTIFIED BY 'x'` and `PASSWORD 'x'`, as SQL writes them."""
        for match in _QUOTED_NEXT.finditer(text):
            name, value = match.group("name"), match.group("value")
            verdict = Verdict(("password", "")) if name.lower() == "identified" else self._judge(name)
            if verdict is None or verdict[1] or verdict[0] not in ("password", "secret", "token", "api_key"):
                continue
            if " " not in value and not is_mask(value) and not is_reference(value) and not value.isalpha():
                yield match.start("value"), match.end("value"), verdict[0]


def _query_rule(name: str) -> str | None:
    last = re.split(r"[^a-z]+", name.lower().rstrip("]"))[-1]
    return _QUERY_NAMES.get(last)
