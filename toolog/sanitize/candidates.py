"""Where in a text a sensitive name may stand: one linear scan for the words of the vocabulary.

Texts are full of names and signs; only those that hold a word of the vocabulary are worth a closer look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge

from re2 import _re2

from toolog.sanitize.words import KeyWords

_JOINT = r"[ !#-@\[-`{-~]*"
_EXTRA = ("identified",)
_MEMORY = 64 << 20
_ANYWHERE = _re2.RE2.Anchor.UNANCHORED


class Candidates:
    """The scan for one vocabulary."""

    def __init__(self, words: KeyWords) -> None:
        known = {*words.strong, *words.shaped, *_EXTRA}
        plain = sorted(word for word in known if word.isascii())
        plain = [word for word in plain if not any(other != word and other in word for other in plain)]
        ends: dict[str, list[str]] = {}
        for first, second in words.pairs:
            if first.isascii() and second.isascii():
                ends.setdefault(second, []).append(first)
        parts = [_JOINT.join(phrase) for phrase in words.added if "".join(phrase).isascii()]
        parts += [f"(?:{'|'.join(firsts)}){_JOINT}{second}" for second, firsts in ends.items()]
        parts += plain  # last: of a pair, all of it must be found (`Secret Key: ...`)
        options = _re2.RE2.Options()
        options.encoding = _re2.RE2.Options.Encoding.LATIN1
        options.case_sensitive = False
        options.never_capture = True
        options.log_errors = False  # with little memory it is slower, and no less right
        options.max_mem = _MEMORY
        self._plain = _re2.RE2("|".join(parts).encode(), options)
        foreign = [re.escape(word) for word in known if not word.isascii()]
        phrases = [*words.pairs, *words.added]
        foreign += [
            _JOINT.join(map(re.escape, phrase)) for phrase in phrases if not "".join(phrase).isascii()
        ]
        self._foreign = re.compile("|".join(sorted(foreign, key=len, reverse=True)), re.I)

    def find(self, text: str) -> Iterator[int]:
        """Yield, in order, where words of the vocabulary end."""
        plain = self._ends(text.encode("ascii", "replace"))
        if text.isascii():
            return plain
        return merge(plain, (match.end() for match in self._foreign.finditer(text)))

    def _ends(self, view: bytes) -> Iterator[int]:
        match, size = self._plain.Match, len(view)
        [(start, end)] = match(_ANYWHERE, view, 0, size)
        while start >= 0:
            yield end
            [(start, end)] = match(_ANYWHERE, view, end, size)


_shared: Candidates | None = None


def candidates(words: KeyWords) -> Candidates:
    """Answer the scan for a vocabulary; the built-in one is made once in a process."""
    global _shared
    if words.added or words.reduced:
        return Candidates(words)
    if _shared is None:
        _shared = Candidates(words)
    return _shared


def forget() -> Candidates | None:
    """Part from the built-in scan; it is made again when it is needed. Answer it."""
    global _shared
    parted, _shared = _shared, None
    return parted
