"""A look that clears most records without any scan: all that is in them was seen before, and was clean.

Arguments and results are mostly short texts made of ordinary words, under the same few keys. So words and
sets of keys that showed nothing are remembered, and a record that has nothing else needs no scan: a few calls
in C that never give up the interpreter's lock. Whatever is long, or not ASCII, or has a sign in it that a
secret can be made of, is not cleared, and the scan decides as ever.

A text is cut into words of letters, digits, `-` and `_`; all digits count as one digit, so that numbers and
codes of articles repeat. What can make a secret of several harmless words is asked of the whole text: runs of
digits with blanks between them, and the two words of a pair (`api key`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from toolog.sanitize import vocabulary as vocab
from toolog.sanitize.checks import IBAN_COUNTRIES
from toolog.sanitize.commands import WORDS as COMMANDS
from toolog.sanitize.rules import LEAST_NUMBER
from toolog.sanitize.vendors import HOOKS, VENDORS
from toolog.sanitize.words import SUFFIXES, KeyWords

_MOST_WORDS = 16_384
_MOST_KEYS = 4_096
_MOST_FORMS = 4_096
_LONGEST_FORM = 512
_ALIKE = 10**10
"""Integers below it are no number that is looked for, and their form shows it: it has ten digits at most."""
_LONGEST = 20
"""Characters from which on a word is not remembered: it may be a key of a vendor by its length alone."""

_SEPARATORS = b" \t\n\r!\"#$&'()*+,./:;<=>?[]^`{|}"
WORDS = bytes(32 if byte in _SEPARATORS else 48 if 48 <= byte <= 57 else byte for byte in range(256))
"""Separators become blanks, digits 0. Signs that secrets are made of stay: a word with one is unknown."""
DIGITS = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))
"""All digits become 0: of JSON this makes the form of a record."""
BETWEEN = " x "
"""Stands between two texts, so that digits of both make no run."""
RUN = b"0" * 9
"""Every telephone number, card and id that is found in text has at least so many digits, blanks left out."""

_DIGIT = re.compile("[0-9]").search
_PLAIN = re.compile(rb"[A-Za-z0_-]*%?")
_RECURRING = re.compile(rb"(?:0*[A-Za-z_-]*0*|[0_-]*[A-Za-z]?[0_-]*)%?")
"""Words that are worth to be remembered (`0000-00-00T00` of all times, too); more letters among digits are of
numbers that come once."""
_HEX = re.compile(rb"[0a-f]{20,64}|[0a-f]{8}(?:-[0a-f]{4}){3}-[0a-f]{12}")
_HEX_FIRST = re.compile(rb"(?:cc|db)[0-]*$")
"""Words of pairs that a hash or a UUID may end with."""
_AROUND_HEX = "1//0"
"""The one beginning of a vendor's key after which a hash or a UUID may follow as the rest of it."""

_HASH = re.compile(r"\$[A-Za-z0-9=,./:+]{1,90}\$")
"""How hashes of passwords begin, whose parts may be short words."""

_CLEAN, _FIRST, _SECOND, _DIRTY = 0, 1, 2, 4
_KINDS = (_FIRST, _SECOND, _DIRTY)
"""What a word is by the group of patterns that sees it. The first and the second word of pairs are harmless
until both are there."""
_UNKNOWN, _CLEAN_ONCE, _KNOWN = range(3)
"""What is known of texts: nothing; that they are clean; that whatever has these words and other digits is."""


class Glance:
    """What was seen and was clean.

    :param compile: makes a scan of groups of patterns, that answers the numbers of the groups it sees.
    :param digits: patterns of numbers that are found in text.
    :param is_clean_key: whether the text of a key itself shows nothing.
    """

    def __init__(
        self,
        compile: Callable[[list[list[str]]], Callable[[bytes], list[int]]],
        digits: list[str],
        is_clean_key: Callable[[str], bool],
    ) -> None:
        self._look = compile([_FIRSTS, _SECONDS, _SHOWN])
        self._find_number = compile([digits])
        self._is_clean_key = is_clean_key
        self._judge = KeyWords().judge
        self.clean_forms: set[bytes] = set()
        self.clean_words: set[bytes] = set()
        self.clean_keys: set[str] = set()
        self._kinds: dict[bytes, int] = {}

    def clears(self, texts: list[str], *values: Any) -> bool:
        """Tell that a walk would change none of some flat values (dicts of scalars, or scalars), of which all
        texts are given.

        False when that is not known.
        """
        for value in values:
            if type(value) is dict:
                if not self.clean_keys.issuperset(value) and not self._learn_keys(value):
                    return False
                if any(type(item) is int and item >= LEAST_NUMBER for item in value.values()):
                    return False
            elif type(value) is int and value >= LEAST_NUMBER:
                return False
        return self._read(texts) != _UNKNOWN

    def learn_form(self, form: bytes, given: Any, output: Any) -> bool:
        """Tell whether two flat values (dicts of scalars, or scalars) are known to be clean, and remember
        their form if it alone shows that.

        ``form`` is their JSON, in which `DIGITS` made all digits alike. What it does not show stays out: keys
        are known digit by digit, and how large a number is its form does not tell.
        """
        texts: list[str] = []
        alike = len(form) <= _LONGEST_FORM
        for value in (given, output):
            kind = type(value)
            if kind is dict:
                if not self.clean_keys.issuperset(value) and not self._learn_keys(value):
                    return False
                alike = alike and not any(map(_DIGIT, value))
            for item in value.values() if kind is dict else (value,):
                if type(item) is str:
                    texts.append(item)
                elif type(item) is int and item >= _ALIKE:
                    if item >= LEAST_NUMBER:
                        return False
                    alike = False
        seen = self._read(texts)
        if seen == _KNOWN and alike:
            if len(self.clean_forms) >= _MOST_FORMS:
                self.clean_forms.clear()
            self.clean_forms.add(form)
        return seen != _UNKNOWN

    def _read(self, texts: list[str]) -> int:
        """Answer what is known of texts after a look at their words: `_UNKNOWN`, `_CLEAN_ONCE`, `_KNOWN`."""
        text = BETWEEN.join(texts)
        if not text.isascii() or ("$" in text and _HASH.search(text)):
            return _UNKNOWN
        data = text.encode()
        words = data.translate(WORDS).split()
        seen = _KNOWN
        if not self.clean_words.issuperset(words):
            if not self._learn(text, words):
                return _UNKNOWN
            if not self.clean_words.issuperset(words):
                seen = _CLEAN_ONCE
        if RUN in b"".join(words).replace(b"-", b""):
            return _UNKNOWN if self._find_number(data) else _CLEAN_ONCE
        return seen

    def _learn_keys(self, value: dict[Any, Any]) -> bool:
        """Answer whether the keys of a dict show nothing, as names and as texts; remember the clean ones."""
        clean = self.clean_keys
        for key in value.keys() - clean:
            if type(key) is not str or not key or not key.isascii():
                return False
            if self._judge(key) is not None or not self._is_clean_key(key):
                return False
            if len(clean) >= _MOST_KEYS:
                clean.clear()
            clean.add(key)
        return True

    def _learn(self, text: str, words: Iterable[bytes]) -> bool:
        """Look at the words that are not known to be clean, and answer whether the text shows nothing."""
        joined = 0
        fresh: list[bytes] = []
        for word in set(words) - self.clean_words:
            kind = self._kinds.get(word)
            if kind is not None:
                joined |= kind
            elif len(word) >= _LONGEST:
                if not _HEX.fullmatch(word) or _AROUND_HEX in text:
                    return False
                if _HEX_FIRST.search(word):
                    joined |= _FIRST
            elif _PLAIN.fullmatch(word):
                fresh.append(word)
            else:
                return False
        if joined & _DIRTY:
            return False
        if fresh:
            joined |= self._judge_words(fresh)
        return not joined & _DIRTY and joined != _FIRST | _SECOND

    def _judge_words(self, words: list[bytes]) -> int:
        """Answer what words are together, and remember each; mostly one look at all of them is enough."""
        if len(words) > 1 and self._look(b"".join([b" %b= " % word for word in words])):
            joined = 0
            for word in words:
                joined |= self._judge_words([word])
                if joined & _DIRTY:
                    break
            return joined
        seen = self._look(b" %b= " % words[0]) if len(words) == 1 else ()
        kind = _DIRTY if len(seen) > 1 else _KINDS[seen[0]] if seen else _CLEAN
        for word in words:
            if _RECURRING.fullmatch(word):
                if len(self.clean_words) + len(self._kinds) >= _MOST_WORDS:
                    self.clean_words.clear()
                    self._kinds.clear()
                if kind == _CLEAN:
                    self.clean_words.add(word)
                else:
                    self._kinds[word] = kind
        return kind


# Patterns over ` word= `, so that what a word begins and ends with can be told without looking around.


def _begins(words: Iterable[str]) -> str:
    """Match words where `words.split` lets a word begin."""
    words = sorted(words)
    humps = "|".join(f"{word[0].upper()}(?i:{word[1:]})" for word in words)
    return f"(?:[^A-Za-z](?i:{'|'.join(words)})|{humps})"


def _ascii_pairs() -> Iterable[tuple[str, str]]:
    pairs = [*vocab.PAIRS, *((first, last) for first, _, last in vocab.PHRASES)]
    return ((_as_word(first), second) for first, second in pairs if f"{first}{second}".isascii())


def _joined() -> Iterable[str]:
    ends: dict[str, list[str]] = {}
    for first, second in _ascii_pairs():
        ends.setdefault(second, []).append(first)
    for second, firsts in ends.items():
        yield f"{_begins(firsts)}[0_-]*(?i:{second})[^a-z]"


def _vendor_starts() -> Iterable[str]:
    """Answer how words begin that may be keys of vendors, where the length of the word does not tell."""
    for _, prefix, body, least, exact in VENDORS:
        if "$" in prefix:
            continue  # (`_HASH` sees them)
        start, *more = re.split(r"\\[.+]|/", _as_word(prefix))
        if more and start != "0" and "{" not in start:
            yield f" {start}="
        elif (exact or least) < _LONGEST or not set("+/=.").isdisjoint(body):
            yield f" {start}"
    yield "atlasv0"
    yield " pat[A-Za-z0]{14}="


def _hook_words() -> Iterable[str]:
    """Answer, for the address of each web hook, a word that is always in it."""
    for _, path, _ in HOOKS:
        literal = re.sub(r"\(\?:[^()]*(?:\([^()]*\)[^()]*)*\)\??|\[[^\]]*\]", " ", path)
        yield _as_word(max(re.findall(r"[a-z0-9_-]+", literal), key=len))


def _as_word(text: str) -> str:
    return text.translate(str.maketrans("123456789", "000000000"))


_NAMES = [_as_word(word) for word in [*vocab.STRONG, *vocab.SHAPED] if word.isascii()]
# (a code that is exchanged for a token stands beside one of these: `urls.find_parameters`)
_FIRSTS = ["[^A-Za-z]code=", f"{_begins({first for first, _ in _ascii_pairs()})}[^A-Za-z =]*="]
_SECONDS = [
    "(?i:state|redirect_uri|grant_type|callback|oauth)",
    f" [^A-Za-z =]*(?i:{'|'.join(sorted({second for _, second in _ascii_pairs()}))})[^a-z]",
]
_SHOWN = [
    f"{_begins(_NAMES)}[^a-z]",
    f"(?i:{'|'.join(SUFFIXES)})[^a-z]",
    *_joined(),
    r"(?i:sig|signature|hmac|sid)0*=|(?i:identified|curl|securestring)| -(?:u|-user|-username|a|-auth)=",
    "|".join(COMMANDS),
    *_vendor_starts(),
    *_hook_words(),
    f"[ -](?:{'|'.join(IBAN_COUNTRIES)})00",
    "eyJ|eyAi|ew0[gJK]|W0si|ewo[gJ]|BEGIN|PRIVATE|Private-Lines|(?i:bearer|basic)",
]
"""What no word may show that is to be clean, whatever stands beside it."""
