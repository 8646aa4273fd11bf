"""What is typed into fields of pages and forms: steps of browsers' drivers and of tests say the field, and
then what is filled in (`page.fill("#password", "x1")`, `getByLabel("Password").fill("x1")`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from toolog.sanitize.literals import Held
from toolog.sanitize.phrases import NUMBERED_RULES
from toolog.sanitize.plausible import fits_shape, is_mask, is_reference
from toolog.sanitize.rules import Span
from toolog.sanitize.words import Verdict

Judge = Callable[[str], Verdict | None]

_QUOTED = r"(?P<{0}q>\\{{0,8}}[\"'`])(?P<{0}>(?:(?!(?P={0}q))[^\r\n]){{1,512}}+)(?P={0}q)"
#: What fills something in.
VERBS = (
    "fill_in|fill|type|send_keys|sendKeys|setValue|set_value|press_sequentially|pressSequentially|input_text"
)
#: A call that fills something in: with the field as its first argument, or of the field itself.
_CALL = re.compile(
    rf"\.(?:{VERBS})\([ ]?{_QUOTED.format('first')}(?:,[ ]?(?:with:[ ]?)?{_QUOTED.format('second')})?+"
)
_CALLED = tuple(f".{verb}(" for verb in VERBS.split("|"))
#: A field before the call, at the end of what finds it.
_FIELD = re.compile(r"\((?P<field>[^()\r\n]{1,200}+)\)\)?(?:\.(?:first|last|nth\([0-9]{1,3}\)|clear\(\)))?$")
_BEFORE = 220
#: A step of a test in words: `"Password" with "x1"`.
_STEP = re.compile(
    r"[\"'](?<!\w\W)(?P<name>[^\"'\r\n\\]{2,60}+)\\{0,8}[\"'] (?:with|to|as) (?:the value )?"
    + _QUOTED.format("value")
)
#: The same with the field behind it: `"x1" into "Password"`.
_INTO = re.compile(
    _QUOTED.format("value")
    + r" (?:into|in) (?:the )?(?:field )?\\{0,8}[\"'](?P<name>[^\"'\r\n\\]{2,60}+)[\"'\\]"
)
#: A call that is told the field by another call: `user.type(getByLabelText(/password/), "x1")`.
_FOUND = re.compile(
    rf"\.(?:{VERBS})\([ ]?[\w.]{{1,60}}+\((?P<field>[^()\r\n]{{1,120}}+)\),[ ]?{_QUOTED.format('value')}"
)
#: A step of Capybara.
_FILL_IN = re.compile(rf"fill_in[ (]{{1,2}}{_QUOTED.format('first')},[ ]?with:[ ]?{_QUOTED.format('value')}")
_STEPS = ('" with ', "' with ", '" to ', "' to ", '" as ', "' as ")
_LEAST = 3
_LONGEST_NAME = 60
_LABEL = re.compile(r"[\"']([^\"'\\]{2,60})[\"'\\]")
_WORD = re.compile(r"[A-Za-z][\w-]{1,60}")
#: What cases of keys stand for, behind what is typed.
_KEYS = re.compile(r"\{[a-zA-Z]{2,12}\}$|\\[rnt]$")


#: What the search looks for in a text before it reads it.
SHOWN = (*_CALLED, "with:", " into ", '" in ', *_STEPS)


def find_typed(text: str, judge: Judge, held: Held) -> Iterator[Span]:
    """Find what is typed into sensitive fields.

    :param judge: the key predicate.
    :param held: which words (`SHOWN`) stand in the text.
    """
    if any(map(held.__getitem__, _CALLED)):
        for match in _CALL.finditer(text):
            place, field = "second", match["first"]
            if match["second"] is None:
                before = _FIELD.search(text, max(0, match.start() - _BEFORE), match.start())
                place, field = "first", before["field"] if before else ""
            yield from _shown(match, place, judge_field(field, judge))
        for match in _FOUND.finditer(text):
            yield from _shown(match, "value", judge_field(match["field"], judge))
    if held["with:"]:
        for match in _FILL_IN.finditer(text):
            yield from _shown(match, "value", judge_field(match["first"], judge))
    if held[" into "] or held['" in ']:
        for match in _INTO.finditer(text):
            yield from _shown(match, "value", _judge_name(match["name"], judge))
    if any(map(held.__getitem__, _STEPS)):
        for match in _STEP.finditer(text):
            yield from _shown(match, "value", _judge_name(match["name"], judge))


def judge_field(field: str, judge: Judge) -> Verdict | None:
    """Answer the verdict on a field as pages call it: its label, or what selects it (`input[name=pin]`)."""
    field = field[:200]
    for name in (field, *_LABEL.findall(field), *_WORD.findall(field)):
        verdict = judge(name) if len(name) <= _LONGEST_NAME else None
        if verdict is not None:
            return verdict
    return None


def _judge_name(name: str, judge: Judge) -> Verdict | None:
    """Answer the verdict on a field that words tell: what depends on its value must be the name's end."""
    verdict = judge_field(name, judge)
    return verdict if verdict is None or not verdict[1] else judge(name)


def _shown(match: re.Match[str], place: str, verdict: Verdict | None) -> Iterator[Span]:
    if verdict is None:
        return
    start, end = match.span(place)
    key = _KEYS.search(match[place])
    end -= len(key.group()) if key else 0
    value = match.string[start:end]
    if is_filled(value, verdict):
        yield start, end, verdict[0]


def is_filled(value: str, verdict: Verdict) -> bool:
    """Tell whether a text is what somebody types into a field, and not what the field shows."""
    if len(value) < _LEAST or is_mask(value) or is_reference(value):
        return False
    if verdict[1]:
        return fits_shape(value, verdict[1])
    if verdict[0] in NUMBERED_RULES:
        return any(map(str.isdigit, value))
    return " " not in value and not value.isalpha()
