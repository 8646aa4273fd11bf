"""The secrets of one record that names told, and where they stand again without a name: in what a tool gives
back, in the message of an error, in what it printed.

They are held while their record is walked, and never longer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from toolog.sanitize import shapes
from toolog.sanitize.literals import Literals
from toolog.sanitize.masks import Masks
from toolog.sanitize.plausible import is_mask, is_reference, is_scheme, says_nothing
from toolog.sanitize.rules import Span
from toolog.sanitize.spellings import spellings
from toolog.sanitize.words import KeyWords, split

MOST_VALUES = 32
"""How many values of one record are looked for; what names tell beyond is masked where it stands."""
LEAST_LENGTH, MOST_LENGTH = 8, 4096
"""Characters of the shortest and of the longest value that is looked for."""
_LEAST_VARIETY = 4
#: From so many spellings on one scan says which may stand in a text, by so many characters of each, once so
#: many texts, or so long a one, are searched.
_MANY_SPELLINGS, _BEGINNING = 24, 8
_MANY_TEXTS, _LONG = 32, 16_384
_MOST_NAME_WORDS = 2
_SCHEME = re.compile(r"([A-Za-z-]{2,16}) +(\S+)")
_DATE = re.compile(r"(?:19|20)[0-9]{2}(-?)(?:0[1-9]|1[0-2])\1(?:[0-2][0-9]|3[01])(?:[T_ ].*)?")
#: What stands in JSON inside a text as it stands in the text.
_UNESCAPED = re.compile(r"[A-Za-z0-9%+._~-]+")
#: Where a secret is kept is no secret.
_FILE = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:|/(?:home|etc|usr|var|tmp|opt|root|run|srv|mnt|app|data|Users|secrets|proc|dev))"
    r"[\\/][\w .@+()~\\/-]*"
)


class Echoes:
    """Collects values while a record is walked, then says where they stand.

    A walk that is given one collects until `search` was called, and hides what was collected after that.
    """

    __slots__ = ("_beginnings", "_places", "_rules", "_scan", "_texts", "_values", "found", "searched")

    def __init__(self) -> None:
        #: Whether values are looked for by now, no longer collected.
        self.searched = False
        #: What was found in long texts, which are looked at twice (`spans.find_spans`).
        self.found: dict[str, list[Span]] = {}
        self._rules: dict[str, str] = {}
        self._places: dict[str, set[tuple[str, ...]]] = {}
        self._values: dict[str, str] = {}  # of each spelling, the longest first
        self._beginnings: dict[str, list[str]] = {}  # the spellings of each beginning
        self._scan: Literals | None = None
        self._texts = 0

    def add(self, value: str, rule: str, path: tuple[str, ...], words: KeyWords, *, plain: bool) -> None:
        """Collect a value that is masked because of its name, when it is distinctive.

        :param rule: the rule of its name.
        :param path: where it stands.
        :param words: the key predicate.
        :param plain: it stands there as it is, not in JSON inside a text.
        """
        if len(value) < LEAST_LENGTH:
            return
        credential = _SCHEME.fullmatch(value)
        if credential is not None and is_scheme(credential[1]):
            value = credential[2]
        if value not in self._rules:
            if len(self._rules) >= MOST_VALUES or not is_distinctive(value, words) or _names(path, words):
                return
            self._rules[value] = rule
            self._places[value] = set()
        if plain:
            self._places[value].add(path)

    def search(self, data: bytes | None = None) -> bool:
        """Look for what was collected from now on; False when there is no need to.

        :param data: all that was walked as MessagePack, JSON or UTF-8 text, where that is at hand: when it
            shows each value only where its name told it, nothing is left to be looked for.
        """
        if not self._rules:
            return False
        needed = data is None
        for value in self._rules:
            for spelling in spellings(value):
                if spelling not in self._rules:
                    self._values.setdefault(spelling, value)
        self._values |= {value: value for value in self._rules}
        self._order()
        if data is not None:
            seen = set(self._seen(data))
            for value, places in self._places.items():
                needed = needed or (data.count(_encoded(value)) if value in seen else 0) != len(places)
            for spelling in list(self._values):
                if spelling in self._rules:
                    continue
                if spelling in seen and _encoded(spelling) in data:
                    needed = True
                elif _UNESCAPED.fullmatch(spelling):
                    del self._values[spelling]  # (it stands in no text inside a text either)
            self._order()
        self.searched = needed
        return needed

    def _order(self) -> None:
        self._values = dict(sorted(self._values.items(), key=lambda item: (-len(item[0]), item[0])))
        self._beginnings = {}
        for spelling in self._values:
            self._beginnings.setdefault(spelling[:_BEGINNING], []).append(spelling)
        self._scan = None

    def _seen(self, data: bytes) -> Iterable[str]:
        """Answer the spellings that may stand in MessagePack or UTF-8 text, in their order."""
        self._texts += 1
        if len(self._values) < _MANY_SPELLINGS or (self._texts < _MANY_TEXTS and len(data) < _LONG):
            return self._values
        if self._scan is None:
            self._scan = Literals(*self._beginnings)
        begun = self._scan.seen(data)
        if len(begun) <= 1:
            return self._beginnings[begun[0]] if begun else ()
        seen = {spelling for beginning in begun for spelling in self._beginnings[beginning]}
        return filter(seen.__contains__, self._values)

    def stand_in(self, data: bytes) -> bool:
        """Tell whether MessagePack or UTF-8 text may hold one of the values."""
        return any(_encoded(spelling) in data for spelling in self._seen(data))

    def find(self, text: str) -> list[Span]:
        """Answer where the values stand in a text, in any of their spellings; spans may overlap."""
        spans: list[Span] = []
        if len(text) < LEAST_LENGTH:
            return spans
        for spelling in self._seen(_encoded(text)):
            value = self._values[spelling]
            at = text.find(spelling)
            while at >= 0:
                end = at + len(spelling)
                if not _is_part(text, spelling, at, end):
                    spans.append((at, end, self._rules[value]))
                at = text.find(spelling, end)
        return spans

    def render(self, masks: Masks, rule: str, shown: str, check: Callable[[str], bool] | None = None) -> str:
        """Answer the mask of a part of a text: in the style of its rule, but what would be dropped leaves a
        mask."""
        value = self._values.get(shown)
        mask = masks.render(rule, shown if value is None else value, check)
        if not mask and masks.dropped(rule) and self.find(shown):
            return f"[MASKED:{rule}]"
        return mask


def is_distinctive(value: str, words: KeyWords) -> bool:
    """Tell whether a text says by itself that it is the same secret, wherever it stands.

    Ordinary words, names of secrets (`access_token`), states, dates, files and lines of one sign do not.
    """
    if not LEAST_LENGTH <= len(value) <= MOST_LENGTH or len(set(value)) < _LEAST_VARIETY:
        return False
    if value.split() != [value] or not any(map(str.isalnum, value)):
        return False
    if value.isalpha():
        mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
        if not mixed or value.istitle():
            return False
    if is_mask(value) or is_reference(value) or says_nothing(value):
        return False
    if _DATE.fullmatch(value) or _FILE.fullmatch(value):
        return False
    return any(map(str.isdigit, value)) or not _is_name(value, words)


def _is_name(value: str, words: KeyWords) -> bool:
    """Tell whether a text without digits is what a secret is called."""
    parts = split(value)
    return (
        len(parts) <= _MOST_NAME_WORDS and sum(map(len, parts)) >= len(value) - 1 and bool(words.judge(value))
    )


def _names(path: tuple[str, ...], words: KeyWords) -> bool:
    """Tell whether what stands at a path below a sensitive name says whose or where the secret is: a user, a
    host."""
    name = next((part for part in reversed(path) if not part.isdigit()), "")
    return shapes.is_neutral(name) and words.judge(name) is None


def _is_part(text: str, spelling: str, start: int, end: int) -> bool:
    """Tell whether digits stand inside a longer word or number, so that they are none of ours."""
    if not spelling.isdigit():
        return False
    return text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
