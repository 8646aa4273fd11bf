"""Secrets in tables that are text: Markdown, CSV, and rows of a name and its value.

A model answers with tables, and tools print them. The column's name stands far from its values, so a table is
read as one: its head is judged by the key predicate, and then the same places of all rows are hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice, pairwise

from toolog.sanitize.plausible import fits_shape, is_mask, is_reference, is_small, says_nothing
from toolog.sanitize.rules import Span
from toolog.sanitize.words import Verdict

Judge = Callable[[str], Verdict | None]

#: The line below a head: of Markdown, of databases' own clients, of boxes.
_RULE = re.compile(r"[ \t]*[|+\u2500-\u257f]?(?:[ \t]*+:?[-=\u2500-\u257f]{2,}+:?[ \t]*+[|+]?)++[ \t]*+")
#: What parts cells in boxes.
_WALLS = "\u2502\u2503"
#: What may be a name in a cell; the scan relies on it (`patterns._RIGHT`).
_WORD = r"[^\W\d][\w.$-]{0,60}"
NAME = re.compile(rf"[\"'`*]{{0,4}}({_WORD}(?: [\w.$-]{{1,30}}){{0,3}})[\"'`*]{{0,4}}")
"""A name in a cell, in quotes or emphasis."""
_FIELD = re.compile(
    rf"[\"']?(/?(?:[\w.$-]{{1,30}}[:/]){{0,4}}{_WORD}(?: [^\W\d][\w.$-]{{0,29}}){{0,3}})[\"']?"
)
#: A cell with something in it, which may be the value beside a name.
_BESIDE = re.compile(r"[|\u2502\u2503][ \t\"'`*]*+[^\s|\u2502\u2503]")
_BOXED = f"|{_WALLS}"
_LINE = re.compile(r"[^\r\n]*+")
#: Cells with nothing but blanks between them, and the rule below their head.
_APART = re.compile(r"[^\s]+(?: [^\s]+)*")
_RULE_APART = re.compile(r"[ \t]*+(?:[-=]{3,}[ \t]*+)++")
_LEAST, _LEAST_ALONE = 6, 4
#: What parts the cells of a line, the surest first.
_SIGNS = "|\u2502\u2503\t;,"
_MOST_COLUMNS = 200
_MOST_CELL = 4096
#: So many lines are remembered that show nothing, and the longest of them.
_MOST_KNOWN, _LONGEST_KNOWN = 1024, 256
#: Below the heads of some boxes: what kind of values stands in each column.
_TYPES = re.compile(r"[a-z][a-z0-9_]{1,30}(?:\([0-9, ]{1,12}\))?(?:\[\])?")
_PROSE = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)+")


def find_tables(text: str, judge: Judge, ends: Judge, places: Iterable[int]) -> Iterator[Span]:
    """Find the values below sensitive column names, and those beside a sensitive name in a row.

    :param judge: the key predicate.
    :param ends: the same for names of words with blanks between them, which their last ones must decide.
    :param places: where words of the vocabulary stand, in order; only their lines are read, and rows below.
    """
    lines = _Lines(text)
    line_end, next_line = lines.end, lines.next
    signs = [sign for sign in _SIGNS if sign in text]
    dashed = "---" in text or "===" in text
    ruled = any(sign in text for sign in ("--", "==", "\u2500", "\u2501"))
    done = barren = 0  # (lines up to there were read as rows, and showed nothing)
    plain: set[str] = set()  # (lines of names that are none of secrets)
    empty: set[tuple[str, int]] = set()  # (lines that show nothing, and where the word stands in them)
    for at in places:
        if at < done:
            continue
        start = max(text.rfind("\n", done, at), text.rfind("\r", done, at), done - 1) + 1
        end = line_end(at)
        done = end
        line = text[start:end] if end - start <= _LONGEST_KNOWN else ""
        if (line, at - start) in empty:
            continue
        sign = next((sign for sign in signs if text.find(sign, start, end) >= 0), "")
        apart = sign or text.find("  ", start, end) >= 0
        if not apart and not (
            dashed
            and (rule := _RULE_APART.match(text, next_line(end)))
            and rule.end() == line_end(rule.end())
        ):
            continue
        if sign in ("", "\t") and line not in plain:
            cells = [cell.span() for cell in islice(_APART.finditer(text, start, end), _MOST_COLUMNS)]
            found: list[Span] = []
            if start >= barren:
                found, below = _columns(text, cells, start, end, lines, ends)
                done, barren = (below, barren) if found else (done, below)
            found = found or _beside(text, cells, start, end, lines, ends)
            yield from found
            if found:
                continue
            if line and len(plain) < _MOST_KNOWN and not _tells(text, cells, ends):
                plain.add(line)
        if not sign:
            continue
        boxed = sign in _BOXED
        below = next_line(end) if ruled or not boxed else len(text) + 1
        marks: list[Verdict | None] = []
        if below <= len(text) and boxed and sign in _WALLS and text.find(sign, below, line_end(below)) >= 0:
            marks = _head(text, start, end, sign, judge, ends)
            below = _types_below(text, below, sign, len(marks), lines) if marks else below
        if below <= len(text) and (not boxed or _RULE.fullmatch(text, below, line_end(below))):
            marks = marks or _head(text, start, end, sign, judge, ends)
            if marks and (not boxed or _has_rows(text, below, sign, lines)):
                done = yield from _below(text, line_end(below) if boxed else end, sign, marks, lines)
                continue
        if text.startswith("||", start):
            spans, done = _wiki_rows(text, start, end, lines, judge)
            yield from spans
        elif boxed:
            cell = _row(text, start, end, sign, judge) if _BESIDE.search(text, at + 1, end) else None
            if cell is not None:
                yield cell
            elif line and not ruled and len(empty) < _MOST_KNOWN:
                empty.add((line, at - start))
        elif line and sign != "\t" and not marks and below <= len(text) and len(empty) < _MOST_KNOWN:
            empty.add((line, at - start))  # (no head, whatever stands below)


def _below(
    text: str, done: int, sign: str, marks: list[Verdict | None], lines: _Lines
) -> Generator[Span, None, int]:
    """Find the values below a head, and return where its rows end.

    :param done: where the head ends.
    """
    boxed = sign in _BOXED
    wall = _WALLS[0] if sign in _WALLS else sign  # (heads of boxes have thick walls, and rows thin ones)
    marked = [(place, mark) for place, mark in enumerate(marks) if mark is not None]
    empty: set[tuple[str, Verdict]] = set()
    bare: set[str] = set()  # (rows that show nothing)
    while (below := lines.next(done)) <= len(text):
        stop = lines.end(below)
        line = text[below:stop] if stop - below <= _LONGEST_KNOWN else ""
        if line in bare or (boxed and _RULE.fullmatch(text, below, stop)):
            done = stop
            continue
        parts = [] if boxed or text.find('"', below, stop) >= 0 else text[below:stop].split(sign)
        cells = [] if parts else _raw(text, below, stop, wall)
        if len(parts or cells) != len(marks):
            break
        done = stop
        shown = False
        for place, mark in marked:
            value = parts[place] if parts else text[slice(*cells[place])], mark
            if value in empty:
                continue
            if parts:
                low = below + place + sum(map(len, parts[:place]))
                low, high = _bare(text, low, low + len(parts[place]))
            else:
                low, high = _bare(text, *cells[place])
            if _shows(text[low:high], mark):
                shown = True
                yield low, high, mark[0]
            elif len(empty) < _MOST_KNOWN:
                empty.add(value)
        if line and not shown and len(bare) < _MOST_KNOWN:
            bare.add(line)
    return done


class _Lines:
    """Where the lines of a text end: `\n`, `\r` or both."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = "\r" not in text

    def end(self, at: int) -> int:
        """Answer where the line ends that a place stands in."""
        if self._plain:
            end = self._text.find("\n", at)
            return len(self._text) if end < 0 else end
        return _LINE.match(self._text, at).end()  # type: ignore[union-attr]

    def next(self, end: int) -> int:
        """Answer where the line behind a line's end begins; beyond the text when there is none."""
        return end + (1 if self._plain or not self._text.startswith("\r\n", end) else 2)


def _columns(
    text: str, cells: list[tuple[int, int]], start: int, end: int, lines: _Lines, ends: Judge
) -> tuple[list[Span], int]:
    """Find the values in columns that only blanks part, and where their rows end: below a head of names, or
    below one name with a rule under it."""
    found: list[Span] = []
    below = lines.next(end)
    names = [_FIELD.fullmatch(text, *cell) for cell in cells]
    if not names or not all(names) or below > len(text):
        return found, end
    marks = [ends(name.group(1)) if name else None for name in names]
    ruled = _RULE_APART.fullmatch(text, below, lines.end(below)) is not None
    if not any(marks) or not (ruled or len(cells) > 1):
        return found, end
    marked = [(low - start, mark) for (low, _), mark in zip(cells, marks, strict=True) if mark is not None]
    done = lines.end(below) if ruled else end
    rows: dict[str, list[Span]] = {}  # (what rows show, from where they begin)
    while (below := lines.next(done)) < len(text):
        stop = lines.end(below)
        line = text[below:stop] if stop - below <= _LONGEST_KNOWN else ""
        known = rows.get(line)
        if known is not None:
            found += [(below + low, below + high, rule) for low, high, rule in known]
            done = stop
            continue
        row = [
            (_APART.match(text, below + place, stop), mark)
            for place, mark in marked
            if below + place < stop and _begins(text, below, below + place)
        ]
        if len(row) != len(marked):
            break
        done = stop
        before = len(found)
        for cell, mark in row:
            if cell is None or (not any(map(str.isdigit, cell.group())) and ends(cell.group())):
                continue  # (a list of names)
            if _stands_alone(cell.group(), mark):
                found.append((*cell.span(), mark[0]))
        if line and len(rows) < _MOST_KNOWN:
            rows[line] = [(low - below, high - below, rule) for low, high, rule in found[before:]]
    return found, done


def _tells(text: str, cells: list[tuple[int, int]], ends: Judge) -> bool:
    """Tell whether cells may be a head, or a name and its value, with a name of a secret among them."""
    names = [_FIELD.fullmatch(text, *cell) for cell in cells]
    if not all(names):
        return len(cells) == 2
    return any(ends(name.group(1)) for name in names if name)


def _beside(
    text: str, cells: list[tuple[int, int]], start: int, end: int, lines: _Lines, ends: Judge
) -> list[Span]:
    """Find the value beside a name, behind a tab, or in a column that the line before or behind has, too."""
    if len(cells) != 2:
        return []
    name = _FIELD.fullmatch(text, *cells[0])
    mark = ends(name.group(1)) if name else None
    low, high = cells[1]
    value = text[low:high]
    if mark is None or mark[1] or len(value) < _LEAST or "(" in value or not _stands_alone(value, mark):
        return []
    if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return []
    neighbours = [lines.next(end)]
    if start:
        neighbours.append(text.rfind("\n", max(0, start - _MOST_CELL), start - 1) + 1)
    near = text[cells[0][1]] == "\t" or any(_begins(text, line, line + low - start) for line in neighbours)
    return [(low, high, mark[0])] if near else []


def _begins(text: str, line: int, at: int) -> bool:
    """Tell whether a cell begins at a place of a line."""
    return not text[at : at + 1].isspace() and at < len(text) and (at == line or text[at - 1].isspace())


def _has_rows(text: str, rule: int, sign: str, lines: _Lines) -> bool:
    """Tell whether cells stand below the line that closes a head: a box may end with it."""
    below = lines.next(lines.end(rule))
    return any(text.find(wall, below, lines.end(below)) >= 0 for wall in (_WALLS if sign in _WALLS else sign))


def _wiki_rows(text: str, start: int, end: int, lines: _Lines, judge: Judge) -> tuple[list[Span], int]:
    """Find the values below a head of Jira's make (`||Login||Password||`), and where its rows end."""
    names = [NAME.fullmatch(part.strip()) for part in text[start:end].strip().strip("|").split("||")]
    marks = [judge(name[1]) if name else None for name in names]
    found: list[Span] = []
    done = end
    while any(marks) and (below := lines.next(done)) < len(text) and text.startswith("|", below):
        stop = lines.end(below)
        cells = _raw(text, below, stop, "|")
        if len(cells) != len(marks):
            break
        done = stop
        for cell, mark in zip(cells, marks, strict=True):
            low, high = _bare(text, *cell)
            if mark is not None and _shows(text[low:high], mark):
                found.append((low, high, mark[0]))
    return found, done


def _types_below(text: str, below: int, sign: str, columns: int, lines: _Lines) -> int:
    """Answer where a line begins that stands below one of types; `below` when that holds no types."""
    end = lines.end(below)
    cells = _raw(text, below, end, _WALLS[0] if sign in _WALLS else sign)
    if len(cells) != columns or not all(_TYPES.fullmatch(text[slice(*cell)].strip()) for cell in cells):
        return below
    return lines.next(end)


def _stands_alone(value: str, mark: Verdict) -> bool:
    return len(value) >= _LEAST_ALONE and " " not in value and not value.isalpha() and _shows(value, mark)


def _name(text: str, low: int, high: int) -> re.Match[str] | None:
    """Answer the name that a cell of a Markdown table holds between blanks, or None when it holds none."""
    while low < high and text[low] == " ":
        low += 1
    while high > low and text[high - 1] == " ":
        high -= 1
    return NAME.fullmatch(text, low, high)


def _raw(text: str, start: int, end: int, sign: str) -> list[tuple[int, int]]:
    """Answer where the cells of a line stand."""
    if text.count(sign, start, end) > _MOST_COLUMNS:
        return []
    cells = []
    at = start
    if sign in _BOXED or text.find('"', start, end) < 0:
        for part in text[start:end].split(sign):
            cells.append((at, at := at + len(part)))
            at += 1
    else:
        while at <= end:
            close = text.find('"', at + 1, end) if text.startswith('"', at) else -1
            stop = text.find(sign, close if close > 0 else at, end)
            stop = end if stop < 0 else stop
            cells.append((at, stop))
            at = stop + 1
    if sign in _BOXED:  # the signs at both ends are no cells
        cells = [cell for place, cell in enumerate(cells)
                 if 0 < place < len(cells) - 1 or text[slice(*cell)].strip()]  # fmt: skip
    return cells


def _bare(text: str, low: int, high: int) -> tuple[int, int]:
    while low < high and text[low] in " \t\"'`*":
        low += 1
    while high > low and text[high - 1] in " \t\"'`*":
        high -= 1
    return low, high


def _head(text: str, start: int, end: int, sign: str, judge: Judge, ends: Judge) -> list[Verdict | None]:
    """Answer the verdicts on the names in the head of a table; an empty list when it is none, or harmless."""
    if sign not in _BOXED and not _FIELD.fullmatch(text, start, text.find(sign, start, end)):
        return []
    cells = _raw(text, start, end, sign)
    if len(cells) < 2:
        return []
    marks = []
    for low, high in cells:
        name = _name(text, low, high) if sign in _BOXED else _FIELD.fullmatch(text, low, high)
        if name is None:
            return []
        marks.append(judge(name.group(1)) if sign in _BOXED else ends(name.group(1)))
    return marks if any(marks) else []


def _row(text: str, start: int, end: int, sign: str, judge: Judge) -> Span | None:
    """Find the value in `| api_key | x1 |`; a word alone may be a heading, so a digit or a sign must be
    there."""
    cells = _raw(text, start, end, sign)
    if len(cells) < 2 or len(cells) > 4:
        return None
    for (low, high), beside in pairwise(cells):
        name = _name(text, low, high)
        mark = judge(name.group(1)) if name else None
        first, last = _bare(text, *beside)
        value = text[first:last]
        if mark is not None and _shows(value, mark) and not value.isalpha() and " " not in value:
            return first, last, mark[0]
    return None


def _shows(value: str, mark: Verdict) -> bool:
    if (
        not value
        or (is_small(value) and mark[0] != "code")
        or len(value) > _MOST_CELL
        or is_mask(value)
        or is_reference(value)
    ):
        return False
    if mark[1] and not fits_shape(value, mark[1]):
        return False
    if says_nothing(value) or value.lower() == "nan" or (mark[0] == "token" and value.isalpha()):
        return False  # (tokens are words, too, and those of credentials have digits)
    return any(char.isalnum() for char in value) and not _PROSE.fullmatch(value)
