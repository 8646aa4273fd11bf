# ruff: noqa: SIM905 - word lists read better as text
"""Secrets in free text that are recognized by the name in front of them: assignments, headers, flags, URLs,
markup.

Only the values are found, so that `password=` stays readable. The name is judged by the one key predicate,
the value by `plausible.py`. Linear: every name and every value is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from toolog.sanitize import calls, commands, encoded, items, markup, phrases, scans, typed, validation
from toolog.sanitize.assigned import Values
from toolog.sanitize.calls import find_argument, find_logins
from toolog.sanitize.candidates import TOLD, Candidates, candidates, one_byte
from toolog.sanitize.commands import SETS, find_program_passwords
from toolog.sanitize.encoded import find_encoded_json
from toolog.sanitize.fold import MARKS
from toolog.sanitize.items import find_items
from toolog.sanitize.literals import Literals
from toolog.sanitize.markup import find_grids, find_inserts, find_labels, find_tags
from toolog.sanitize.phrases import (
    NUMBER_AHEAD,
    NUMBERED_RULES,
    find_noted,
    find_noted_passwords,
    find_spoken,
    find_web_keys,
    number_behind,
)
from toolog.sanitize.plausible import fits_shape, is_mask, is_reference
from toolog.sanitize.repeats import LEAST, Repeats
from toolog.sanitize.rules import Span
from toolog.sanitize.signs import ASSIGNED, NOTHING, shows_nothing
from toolog.sanitize.tables import find_tables
from toolog.sanitize.typed import find_typed
from toolog.sanitize.urls import find_encoded_pairs, find_encoded_users, find_parameters, find_url_users
from toolog.sanitize.validation import find_validated
from toolog.sanitize.words import KeyWords, Verdict, split

_BEFORE_MARKUP = ("<", ":")
_TWO_WORDS = re.compile(rf"([^\W\d_](?:[^\W\d_]|[{MARKS}]){{0,19}})[ ]$")
#: What stands around the value of an attribute by which an element is selected.
_SELECTS, _SELECTED = re.compile(r"=[\"']?$"), re.compile(r"[\"']?\]")
#: All words before the last one of a label, as a user's own may have many, and how far they are looked for.
_WORDS_BEFORE = re.compile(r"(?:(?<![^\W_])[^\W_]{1,40}[ ]){1,6}$")
_LONGEST_LABEL = 160
#: Two words before the last one of a label, of which the second says nothing: `clé d'`, `driver's `.
_BETWEEN = re.compile(rf"([^\W\d_](?:[^\W\d_]|[{MARKS}]){{0,19}})[ '’]([^\W\d_]{{1,5}})[ '’]$")
_FLAG_VALUE = re.compile(r"[ \t]+(?P<quote>[\"'])?(?=[^\s-]|-[^-\s])")
#: Behind a flag that is an item of a list: the next item, which tells something more than a name.
_NEXT_ITEM = re.compile(
    r"(?:\\{0,8}[\"'],\s{0,40}(?P<quote>\\{0,8}[\"'])|[ \t]*(?:\r?\n|\\{1,8}n)[ \t]{0,40}-[ \t]{1,4}[\"']?)"
    r"(?=[^\s-])(?=(?P<told>\w{0,100}(?:[0-9]|[^\w\s\"'\\,])))?"
)
#: Before the quote of a tuple's or a call's first item.
_OPENED = re.compile(r"\([ ]{0,4}$")
_TUPLE = re.compile(r"[\"'], {0,2}b?(?P<quote>[\"'])(?P<value>[^\"'\\\n]{1,4096}+)(?P=quote)[ ]{0,2}[),]")
#: A part of a form: its headers, an empty line, the value.
_PART = re.compile(
    r"[\"'](?P<nl>\r?\n|(?:\\{1,8}r)?\\{1,8}n)(?:[A-Za-z-]{2,40}:[^\r\n\\]{0,200}(?P=nl)){0,4}(?P=nl)"
    r"(?P<value>[^\r\n\\]{1,4096}+)"
)
_ATTRIBUTES = re.compile(r"[ \t\r\n]+(?:[A-Za-z_:.-]+ *=|$)")
_MARKUP = re.compile(
    r"(?P<more>\s[^<>]{0,200}+)?>(?:\s{0,80}<[Vv]alue>)?(?:<!\[CDATA\[(?P<data>(?:[^\]]|\](?!\]>)){1,4096}+)\]\]>|(?P<value>[^<>]++))</"
)
#: A password of Oracle in double quotes.
_IDENTIFIED_QUOTED = re.compile(
    r"[ \t]{1,4}(?i:by)[ \t]{1,4}\\{0,8}\"(?P<value>[^\"\r\n\\]{2,128}+)\\{0,8}\""
)
_QUOTED_NEXT = re.compile(
    r"[ \t]{1,4}(?:(?:BY|by)[ \t]{1,4}|(?:FOR|for)[ \t]{1,4}\S{1,128}+[ \t]{0,4}=[ \t]{0,4})?"
    r"'(?P<value>[^'\n]{1,512}+)'"
)
#: A value in quotes, as chats have it: "pass `x1`".
_TOLD_IN_QUOTES = re.compile(r"[ \t]{1,4}(?P<quote>\\{0,8}[\"`])(?P<value>[^\s\"`\\]{4,128}+)(?P=quote)")
#: What Oracle takes without quotes.
_IDENTIFIED_BY = re.compile(
    r"[ \t]{1,4}(?i:by)[ \t]{1,4}(?P<value>(?=\w{0,60}[0-9])[A-Za-z][\w#$]{3,60}+)(?=[;\s]|$)"
)
#: `token x1y2z3 is invalid`: a token of letters and digits of which something is told.
_TOLD_OF = re.compile(
    r"[ \t]{1,4}(?P<quote>\"?)"
    r"(?P<value>(?=[^\s\"']{0,100}[0-9])(?=[^\s\"']{0,100}[A-Za-z])[\w+/=.~!@$%^&*-]{6,512}+)(?P=quote)"
    rf"[ \t]{{1,4}}{TOLD}(?!\w)"
)
#: Behind a label that is shortened: `Tel.: ...`.
_SHORTENED = re.compile(r"[ \t\xa0\u202f]{0,4}[:：]")
_TOKEN_WORD = re.compile(r"[ \t]{0,4}[A-Za-z_]{1,32}(?=[\s,.;)]|$)")
#: A file of sources, and a line of it.
_SOURCES = frozenset(
    """py pyi js mjs cjs ts jsx tsx go rs java kt rb php c h cc cpp hpp cs swift scala sh sql html css vue tf
    md txt yml yaml json toml xml ex exs lua pl ps1""".split()
)
#: What has passed a test, behind a word that says so.
_TESTED = re.compile(
    r":[ \t]{1,4}(?:[Tt]est\w*+(?:/\S*+)?"
    r"|[\w/.-]{1,100}\.(?:sh|py|pl|js|ts|go|c|cc|cpp|t|rb|rs)|[\w.]{1,60}::\S{1,100}+)"
    r"(?=[\s(]|$)"
)
_RESOURCE = re.compile(r"(?<![\w-])(?:arn|crn|urn):[\w./:-]*$")
_LINE_OF = re.compile(r":[0-9]{1,6}(?=[:\s,)]|-[0-9]|$)")
_SETS = re.compile(rf"(?<![\w-]){SETS}[ \t]{{1,4}}[\"']?(?:[\w.-]{{1,40}}[:/]){{0,3}}$")
_SET_VALUE = re.compile(r"[\"']?" + _FLAG_VALUE.pattern)
#: Signs of what was closed behind a name.
_ENDS = frozenset("\"'`,;)")
_BEFORE_SET = frozenset(" \t\"':/")
#: What stands before the word of a parser's message: `unexpected token 'x1'` shows no token of anybody.
_PARSING = re.compile(
    r"(?:unexpected|illegal|invalid|unknown|expected|bad|near|this|first|next|last|stop|special)[ \t]$", re.I
)
#: Before the second word of a label, and before what SQL says; nothing where a text begins.
_BLANKS = ("", " ", "\t", "\n", "\r", "'", "’")
_GAPS = (" ", "\t")
#: The end of a name that says that a number follows: `Reisepass-Nr.`
_NUMBER_WORD = re.compile(r"(?<=\w)[-_.](?:no|nr|num|number|nummer)\.?$")
#: First words of what receipts show behind a blank: `Auth code 044182`.
_ON_RECEIPTS = ("auth",)
_TOLD_RULES = frozenset(("password", "api_key"))
_NO_REPEATS = Repeats("")
_SQL_RULES = frozenset(("password", "secret", "token", "api_key"))
#: What the searches below look for in a text before they read it.
_BEFORE_PARAMETERS, _IN_TABLES = "?&#;%", "\n|\t\u2502"
_WORDS = Literals(
    "://", *_BEFORE_PARAMETERS, *_IN_TABLES,
    *markup.SHOWN, *items.SHOWN, *commands.SHOWN, *phrases.SHOWN, *validation.SHOWN, *typed.SHOWN,
    *calls.LOGINS, *encoded.BEGINNINGS,
)  # fmt: skip
scans.watch(_WORDS)


class NamedText:
    """Finds named secrets in text with one vocabulary.

    :param words: the key predicate.
    """

    def __init__(self, words: KeyWords) -> None:
        self._words = words
        self._judge = words.judge

    @cached_property
    def _labels(self) -> frozenset[str]:
        """Second words of labels of two (`API key: ...`), and what SQL says before a password."""
        words = self._words
        ends = {word[at:] for word in words.strong for at in range(1, len(word))}
        lasts = {last for _, _, last in words.phrases} | {phrase[-1] for phrase in words.added}
        return frozenset(ends | {second for _, second in words.pairs} | lasts | {"identified"})

    @cached_property
    def _candidates(self) -> Candidates:
        return candidates(self._words)

    def finders(self, text: str, most: int) -> Iterator[Iterator[Span]]:
        """Yield the searches for values behind sensitive names in folded text; each in the order of the text.

        What two of them find may overlap.

        :param most: how many finds of each are asked for at most.
        """
        judge = self._judge
        view = one_byte(text)
        ends, held = self._words.judge_end, _WORDS.held(text)
        users = list(islice(find_url_users(text), most)) if held["://"] else []
        yield iter(users)
        if held["%"]:
            yield find_encoded_pairs(text, judge)
            yield find_encoded_users(text)
        parameters: list[Span] = []
        if any(map(held.__getitem__, _BEFORE_PARAMETERS)):
            parameters = list(islice(find_parameters(text, judge, self._candidates.holding), most))
        yield iter(parameters)
        yield self._assigned(text, view, {span[0]: span[1] for span in (*users, *parameters)})
        if any(map(held.__getitem__, _IN_TABLES)):
            yield find_tables(text, judge, ends, self._candidates.cells(view))
        if held["<"]:
            yield find_tags(text, judge, held)
            yield find_grids(text, ends, held)
            yield find_labels(text, ends, held)
        yield find_inserts(text, judge, held)
        yield from find_items(text, judge, held)
        yield from find_program_passwords(text, held)
        yield find_web_keys(text, held)
        yield find_validated(text, judge, held)
        yield find_logins(text, judge, held)
        yield find_typed(text, judge, held)
        yield find_encoded_json(text, self._tells, held)
        yield find_noted(text, held)
        if not text.isascii():
            yield find_spoken(text, judge)
            yield find_noted_passwords(text)

    def _tells(self, text: str) -> bool:
        """Tell whether a text tells a secret behind its name."""
        return next(self._assigned(text, one_byte(text), {}), None) is not None

    def _assigned(self, text: str, view: bytes, taken: dict[int, int]) -> Iterator[Span]:
        """Yield the values behind names, but for those that begin where another search found one.

        :param view: the text in one byte for each character.
        :param taken: where those begin and end.
        """
        values = Values(text, self._judge)
        repeats = Repeats(text) if len(text) >= LEAST else _NO_REPEATS
        names = self._candidates.names(text, view)
        done = 0
        idle = values.idle
        while (name := next(names, None)) is not None:
            start, end = name
            if start < done:
                continue
            if end + 1 in taken:
                done = taken[end + 1]
                continue
            repeated = start >= repeats.since
            if repeated:
                ahead, done = repeats.ahead(start, max(taken, default=-1))
                if done > start:
                    yield from ahead
                    names = self._candidates.names(text, view, done)
                    continue
            values.reach = 0
            found = None
            if not idle or text[max(0, start - 1) : end] not in idle:
                found = self._behind(text, start, end, values)
            if repeated:
                repeats.note(start, found, values.reach)
            if found is not None:
                done = found[1]
                if found[0] not in taken:
                    yield found

    def _behind(self, text: str, start: int, end: int, values: Values) -> Span | None:
        """Answer the value behind a name, or None when that is no name of a secret or no value is shown."""
        if start >= 8 and text.startswith("[MASKED:", start - 8):
            return None  # the name of a mask
        name = text[start:end]
        verdict = self._judge(name)
        if verdict is None and name[-1] == "." and _SHORTENED.match(text, end):
            name = name[:-1]
            verdict = self._judge(name)
        if verdict is None:
            lower = name.lower()
            known = lower in self._labels and (text[start - 1 : start] in _BLANKS or lower == "identified")
            if not known and text[end - 1] != ".":
                values.pass_by(text[max(0, start - 1) : end])
                return None
            if not known and not self._number_name(text, start, name):
                return None
        elif name == "PASS" and _TESTED.match(text, end):
            return None  # (that a test has passed)
        elif "." in name and name.rpartition(".")[2] in _SOURCES and _LINE_OF.match(text, end):
            return None  # (where something was found)
        elif text[start - 1 : start] == ":" and _RESOURCE.search(text, max(0, start - 160), start):
            return None  # (which secret it is)
        elif (empty := NOTHING.match(text, end)) is not None and shows_nothing(empty, verdict[0]):
            return None
        return self._at_name(text, start, end, values, verdict)

    def _at_name(
        self, text: str, start: int, end: int, values: Values, verdict: Verdict | None
    ) -> Span | None:
        if _SELECTED.match(text, end) and _SELECTS.search(text, max(0, start - 2), start):
            return None  # an attribute in a style sheet: `input[type="password"]:focus`
        behind, before = text[end : end + 1], text[start - 1 : start]
        if behind == ">":  # (no sign begins so)
            known = before in _BEFORE_MARKUP and verdict is not None
            return self._markup(text, start, end, values, verdict) if known and verdict else None
        assigned = ASSIGNED.match(text, end)
        if assigned is not None:
            if verdict is None and not assigned.group("close"):
                verdict = self._two_words(text, start, text[start:end].rstrip("."))
            if verdict is not None and verdict[0] == "token" and _parsed(text, start, assigned.end()):
                return None
            return values.behind(start, assigned, verdict) if verdict else None
        if verdict is None and behind in _ENDS:
            return None  # (what comes now asks for a blank behind the name, or for a sensitive one)
        if before == "<":
            return self._markup(text, start, end, values, verdict) if verdict else None
        if behind in ("(", " ") and before != "-" and verdict is not None:
            argument = find_argument(text, start, end, verdict, self._judge)
            if argument is not None or behind == "(":
                return argument
        if before in ("'", '"') and text.endswith("name=", 0, start - 1) and verdict is not None:
            part = _PART.match(text, end)
            return (part.start("value"), part.end("value"), verdict[0]) if part else None
        if (
            before in ("'", '"')
            and verdict is not None
            and _OPENED.search(text, max(0, start - 8), start - 1)
        ):
            return self._in_tuple(text, end, verdict)
        if verdict is not None and not verdict[1] and verdict[0] in _SQL_RULES:
            told = _TOLD_OF.match(text, end)
            if told is not None:
                return told.start("value"), told.end("value"), verdict[0]
        if before == "-" and verdict is not None:
            flag = _FLAG_VALUE.match(text, end)
            if flag is None and (flag := _NEXT_ITEM.match(text, end)) is not None and not flag["told"]:
                return None
            return values.token(flag.end(), verdict, quote=flag.group("quote") or "") if flag else None
        if NUMBER_AHEAD.match(text, end) and (numbered := self._number_name(text, start, text[start:end])):
            return number_behind(text, end, numbered)
        if before in _BEFORE_SET and verdict is not None and _SETS.search(text, max(0, start - 80), start):
            flag = _SET_VALUE.match(text, end)
            found = values.token(flag.end(), verdict, quote=flag.group("quote") or "") if flag else None
            return None if found is None or text[found[0] : found[1]].isalpha() else found
        if before in _BEFORE_MARKUP and verdict is not None:
            return self._markup(text, start, end, values, verdict)
        return self._quoted_next(text, start, end, verdict)

    def _number_name(self, text: str, start: int, name: str) -> Verdict | None:
        """Judge a name that may have a number right behind it: a word, or two or three as in prose."""
        words, last = self._words, _NUMBER_WORD.sub("", name.lower())
        verdict = words.shaped.get(last) or (words.strong.get(last, ""), "")
        if verdict[0] not in NUMBERED_RULES:
            before = _TWO_WORDS.search(text, max(0, start - 21), start)
            first = before.group(1).lower() if before else ""
            if first in _ON_RECEIPTS:
                return None
            verdict = (words.pairs.get((first, last)) or self._three_words(text, start, last) or "", "")
        return Verdict(verdict) if verdict[0] in NUMBERED_RULES else None

    def _three_words(self, text: str, start: int, last: str) -> str | None:
        between = _BETWEEN.search(text, max(0, start - 28), start)
        if between is None:
            return None
        return self._words.phrases.get((between.group(1).lower(), between.group(2).lower(), last))

    def _two_words(self, text: str, start: int, name: str) -> Verdict | None:
        """Judge a label of two words (`API key: ...`) or three; only those of the vocabulary count, a strong
        word further off is prose."""
        words, last = self._words, name.lower()
        before = _TWO_WORDS.search(text, max(0, start - 21), start)
        rule = None
        if before is not None:
            first = before.group(1).lower()
            rule = words.pairs.get((first, last))
        rule = rule or self._three_words(text, start, last)
        if not rule and words.added:
            label = _WORDS_BEFORE.search(text, max(0, start - _LONGEST_LABEL), start)
            spoken = split(label.group() + name) if label else []
            rule = "key" if any(tuple(spoken[-len(own) :]) == own for own in words.added) else None
        return Verdict((rule, "")) if rule else None

    @staticmethod
    def _in_tuple(text: str, end: int, verdict: Verdict) -> Span | None:
        """Find the value in `('password', 'x1')`, as lists of pairs are shown; a word alone is no value."""
        match = _TUPLE.match(text, end)
        if match is None:
            return None
        value = match.group("value")
        if is_mask(value) or is_reference(value) or not any(char.isdigit() for char in value):
            return None
        return match.start("value"), match.end("value"), verdict[0]

    @staticmethod
    def _markup(text: str, start: int, end: int, values: Values, verdict: Verdict) -> Span | None:
        match = _MARKUP.match(text, end) if values.tag_end(end) >= 0 else None
        if match is None:
            return None
        if (
            match["more"]
            and not _ATTRIBUTES.match(match["more"])
            and not text.startswith(text[start:end], match.end())
        ):
            return None  # no element, as far as it can be seen
        part = "value" if match.group("data") is None else "data"
        value = match.group(part)
        if is_mask(value) or is_reference(value) or value.isspace():
            return None
        if verdict[1] and not fits_shape(value, verdict[1]):
            return None
        return match.start(part), match.end(part), verdict[0]

    @staticmethod
    def _quoted_next(text: str, start: int, end: int, verdict: Verdict | None) -> Span | None:
        """Find `IDENTIFIED BY 'x'` and `PASSWORD 'x'`, as SQL writes them."""
        match = _QUOTED_NEXT.match(text, end)
        if match is None:
            if text[start:end].lower() == "identified":
                bare = _IDENTIFIED_BY.match(text, end) or _IDENTIFIED_QUOTED.match(text, end)
                if bare is not None and (is_mask(bare["value"]) or is_reference(bare["value"])):
                    return None
                return (*bare.span("value"), "password") if bare else None
            match = _TOLD_IN_QUOTES.match(text, end)
            if match is None or verdict is None or verdict[0] not in _TOLD_RULES:
                return None
            value = match["value"]
            if not any(map(str.isdigit, value)) or (verdict[1] and not fits_shape(value, verdict[1])):
                return None
            if is_mask(value) or is_reference(value) or _PARSING.search(text, max(0, start - 12), start):
                return None
            return (*match.span("value"), verdict[0])
        value = match.group("value")
        if text[start:end].lower() == "identified":
            verdict = Verdict(("password", ""))
        if verdict is None or verdict[1] or verdict[0] not in _SQL_RULES:
            return None
        if " " in value or is_mask(value) or is_reference(value) or value.isalpha():
            return None
        if not any(char.isalnum() for char in value) or _PARSING.search(text, max(0, start - 12), start):
            return None
        return match.start("value"), match.end("value"), verdict[0]


def _parsed(text: str, start: int, end: int) -> bool:
    """Tell whether a word behind `token:` is one of a language that is parsed (`next token: IDENT`)."""
    return (
        _TOKEN_WORD.match(text, end) is not None
        and _PARSING.search(text, max(0, start - 12), start) is not None
    )
