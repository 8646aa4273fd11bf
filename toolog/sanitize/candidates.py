"""Where in a text a sensitive name may stand: linear scans for the words of the vocabulary, and for what can
follow them.

Texts are full of names and signs. Only a name that holds a word of the vocabulary, and has behind it what may
announce a value, is worth a closer look; all others are passed over in C, thousands of them in a millisecond.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Any

from re2 import _re2

from toolog.sanitize.commands import SETS
from toolog.sanitize.fold import MARKS
from toolog.sanitize.words import KeyWords

_EXTRA = ("identified",)
_MEMORY = 64 << 20
_ANYWHERE = _re2.RE2.Anchor.UNANCHORED
#: What a name is made of. The scans read a text in which `?` stands for whatever is not ASCII.
_RUN = r"[A-Za-z0-9_.$\[\]?-]*"
#: Between the two words of a pair: what a name can hold, or the blank of a label (`API key: ...`).
_JOINT = r"(?:[0-9_.$\[\]?-]*|[ \t])"
#: Behind a name whose value is announced: a sign, a quote with what can follow it, or blanks and either, or a
#: word that says what it is. (`assigned.ASSIGNED` and its neighbours say which of these are real.)
_SIGNS = (
    r"(?:[=:?]|[\"'`*][\]*\[ \t=:,\r\n\\?]|\\+[\"'`]"
    r"|[ \t]+(?:[=:?'\"`*\\]|(?:is|was|are|ist|est|es|lautet)[ \t=:?]|(?:by|for)[ \t]))"
)
#: Before a name whose value stands behind a blank: flags, and what sets variables. Before elements of markup.
_BLANKS = (
    r"(?:(?:^|[^A-Za-z0-9_.$\[\]-])[0-9.$\[\]-]*-|[<:]"
    rf"|(?:^|[^A-Za-z0-9_-]){SETS}[ \t]+)"
)
#: What a cell of a table can hold beside such a word, and what stands between cells.
_CELL, _EDGE = r"[A-Za-z0-9_ .$\"'`*?-]*", r"[|,;\t?]"
_NAME_RUN = re.compile(rf"[\w.$\[\]{MARKS}-]++")
_RUN_BACKWARDS = re.compile(rf"[\w.$\[\]{MARKS}-]{{1,101}}+")
_FIRST = re.compile(r"[^\W\d]")
#: `_SIGNS` behind a name of another script, in the text itself.
_ANNOUNCED = re.compile(
    r"[=:：>是为為éè\"'`*\\]"
    r"|[ \t]+(?:[=:：是为為éè'\"`*\\]|(?:is|was|are|ist|est|es|lautet)[ \t=:：]|(?:by|for)[ \t])",
    re.I,
)
_LONGEST = 101


class Candidates:
    """The scans for one vocabulary."""

    def __init__(self, words: KeyWords) -> None:
        known = {*words.strong, *words.shaped, *_EXTRA}
        plain = [word for word in known if word.isascii()]
        plain = sorted(word for word in plain if not any(o != word and o in word for o in plain))
        ends: dict[str, list[str]] = {}
        for first, second in words.pairs:
            if first.isascii() and second.isascii():
                ends.setdefault(second, []).append(first)
        parts = [_JOINT.join(phrase) for phrase in words.added if "".join(phrase).isascii()]
        parts += [f"(?:{'|'.join(firsts)}){_JOINT}{second}" for second, firsts in ends.items()]
        parts += plain
        word = f"(?:{'|'.join(parts)})"
        self._word = _scan(word + r"[^\n]*")
        self._signed = _scan(f"{_RUN}{word}{_RUN}{_SIGNS}")
        self._blank = _scan(f"{_BLANKS}{_RUN}{word}(?:{_RUN}[A-Za-z0-9_.$?-])?[\\s>]")
        self._cell = _scan(f"{_EDGE}{_CELL}{word}{_CELL}(?:{_EDGE}|[\\r\\n]|$)|{word}{_CELL}{_EDGE}")
        self._foreign = _foreign(words, known)

    def places(self, text: str) -> tuple[Iterator[tuple[int, int]], Iterator[int]]:
        """Answer, in order, where names stand that may have a value behind them, each once; and a place in
        each line of a table that may have a sensitive name in it."""
        view = text.encode("ascii", "replace")
        foreign = self._foreign_runs(text)
        return self._names(text, view, foreign), self._cells(view, foreign)

    def _names(self, text: str, view: bytes, foreign: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        signed = self._signed_names(text, view)
        others = {_before(text, end - 1) for _, end in _matches(self._blank, view, 1)}
        if foreign:
            sets = "set" in text.lower()
            for _, stop in foreign:
                if _ANNOUNCED.match(text, stop):
                    others.add(_before(text, stop))
                elif text[stop : stop + 1] in (" ", "\t", "\n"):
                    name = _before(text, stop)
                    if name is not None and (text[name[0] - 1] in "-<:" or sets):
                        others.add(name)
        return _each_once(merge(signed, sorted(filter(None, others)))) if others else signed

    def _signed_names(self, text: str, view: bytes) -> Iterator[tuple[int, int]]:
        run_at, wide_at, plain = _NAME_RUN.match, view.find, text.isascii()
        for start, end in _matches(self._signed, view, 0):
            run = run_at(text, start) if plain or wide_at(b"?", start, end) < 0 else None
            if run is not None and (stop := run.end()) + 1 == end:  # a name and its sign, as nearly always
                if stop - start <= _LONGEST and text[start].isalpha():
                    yield start, stop
                elif (name := _trimmed(text, start, stop)) is not None:
                    yield name
                continue
            for run in _NAME_RUN.finditer(text, start, end):
                if (name := _trimmed(text, run.start(), run.end())) is not None:
                    yield name

    def _cells(self, view: bytes, foreign: list[tuple[int, int]]) -> Iterator[int]:
        plain = (start for start, _ in _matches(self._cell, view, 1))
        return merge(plain, (end - 1 for end, _ in foreign)) if foreign else plain

    def holding(self, names: Iterable[str]) -> set[str]:
        """Answer which of some names may hold a word of the vocabulary: one scan over all of them."""
        kept = [name for name in names if "\n" not in name and name.isascii()]
        others = {name for name in names if not name.isascii() or "\n" in name}
        view = "\n".join(kept).encode()
        for start, _ in _matches(self._word, view, 0):
            begin, end = view.rfind(b"\n", 0, start) + 1, view.find(b"\n", start)
            others.add(view[begin : end if end >= 0 else len(view)].decode())
        return others

    def _foreign_runs(self, text: str) -> list[tuple[int, int]]:
        """Answer where words of other scripts end, and where the names end that hold them; one for each
        name."""
        if text.isascii():
            return []
        data = text.encode("utf-8", "replace")
        match, size = self._foreign.Match, len(data)
        found: list[tuple[int, int]] = []
        read = at = 0
        while True:
            [(start, end)] = match(_ANYWHERE, data, read, size)
            if start < 0:
                return found
            at += len(data[read:end].decode("utf-8", "replace"))
            run = _NAME_RUN.match(text, at)
            stop = run.end() if run else at
            found.append((at, stop))
            read, at = end + len(text[at:stop].encode("utf-8", "replace")), stop


def _scan(pattern: str, *, wide: bool = False) -> Any:
    options = _re2.RE2.Options()
    if not wide:
        options.encoding = _re2.RE2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False  # with little memory it is slower, and no less right
    options.max_mem = _MEMORY
    return _re2.RE2(pattern.encode(), options)


def _foreign(words: KeyWords, known: set[str]) -> Any:
    """Answer the scan for words of other scripts, over UTF-8."""
    joint = rf"(?:[\pN_.$\[\]{MARKS}-]*|[ \t])"
    phrases = [*words.pairs, *words.added, *((word,) for word in known)]
    foreign = set()
    for phrase in phrases:
        if not "".join(phrase).isascii():
            for form in ("NFC", "NFD"):
                foreign.add(joint.join(unicodedata.normalize(form, word) for word in phrase))
    return _scan("|".join(sorted(foreign, key=len, reverse=True)), wide=True)


def _matches(scan: Any, view: bytes, back: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of matches.

    :param back: how many characters before the end of one the next may begin.
    """
    match, size = scan.Match, len(view)
    [(start, end)] = match(_ANYWHERE, view, 0, size)
    while start >= 0:
        yield start, end
        [(start, end)] = match(_ANYWHERE, view, end - back, size)


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int] | None:
    """Answer the name in a run: from its first letter on, and no more than its last hundred characters."""
    start = max(start, stop - _LONGEST)
    if text[start].isalpha():
        return start, stop
    first = _FIRST.search(text, start, stop)
    return (first.start(), stop) if first else None


def _before(text: str, stop: int) -> tuple[int, int] | None:
    """Answer the name that ends somewhere."""
    run = _RUN_BACKWARDS.match(text[max(0, stop - _LONGEST) : stop][::-1])
    return _trimmed(text, stop - run.end(), stop) if run else None


def _each_once(names: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last = (-1, -1)
    for name in names:
        if name != last:
            yield name
        last = name


_shared: Candidates | None = None


def candidates(words: KeyWords) -> Candidates:
    """Answer the scans for a vocabulary; the built-in ones are made once in a process."""
    global _shared
    if words.added or words.reduced:
        return Candidates(words)
    if _shared is None:
        _shared = Candidates(words)
    return _shared


def forget() -> Candidates | None:
    """Part from the built-in scans; they are made again when they are needed. Answer them."""
    global _shared
    parted, _shared = _shared, None
    return parted
