"""Where in a text a sensitive name may stand: linear scans for the words of the vocabulary, and for what can
follow them.

Texts are full of names and signs. Only a name that holds a word of the vocabulary, and has behind it what may
announce a value, is worth a closer look; all others are passed over in C, thousands of them in a millisecond.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from functools import cache
from heapq import merge
from itertools import accumulate, chain, islice, takewhile
from typing import Any

from re2 import _re2

from toolog.sanitize.calls import OPENING
from toolog.sanitize.commands import SETS
from toolog.sanitize.fold import MARKS
from toolog.sanitize.languages import BE, OF, WHOSE
from toolog.sanitize.words import ALIKE, KeyWords

_EXTRA = ("identified",)
_MEMORY = 64 << 20
_ANYWHERE = _re2.RE2.Anchor.UNANCHORED
#: What a name is made of. The scans read a text in which one byte stands for each character (`one_byte`).
_RUN = r"[A-Za-z0-9_.$\[\]\x80-\xff-]*"
#: Between the two words of a pair: what a name can hold, or the blank of a label (`API key: ...`).
_JOINT = r"(?:[0-9_.$\[\]\x80-\xff-]*|[ ])"
#: Between the words of a name of three.
_OF = r"(?:['0-9_.$\[\]\x80-\xff-]*|[ ])"
#: The bytes of `：是为為éè→⇒—–`, which can stand for a sign.
_WIDE = r"\x9a\xaf\xba\xe9\xe8\x92\xd2\x94\x93"
#: What is told of a token that stands behind its name: `token x1y2z3 is invalid`.
TOLD = (
    r"(?:is|was|has|rejected|refused|invalid|expired|failed|denied|revoked|accepted"
    r"|not[ \t]+(?:valid|accepted|recogni[sz]ed|authori[sz]ed|correct))"
)
#: How a number begins that stands right behind its name: `CPF 529.982.247-25`, `OTP 551203`.
_NUMBERED = r"?(?:(?:no|nr|num|number|nummer)\.?[ \t]+)?[A-Z]{0,6}[0-9]"


#: Before a name whose value stands behind a blank: flags, and what sets variables. Before elements of markup.
_BLANKS = (
    r"(?:(?:^|[^A-Za-z0-9_.$\[\]-])[0-9.$\[\]-]*-|[<:]"
    rf"|(?:^|[^A-Za-z0-9_-]){SETS}[ \t]+)"
)
#: What a cell of a table can hold beside such a word, and what stands between cells.
_TAIL = r"[A-Za-z0-9_.$-]*(?:  |[ ]*[\r\n])"
_CELL, _EDGE = r"[A-Za-z0-9_ .$\"'`*\x80-\xff-]*", r"[|,;\t\x80-\xff]"
_NAME = rf"[\w.$\[\]{MARKS}-]"
_NAME_RUN = re.compile(f"{_NAME}++")
_RUNS = re.compile(f"({_NAME}++)")
_RUN_BACKWARDS = re.compile(f"{_NAME}{{1,101}}+")
_FIRST = re.compile(r"[^\W\d]")
#: `_signs` behind a name in the text itself; a word there is looked up, which is faster than to try them all.
_ANNOUNCED = re.compile(
    r"[=:：>是为為éè→⇒\"'`*\\&]|[ \t]*[?]="
    r"|[ \t\xa0\u202f]+(?:[=:：是为為éè→⇒—–'\"`*\\(]|--?>"
    rf"|(?P<word>[^\W\d_][\w'{MARKS}]{{0,31}}+)(?=[ \t=:：])"
    rf"|[^\s]{{1,512}}+[ \t]+{TOLD}|[\[(\u3010]{_NUMBERED})|{OPENING}",
    re.I,
)
_TOLD_NEXT = re.compile(rf"[ \t]+(?:[^\s]{{1,512}}+[ \t]+{TOLD}|[\[(\u3010]{_NUMBERED})", re.I)
_ANNOUNCING = frozenset(
    phrase.split(" ")[0]
    for phrase in (
        *("is", "was", "are", "ist", "est", "es", "lautet", "by", "for", "of", "to", "provided", "given"),
        *("entered", "received", *BE, *OF, *WHOSE),
    )
)
_LONGEST = 101
#: Where so many names stand so close together, all names of so many characters are read in one go.
_DENSE, _CLOSE, _STRETCH = 16, 64, 8192
_HIGH = bytes(0x80 if byte else 0 for byte in range(256))


def one_byte(text: str) -> bytes:
    """Answer a text with one byte for each character: ASCII as it is, all else in 128 classes.

    Places in it are places in the text, and what looks for a word of any script looks for its bytes; a few
    other words have the same.
    """
    if text.isascii():
        return text.encode()
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        pass
    data, step = text.encode("utf-16-le", "surrogatepass"), 2
    if len(data) != step * len(text):
        data, step = text.encode("utf-32-le", "surrogatepass"), 4
    view = int.from_bytes(data[::step], "little")
    for place in range(1, min(step, 3)):
        view |= int.from_bytes(data[place::step].translate(_HIGH), "little")
    return view.to_bytes(len(text), "little")


class Candidates:
    """The scans for one vocabulary."""

    def __init__(self, words: KeyWords) -> None:
        known = {*words.strong, *words.shaped, *_EXTRA}
        plain = least_of(word for word in known if word.isascii())
        ends: dict[str, list[str]] = {}
        for first, second in words.pairs:
            ends.setdefault(second, []).append(first)
        parts = [_JOINT.join(map(_pattern, phrase)) for phrase in words.added]
        parts += [
            f"(?:{'|'.join(map(_pattern, firsts))}){_JOINT}{_pattern(second)}"
            for second, firsts in ends.items()
        ]
        parts += [
            _OF.join(
                f"(?:{'|'.join(map(_pattern, sorted(set(some))))})" for some in zip(*phrases, strict=True)
            )
            for phrases in _by_last(words.phrases)
        ]
        parts += plain
        parts += map(_pattern, least_of(word for word in known if not word.isascii()))
        word = f"(?:{'|'.join(parts)})"
        #: Second words of labels of two.
        seconds = {*ends, *(phrase[-1] for phrase in (*words.added, *words.phrases))}
        self._seconds = frozenset(seconds | {word.translate(ALIKE) for word in seconds})
        self._word = _scan(word + r"[^\n]*")
        self._signed = _scan(f"{_RUN}{word}{_RUN}{_signs()}")
        self._blank = _scan(f"{_BLANKS}{_RUN}{word}(?:{_RUN}[A-Za-z0-9_.$\\x80-\\xff-])?[\\s>]")
        self._cell = _scan(f"{_EDGE}{_CELL}{word}{_CELL}(?:{_EDGE}|[\\r\\n]|$)|{word}{_CELL}{_EDGE}")
        # (by itself: as a part of the other, each find of it would have to be read to the end of its line)
        self._apart = _scan(f"{word}{_TAIL}")

    def names(self, text: str, view: bytes, at: int = 0) -> Iterator[tuple[int, int]]:
        """Answer, in order, where names stand that may have a value behind them, each once.

        :param view: the text in one byte for each character.
        :param at: where to begin: no name that begins there or behind is left out.
        """
        at = max(0, at - _LONGEST)
        signed, blank = self._signed_names(text, view, at), self._blank_names(text, view, at)
        first = next(blank, None)
        return signed if first is None else _each_once(merge(signed, chain((first,), blank)))

    def cells(self, view: bytes) -> Iterator[int]:
        """Answer, in order, a place in each line of a table that may have a sensitive name in it."""
        cells = (start for start, _ in _matches(self._cell, view, 1))
        apart = (start for start, _ in _matches(self._apart, view, 1))
        first = next(apart, None)
        return cells if first is None else merge(cells, chain((first,), apart))

    def _signed_names(self, text: str, view: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Yield the names before signs: each found by itself, but where many stand close together."""
        match, size, run_at, announced = self._signed.Match, len(view), _NAME_RUN.match, _announces
        since, met, done = at, 0, 0
        known: dict[str, int] = {}
        while True:
            [(start, end)] = match(_ANYWHERE, view, at, size)
            if start < 0:
                return
            run = run_at(text, start)
            if run is not None and (stop := run.end()) + 1 == end:  # a name and its sign, as nearly always
                at = stop
                if start >= done and (name := _trimmed(text, start, stop)) is not None:
                    yield name
            elif end - start > _STRETCH:  # letters of other scripts and their signs, all in one
                at = done = max(done, start)
                while done < end:
                    names, done = self._names_in(text, done, known)
                    yield from names
                at = max(at, end, done - _LONGEST)
            else:
                at = end
                for run in _NAME_RUN.finditer(text, start):
                    if run.start() >= end:
                        break
                    at = max(at, run.end())
                    if run.start() >= done and announced(text, run.end()):
                        name = _trimmed(text, *run.span())
                        if name is not None:
                            yield name
            met += 1
            if met < _DENSE:
                continue
            if at - since < _DENSE * _CLOSE:
                done, many = at, True
                while many and done < size:
                    names, done = self._names_in(text, done, known)
                    yield from names
                    many = len(names) > _STRETCH // _CLOSE
                at = max(at, done - _LONGEST)  # (the first word of a label may stand before)
            since, met = max(at, done), 0

    def _blank_names(self, text: str, view: bytes, at: int) -> Iterator[tuple[int, int]]:
        run_at = _NAME_RUN.match
        for start, end in _matches(self._blank, view, 1, at):
            run = run_at(text, start) or run_at(text, start + 1)
            if run is not None and run.end() == end - 1:
                name = _trimmed(text, *run.span())
            else:
                name = _before(text, end - 1)
            if name is not None:
                yield name

    def _names_in(self, text: str, at: int, known: dict[str, int]) -> tuple[list[tuple[int, int]], int]:
        """Answer the names with a sign behind them in the next stretch of a text, and where it ends.

        :param known: how long each name is that may hold a word of the vocabulary; 0 for all others.
        """
        stretch = text[at : at + _STRETCH]
        parts = _RUNS.split(stretch.translate(ALIKE) if stretch.isascii() else stretch)
        stop = at + _STRETCH
        if stop < len(text) and not parts[-1]:  # a name that may go on
            if len(parts) > 3:
                stop -= len(parts[-2])
                del parts[-2:]
            elif rest := _NAME_RUN.match(text, stop):
                stop = rest.end()
                parts[-2] += rest.group()
        fresh = set(parts[1::2]).difference(known)
        known.update(dict.fromkeys(fresh, 0))
        held, seconds = self.holding(fresh), self._seconds
        held |= {run for run, lower in zip(fresh, map(str.lower, fresh), strict=True) if lower in seconds}
        for run in held:
            name = _trimmed(run, 0, len(run))
            known[run] = name[1] - name[0] if name else 0
        ends = islice(accumulate(map(len, parts), initial=at), 2, None, 2)
        sizes = [known[run] for run in parts[1::2]]
        announced = _announces
        names = [
            (end - size, end) for size, end in zip(sizes, ends, strict=False) if size and announced(text, end)
        ]
        return names, min(stop, len(text))

    def holding(self, names: Iterable[str]) -> set[str]:
        """Answer which of some names may hold a word of the vocabulary: one scan over all of them."""
        kept = [name for name in names if "\n" not in name]
        others = {name for name in names if "\n" in name}
        text = "\n".join(kept)
        view = one_byte(text)
        for start, _ in _matches(self._word, view, 0):
            begin, end = view.rfind(b"\n", 0, start) + 1, view.find(b"\n", start)
            others.add(text[begin : end if end >= 0 else len(view)])
        return others


def _signs() -> str:
    """Match what announces a value behind its name: a sign, a quote with what follows it, blanks and either,
    or a word that says what it is (`signs.ASSIGNED` and its neighbours say which of these are real).
    """
    be, of = ("|".join(map(_pattern, words)) for words in (BE, (*OF, *WHOSE)))
    return (
        rf"(?:[=:>{_WIDE}]|[\"'`*][\]*\[ \t=:,\r\n\\{_WIDE}]|\\+(?:[\"'`]|u002)|&(?:quot|#|apos)|[ \t]*[?]="
        rf"|[ \t]+(?:[=:'\"`*\\({_WIDE}]|--?>|(?:is|was|are|ist|est|es|lautet|{be})[ \t=:{_WIDE}]"
        rf"|(?:by|for|of|to|provided|given|entered|received|{of})[ \t:{_WIDE}]"
        rf"|[^\s]*[0-9][^\s]*[ \t]+{TOLD}|[\[(\x90]{_NUMBERED})|{OPENING})"
    )


def _announces(text: str, at: int) -> bool:
    """Tell whether what stands behind a name may announce a value."""
    match = _ANNOUNCED.match(text, at)
    if match is None:
        return False
    word = match["word"]
    return word is None or word.lower() in _ANNOUNCING or _TOLD_NEXT.match(text, at) is not None


def _by_last(phrases: Iterable[tuple[str, str, str]]) -> Iterator[list[tuple[str, str, str]]]:
    """Yield phrases in groups that end with the same word."""
    ends: dict[str, list[tuple[str, str, str]]] = {}
    for phrase in phrases:
        ends.setdefault(phrase[-1], []).append(phrase)
    yield from ends.values()


def least_of(words: Iterable[str]) -> list[str]:
    """Answer the words that hold none of the others, in order."""
    known = set(words)
    sizes = sorted({len(word) for word in known})
    return sorted(word for word in known if not _holds_other(word, known, sizes))


def _holds_other(word: str, known: Set[str], sizes: Iterable[int]) -> bool:
    # A word has fewer parts than there are words.
    size = len(word)
    return any(
        word[at : at + part] in known
        for part in takewhile(size.__gt__, sizes)
        for at in range(size - part + 1)
    )


def _pattern(word: str) -> str:
    """Answer the expression for a word in a text of one byte for each character, however it is composed."""
    if word.isascii():
        return word
    forms = sorted({"".join(map(_class, unicodedata.normalize(form, word))) for form in ("NFC", "NFD")})
    return forms[0] if len(forms) == 1 else f"(?:{'|'.join(forms)})"


@cache
def _class(char: str) -> str:
    cases = {case for case in (char, char.lower(), char.upper()) if len(case) == 1}
    found = sorted({re.escape(one_byte(case).decode("latin-1")) for case in cases})
    return found[0] if len(found) == 1 else f"[{''.join(found)}]"


def _scan(pattern: str) -> Any:
    options = _re2.RE2.Options()
    options.encoding = _re2.RE2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False  # with little memory it is slower, and no less right
    options.max_mem = _MEMORY
    return _re2.RE2(pattern.encode("latin-1"), options)


def _matches(scan: Any, view: bytes, back: int, at: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the spans of matches.

    :param back: how many characters before the end of one the next may begin.
    :param at: where the first may begin.
    """
    match, size = scan.Match, len(view)
    [(start, end)] = match(_ANYWHERE, view, at, size)
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
