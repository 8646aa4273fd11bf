"""Secrets in tags and statements that name their value somewhere else: forms, settings in XML, SQL
inserts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product

from toolog.sanitize.literals import Held
from toolog.sanitize.plausible import fits_shape, is_mask, is_reference, says_nothing
from toolog.sanitize.rules import Span
from toolog.sanitize.tables import NAME
from toolog.sanitize.words import Verdict

Judge = Callable[[str], Verdict | None]

#: A tag with an attribute that names and one that holds a value.
_TAG = re.compile(
    r"<(?=[^<>]{0,4096}?\s(?i:name|key|id|property|itemprop)\s{0,4}=)"
    r"(?=[^<>]{0,4096}?\s(?i:value|content)\s{0,4}=)[A-Za-z][^<>]{0,4096}+>"
)
_ATTRIBUTE = re.compile(r"(?<=\s)([A-Za-z:-]{1,40}+)\s{0,4}=\s{0,4}(\\{0,8}[\"'])([^\"'<>]{0,4096}?)\2")
_MOST_COLUMNS = 200
_NAMES = frozenset(("name", "key", "id", "property", "itemprop"))
_VALUES = frozenset(("value", "content"))
#: A label in an element, and the value behind it: `<b>Password:</b> x1`, `<dt>Password</dt><dd>x1</dd>`.
_LABELLED = re.compile(
    r">\s{0,20}(?P<name>[^\W\d](?:[\w .$-]{0,60}?[\w$]))(?:\s{0,4}:\s{0,4})?"
    r"</(?:b|strong|em|i|span|t[dh]|dt|label|code|p)>\s{0,20}:?\s{0,20}"
    r"(?:<(?:td|dd|span|code|b|p)\b[^<>]{0,200}>\s{0,20}){0,3}(?P<value>[^\s<>]{4,512}+)\s{0,20}<"
)
#: The parts of a table in HTML: where a row begins, and cells with their text.
_GRID = re.compile(
    r"<(?:(?P<row>tr)\b[^<>]{0,400}+>|(?P<end>/table)>"
    r"|(?P<kind>t[hd])\b[^<>]{0,400}+>(?:\s{0,40}<(?!/|t[hdr])[a-z][^<>]{0,200}+>){0,3}\s{0,40}(?P<text>[^<>]{0,4096}+))"
)
_INSERT = re.compile(
    r"[iI](?<!\w.)(?i:nto\s{1,4}[^\s(]{1,200}+\s{0,4}\(([^()]{1,4096}+)\)\s{0,8}values\s{0,8}(?=\())"
)
_ROW = re.compile(
    r"\(((?:[^()'\"]|'(?:[^']|'')*+'|\"[^\"]*+\"|\([^()]{0,200}\)){1,65536}+)\)\s{0,8},?\s{0,8}"
)
_CELL = re.compile(r"(?:[^,'\"(]|'(?:[^']|'')*+'|\"[^\"]*+\"|\([^()]{0,200}\))++")
_QUOTED = re.compile(r"\s*[NnEeXxBb]?'((?:[^']|'')++)'\s*|\s*\"([^\"]++)\"\s*|\s*([0-9]{1,40})\s*")

#: What is no value but a name, where it is a sensitive one (`<meta name="csrf-param" content="csrf_token">`).
_WORDS = re.compile(r"[a-z]{2,20}(?:[_-][a-z]{2,20}){1,4}")


#: What the searches look for in a text before they read it; one word in any case.
_INTO = tuple(map("".join, product(*zip("into", "INTO", strict=True))))
SHOWN = ("<", "=", "<th", "<td", "</", *_INTO)


def find_tags(text: str, judge: Judge, held: Held) -> Iterator[Span]:
    """Find the values of tags such as `<input name="token" value="x1">` and `<add key="ApiKey" value="x1"/>`.

    :param judge: the key predicate.
    :param held: which words (`SHOWN`) stand in the text.
    """
    if not held["<"] or not held["="]:
        return
    for tag in _TAG.finditer(text):
        mark: Verdict | None = None
        found: tuple[int, int] | None = None
        for attribute in _ATTRIBUTE.finditer(text, tag.start(), tag.end()):
            name = attribute.group(1).lower()
            if name in _NAMES and mark is None:
                mark = judge(attribute.group(3))
            elif name in _VALUES:
                found = attribute.span(3)
        if mark is not None and found is not None:
            value = text[slice(*found)]
            is_name = _WORDS.fullmatch(value) is not None and judge(value) is not None
            if not is_name and _shows(value, mark):
                yield *found, mark[0]


def find_grids(text: str, ends: Judge, held: Held) -> Iterator[Span]:
    """Find the cells of tables in HTML that stand below a sensitive head.

    :param ends: the key predicate for names of words with blanks between them.
    :param held: which words (`SHOWN`) stand in the text.
    """
    if not held["<th"] or not held["<td"]:
        return
    marks: list[Verdict | None] = []
    place = 0
    for part in _GRID.finditer(text):
        if part["end"]:
            marks = []
        elif part["row"]:
            place = 0
        elif part["kind"] == "th":
            marks = marks[:place] if place < len(marks) else marks
            name = NAME.fullmatch(part["text"].lstrip()) if text.startswith("</", part.end()) else None
            marks.append(ends(name[1]) if name and len(marks) < _MOST_COLUMNS else None)
            place += 1
        else:
            mark = marks[place] if place < len(marks) else None
            value = part["text"].strip()
            if mark is not None and _shows(value, mark) and not (value.isalpha() or says_nothing(value)):
                start = text.index(value, part.start("text"))
                yield start, start + len(value), mark[0]
            place += 1


def find_labels(text: str, ends: Judge, held: Held) -> Iterator[Span]:
    """Find the values behind labels that stand in elements of their own.

    :param ends: the key predicate for names of words with blanks between them.
    :param held: which words (`SHOWN`) stand in the text.
    """
    if not held["</"]:
        return
    for match in _LABELLED.finditer(text):
        mark = ends(match["name"])
        value = match["value"]
        if mark is not None and any(map(str.isdigit, value)) and _shows(value, mark):
            yield *match.span("value"), mark[0]


def find_inserts(text: str, judge: Judge, held: Held) -> Iterator[Span]:
    """Find the literals of sensitive columns in `INSERT INTO t (a, password) VALUES ('x', 'y')`."""
    if not any(map(held.__getitem__, _INTO)):
        return
    for match in _INSERT.finditer(text):
        marks = [judge(name.strip(" \t\r\n\"'`[]")) for name in match.group(1).split(",")]
        if not any(marks):
            continue
        at = match.end()
        while row := _ROW.match(text, at):
            cells = list(_CELL.finditer(text, row.start(1), row.end(1)))
            if len(cells) != len(marks):
                break
            for cell, mark in zip(cells, marks, strict=True):
                value = _QUOTED.fullmatch(text, *cell.span()) if mark else None
                if mark is not None and value is not None and _shows(value.group(value.lastindex or 0), mark):
                    yield *value.span(value.lastindex or 0), mark[0]
            at = row.end()


def _shows(value: str, mark: Verdict) -> bool:
    if not value.strip() or is_mask(value) or is_reference(value):
        return False
    return not mark[1] or fits_shape(value, mark[1])
