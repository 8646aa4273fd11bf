"""Stretches of a long text in which it says the same again and again, and what was found in them.

Texts that are made to be slow mostly say the same thing thousands of times, and logs and tables do so
somewhat. What is found behind a name depends on no more than what stands `BEFORE` it and a little way behind
it; where both are the same, character for character, so is the find. Telling that by comparing the text with
itself is a few calls in C, and then the finds of one piece are those of all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from toolog.sanitize.rules import Span

LEAST = 24_576
"""Characters of the shortest text in which it is worth to look for repeats."""
BEFORE = 256
"""No search for a value looks at more characters in front of its name."""
BEYOND = 12_288
"""So many characters behind a name decide what is found there, unless more are told of (`Repeats.note`): the
longest values that are looked for, and in front of and behind them what is bounded, too."""
_LONGEST_PIECE = 2048
"""What goes on without bounds through blanks or dots ends at the next name, which is no further than that."""
_PROBE, _STEP = 256, 1024


class _Stretch(NamedTuple):
    """A part of a text that is the same as what stands `piece` characters before it."""

    start: int
    end: int
    piece: int


class Repeats:
    """The finds behind names in one text, which are looked at in the order of the text.

    :param text: the text.
    """

    def __init__(self, text: str) -> None:
        self._stretches = _stretches(text) if len(text) >= LEAST else iter(())
        self._found: list[Span] = []
        self._looked: set[int] = set()
        self._unlike = -1
        #: From this place on a name may be one of a repeat: names before it need not be asked for (`ahead`).
        self.since = 0
        self._next(0)

    def _next(self, at: int) -> None:
        self._stretch = next((one for one in self._stretches if one.end > at), _Stretch(1 << 62, 1 << 62, 1))
        self.since = self._stretch.start + BEFORE
        self._looked.clear()
        self._found.clear()

    def ahead(self, start: int, last: int) -> tuple[Iterator[Span], int]:
        """Answer the finds from a name on for as long as the text repeats itself, and where they end; that
        is the name itself when they are not known.

        :param last: behind that place nobody has found anything but by these names.
        """
        _, end, piece = self._stretch
        times = (end - BEYOND - start) // piece
        if times < 1:
            self._next(start)
            return iter(()), start
        first = start - piece
        if first not in self._looked or max(last, self._unlike) >= first:
            return iter(()), start
        some = [span for span in self._found if first <= span[0] < start]
        self._next(end)
        return (
            (low + away, high + away, rule)
            for away in range(piece, (times + 1) * piece, piece)
            for low, high, rule in some
        ), start + times * piece

    def note(self, start: int, found: Span | None, reach: int) -> None:
        """Take note of what was found at a name behind `since`.

        :param reach: how far the search has read, where that may have been further than `BEYOND`.
        """
        self._looked.add(start)
        if found is not None:
            self._found.append(found)
        if reach >= start + BEYOND:
            self._unlike = start


def _stretches(text: str) -> Iterator[_Stretch]:
    """Yield the stretches of a text in which a piece comes again that often that looking for them pays."""
    at, size = 0, len(text)
    while at + 2 * BEYOND < size:
        again = text.find(text[at : at + _PROBE], at + 1, at + _LONGEST_PIECE + _PROBE)
        end = _end(text, at, again - at) if again >= 0 else at
        if end - at >= 2 * BEYOND:
            yield _Stretch(at, end, again - at)
            at = end
        else:
            at += _STEP


def _end(text: str, start: int, piece: int) -> int:
    """Answer how far a text is the same as what stands a piece before."""
    end, step = start + piece, BEYOND
    while step >= _STEP:
        if end + step <= len(text) and text[end : end + step] == text[end - piece : end - piece + step]:
            end += step
            step *= 2
        else:
            step //= 2
    return end
