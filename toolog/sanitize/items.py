"""Secrets in text that is made of items: one part says the name, and the next one the value. Lists of
variables in YAML and in broken JSON, properties in XML and property lists, variables of Terraform.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from toolog.sanitize.literals import Held
from toolog.sanitize.plausible import fits_shape, is_mask, is_reference, says_nothing
from toolog.sanitize.rules import Span
from toolog.sanitize.words import Verdict

Judge = Callable[[str], Verdict | None]

_NAME = r"(?P<name>[^\W\d][\w.$-]{1,100}+)"
_QUOTE = r"\\{0,8}[\"']?"
#: `- name: DB_PASSWORD` and, on the next line or behind a comma, `value: x`.
_ITEM = re.compile(
    r"[nNkKfFhHvVp](?<![\w-].)(?:ame|ey|ield|eader|ariable|arameter|aram)"
    rf"{_QUOTE}[ \t]{{0,4}}[:=][ \t]{{0,4}}{_QUOTE}{_NAME}{_QUOTE}[ \t]{{0,4}}"
    rf"(?:[,;][ \t]{{0,4}}|[,;]?(?:\r?\n|\\{{1,8}}n)[ \t]{{0,40}})"
    rf"{_QUOTE}(?:[vV]alue|val|content|default){_QUOTE}[ \t]{{0,4}}[:=][ \t]{{0,4}}"
    r"(?:(?P<quote>\\{0,8}[\"'])(?P<quoted>[^\"'\\\r\n]{1,4096}+)|(?P<bare>[^\s\"'{}\[\],;&*|>!#][^\s,;]{0,4096}+))"
)
#: `variable "db_password" { default = "x" }`.
_VARIABLE = re.compile(
    rf"variable(?<!\wvariable)\s{{1,8}}\"{_NAME}\"\s{{1,8}}\{{[^{{}}]{{0,400}}?\bdefault\s{{0,8}}=\s{{0,8}}\"(?P<quoted>[^\"\r\n]{{1,4096}}+)\""
)
#: `<name>x</name><value>y</value>`, `<key>x</key><string>y</string>`.
_ELEMENTS = re.compile(
    rf"<(?:name|key|Name|Key)>{_NAME}</(?:name|key|Name|Key)>\s{{0,80}}"
    r"<(?:value|string|val|Value)(?:\s[^<>]{0,100})?>(?:\s{0,8}<string>)?(?P<quoted>[^<>]{1,4096}+)</"
)
#: `<property name="x">y</property>`.
_CONTENT = re.compile(
    rf"<[A-Za-z][\w:.-]{{0,60}}+\s(?:[^<>]{{0,200}}?\s)?(?i:name|key|id|property)\s{{0,4}}=\s{{0,4}}\\{{0,8}}[\"']{_NAME}\\{{0,8}}[\"']"
    r"[^<>]{0,200}+(?<!/)>(?:\s{0,80}<value>)?(?P<quoted>[^<>]{1,4096}+)</"
)
#: `s:8:"password";s:2:"x1";`, as PHP writes down what it holds.
_SERIALIZED = re.compile(
    rf"s(?<![\w]s):[0-9]{{1,4}}:\\{{0,8}}\"{_NAME}\\{{0,8}}\";"
    r"s:[0-9]{1,6}:\\{0,8}\"(?P<quoted>[^\"\\\r\n]{1,4096}+)"
)
#: `{password,"x1"}` and `{<<"password">>, <<"x1">>}` of Erlang.
_TUPLE = re.compile(
    rf"\{{[ ]?(?:<<\\{{0,8}}\")?{_NAME}(?:\\{{0,8}}\">>)?[ ]?,[ ]?"
    r"(?:<<)?\\{0,8}\"(?P<quoted>[^\"\\\r\n]{1,4096}+)\\{0,8}\"(?:>>)?[ ]?\}"
)
#: `:password "x1"` of Clojure, `(setq password "x1")` and the like.
_KEYWORD = re.compile(
    rf"(?::(?<![\w:]:)|\((?:set[qf]|def(?:var|const|parameter|ine)?)[ ]{{1,4}}){_NAME}[ ]{{1,4}}"
    r"\\{0,8}\"(?P<quoted>[^\"\\\r\n]{1,4096}+)\\{0,8}\""
)
#: `"x1" -> "x2"` behind a name and its sign: what changes, and to what.
_CHANGED = re.compile(r"[ \t]{0,4}->[ \t]{0,4}\\{0,8}\"(?P<quoted>[^\"\\\r\n]{1,4096}+)\\{0,8}\"")
_CHANGING = re.compile(rf"[^\w\"'\n]*[\"']?{_NAME}[\"']?[ \t]{{0,60}}[=:][^=:].*", re.S)
#: Items of a list of YAML below a name.
_LISTED = re.compile(
    r":(?:[ \t]{0,4}\r?\n[ \t]{0,40}-[ \t]{1,4}(?![^\r\n]{0,400}:(?:[ ]|[\r\n]|$))[^\s#][^\r\n]{0,4096}+)+"
)
_LIST_ITEM = re.compile(
    r"\n[ \t]{0,40}-[ \t]{1,4}[\"']?(?P<bare>[^\s\"'#][^\r\n\"'#]{0,4096}?)[\"']?[ \t]{0,40}(?=[\r\n]|$)"
)
_NAME_BEFORE = re.compile(rf"{_NAME}[\"']?$")
_SAYS_WHICH = frozenset(("secret", "credential"))
_LONGEST_LINE = 400
#: So many values of one text are remembered.
_MOST_KNOWN = 1024

_WORD = re.compile(r"\s*(?=\S*[^\sA-Za-z])\S+\s*")


#: What the searches look for in a text before they read it.
SHOWN = ("alue", "ontent", "default", "val", "variable", "</", ";s:", "{", '"', " ", "->", "\n", "- ")


def find_items(text: str, judge: Judge, held: Held) -> Iterator[Iterator[Span]]:
    """Yield the searches for the values of items, each in the order of the text.

    :param judge: the key predicate.
    :param held: which words (`SHOWN`) stand in the text.
    """
    if held["alue"] or held["ontent"] or held["default"] or held["val"]:
        yield _shown(_ITEM.finditer(text), judge)
        if held["variable"]:
            yield _shown(_VARIABLE.finditer(text), judge)
    if held["</"]:
        yield _shown(_ELEMENTS.finditer(text), judge)
        contents = _CONTENT.finditer(text)  # (in pages, words and sentences stand there)
        yield _shown((match for match in contents if _WORD.fullmatch(match["quoted"])), judge)
    if held[";s:"]:
        yield _shown(_SERIALIZED.finditer(text), judge)
    if held["{"] and held['"']:
        yield _shown(_TUPLE.finditer(text), judge)
    if held[" "] and held['"']:
        yield _shown(_KEYWORD.finditer(text), judge)
    if held["->"]:
        yield _changes(text, judge)
    if held["\n"] and held["- "]:
        yield _listed(text, judge)


def _changes(text: str, judge: Judge) -> Iterator[Span]:
    """Find the new values of lines that show an old one, an arrow and a new one."""
    at = text.find("->")
    while at >= 0:
        match = _CHANGED.match(text, at)
        if match is not None:
            line = text[max(text.rfind("\n", max(0, at - _LONGEST_LINE), at), at - _LONGEST_LINE) + 1 : at]
            name = _CHANGING.fullmatch(line)
            verdict = judge(name["name"]) if name else None
            if verdict is not None and _is_shown(match["quoted"], verdict):
                yield *match.span("quoted"), verdict[0]
        at = text.find("->", match.end() if match else at + 2)


def _listed(text: str, judge: Judge) -> Iterator[Span]:
    """Find the items of lists of YAML below sensitive names; names of secrets are none."""
    for some in _LISTED.finditer(text):
        name = _NAME_BEFORE.search(text, max(0, some.start() - 102), some.start())
        verdict = judge(name["name"]) if name else None
        if verdict is None or verdict[0] in _SAYS_WHICH:
            continue
        for item in _LIST_ITEM.finditer(text, some.start(), some.end()):
            value = item["bare"]
            if not value.isalpha() and " " not in value and _is_shown(value, verdict):
                yield *item.span("bare"), verdict[0]


def _shown(matches: Iterator[re.Match[str]], judge: Judge) -> Iterator[Span]:
    known: dict[tuple[str, Verdict], bool] = {}
    for match in matches:
        verdict = judge(match["name"])
        if verdict is None:
            continue
        part = "quoted" if match["quoted"] is not None else "bare"
        value = match[part], verdict
        shown = known.get(value)
        if shown is None:
            shown = _is_shown(*value)
            if len(known) < _MOST_KNOWN:
                known[value] = shown
        if shown:
            yield *match.span(part), verdict[0]


def _is_shown(value: str, verdict: Verdict) -> bool:
    if not value.strip() or says_nothing(value) or is_mask(value) or is_reference(value):
        return False
    return not value.startswith("[MASKED:") and (not verdict[1] or fits_shape(value, verdict[1]))
