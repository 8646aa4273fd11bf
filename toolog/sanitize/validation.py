"""Values in the messages of validators, which say what they were given: those of pydantic, jsonschema and
Spring.

`password\\n  String should have at least 12 characters [type=string_too_short, input_value='x1', ...]`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from toolog.sanitize.literals import Held
from toolog.sanitize.plausible import is_mask, is_reference, says_nothing
from toolog.sanitize.rules import Span
from toolog.sanitize.words import Verdict

#: Behind the name of a field: the kind of value that was tried.
_TRIED = re.compile(
    r"(?:str|int|float|bool|bytes|none|nullable|is-instance|constrained-\w+|[\w-]+\[.*)", re.S
)
_LINE = r"(?:\r?\n|\\{1,8}n)"
#: A line with the place of a field, and one below it with what it was given.
_GIVEN = re.compile(
    rf"(?<![\w.\[\]-])(?P<name>[^\W\d][\w.\[\]-]{{0,100}}+){_LINE}[ ]{{2}}"
    r"[^\r\n]{1,300}?\[type=[\w.-]{1,60}, input_value="
    r"(?P<value>[^{}\r\n]{1,4096}?)(?=, input_type=|\]?(?:[\r\n]|\\{1,8}n|$))"
)
#: What Spring says of a field of a form.
_REJECTED = re.compile(
    r"field '(?P<name>[^'\r\n]{1,100})': rejected value \[(?P<value>[^\[\]\r\n]{1,4096}+)\]"
)
#: What jsonschema says below the rule that did not hold.
_INSTANCE = re.compile(
    rf"On instance(?:\[[^\[\]\r\n]{{1,60}}\]){{0,20}}?\["
    rf"\\{{0,8}}[\"'](?P<name>[^\"'\[\]\r\n\\]{{1,100}})\\{{0,8}}[\"']\]:{_LINE}[ ]{{1,8}}"
    r"(?P<value>[^{}\[\]\r\n\\]{1,4096}+)"
)


#: What the search looks for in a text before it reads it.
SHOWN = ("input_value=", "rejected value [", "On instance")


def find_validated(text: str, judge: Callable[[str], Verdict | None], held: Held) -> Iterator[Span]:
    """Find the values of sensitive fields that a message says were not valid.

    :param judge: the key predicate.
    :param held: which words (`SHOWN`) stand in the text.
    """
    if held["input_value="]:
        for match in _GIVEN.finditer(text):
            verdict = judge_place(match["name"].split("."), judge)
            if verdict is not None and (span := _inner(*match.span("value"), text)):
                yield *span, verdict[0]
    if held["rejected value ["]:
        for match in _REJECTED.finditer(text):
            verdict = judge(match["name"].rpartition(".")[2])
            if verdict is not None and (span := _inner(*match.span("value"), text)):
                yield *span, verdict[0]
    if held["On instance"]:
        yield from _failed(text, judge)


def _failed(text: str, judge: Callable[[str], Verdict | None]) -> Iterator[Span]:
    done = 0
    for match in _INSTANCE.finditer(text):
        verdict = judge(match["name"])
        span = _inner(*match.span("value"), text) if verdict else None
        if verdict is None or span is None:
            continue
        # (the message begins with the value, too)
        head = text.find(text[slice(*span)] + text[span[1] : span[1] + 1] + " is ", done, span[0])
        if head >= 0:
            yield head, head + span[1] - span[0], verdict[0]
        yield *span, verdict[0]
        done = span[1]


def judge_place(place: Iterable[Any], judge: Callable[[str], Verdict | None]) -> Verdict | None:
    """Answer the verdict on the place of a field: on its last name, behind which kinds may stand that were
    tried."""
    names = [part for part in place if isinstance(part, str) and not part.isdigit()]
    while len(names) > 1 and _TRIED.fullmatch(names[-1]):
        names.pop()
    return judge(names[-1]) if names else None


def _inner(start: int, end: int, text: str) -> tuple[int, int] | None:
    """Answer a value's span without its quotes, or None when there is nothing to hide in it."""
    while start < end and text[start] in "\\\"'b":
        start += 1
        if text[start - 1] in "\"'":
            break
    while end > start and text[end - 1] in "\\\"'":
        end -= 1
    value = text[start:end]
    shown = value.strip() and not (is_mask(value) or is_reference(value) or says_nothing(value))
    return (start, end) if shown else None
