"""One scan that says whether a walk can change anything: a superset of all rules, over bytes of any kind.

Whatever the walk changes must be flagged; what is flagged need not be changed. `patterns.py` keeps the
expressions apart by finder, so that a leaf of a flagged structure runs only the finders whose shape was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import re2
from re2 import _re2

from toolog.errors import ConfigError
from toolog.sanitize import vocabulary as vocab
from toolog.sanitize.patterns import (
    AFTER,
    COLUMN_KEYS,
    DIGIT_FAMILIES,
    DIGITS,
    EMPTY_KEY,
    HIDDEN,
    JOINT,
    NAMED_FIXED,
    PROGRAM_LINES,
    PROGRAM_NAMES,
    ROWS,
    VALUES,
    beginning,
    describing,
    ending,
    flag_words,
    is_foreign,
    least_of,
    loose,
    names_in_bytes,
    pair_ends,
    rare_pairs,
    short_keys,
    word_of,
)
from toolog.sanitize.words import SUFFIXES

_MEMORY = 64 << 20
_LITTLE = 16 << 20
_MOST_MEMORY = 1 << 30
#: What every scan is tried with before it is used: bytes that stand in no text.
_PROBE, _PROBE_BYTES = r"\xff\x00\xfe\x01\xff", b"\xff\x00\xfe\x01\xff"


class Prefilter:
    """The scan for one vocabulary.

    :param strong, pairs, shaped: the words of the key predicate.
    """

    _staged: _Staged | None = None

    def __init__(
        self,
        strong: Mapping[str, str] = vocab.STRONG,
        pairs: Mapping[tuple[str, str], str] = vocab.PAIRS,
        shaped: Iterable[str] = vocab.SHAPED,
    ) -> None:
        named = [*names_in_bytes(strong, pairs, list(shaped)), flag_words(strong, pairs), *NAMED_FIXED]
        begin, whole = describing(loose([*strong, *shaped], pairs))
        families = {"named": named, **VALUES, "hidden": HIDDEN}
        self._compile(families, [PROGRAM_NAMES, begin], [PROGRAM_LINES, whole])
        self._staged = _Staged(
            _Hints([*strong, *shaped, *SUFFIXES], pairs),
            DIGITS,
            [p for name, some in families.items() if name not in ("named", *DIGIT_FAMILIES) for p in some],
            named,
            ([PROGRAM_NAMES, begin], [PROGRAM_LINES, whole]),
        )

    @classmethod
    def of(cls, added: Iterable[tuple[str, ...]], literals: Iterable[bytes]) -> Prefilter:
        """Answer a prefilter only of a user's own words and known secrets, to run beside the built-in one.

        :param added: phrases that make a key sensitive, each a tuple of words.
        :param literals: byte strings to be found as they stand (known secrets in all their spellings).
        """
        own = cls.__new__(cls)
        phrases = [JOINT.join(word_of(word) for word in phrase) for phrase in added]
        names = "(?:" + "|".join(phrases) + ")"
        spellings = [_literal(text) for text in literals]
        if phrases:
            begin, whole = describing(names)
            families = {"named": [names + AFTER, EMPTY_KEY], "known": spellings}
            own._compile(families, [begin], [whole])
        else:
            own._compile({"known": spellings}, [], [])
        return own

    def _compile(self, families: dict[str, list[str]], begins: list[str], wholes: list[str]) -> None:
        self.names = tuple(name for name, patterns in families.items() if patterns)
        groups = [families[name] for name in self.names]
        match = _set([*groups, begins] if begins else groups)
        #: The scan itself: bytes in, the numbers of the families seen out.
        self.scan: Callable[[bytes], list[int]] = _with_far(match, len(groups), wholes) if begins else match

    def flags(self, data: bytes) -> bool:
        """Tell whether `scan` would see anything; much faster over records that are not like earlier ones."""
        return bool(self.scan(data)) if self._staged is None else self._staged.flags(data)

    def families_in(self, text: str) -> list[str]:
        """Answer the names of the finders whose shape a text shows."""
        names = self.names
        return [names[index] for index in self.scan(text.encode("utf-8", "replace"))]


class _Hints:
    """Expressions that are seen wherever a name of the vocabulary, or what else `named` finds, may stand.

    They are weaker than those of `named`, and have few states: a word counts wherever it stands, of two words
    only signs, digits and the letters of an escape may stand between.
    """

    def __init__(self, words: Iterable[str], pairs: Iterable[tuple[str, str]]) -> None:
        least = least_of(words)
        foreign = [word for word in least if is_foreign(word)]
        mixed = [word for word in least if not word.isascii() and not is_foreign(word)]
        columns = f"(?:{short_keys(COLUMN_KEYS)}){ROWS}"
        self.latin = ["(?i:" + "|".join(word for word in least if word.isascii()) + ")", EMPTY_KEY, columns]
        self.latin += [*NAMED_FIXED, PROGRAM_NAMES]
        pairs, alone = rare_pairs(pairs)
        self.pairs = sorted({*map(word_of, mixed), *map(beginning, alone)})
        self.pairs += [
            f"(?:{'|'.join(sorted(set(map(ending, firsts))))})[^G-Zg-z]*{beginning(second)}"
            for second, firsts in pair_ends(pairs).items()
        ]
        # The first two characters of such a word are rare enough to ask no more.
        self.foreign = [word_of(start) for start in sorted({word[:2] for word in foreign})]


class _Staged:
    """The scan in parts, for records that were never seen before.

    An automaton that looks for everything at once multiplies its states (a word half read, and a number half
    read), and makes those that it has not met yet as it goes: 160 us for a fresh record of 200 bytes, 20
    after 30,000 of them. So four small ones look for hints of a name, for numbers and for all the rest; only
    where a hint is seen, names are looked for as `scan` does. That is 5 to 15 us. The answer is always that
    of `scan`.
    """

    def __init__(
        self,
        hints: _Hints,
        digits: list[str],
        rest: list[str],
        named: list[str],
        far: tuple[list[str], list[str]],
    ) -> None:
        begins, wholes = far
        latin, codes, foreign, *others = named
        self._latin = _set([hints.latin], _LITTLE)
        self._pairs = _set([hints.pairs], _LITTLE)
        self._digits = _set([digits, hints.foreign], _LITTLE)
        self._rest = _set([rest], _LITTLE)
        self._named = (
            _set([[latin]], _LITTLE),
            _set([[foreign]], _LITTLE),
            _with_far(_set([[codes, *others], begins], _LITTLE), 1, wholes),
        )

    def flags(self, data: bytes) -> bool:
        """Tell whether the scan would see anything."""
        seen = self._digits(data)
        if (seen and 0 in seen) or self._rest(data):
            return True
        if not seen and not self._latin(data) and not self._pairs(data):
            return False
        return any(part(data) for part in self._named)


def _set(groups: Iterable[Iterable[str]], memory: int = _MEMORY) -> Callable[[bytes], list[int]]:
    """Answer a scan that is known to work: one that has too little memory sees nothing, and says nothing.

    :raises ConfigError: when there are more words and patterns than any scan of a bearable size holds.
    """
    expressions = ["(?s)" + "|".join(f"(?:{pattern})" for pattern in [*group, _PROBE]) for group in groups]
    while memory <= _MOST_MEMORY:
        patterns = _re2.Set(_re2.RE2.Anchor.UNANCHORED, _options(memory))
        for expression in expressions:
            if patterns.Add(expression.encode()) < 0:
                raise ConfigError("the sanitizer cannot scan for one of its own patterns")  # never by options
        match: Callable[[bytes], list[int]] = patterns.Match
        # (a set that could not be compiled must not be asked: that ends the process)
        if patterns.Compile() and len(match(_PROBE_BYTES)) == len(expressions):
            return match
        memory *= 2
    raise ConfigError("the sanitizer has too many 'keys_add', 'known_secrets' or 'rules_add' to scan for")


def little_set(groups: Iterable[Iterable[str]]) -> Callable[[bytes], list[int]]:
    """Answer a scan with little memory that answers the numbers of the groups whose patterns it sees."""
    return _set(groups, _LITTLE)


def _with_far(
    match: Callable[[bytes], list[int]], begin: int, wholes: list[str]
) -> Callable[[bytes], list[int]]:
    """Answer the scan that asks for all of a far search when it sees number `begin`; that is number 0."""
    whole: list[Callable[[bytes], list[int]]] = []

    def scan(data: bytes) -> list[int]:
        found = match(data)
        if found and begin in found:
            found.remove(begin)
            if 0 not in found:
                if not whole:
                    whole.append(_set([wholes]))
                found += whole[0](data)
        return found

    return scan


def _literal(text: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text)


def _options(memory: int) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = memory
    options.log_errors = False
    return options
