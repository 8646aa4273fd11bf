"""Secrets in text that is made of items: one part says the name, and the next one the value. Lists of
variables in YAML and in broken JSON, properties in XML and property lists, variables of Terraform.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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
    r"<(?:value|string|val|Value)>(?P<quoted>[^<>]{1,4096}+)</"
)
#: `<property name="x">y</property>`.
_CONTENT = re.compile(
    rf"<[A-Za-z][\w:.-]{{0,60}}+\s(?:[^<>]{{0,200}}?\s)?(?i:name|key|id|property)\s{{0,4}}=\s{{0,4}}\\{{0,8}}[\"']{_NAME}\\{{0,8}}[\"']"
    r"[^<>]{0,200}+(?<!/)>(?:\s{0,80}<value>)?(?P<quoted>[^<>]{1,4096}+)</"
)

_WORD = re.compile(r"\s*(?=\S*[^\sA-Za-z])\S+\s*")


def find_items(text: str, judge: Judge) -> Iterator[Iterator[Span]]:
    """Yield the searches for the values of items, each in the order of the text.

    :param judge: the key predicate.
    """
    if "alue" in text or "ontent" in text or "default" in text or "val" in text:
        yield _shown(_ITEM.finditer(text), judge)
        if "variable" in text:
            yield _shown(_VARIABLE.finditer(text), judge)
    if "</" in text:
        yield _shown(_ELEMENTS.finditer(text), judge)
        contents = _CONTENT.finditer(text)  # (in pages, words and sentences stand there)
        yield _shown((match for match in contents if _WORD.fullmatch(match["quoted"])), judge)


def _shown(matches: Iterator[re.Match[str]], judge: Judge) -> Iterator[Span]:
    for match in matches:
        verdict = judge(match["name"])
        if verdict is None:
            continue
        part = "quoted" if match["quoted"] is not None else "bare"
        value = match[part]
        if (
            not value.strip()
            or says_nothing(value)
            or is_mask(value)
            or is_reference(value)
            or value.startswith("[MASKED:")
        ):
            continue
        if not verdict[1] or fits_shape(value, verdict[1]):
            yield *match.span(part), verdict[0]
