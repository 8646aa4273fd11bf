"""Secrets in free text that are recognized by the name in front of them: assignments, headers, flags, URLs, markup.

`find_named` yields `(start, end, rule)` spans of the values only, so that `password=` stays readable. The name is judged by
the one key predicate; the value by `plausible.py`. Linear: every name and every value is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolog.sanitize.candidates import Candidates, candidates
from toolog.sanitize.phrases import find_program_passwords, find_spoken
from toolog.sanitize.plausible import fits_shape, is_mask, is_reference, shows_secret
from toolog.sanitize.rules import Span
from toolog.sanitize.urls import find_parameters, find_url_users
from toolog.sanitize.words import KeyWords, Verdict

_RUN_BACKWARDS = re.compile(r"[\w.$\[\]-]{1,101}+")
_NAME = re.compile(r"[^\W\d][\w.$\[\]-]{0,100}+")
_ASSIGNED = re.compile(
    r"(?P<close>\\{0,8}[\"'`])?(?P<gap>[ \t]{0,20}+)"
    r"(?P<sep>=>|:=|={1,3}|[:：](?![:/])|(?<= )(?:is|was|are)(?= )|[是为為](?=\S))"
)
_SEPARATED = re.compile(r"[ \t]{0,20}+(?:\\{0,8}[rn]?(?=\\{0,8}[\"']))?")
_OPEN = re.compile(r"[bruf]{0,2}(?P<quote>\\{0,8}[\"'`])")
_BARE = re.compile(r"[^\s\"'`<>{}\[\]]{1,4096}+")
_BARE_REST = re.compile(r"[^\s\"'`<>{}\[\]]*+")
_LONGEST = 4096
_STOP = re.compile(r"(?:[;,&|](?=\s|$|[\w.%\[\]-]{1,60}\s?[=:])|;|\)(?=[\s.,;:)\]}\"']|$)|\\+[nrt\"'](?=.|$)|,(?=\s|$))")
_LINE_END = {
    "": re.compile(r"[\r\n]|\\+[nr]"),
    '"': re.compile(r"[\r\n\"]|\\+[nr\"]"),
    "'": re.compile(r"[\r\n']|\\+[nr']"),
}
_SCHEME = re.compile(
    r"(?P<scheme>Bearer|Basic|Digest|Token|ApiKey|Api-Key|Negotiate|NTLM|Hawk|AWS4-HMAC-SHA256|OAuth|Key|SharedKey|GoogleLogin)"
    r"(?:[ \t]++|%20)(?=\S)", re.I
)  # fmt: skip
_TWO_WORDS = re.compile(r"([^\W\d_]{2,20})[ \t]$")
_DIGITS_RUN = re.compile(r"\+?\(?[0-9][0-9() .-]{3,24}[0-9]")
_FLAG_VALUE = re.compile(r"[ \t]+(?P<quote>[\"'])?(?=[^\s-]|-[^-\s])")
_LIST = re.compile(r"\[\s{0,8}[bruf]{0,2}[\"']")
_CALL = re.compile(r"[A-Za-z_][A-Za-z_.]{0,100}+\(")
_MARKUP = re.compile(r"(?:\s[^<>]{0,200}+)?>(?P<value>[^<>]++)</")
_QUOTED_NEXT = re.compile(r"[ \t]{1,4}(?:BY[ \t]{1,4}|by[ \t]{1,4})?'(?P<value>[^'\n]{1,512}+)'")


class NamedText:
    """Finds named secrets in text with one vocabulary.

    :param words: the key predicate.
    """

    def __init__(self, words: KeyWords) -> None:
        self._words = words
        self._candidates: Candidates | None = None

    def find(self, text: str) -> Iterator[Span]:
        """Yield the spans of all values behind sensitive names in folded text; they may overlap."""
        yield from find_url_users(text)
        taken = set()
        for span in find_parameters(text, self._judge):
            taken.add(span[0])
            yield span
        lines = _Lines(text)
        done = 0
        for start, end in self._names(text):
            if start < done:
                continue
            span = self._at_name(text, start, end, taken, lines)
            if span is not None:
                yield span
                done = span[1]
        yield from find_program_passwords(text)
        if not text.isascii():
            yield from find_spoken(text, self._judge)

    def _judge(self, name: str) -> Verdict | None:
        return self._words.judge(name)

    def _names(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where names stand that hold a word of the vocabulary, in order, each once."""
        if self._candidates is None:
            self._candidates = candidates(self._words)
        last = -1
        for at in self._candidates.find(text):
            if at < last:
                continue
            run = _RUN_BACKWARDS.match(text[max(0, at - 101) : at][::-1])
            start = at - (run.end() if run else 0)
            while start < at and not (text[start].isalpha() or text[start] == "_"):
                start += 1
            name = _NAME.match(text, start)
            if name is not None and name.end() >= at:
                last = name.end()
                yield start, last

    def _at_name(self, text: str, start: int, end: int, taken: set[int], lines: _Lines) -> Span | None:
        name = text[start:end]
        verdict = self._judge(name)
        assigned = _ASSIGNED.match(text, end)
        if assigned is not None:
            if verdict is None and not assigned.group("close"):
                verdict = self._two_words(text, start, name)
            if verdict is None or assigned.end() in taken:
                return None
            at = _SEPARATED.match(text, assigned.end()).end()  # type: ignore[union-attr]
            if at >= len(text) or at in taken:
                return None
            return self._value(text, start, assigned, at, verdict, lines)
        before = text[start - 1 : start]
        if before == "-" and verdict is not None:
            return self._flag(text, end, verdict)
        if before in ("<", ":"):
            return self._markup(text, start, end)
        return self._quoted_next(text, name, end, verdict) if text[end : end + 1] in (" ", "\t") else None

    # -- name and value ---------------------------------------------------------------------------------------------

    def _two_words(self, text: str, start: int, name: str) -> Verdict | None:
        """Judge a label of two words (`API key: ...`); only pairs count, a strong word further off is prose."""
        before = _TWO_WORDS.search(text, max(0, start - 21), start)
        if before is None:
            return None
        first, second = before.group(1).lower(), name.lower()
        rule = self._words.pairs.get((first, second)) or self._words.strong.get(first + second)
        return Verdict((rule, "")) if rule else None

    def _value(
        self, text: str, name_at: int, match: re.Match[str], start: int, verdict: Verdict, lines: _Lines
    ) -> Span | None:
        rule, shape = verdict
        sep = match.group("sep")
        opened = _OPEN.match(text, start)
        spoken = sep[0].isalpha() and not sep == ":"
        if opened is not None:
            return self._quoted(text, opened, rule, shape)
        if text[start] == "[" and _LIST.match(text, start) and not is_mask(text[start : start + 64].partition("]")[0] + "]"):
            return self._listed(text, start, rule)
        if sep == "=" and start > match.end() and not match.group("gap") and re.match(r"[\w.-]{1,60}=", text[start : start + 62]):
            return None  # `password= user=bob`: the value is empty
        if rule in ("authorization", "cookie") and sep in (":", "="):
            span = self._header(text, name_at, match, start, rule, lines)
            if span is not None:
                return span
        bare = _BARE.match(text, start)
        if bare is None or (rule != "phone" and _CALL.match(text, start)):
            return None
        end = bare.end()
        if end - start == _LONGEST:
            return start, _BARE_REST.match(text, end).end(), rule  # type: ignore[union-attr]
        if rule in ("phone", "card", "id_number", "ssn") and (run := _DIGITS_RUN.match(text, start)) and run.end() > 0:
            end = max(run.end(), self._cut(text, start, end))
        else:
            end = self._cut(text, start, end)
        while end > start and text[end - 1] in ",;" or (end > start + 1 and text[end - 1] in ".!?" and text[end : end + 1] in ("", " ", "\n")):
            end -= 1
        value, rest = text[start:end], text[end : end + 40]
        if not value or value[0] in "(|":
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

    def _header(
        self, text: str, name_at: int, match: re.Match[str], start: int, rule: str, lines: _Lines
    ) -> Span | None:
        end = lines.end(text[name_at - 1 : name_at], start)
        if rule == "cookie":
            header = match.group("sep") == ":" and text[max(0, match.start() - 6) : match.start()].lower() == "cookie"
            if header and start <= lines.sign(start) < end:
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

    def _flag(self, text: str, name_end: int, verdict: Verdict) -> Span | None:
        match = _FLAG_VALUE.match(text, name_end)
        if match is None:
            return None
        start = match.end()
        if match.group("quote"):
            end = text.find(match.group("quote"), start, start + 4096)
            end = min(len(text), start + 4096) if end < 0 else end
            shown = end > start and not is_mask(text[start:end]) and not is_reference(text[start:end])
        else:
            bare = _BARE.match(text, start)
            if bare is None:
                return None
            end = self._cut(text, start, bare.end())
            shown = shows_secret(text[start:end], strict=True, rest=text[end : end + 40], sensitive=self._judge)
        if shown and (not verdict[1] or fits_shape(text[start:end], verdict[1])):
            return start, end, verdict[0]
        return None

    def _markup(self, text: str, start: int, end: int) -> Span | None:
        name = text[start:end]
        match = _MARKUP.match(text, end)
        verdict = self._judge(name)
        if match is None or verdict is None:
            return None
        value = match.group("value")
        if is_mask(value) or is_reference(value) or value.isspace() or (verdict[1] and not fits_shape(value, verdict[1])):
            return None
        return match.start("value"), match.end("value"), verdict[0]

    def _quoted_next(self, text: str, name: str, end: int, verdict: Verdict | None) -> Span | None:
        """Find `IDENTIFIED BY 'x'` and `PASSWORD 'x'`, as SQL writes them."""
        match = _QUOTED_NEXT.match(text, end)
        if match is None:
            return None
        value = match.group("value")
        if name.lower() == "identified":
            verdict = Verdict(("password", ""))
        if verdict is None or verdict[1] or verdict[0] not in ("password", "secret", "token", "api_key"):
            return None
        if " " in value or is_mask(value) or is_reference(value) or value.isalpha():
            return None
        return match.start("value"), match.end("value"), verdict[0]


class _Lines:
    """Where lines end and where the next `=` is, remembered, so that asking again from further on costs nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[str, tuple[int, int]] = {}
        self._sign = -2

    def end(self, quote: str, start: int) -> int:
        """Answer where the line, or the quoted text, ends that `start` stands in."""
        kind = quote if quote in ("'", '"') else ""
        since, known = self._ends.get(kind, (0, -1))
        if not since <= start <= known:
            found = _LINE_END[kind].search(self._text, start)
            known = found.start() if found else len(self._text)
            self._ends[kind] = (start, known)
        return known

    def sign(self, start: int) -> int:
        """Answer where the next `=` is from `start` on; -1 when there is none."""
        if self._sign != -1 and self._sign < start:
            self._sign = self._text.find("=", start)
        return self._sign
