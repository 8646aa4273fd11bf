"""Where the value behind `name =` or `name:` begins and ends, and whether it is the secret itself.

Values stand in quotes (also escaped ones, as in JSON inside strings), in lists, behind an authentication
scheme, to the end of a header line, or bare. Every function is linear in the part of the text that it takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from toolog.sanitize.blocks import block_span, braced_span
from toolog.sanitize.calls import pair_secret
from toolog.sanitize.languages import BE
from toolog.sanitize.notations import (
    anchors_of,
    base64_end,
    held_span,
    heredoc_span,
    literal_start,
    value_start,
)
from toolog.sanitize.plausible import (
    SCHEMES,
    fits_shape,
    is_cleared,
    is_duration,
    is_mask,
    is_pointer,
    is_reference,
    is_release,
    is_scheme,
    is_small,
    says_nothing,
    shows_secret,
)
from toolog.sanitize.repeats import BEFORE
from toolog.sanitize.rules import Span
from toolog.sanitize.signs import BLANK, ESCAPED
from toolog.sanitize.words import Verdict

_SPACE = re.compile(rf"(?:[*_]{{1,3}}(?=[ \t]))?{BLANK}{{0,20}}+" r"(?:\\{1,8}[rn](?=\\{0,8}[\"']))?")
_LINE_STARTS = frozenset(("", "\n", "\r", "\\", '"', "'"))
_SPACES = frozenset(" \t*_\\\xa0\u202f")
_OPENING = frozenset("brufNE@\\\"'`&")
_OPEN = re.compile(rf"(?:[bruf]{{0,2}}|[NE](?=')|@(?=\\{{0,8}}\"))(?P<quote>{ESCAPED}|\\{{0,8}}[\"'`])")
_INSIDE = {quote: re.compile(r"(?:[^\\\n" + quote + r"]|\\.)*+") for quote in "\"'`"}
_BARE = re.compile(r"[^\s\"'`<>{}\[\]]{1,4096}+")
_BARE_REST = re.compile(r"[^\s\"'`<>{}\[\]]*+")
_ANGLE = re.compile("[<>]")
_LONGEST = 4096
#: So many characters decide about most values, the last of them by what follows the value: a number's other
#: groups, and the next word.
_SEEN, _REST = 112, 72
_MOST_KNOWN = 4096
_STOP = re.compile(
    r"[;,&|](?=\s|$|[\w.%\[\]-]{1,60}\s?[=:])|;|\)(?=[\s.,;:)\]}\"']|$)|\\+[nrt\"'](?=.|$)|,(?=\s|$)"
    r"|[\u3001\u3002\u3008-\u3011\uff01\uff08\uff09\uff0c\uff1b\uff1f\u201c\u201d]"
)
_EMPTY = re.compile(r"[\w.-]{1,60}=")
#: A call, of which the value is what it answers; digits only behind a dot, as passwords have them, too.
_CALL = re.compile(
    r"[A-Za-z_][A-Za-z_.]{0,100}+\(|[a-z_][a-z0-9_]{0,40}+(?:\.[A-Za-z_][A-Za-z0-9_]{0,40}+){1,6}\("
)
_LIST = re.compile(r"\[\s{0,8}[bruf]{0,2}[\"'](?P<inner>[^\]]{0,4096}+)")
#: A value that is one word.
_TOLD = re.compile(r"([A-Za-z/]{1,20}+)[.!?,:;]*+(?=[\s\"'`<>{}\[\]]|$)")
_DIGITS = re.compile(r"\+?\(?[0-9][0-9() .-]{3,24}[0-9]")
#: Numbers of states may have letters at both ends: `JK 40 92 17 A`.
_PAPERS = re.compile(
    r"(?:[A-Z]{1,3}[ -]?)?[0-9](?:[ ./-]?[0-9]){4,24}+(?:[ -]?[A-Z]{1,2}(?![A-Za-z0-9]))?(?![A-Za-z0-9])"
)
_LINE_END = {
    "": re.compile(r"[\r\n]|\\+[nr]"),
    '"': re.compile(r"[\r\n\"]|\\+[nr\"]"),
    "'": re.compile(r"[\r\n']|\\+[nr']"),
}
_SCHEME = re.compile(
    r"(?P<scheme>Bearer|Basic|Digest|Token|Api-?Key|Negotiate|NTLM|Hawk|AWS4-HMAC-SHA256|OAuth|Key|SharedKey)"
    r"(?:[ \t]++|%20)(?=\S)",
    re.IGNORECASE,
)
#: What no line of cookies begins with.
_NO_COOKIES = ("null", "true", "false", "[]", "{}")
#: What stands before the sign of no cookie: more than one word.
_PROSE = re.compile(r"[^\s;][ \t]+[^\s=]")
#: In which way a password is written down, before it.
_WRITTEN = re.compile(rf"\{{(?i:{SCHEMES})\}}(?=[^\s\"'<>{{}}\[\]])")
_ONE_TOKEN = frozenset(("bearer", "basic", "token", "apikey", "api-key", "key"))
_NUMBERS = frozenset(("phone", "card", "id_number", "ssn", "passport"))
_OF_STATES = frozenset(("id_number", "passport"))
_ARROWS = frozenset(("—", "–", "→", "⇒", "->", "-->"))
_PREFIXES = frozenset("&!*")
_HOLDING = frozenset("SOJPR")
#: What begins most of what only says where a secret is.
_REFERRING = frozenset("$%:@")
_QUOTES, _BLOCKS = frozenset("\"'`"), frozenset("|>{<\r\n")
_WITH_DIGITS = _NUMBERS | {"code"}
#: The words that open a wallet.
_PHRASE = re.compile(r"[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23}+(?![a-z])")
_DEFAULTING = frozenset("$\"'")
#: What a variable is when nobody sets it: `${DB_PASSWORD:-x1}`.
_DEFAULT = re.compile(r"[\"']?\$\{[A-Za-z_]\w{0,100}:?-(?P<value>[^}\s$\"'{]{4,512}+)\}")
#: A version behind `==`.
_RELEASED = re.compile(r"v?[0-9]+\.[\w.*+!-]*(?=[\s,;\"'`)\]}|&<]|\\{1,8}[nr]|$)")
#: A variable in capitals within, behind `==`.
_OTHER = re.compile(r"[a-z]{2,30}(?:[A-Z][a-z]{1,20}){1,4}(?=[\s);,:&|]|$)")
_LITERAL_SIGNS = frozenset((":", "=", ":=", "=>", "?="))
#: Behind the length of a value, and numbers of a code with a gap in the middle.
_MEASURED = re.compile(
    r"[ \t]{0,8}(?:bytes?|bits?|octets?|char(?:acter)?s?|digits?|letters?|words?|attempts?|times|zeichen"
    r"|stell(?:en|ig)|caract[eè]res|caratteri|chiffres|d[íi]gitos|cifre|znaków|znaki|znaků|symboli|символ\w*"
    r"|цифр\w*|знак\w*|tekens|cijfers|karakter\w*|haneli|tecken|siffror|tegn|merkkiä"
    r"|numeroa|ký tự|[位个個]|文字|桁|자리|글자)",
    re.I,
)
_HALVES = re.compile(r"[0-9]{3}[ -][0-9]{3}(?![0-9 -]*[0-9])")
#: Another text that may stand in the place of the one before.
_OR_ELSE = re.compile(r"[ \t]{1,4}\|[ \t]{1,4}[\"']")
#: Behind the question of a shell's `read`: options, and the variable for the answer.
_ASKED = re.compile(r"[\"'](?:[ \t]{1,4}-?[A-Za-z_]\w{0,63}+){1,6}+[ \t]*+(?=[;&|)<>\r\n]|\\{1,8}[nr]|$)")
_CLOSED = re.compile(r"[\"'`](?=[ \t]{0,4}(?:[),;\]}]|$|[\r\n]))")


class Lines:
    """Where lines end and where the next `=` is, remembered, so that asking again from further on costs
    nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[str, tuple[int, int]] = {}
        self._sign = self._angle = -2

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

    def angle(self, start: int) -> int:
        """Answer where the next sign of markup is from `start` on, or the text ends."""
        if self._angle < start:
            found = _ANGLE.search(self._text, start)
            self._angle = found.start() if found else len(self._text)
        return self._angle


class Values:
    """Takes the values behind the names of one text.

    :param text: the folded text.
    :param judge: the key predicate.
    """

    def __init__(self, text: str, judge: Callable[[str], Verdict | None]) -> None:
        self._text = text
        self._judge = judge
        self._lines = Lines(text)
        #: How far what was read without bounds goes: lines, quotes, elements; to be set to 0 before a search.
        self.reach = 0
        #: Names, and the character before each, behind which no value is one of theirs, whatever it is.
        self.idle: set[str] = set()
        self._known: dict[tuple[str, str, bool, bool], int] = {}
        self._references: dict[str, bool] = {}

    def behind(self, name_at: int, match: re.Match[str], verdict: Verdict) -> Span | None:
        """Answer the span of the value behind an assignment, or None when none is shown.

        :param name_at: where the name begins.
        :param match: what `ASSIGNED` matched behind the name.
        """
        text = self._text
        start = match.end()
        if text[start : start + 1] in _SPACES:
            start = _SPACE.match(text, start).end()  # type: ignore[union-attr]
        rule, shape = verdict
        sep, gap = match.group("sep"), match.group("gap")
        if sep == ":" and start > match.end() and text[start : start + 1] in _PREFIXES:
            start = value_start(text, start, self._anchors)
            if start < 0:
                return None
        first = text[start : start + 1]
        if not first:
            return None
        if sep == "::":
            end = base64_end(text, start) if text[name_at - 1 : name_at] in _LINE_STARTS else start
            self._reach(end)
            return (start, end, rule) if end > start else None
        if sep in BE and not text[name_at : match.start()].lower().endswith(BE[sep]):
            return None
        told = _DEFAULT.match(text, start) if first in _DEFAULTING else None
        if told is not None and any(map(str.isdigit, told["value"])):
            return *told.span("value"), rule
        if sep in ("==", "===") and (_RELEASED.match(text, start) or _OTHER.match(text, start)):
            return None  # a package, and which version of it; two variables that are compared
        if sep in _LITERAL_SIGNS and (literal := literal_start(text, start)) > start:
            start = literal
            first = text[start]
        if first == "{" and (scheme := _WRITTEN.match(text, start)) is not None:
            start = scheme.end()
            first = text[start]
        spoken = sep.isalpha() or sep in _ARROWS or match.group("more") is not None
        opened = _OPEN.match(text, start) if first in _OPENING else None
        if opened is not None:
            if first in _QUOTES and self._closes(first, start, name_at):
                return None  # `"Password: ")`: a question, and the end of it
            return self._quoted(opened, rule, shape, spoken=spoken)
        if rule == "seed_phrase" or first in _BLOCKS:
            many = self._many(name_at, match, start, rule, shape)
            if many is not None:
                return many
        listed = _LIST.match(text, start) if first == "[" else None
        if listed is not None:
            return self._listed(listed, rule)
        if sep == "=" and start > match.end() and not gap and _EMPTY.match(text, start):
            return None  # `password= user=bob`: the value is empty
        if rule in ("authorization", "cookie") and sep in (":", "="):
            found, span = self._header(name_at, match, start, rule)
            if found:
                return span
        if first == "(" and rule in ("authorization", "credential"):
            pair = pair_secret(text, start)
            return (*pair, "password") if pair else None
        held = held_span(text, start) if first in _HOLDING and not shape else None
        if held is not None:
            return *held, rule
        told = _TOLD.match(text, start)
        if told is not None and says_nothing(told.group(1)):
            return None
        weak = spoken or gap != "" or (sep == ":" and start > match.end())
        return self._bare(start, rule, shape, spoken=spoken, strict=weak)

    def _many(self, name_at: int, match: re.Match[str], start: int, rule: str, shape: str) -> Span | None:
        """Find a value of more than one word or line: of a wallet, in a block of YAML, in braces."""
        text = self._text
        if rule == "seed_phrase":
            phrase = _PHRASE.match(text, start)
            return (start, phrase.end(), rule) if phrase else None
        if text[start] == "<":
            span = heredoc_span(text, start)
        elif text[start] == "{":
            span = braced_span(text, name_at, start) if match.group("sep") == "=" else None
        elif match.group("sep") == ":" and not match.group("close"):
            span = block_span(text, name_at, start)
            if text[start] in "|>" and "\n" in text[start : start + BEFORE]:
                self._reach(span[1] if span else len(text))
        else:
            return None
        return (*span, rule) if span and (not shape or fits_shape(text[slice(*span)], shape)) else None

    def _closes(self, quote: str, at: int, name_at: int) -> bool:
        """Tell whether a quote ends a text that asks for what its name says, and begins a little before
        it."""
        asked = _ASKED.match(self._text, at)
        if asked is None and not _CLOSED.match(self._text, at):
            return False
        line = self._text[max(0, name_at - 80) : name_at]
        line = line[max(line.rfind("\n"), line.rfind("\r")) + 1 :]
        return line.count(quote) % 2 == 1 and (asked is None or "read " in line)

    @cached_property
    def _anchors(self) -> frozenset[str]:
        """The names that values of YAML were given, by which they are meant again (`password: *main`)."""
        return anchors_of(self._text)

    def token(self, start: int, verdict: Verdict, *, quote: str = "") -> Span | None:
        """Answer the span of the value of a command-line flag, or None when it shows none."""
        text = self._text
        if quote:
            found = text.find(quote, start, start + _LONGEST)
            end = min(len(text), start + _LONGEST) if found < 0 else found
            shown = end > start and not is_mask(text[start:end]) and not is_reference(text[start:end])
        else:
            bare = _BARE.match(text, start)
            if bare is None:
                return None
            end = self._cut(start, bare.end())
            shown = shows_secret(
                text[start:end], strict=True, rest=text[end : end + 40], sensitive=self._judge
            )
        if shown and (not verdict[1] or fits_shape(text[start:end], verdict[1])):
            return start, end, verdict[0]
        return None

    def _bare(self, start: int, rule: str, shape: str, *, spoken: bool, strict: bool) -> Span | None:
        """Answer the span of a value without quotes. What was answered for the same characters is remembered:
        the value decides, and a little of what follows it."""
        text = self._text
        key = (text[start : start + _SEEN], rule + shape, spoken, strict)
        size = self._known.get(key)
        if size is None:
            bare = None if rule != "phone" and _CALL.match(text, start) else _BARE.match(text, start)
            if bare is None or (
                text[start] in _REFERRING and rule not in _WITH_DIGITS and self._refers(bare.group())
            ):
                return None
            end = self._bare_end(start, bare.end(), rule, shape, spoken=spoken, strict=strict)
            size = end - start
            if bare.end() - start <= _SEEN - _REST and len(self._known) < _MOST_KNOWN:
                self._known[key] = size
        return (start, start + size, rule) if size > 0 else None

    def _refers(self, value: str) -> bool:
        """Tell whether a value only says where the secret is; remembered, whatever follows it."""
        known = self._references.get(value)
        if known is None:
            known = is_reference(value)
            if len(self._references) < _MOST_KNOWN:
                self._references[value] = known
        return known

    def _bare_end(self, start: int, end: int, rule: str, shape: str, *, spoken: bool, strict: bool) -> int:
        """Answer where a value ends that stands in a run without blanks; its start when it is no secret."""
        text = self._text
        if end - start == _LONGEST:
            rest = _BARE_REST.match(text, end)
            return self._reach(rest.end() if rest else end)
        run = _DIGITS.match(text, start) if rule in _NUMBERS else None
        if rule == "code":
            run = _HALVES.match(text, start)
        if rule in _OF_STATES and (run is None or run.end() < end):
            run = _PAPERS.match(text, start) or run
        end = max(run.end() if run else 0, self._cut(start, end))
        if text[end - 1] in ".…" and is_reference(text[start:end]):
            return start  # (`sk-...`, of which the dots are more than the end of a sentence)
        end = self._without_stop(start, end)
        value = text[start:end]
        if (
            not value
            or value[0] in "(|"
            or value.startswith("[MASKED")
            or (shape and not fits_shape(value, shape))
        ):
            return start
        if is_release(value, rule) or is_duration(value, rule) or is_pointer(value):
            return start
        if value[0].isdigit() and (_MEASURED.match(text, end) or (rule != "code" and is_small(value))):
            return start
        digits = sum(map(str.isdigit, value)) if spoken or rule in _WITH_DIGITS else 0
        if spoken and (
            len(value) < 4 or not digits or (rule != "code" and value.isdigit() and len(value) < 6)
        ):
            return start
        if strict and rule == "cookie" and value.isalpha():
            return start
        if rule in _NUMBERS and not digits and value.isalpha():
            return start
        if strict and ((rule == "phone" and digits < 5) or (rule in _WITH_DIGITS and not digits)):
            return start
        shown = shows_secret(value, strict=strict, rest=text[end : end + 40], sensitive=self._judge)
        return end if shown else start

    def _without_stop(self, start: int, end: int) -> int:
        text = self._text
        while end > start and text[end - 1] in ",;":
            end -= 1
        while end > start + 1 and text[end - 1] in ".!?" and (end == len(text) or text[end].isspace()):
            end -= 1
        return end

    def _cut(self, start: int, end: int) -> int:
        stop = _STOP.search(self._text, start, min(len(self._text), end + 1))
        return stop.start() if stop is not None and stop.start() < end else end

    def _quoted(self, opened: re.Match[str], rule: str, shape: str, *, spoken: bool) -> Span | None:
        text = self._text
        quote, start = opened.group("quote"), opened.end()
        if quote in ("'", '"') and text.startswith(quote * 2, start):
            start, end = self._trimmed(start + 2, text.find(quote * 3, start + 2, start + _LONGEST))
        elif len(quote) == 1:
            inside = _INSIDE[quote].match(text, start)
            end = self._reach(inside.end() if inside else start)
        else:
            end = self._closing(quote, start)
        value = text[start:end]
        if not value or value.isspace() or is_mask(value) or is_reference(value) or is_pointer(value):
            return None
        if (shape and not fits_shape(value, shape)) or (quote == "`" and value.isalpha()):
            return None
        if len(value) < 4 and not any(map(str.isalnum, value)):
            return None  # a sign that a parser speaks of
        if is_release(value, rule) or (rule == "authorization" and is_scheme(value)):
            return None
        if value.isalpha() and _OR_ELSE.match(text, end + len(quote)):
            return None
        scheme = _SCHEME.match(value) if rule == "authorization" else None
        if scheme is not None and scheme.end() < len(value):
            start += scheme.end()
        return None if spoken and value.isalpha() else (start, end, rule)

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Answer the span without the blanks around it; an empty one when there is no end."""
        text = self._text
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        return start, max(start, end)

    def _closing(self, quote: str, start: int) -> int:
        """Answer where a quote with backslashes is met again: with as many, for one with more is inside."""
        text = self._text
        end = text.find(quote, start, start + 2 * _LONGEST)
        while end > start and text[end - 1] == "\\":
            end = text.find(quote, end + len(quote), start + 2 * _LONGEST)
        return self._line_end("", start) if end < 0 else end

    def _line_end(self, quote: str, start: int) -> int:
        return self._reach(self._lines.end(quote, start))

    def _reach(self, end: int) -> int:
        """Take note of how far the text was read."""
        self.reach = max(self.reach, end)
        return end

    def pass_by(self, name: str) -> None:
        """Remember a name, and the character before it, behind which no value is looked for."""
        if len(self.idle) < _MOST_KNOWN:
            self.idle.add(name)

    def tag_end(self, end: int) -> int:
        """Answer where the tag ends that may go on at a place, -1 when none does; take note that the text of
        its element is read without bounds."""
        close = self._text.find(">", end, end + BEFORE)
        if close >= 0:
            self._reach(self._lines.angle(close + BEFORE + _LONGEST))
        return close

    @staticmethod
    def _listed(match: re.Match[str], rule: str) -> Span | None:
        inner = match.group("inner")
        start = match.start("inner")
        last = max(inner.rfind('"'), inner.rfind("'"))
        end = start + (last if last > 0 else len(inner))
        return None if end <= start or "MASKED:" in inner else (start, end, rule)

    def _header(self, name_at: int, match: re.Match[str], start: int, rule: str) -> tuple[bool, Span | None]:
        """Answer whether this is a header, and the span of its secret."""
        text = self._text
        if rule == "cookie":
            header = (
                match.group("sep") == ":"
                and text[max(0, match.start() - 6) : match.start()].lower() == "cookie"
            )
            header = header and not text.startswith(_NO_COOKIES, start)
            end = self._line_end(text[name_at - 1 : name_at], start) if header else start
            sign = self._lines.sign(start)
            if not header or not start <= sign < end or _PROSE.search(text, start, sign):
                return False, None
            empty = text.startswith("[MASKED:", start) or is_cleared(text[start:end])
            return True, None if empty else (start, end, rule)
        scheme = _SCHEME.match(text, start)
        if scheme is None:
            return False, None
        at = scheme.end()
        if text.startswith(("[MASKED:", "****"), at):
            return True, None
        if scheme.group("scheme").lower() in _ONE_TOKEN:
            return True, self.token(at, Verdict((rule, "")))
        end = self._line_end(text[name_at - 1 : name_at], start)
        while end > at and text[end - 1] in " \t":
            end -= 1
        return True, (at, end, rule) if end > at else None
