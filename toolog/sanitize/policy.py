"""The options of a sanitizer, checked once and made ready: what each call needs and nothing that changes
later."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import re2

from toolog.errors import ConfigError, kind_of, unknown_key
from toolog.sanitize import candidates, rules, scans
from toolog.sanitize import vocabulary as vocab
from toolog.sanitize.glance import Glance
from toolog.sanitize.masks import Masks
from toolog.sanitize.memory import MOST_TEXTS, Memory
from toolog.sanitize.patterns import DIGITS
from toolog.sanitize.prefilter import Prefilter, little_set
from toolog.sanitize.rules import FINDERS, NUMBER_FINDERS, Span
from toolog.sanitize.spellings import spellings
from toolog.sanitize.text import NamedText
from toolog.sanitize.words import KeyWords, split

#: Every rule that can name a mask, apart from a user's own.
RULES = frozenset(
    [*vocab.STRONG.values(), *vocab.PAIRS.values(), "key", "private_key", "jwt", "vendor_key", "web_hook",
    "bearer",
     "basic", "url_password", "signature", "email", "phone", "id_number", "card", "iban", "ssn",
     "known_secret"]
)  # fmt: skip
OPTIONS = (
    "keys_add", "keys_remove", "safe_keys", "safe_paths", "rules_add", "rules_disable", "style",
    "known_secrets",
    "max_depth", "max_bytes", "tools", "hmac_key",
)  # fmt: skip
_UNIONS = ("keys_add", "keys_remove", "safe_keys", "safe_paths", "rules_disable", "known_secrets")
_LEAST_SECRET = 4
_MEMORY = 4096
_UNBOUND = ("^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z")


class UserRule:
    """One rule of a user: a regular expression that re2 takes, so that it is linear whatever the input.

    :param name: the rule's name, shown in the mask.
    :param pattern: the expression; with a group, only the first group is masked.
    :raises ConfigError: for an expression that re2 cannot take (look-around, back-references) or that matches
    nothing.
    """

    __slots__ = ("group", "in_bytes", "name", "pattern")

    def __init__(self, name: str, pattern: str) -> None:
        where = f"sanitizer option 'rules_add': rule {name!r}"
        if not isinstance(pattern, str) or not pattern:
            raise ConfigError(f"{where} is a regular expression as text, not {pattern!r}")
        options = re2.Options()
        options.log_errors = False
        try:
            self.pattern = re2.compile(pattern, options)
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            raise ConfigError(
                f"{where}: {reason}; a rule must run in linear time (re2 syntax: no look-around, no"
                " back-references)"
            ) from error
        if self.pattern.search(""):
            raise ConfigError(f"{where} matches the empty text")
        #: Whether the expression occurs anywhere in UTF-8 bytes.
        self.in_bytes: Callable[[bytes], Any] = re2.compile(pattern.encode(), options).search
        self.name = name
        self.group = 1 if self.pattern.groups else 0

    @property
    def anchored(self) -> bool:
        """Whether the expression looks at its neighbours, so that it cannot be searched in serialized
        bytes."""
        text = self.pattern.pattern.replace("[^", "[")
        return any(sign in text for sign in _UNBOUND)

    def find(self, text: str) -> Iterator[Span]:
        """Yield the spans of all matches."""
        for match in self.pattern.finditer(text):
            start, end = match.span(self.group)
            if end > start >= 0:
                yield start, end, self.name


def _guarded(groups: list[list[str]]) -> Callable[[bytes], list[int]]:
    """Answer a scan that says that it runs, as `scans` wants it."""
    match = little_set(groups)

    def scan(data: bytes) -> list[int]:
        inside = scans.inside
        inside.append(None)
        try:
            if scans.ending:
                scans.check_thread()
            return match(data)
        finally:
            inside.pop()

    return scan


class _Shared:
    """What all policies use together: made once in a process, when first needed."""

    def __init__(self) -> None:
        self._prefilter: Prefilter | None = None
        self._glance: Glance | None = None
        scans.watch(self)

    def glance(self) -> Glance:
        """Answer the glance of the built-in rules."""
        made = self._glance
        if made is None:
            made = self._glance = Glance(_guarded, DIGITS, Policy({}).is_clean_key)
        return made

    def prefilter(self) -> Prefilter:
        """Answer the prefilter of the built-in rules."""
        made = self._prefilter
        if made is None:
            made = self._prefilter = Prefilter()
        return made

    def after_fork_in_child(self) -> Any:
        """Part from scans that may be locked for ever."""
        parted = self._prefilter, self._glance
        self._prefilter = self._glance = None
        return parted, rules.forget(), candidates.forget()


_shared = _Shared()
base_prefilter = _shared.prefilter


class Policy:
    """All options of one sanitizer, or of one tool's override. See `docs/reference/sanitize.md` for each
    option."""

    def __init__(self, options: Mapping[str, Any], where: str = "sanitizer") -> None:
        for name in options:
            if name not in OPTIONS:
                raise unknown_key(name, OPTIONS, where)
        self.options = {key: value for key, value in options.items() if value is not None}
        get = self.options.get
        added = _texts(get("keys_add"), "keys_add")
        self.words = KeyWords(added, _texts(get("keys_remove"), "keys_remove"))
        for key in added:
            if not split(key):
                raise ConfigError(f"{where} option 'keys_add': {key!r} has no letters")
        self.named = NamedText(self.words)
        self.safe_keys = frozenset("".join(split(key)) for key in _texts(get("safe_keys"), "safe_keys"))
        self.safe_paths = [tuple(_segments(path)) for path in _texts(get("safe_paths"), "safe_paths")]
        self.user_rules = _user_rules(get("rules_add"))
        names = RULES | {rule.name for rule in self.user_rules}
        self.disabled = frozenset(_texts(get("rules_disable"), "rules_disable"))
        for rule in self.disabled:
            if rule not in names:
                raise unknown_key(rule, names, f"{where} option 'rules_disable'")
        self.masks = Masks(get("style"), get("hmac_key"), names)
        self.known = _known(_texts(get("known_secrets"), "known_secrets"))
        self.max_depth = _whole(get("max_depth"), "max_depth", 64, 1, 200)
        self.max_bytes = _whole(get("max_bytes"), "max_bytes", 4 << 20, 64, 1 << 31)
        self._own = self._own_prefilter()
        self._walks_always = any(rule.anchored for rule in self.user_rules)
        self._clean_keys: dict[str, bool] = {}
        #: Verdicts on keys that are clean text themselves; filled and bounded by the walk.
        self.known_keys: dict[str, Any] = {}
        #: Masked texts in which nothing is left to mask; filled and bounded by the walk.
        self.settled: set[str] = set()
        #: What became of texts with secrets that come again.
        self.memory = Memory(0 if self.masks.foreign else MOST_TEXTS)
        #: Whether no option exempts keys or paths, so that the walk may take its short way.
        self.plain = not (self.safe_keys or self.safe_paths)
        self._extended = self._own is not None or bool(self.user_rules)
        self._scan: Callable[[bytes], bool] | None = None
        self._clears: Callable[..., bool] | None = None
        scans.watch(self)

    def after_fork_in_child(self) -> Any:
        """Part from scans that may be locked for ever."""
        parted = self._scan, self._own, self.user_rules, self.named, self._clears
        self._scan = self._clears = None
        self._own = self._own_prefilter()
        self.user_rules = _user_rules(self.options.get("rules_add"))
        self.named = NamedText(self.words)
        return parted

    def _own_prefilter(self) -> Prefilter | None:
        spellings = {text.encode("utf-8", "replace") for text in self.known}
        spellings |= {json.dumps(text)[1:-1].encode() for text in self.known}
        if not self.words.added and not spellings:
            return None
        return Prefilter.of(self.words.added, sorted(spellings))

    def flags(self, data: bytes) -> bool:
        """Tell whether anything in serialized bytes may be masked; a superset of what the walk changes."""
        inside = scans.inside
        inside.append(None)
        try:
            if scans.ending:
                scans.check_thread()
            scan = self._scan
            if scan is None:
                scan = self._scan = base_prefilter().flags
            return scan(data) or (self._extended and self._flags_own(data))
        finally:
            inside.pop()

    @property
    def glance(self) -> Glance | None:
        """The glance that holds for this policy; None where a user's own words, secrets or rules are to be
        found, too."""
        return None if self._extended else _shared.glance()

    def clears(self, texts: list[str], *values: Any) -> bool:
        """Tell that a walk would change none of some flat values, of which all texts are given; no scan.

        False when that is not known.
        """
        if self._extended:
            return False
        clears = self._clears
        if clears is None:
            clears = self._clears = _shared.glance().clears
        return clears(texts, *values)

    def _flags_own(self, data: bytes) -> bool:
        if self._own is not None and self._own.scan(data):
            return True
        # In JSON an escape may hide what a user's expression looks for; anchors cannot be asked of bytes at
        # all.
        return bool(self.user_rules) and (
            self._walks_always or b"\\" in data or any(rule.in_bytes(data) for rule in self.user_rules)
        )

    def families(self, text: str) -> list[str]:
        """Answer which finders a text calls for."""
        inside = scans.inside
        inside.append(None)
        try:
            if scans.ending:
                scans.check_thread()
            found = base_prefilter().families_in(text)
            return found if self._own is None else found + self._own.families_in(text)
        finally:
            inside.pop()

    def is_clean_key(self, key: str) -> bool:
        """Tell whether the text of a key itself shows nothing; remembered, because keys come again and
        again."""
        known = self._clean_keys.get(key)
        if known is None:
            known = not self.user_rules and len(key) <= 256 and not self.families(key)
            if len(self._clean_keys) >= _MEMORY:
                self._clean_keys.clear()
            self._clean_keys[key] = known
        return known

    def for_tool(self, options: Mapping[str, Any], tool: str) -> Policy:
        """Answer the policy of one tool: lists are added to ours, mappings merged, everything else
        replaced."""
        merged = {key: value for key, value in self.options.items() if key != "tools"}
        if not isinstance(options, Mapping):
            raise ConfigError(f"sanitizer option 'tools': {tool!r} is a mapping of options, not {options!r}")
        for key, value in options.items():
            if key in _UNIONS and merged.get(key) is not None:
                value = [*_texts(merged[key], key), *_texts(value, key)]
            elif (
                key in ("rules_add", "style")
                and isinstance(value, Mapping)
                and isinstance(merged.get(key), Mapping)
            ):
                value = {**merged[key], **value}
            elif key in ("tools", "hmac_key"):
                raise unknown_key(
                    key, [name for name in OPTIONS if name != key], f"sanitizer option 'tools': {tool!r}"
                )
            merged[key] = value
        return Policy(merged, f"sanitizer option 'tools': {tool!r}")


def _texts(given: Any, name: str) -> list[str]:
    if given is None:
        return []
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
        raise ConfigError(f"sanitizer option {name!r} is a list of texts, not {kind_of(given)}")
    texts = list(given)
    if not all(isinstance(text, str) and text for text in texts):
        raise ConfigError(f"sanitizer option {name!r} holds something that is no text, or an empty text")
    return texts


def _whole(given: Any, name: str, default: int, least: int, most: int) -> int:
    if given is None:
        return default
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise ConfigError(
            f"sanitizer option {name!r} is a whole number from {least} to {most}, not {given!r}"
        )
    return given


def _segments(path: str) -> Iterable[str]:
    return [part for part in path.replace("[", ".").replace("]", "").split(".") if part]


def _user_rules(given: Any) -> list[UserRule]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"sanitizer option 'rules_add' is a mapping of rule name to expression, not {given!r}"
        )
    rules = []
    for name, pattern in given.items():
        if (
            not isinstance(name, str)
            or not name.isascii()
            or not name.replace("_", "a").isalnum()
            or name != name.lower()
        ):
            raise ConfigError(
                f"sanitizer option 'rules_add': {name!r} is no name (small letters, digits and _)"
            )
        if name in FINDERS or name in NUMBER_FINDERS or name in RULES:
            raise ConfigError(f"sanitizer option 'rules_add': {name!r} is a built-in rule")
        if len(name) > 40:
            raise ConfigError(f"sanitizer option 'rules_add': the name {name!r} is longer than 40 characters")
        rules.append(UserRule(name, pattern))
    return rules


def _known(secrets: list[str]) -> list[str]:
    """Answer every spelling of the known secrets, longest first."""
    found: set[str] = set()
    for secret in secrets:
        if len(secret) < _LEAST_SECRET:
            raise ConfigError(
                f"sanitizer option 'known_secrets': a secret has fewer than {_LEAST_SECRET} characters"
            )
        found |= spellings(secret)
    return sorted(found, key=lambda text: (-len(text), text))
