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
from toolog.sanitize.candidates import least_of
from toolog.sanitize.patterns import (
    AFTER,
    COLUMN_KEYS,
    DIGIT_FAMILIES,
    DIGITS,
    EMPTY_KEY,
    HIDDEN,
    JOINT,
    NAMED_FIXED,
    ROWS,
    VALUES,
    beginning,
    describing,
    ending,
    flag_words,
    is_foreign,
    latin_names,
    loose,
    names_in_bytes,
    not_ending_in_others,
    numbered,
    pair_ends,
    phrases_in_bytes,
    rare_pairs,
    short_keys,
    word_of,
)
from toolog.sanitize.programs import PROGRAM_LINES, PROGRAM_NAMES
from toolog.sanitize.words import SUFFIXES

#: A number behind a word and a blank, of as many characters as any that is found right behind its name.
_NUMBER_AHEAD = (
    r"(?:[A-Za-z.2\x80-\xbf]|\\+u[0-9a-fA-F]{4})(?:[ \t]|\\+t)+"
    r"(?:[\[(]|\xe3\x80\x90|\\+u3010)?[A-Z]{0,6}[0-9][A-Z0-9 ./()-]{3}"
)
_MEMORY = 64 << 20
_LITTLE = 16 << 20
_MOST_MEMORY = 1 << 30
#: What every scan is tried with before it is used: bytes that stand in no text.
#: What stands in all text that is not ASCII, as it is or escaped; and in many a binary number. In MessagePack
#: d9 is the head of most texts, their length behind it: in Arabic text another letter, or a digit, stands
#: there as well. A `%` behind d9 or c4 is the length of a text of 37 bytes.
_BEYOND_ASCII = (
    r"[\xc2-\xd8\xda-\xdf][\x80-\xbf]|\xd9[\x80-\xbf][\xd8-\xdb0-9]|[0-9]\xd9[\xa0-\xa9]"
    r"|[\xe0-\xf4][\x80-\xbf]{2}|\\u[0-9a-fA-F]|(?:^|[^\xc4\xd9])%(?:25)*[4-7c-fC-F][0-9a-fA-F]"
)
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
        named = [
            *names_in_bytes(strong, pairs, list(shaped)),
            flag_words(strong, pairs, shaped),
            *NAMED_FIXED,
        ]
        numbers = numbered(strong, pairs, shaped)
        begin, whole = describing(loose([*strong, *shaped], pairs))
        families = {"named": [*named, numbers], **VALUES, "hidden": HIDDEN}
        self._compile(families, [PROGRAM_NAMES, begin], [PROGRAM_LINES, whole])
        self._staged = _Staged(
            _Hints(strong, [*shaped, *SUFFIXES], pairs),
            DIGITS,
            [p for name, some in VALUES.items() if name not in DIGIT_FAMILIES for p in some],
            [*latin_names(strong, pairs, shaped), numbers, *named[1:]],
            ((PROGRAM_NAMES, PROGRAM_LINES), (begin, whole)),
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

    They are weaker than those of `named`, and have few states: what stands left of a word does not matter, of
    two words only signs, digits and the letters of an escape may stand between. No name goes on in small
    letters behind a sensitive word. ``marked`` and ``foreign`` are seen in text beyond ASCII only: words with
    marks, and those of other alphabets.
    """

    def __init__(
        self, strong: Mapping[str, str], more: Iterable[str], pairs: Iterable[tuple[str, str]]
    ) -> None:
        least = least_of([*strong, *more])
        foreign = [word for word in least if is_foreign(word)]
        # (not the least of all words: a name in Latin letters ends where it is seen, so one that goes on with
        # a mark, as `parolası` behind `parola`, is not seen by it)
        mixed = least_of(word for word in [*strong, *more] if not word.isascii() and not is_foreign(word))
        codes = [word for word in strong if word.isascii() and strong[word] == "code"]
        words = [word for word in [*strong, *more] if word.isascii() and word not in codes]
        latin = sorted(not_ending_in_others(words))
        # A small number behind the name of a code may look like a letter; the next name's length comes then.
        self.latin = [
            f"(?i:{'|'.join(latin)})(?:[^a-z]|$)",
            f"(?i:{'|'.join(codes)})(?:[^a-z]|$|[d-z](?:[\\x80-\\xff]|$))",
            EMPTY_KEY,
            *NAMED_FIXED,
        ]
        self.columns = [f"(?:{short_keys(COLUMN_KEYS)}){ROWS}"]
        pairs, alone = rare_pairs(pairs)
        self.pairs = _bridged(pair for pair in pairs if "".join(pair).isascii()) + phrases_in_bytes()
        self.marked = sorted({*map(word_of, mixed), *map(beginning, alone)})
        self.marked += _bridged(pair for pair in pairs if not "".join(pair).isascii())
        # The first two characters of such a word are rare enough to ask no more.
        self.foreign = [word_of(start) for start in sorted({word[:2] for word in foreign})]


def _bridged(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [
        f"(?:{'|'.join(sorted(set(map(ending, firsts))))})[^G-Zg-z]*{beginning(second)}"
        for second, firsts in pair_ends(pairs).items()
    ]


class _Staged:
    """The scan in parts, for records that were never seen before.

    An automaton that looks for everything at once multiplies its states (a word half read, and a number half
    read), and makes those that it has not met yet as it goes: hundreds of microseconds for a fresh record of
    200 bytes. So small ones look for numbers, for other values and for hints of a name, and three more where
    anything beyond ASCII may stand; what has to do with that multiplies the states of all others most. Only
    where a hint is seen, names are looked for as `scan` does. The answer is always that of `scan`.
    """

    def __init__(
        self,
        hints: _Hints,
        digits: list[str],
        values: list[str],
        named: list[str],
        far: tuple[tuple[str, str], tuple[str, str]],
    ) -> None:
        words, two_words, marked, numbers, codes, foreign, *others = named
        self._digits = _set([digits, [_BEYOND_ASCII]], _LITTLE)
        self._values = _set([values], _LITTLE)
        self._hidden = _set([HIDDEN], _LITTLE)
        # The hints, each with what is asked when they are seen.
        self._latin = _set([hints.latin, [far[0][0]], hints.columns], _LITTLE)
        self._words = _set([[words]], _LITTLE)
        self._pairs = _set([hints.pairs], _LITTLE), _set([[two_words]], _LITTLE)
        self._foreign = _set([hints.foreign], _LITTLE), _set([[foreign]], _LITTLE)
        self._marked = _set([hints.marked], _LITTLE), _set([[marked]], _LITTLE)
        self._numbers = _set([[_NUMBER_AHEAD]], _LITTLE), _set([[numbers]], _LITTLE)
        self._others = _set([[codes]], _LITTLE), _set([others], _LITTLE)
        self._programs, self._described = (
            _with_far(_set([[_PROBE], [begin]], _LITTLE), 1, [whole]) for begin, whole in far
        )

    def flags(self, data: bytes) -> bool:
        """Tell whether the scan would see anything."""
        seen = self._digits(data)
        if (seen and 0 in seen) or self._values(data) or (seen and self._hidden(data)):
            return True
        hints = self._latin(data)
        named = bool(hints) and 0 in hints
        if named and self._words(data):
            return True
        for hint, names in (self._pairs, self._foreign, self._marked) if seen else (self._pairs,):
            if hint(data):
                if names(data):
                    return True
                named = True
        if named and any(other(data) for other in self._others):
            return True
        if named and self._numbers[0](data) and self._numbers[1](data):
            return True
        if (named or (hints and 2 in hints)) and self._described(data):
            return True
        return bool(hints and 1 in hints and self._programs(data))


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
