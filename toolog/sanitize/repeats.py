"""What was found at one place of a long text, answered again where the text goes on in the same way.

Texts that are made to be slow mostly say the same thing thousands of times, and logs and tables do so
somewhat. What is found behind a name depends on no more than what stands `BEFORE` it and a little way behind
it; where both are the same, character for character, so is the find. Telling that by comparing the text with
itself is a few calls in C.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolog.sanitize.rules import Span

LEAST = 24_576
"""Characters of the shortest text in which it is worth to look for repeats."""
BEFORE = 256
"""No search for a value looks at more characters in front of its name."""
BEYOND = 12_288
"""So many characters behind a name decide what is found there, unless more are told of (`keep`): the longest
values that are looked for, and in front of and behind them what is bounded, too."""
_MOST_APART = 2048
"""So far apart may the places be: what goes on without bounds through blanks or dots ends at the next
name."""
_HEAD, _TAIL = 16, 32
_MOST_KNOWN = 1024


class Repeats:
    """The finds behind names in one text, which are asked for in the order of the text.

    :param text: the text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[str, tuple[int, Span | None]] = {}
        self._found: list[Span] = []
        self._unknown = -1  # (the last name of which nothing may be remembered)
        self._apart = self._until = 0  # (so far, the text is the same as so many characters before)

    def earlier(self, start: int, end: int) -> tuple[Span | None] | None:
        """Answer what is found at a name, as a tuple of one, when that is known from the same name in the
        same surroundings; None when it is not."""
        if start < BEFORE:
            return None
        key = self._text[start - _HEAD : end + _TAIL]
        seen = self._known.get(key)
        if seen is None:
            return None
        first, found = seen
        apart = start - first
        if (apart != self._apart or start + BEYOND > self._until) and not self._compare(start, apart):
            return None
        if found is not None:
            found = _moved(found, apart)
            self._found.append(found)
        self._known[key] = (start, found)
        return (found,)

    def ahead(self, start: int, last: int) -> tuple[Iterator[Span], int]:
        """Answer the finds from a name on that `earlier` knows, and where it is no longer certain that all
        finds are among them; that is the name itself when there is no such stretch.

        What was found between its like and itself is found there again and again.

        :param last: behind that place nobody has found anything but by these names.
        """
        apart = self._apart
        first = start - apart
        times = (self._until - BEYOND - start) // apart
        if times < 1 or last >= first or self._unknown >= first:
            return iter(()), start
        some = [span for span in self._found if first <= span[0] < start]
        away = times * apart
        known = {}
        for key, (at, found) in self._known.items():
            if at >= first:
                back = away if at < start else away - apart  # (the name itself was remembered already)
                known[key] = (at + back, found and _moved(found, back))
        self._known = known
        self._found = [_moved(span, away) for span in some]
        return (_moved(span, each * apart) for each in range(1, times + 1) for span in some), start + away

    def keep(self, start: int, end: int, found: Span | None, reach: int) -> None:
        """Remember what was found at a name.

        :param reach: how far the search has read, where that may have been further than `BEYOND`.
        """
        if found is not None:
            self._found.append(found)
        if start >= BEFORE and reach < start + BEYOND:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[self._text[start - _HEAD : end + _TAIL]] = (start, found)
        else:
            self._unknown = start

    def _compare(self, start: int, apart: int) -> bool:
        """Tell whether a place has the same surroundings as one further back; remember how far they are the
        same."""
        text, size = self._text, BEYOND
        first = start - apart
        if apart > _MOST_APART or start + size > len(text):
            return False
        if text[first - BEFORE : first + BEFORE] != text[start - BEFORE : start + BEFORE]:
            return False
        if text[first : first + size] != text[start : start + size]:
            return False
        step = size
        while step >= _MOST_APART:
            here, there = start + size, first + size
            if here + step <= len(text) and text[here : here + step] == text[there : there + step]:
                size += step
                step *= 2
            else:
                step //= 2
        self._apart, self._until = apart, start + size
        return True


def _moved(span: Span, away: int) -> Span:
    return span[0] + away, span[1] + away, span[2]
