"""The one decision about names: is what stands under this key a secret, and which rule says so?

A key is folded, cut into words (camelCase, acronyms, snake, kebab, digit suffixes) and judged on whole words,
never on substrings: `author` is not `auth`, `max_tokens` is not `token`, `APIToken` is. The order is: the
user's own words, sensitive pairs that end the key, harmless tails, harmless heads, pairs, strong words and
exact concatenations, words that depend on their value. Keys of dicts, header pairs, `{name, value}` items,
columns, flags, query parameters and `name=value` text are all judged here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise

from toolog.sanitize import vocabulary as vocab
from toolog.sanitize.fold import MARKS, fold

MAX_KEY = 128
_SPACE = re.compile(r"\s")
_SPACED_KEY = re.compile(r"[\w#&'()+/: -]{1,40}")
#: Endings that no other word has, so that they are found in any concatenation.
SUFFIXES = (
    *("password", "passwd", "passphrase", "apikey", "secretkey", "accesstoken", "authtoken"),
    *("storepass", "keypass", "passwort", "kennwort", "wachtwoord", "losenord", "adgangskode"),
    *("telefonnummer", "handynummer", "kontonummer", "ausweisnummer", "versicherungsnummer"),
)
#: Scripts without blanks between words: Thai, kana, Han, Hangul.
_UNSPACED = re.compile(r"[\u0e00-\u0e4f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_NON_LATIN = re.compile(rf"(?:[^\W\d_\u0000-\u024f\u1e00-\u1eff][{MARKS}]*)+")
_LATIN = re.compile(rf"(?:[^\W\d_][{MARKS}]*)+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINT = re.compile(r"[ !#-+\-./0-9;-@\[-`{-~]*")
_MASK = re.compile(r"\[MASKED:[a-z0-9_]{1,40}(?::[0-9a-f]{12})?\]")
#: A sign such as `·` inside a name ends what stands before it, and so does another script before an accented
#: letter; control characters are in no name. The scan relies on it: in MessagePack these bytes are small
#: numbers, `false` and `true`.
_SIGN = re.compile(r".[\u00a1-\u00bf\u00f7](?=[A-Za-z0-9_])|[^\W\d_\x00-\u024f](?=[\u00c0-\u00ff])", re.S)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CACHE_SIZE = 4096
#: Digits part the words of a name, whichever they are.
ALIKE = str.maketrans("123456789", "000000000")


class Verdict(tuple[str, str]):
    """What `KeyWords.judge` answers: `(rule, shape)`; an empty shape means that any value is masked."""

    __slots__ = ()


def split(key: str) -> list[str]:
    """Cut a key into its lower-case words; digits and ordinary separators are left out.

    What cannot stand between the two words of a pair (a quote, a comma, a control character) leaves an empty
    word.

    >>> split("APIToken"), split("new_password2"), split("x-api-key")
    (['api', 'token'], ['new', 'password'], ['x', 'api', 'key'])
    """
    text = key if key.isascii() else unicodedata.normalize("NFC", key)
    folded = fold(text)
    words: list[str] = []
    at = 0
    for run in _LATIN.finditer(folded):
        if words and not _JOINT.fullmatch(folded, at, run.start()):
            words.append("")
        at = run.end()
        for part in _script_runs(run.group()):
            words.extend(word.lower() for word in _HUMP.split(part) if word)
    return words


def _script_runs(run: str) -> list[str]:
    if run.isascii():
        return [run]
    parts: list[str] = []
    at = 0
    for match in _NON_LATIN.finditer(run):
        parts += [run[at : match.start()], match.group()]
        at = match.end()
    parts.append(run[at:])
    return [part for part in parts if part]


class KeyWords:
    """The vocabulary with a user's additions and removals, and a bounded memory of the keys judged so far.

    :param added: words or phrases that make a key sensitive (`customer_ref`); they win over harmless tails.
    :param removed: words, pairs or whole keys that no longer do (`phone`, `session_key`).
    """

    def __init__(self, added: Iterable[str] = (), removed: Iterable[str] = ()) -> None:
        self.added = [phrase for phrase in (tuple(split(key)) for key in added) if phrase]
        gone = {"".join(split(key)) for key in removed}
        self.strong = {word: rule for word, rule in vocab.STRONG.items() if word not in gone}
        self.shaped = {word: rule for word, rule in vocab.SHAPED.items() if word not in gone}
        self.pairs = {pair: rule for pair, rule in vocab.PAIRS.items() if "".join(pair) not in gone}
        self.phrases = {some: rule for some, rule in vocab.PHRASES.items() if "".join(some) not in gone}
        self._foreign = [word for word in self.strong if _UNSPACED.fullmatch(word)]
        self._gone = gone
        self.reduced = bool(gone)
        self._memory: dict[str, Verdict | None] = {}

    def judge(self, key: str) -> Verdict | None:
        """Answer the verdict on a key, or None when nothing under it is a secret by its name."""
        try:
            return self._memory[key]
        except KeyError:
            pass
        alike = key.translate(ALIKE)
        verdict = self.judge(alike) if alike != key else self._judge(key)
        if len(self._memory) >= _CACHE_SIZE:
            self._memory.clear()
        self._memory[key] = verdict
        return verdict

    def judge_end(self, key: str) -> Verdict | None:
        """Answer the verdict on a name of words with blanks between them, as the heads of tables are.

        The last ones must be what makes it sensitive: what goes on behind those is mostly no name.
        """
        verdict = self.judge(key)
        if verdict is None or " " not in key:
            return verdict
        words = split(key)
        last = words[-1]
        if last in self.strong or last in self.shaped or self._suffix(last) or self._foreign_rule(last, True):
            return verdict
        ended = tuple(words[-2:]) in self.pairs or tuple(words[-3:]) in self.phrases
        return verdict if ended or any(tuple(words[-len(own) :]) == own for own in self.added) else None

    def _judge(self, key: str) -> Verdict | None:
        if "[MASKED:" in key:
            key = _MASK.sub(" ", key)  # a masked key says nothing about its value
        if not key or len(key) > MAX_KEY or key[-1] in ".,;!?":
            return None  # a sentence is no name
        if "\u2019" in key:  # (`clé d’API`, as it is printed)
            plain = key.replace("\u2019", "'")
            rule = self._phrase(split(plain)) if _SPACED_KEY.fullmatch(plain) else None
            if rule:
                return Verdict((rule, ""))
        if not key.isascii():
            signs = [match.end() for match in _SIGN.finditer(key)]
            key = key[signs[-1] :] if signs else key
        if _CONTROL.search(key) or (_SPACE.search(key) and not _SPACED_KEY.fullmatch(key)):
            return None
        words = split(key)
        if not words or len(words) > 24:
            return None
        for phrase in self.added:
            size = len(phrase)
            if any(tuple(words[at : at + size]) == phrase for at in range(len(words) - size + 1)):
                return Verdict(("key", ""))
        if "".join(words) in self._gone:
            return None
        rule = self._ending(words)
        if rule:
            return Verdict((rule, ""))
        if self._harmless(words):
            return None
        for pair in pairwise(words):
            if pair in self.pairs:
                return Verdict((self.pairs[pair], ""))
        rule = self._phrase(words)
        if rule:
            return Verdict((rule, ""))
        for at, word in enumerate(words):
            rule = (
                self.strong.get(word) or self._suffix(word) or self._foreign_rule(word, at == len(words) - 1)
            )
            if rule and not (at and (words[at - 1], word) in vocab.HARMLESS_PAIRS):
                return Verdict((rule, vocab.WHOLE.get(word, "") if len(words) == 1 else ""))
        last = self.shaped.get(words[-1])
        return Verdict(last) if last else None

    def _ending(self, words: list[str]) -> str | None:
        """Judge the end of the key: a pair there wins over a harmless tail (`national_id`,
        `security_code`)."""
        if len(words) < 2 or (words[-2], words[-1]) in vocab.TAIL_PAIRS:
            return None
        if words[0] in vocab.HEADS and len(words) > 2:
            return None
        return self.pairs.get((words[-2], words[-1]))

    def _phrase(self, words: list[str]) -> str | None:
        """Judge three neighbouring words of which the one between says nothing."""
        some = zip(words, words[1:], words[2:], strict=False)
        return next((self.phrases[phrase] for phrase in some if phrase in self.phrases), None)

    def _suffix(self, word: str) -> str | None:
        """Judge concatenations such as `ldappassword`: only endings that no other word has."""
        for ending in SUFFIXES:
            if word.endswith(ending) and ending not in self._gone:
                return self.strong.get(ending)
        return None

    def _foreign_rule(self, word: str, last: bool) -> str | None:
        """Judge a word of a script without spaces: it may hold a sensitive word among others."""
        if word.isascii() or not _UNSPACED.fullmatch(word):
            return None
        for known in self._foreign:
            if known in word:
                if (
                    last
                    and word.endswith(tuple(vocab.CJK_TAILS))
                    and not known.endswith(tuple(vocab.CJK_TAILS))
                ):
                    return None
                return None if word.startswith(tuple(vocab.CJK_HEADS)) else self.strong[known]
        return None

    def _harmless(self, words: list[str]) -> bool:
        return words[0] in vocab.HEADS or (words[-1] in vocab.TAILS and len(words) > 1)
