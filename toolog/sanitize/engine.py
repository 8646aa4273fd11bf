"""The walk: from any value to the same value with its secrets masked, copied only where something was hidden.

The caller's objects are never changed. What is clean comes back as the very same object. It fails closed: a
rule that breaks leaves `[REDACTION_FAILED]`, what lies deeper than `max_depth` `[TRUNCATED]`, a cycle
`[CYCLE]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import ormsgpack

from toolog.sanitize import shapes
from toolog.sanitize.echoes import Echoes
from toolog.sanitize.fold import fold
from toolog.sanitize.jsontext import dump_like, parse
from toolog.sanitize.masks import CYCLE, FAILED, TRUNCATED
from toolog.sanitize.objects import causes_of, fields_of
from toolog.sanitize.plausible import (
    SMALL,
    fits_shape,
    is_answer,
    is_cleared,
    is_duration,
    is_mask,
    is_permission,
    is_reference,
    is_release,
    is_scheme,
)
from toolog.sanitize.policy import Policy
from toolog.sanitize.rules import LEAST_NUMBER, Span, int_rule
from toolog.sanitize.spans import find_spans
from toolog.sanitize.words import Verdict

_EXACT = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
)
_LEAST_TEXT = 4
_PASSES = 4
#: `SMALL` of codes.
_SMALL_CODE = 100
#: So few letters under a card's name are a kind of cards (`"creditCards": ["VI", "AX"]`).
_LEAST_CARD = 4
#: Stands for a value that is left out altogether.
_DROP = object()
#: Stands for the verdict on a key that was not judged yet.
_UNKNOWN: Any = object()
_MOST_KEYS = 4096
#: After so many scans in vain, one container out of so many is scanned, and the others walked at once.
_MOST_VAIN = 8
#: How many masked texts are remembered, and the length of the longest.
_SETTLED, _MOST_SETTLED = 1024, 512

Path = tuple[str, ...]


class Finding(NamedTuple):
    """What `explain` answers: where, which rule, how many characters. Never the value."""

    path: str
    rule: str
    length: int


def packed(value: Any) -> bytes | None:
    """Answer plain data as MessagePack; None for anything else."""
    try:
        return ormsgpack.packb(value, option=_EXACT)
    except (TypeError, ValueError):
        return None


def _is_plain_name(path: Path) -> bool:
    """Tell whether the last name of a path is one word, as the scan sees it before a number of one byte."""
    return bool(path) and path[-1].isascii() and " " not in path[-1]


class Walk:
    """One run over one value.

    :param policy: the rules.
    :param path: where the value stands in the record (`input`), as segments.
    :param findings: where each thing that is masked gets listed; None when nobody asks.
    :param echoes: what names told in this value and in those that belong to it; None where nothing belongs
        to it. Made by the walk when a name tells something.
    """

    __slots__ = (
        "_clear",
        "_findings",
        "_inside",
        "_known",
        "_open",
        "_vain",
        "counts",
        "echoes",
        "path",
        "policy",
    )

    def __init__(
        self,
        policy: Policy,
        path: Path = (),
        findings: list[Finding] | None = None,
        echoes: Echoes | None = None,
    ) -> None:
        self.policy = policy
        self.path = path
        self.counts: dict[str, int] = {}
        self._findings = findings
        self._open: set[int] = set()
        self._inside = 0  # texts of JSON around what is walked
        self._clear: set[str] = set()  # keys that show nothing that is known of the record
        self._vain = 0  # containers of which a scan has just not told that they hold nothing
        self.echoes = echoes
        self._known = echoes if echoes is not None and echoes.searched else None

    def run(self, value: Any) -> Any:
        """Answer the value with its secrets masked; the same object when there are none. Never raises."""
        if self.policy.safe_paths and self._is_safe(self.path):
            return value
        result = self._walk(value, None, self.path, 0)
        return None if result is _DROP else result

    def _note(self, rule: str, path: Path, length: int) -> None:
        self.counts[rule] = self.counts.get(rule, 0) + 1
        if self._findings is not None:
            self._findings.append(Finding(".".join(path), rule, length))

    def _is_safe(self, path: Path) -> bool:
        return any(shapes.fits_path(pattern, path) for pattern in self.policy.safe_paths)

    def _walk(self, value: Any, verdict: Verdict | None, path: Path, depth: int) -> Any:
        try:
            return self._step(value, verdict, path, depth)
        except Exception:
            self._note("redaction_failed", path, 0)
            return FAILED

    def _step(self, value: Any, verdict: Verdict | None, path: Path, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if type(value) is dict or type(value) is list:
            return self._container(value, verdict, path, depth)
        if isinstance(value, str):
            if verdict is None:
                return self._text(value, path, depth)
            clean = self._secret(value, verdict, path, depth)
            if clean is value and (hits := self._hits(value)) and not is_mask(value):
                return self._mask(hits[0][2], value, path, value)  # (a reference that shows one)
            return clean
        if isinstance(value, int | float):
            return self._number(value, verdict, path)
        if isinstance(value, bytes | bytearray | memoryview):
            text = bytes(value).decode("utf-8", "surrogateescape")
            clean = self._step(text, verdict, path, depth)
            if clean is text or clean is _DROP:
                return value if clean is text else clean
            return clean.encode("utf-8", "surrogateescape")
        return self._container(value, verdict, path, depth)

    # -- single values
    # ----------------------------------------------------------------------------------------------

    def _number(self, value: int | float, verdict: Verdict | None, path: Path) -> Any:
        if isinstance(value, float):
            if verdict is None or not math.isfinite(value) or abs(value) < SMALL:
                return value
            text = str(int(value)) if value.is_integer() else repr(value)
        else:
            text = str(int(value)) if -(1 << 200) < value < 1 << 200 else "9" * 60
            if verdict is None:
                rule = int_rule(int(value))
                if rule is None or (rule == "phone" and shapes.is_measure(path)):
                    return value
                if rule == "card" and shapes.is_serial(path):
                    return value
                return self._mask(rule, text, path, value)
            if abs(value) < (_SMALL_CODE if verdict[0] == "code" and _is_plain_name(path) else SMALL):
                return value
        if verdict[1] and not fits_shape(text, verdict[1]):
            return value
        self._tell(verdict[0], text, path, plain=False)
        return self._mask(verdict[0], text, path, value)

    def _mask(self, rule: str, text: str, path: Path, value: Any) -> Any:
        if rule in self.policy.disabled:
            return value
        self._note(rule, path, len(text))
        if self.policy.masks.dropped(rule):
            return _DROP
        return self.policy.masks.render(rule, text, self._is_clean)

    def _secret(self, value: str, verdict: Verdict, path: Path, depth: int) -> Any:
        rule, shape = verdict
        if not value.strip() or is_mask(value):
            return value
        if is_reference(value):
            # (what looks like a template may be JSON that tells the secret, as clouds answer it)
            told = rule not in self.policy.disabled and value[0] in "{[" and parse(value)[1]
            return self._mask(rule, value, path, value) if told else value
        if (
            is_answer(value)
            or is_permission(value, rule)
            or is_release(value, rule)
            or is_duration(value, rule)
            or (rule == "card" and len(value) < _LEAST_CARD and value.isalpha())
            or (rule == "cookie" and is_cleared(value))
            or (rule == "authorization" and is_scheme(value))
        ):
            return value
        if shapes.is_message(value, path):
            return self._text(value, path, depth)
        if rule in self.policy.disabled or (shape and not fits_shape(fold(value), shape)):
            return self._text(value, path, depth)
        self._tell(rule, value, path)
        return self._mask(rule, value, path, value)

    def _tell(self, rule: str, text: str, path: Path, *, plain: bool = True) -> None:
        """Collect what a name tells, for the search after the walk."""
        if self._known is None and rule not in self.policy.disabled:
            if self.echoes is None:
                self.echoes = Echoes()
            self.echoes.add(text, rule, path, self.policy.words, plain=plain and not self._inside)

    def _hits(self, text: str) -> list[Span]:
        return [] if self._known is None else self._known.find(text)

    def _is_clean(self, text: str) -> bool:
        return not find_spans(self.policy, text) and not self._hits(text)

    def _text(self, text: str, path: Path, depth: int) -> Any:
        policy = self.policy
        if len(text) > policy.max_bytes:
            cut = self._text(text[: policy.max_bytes - len(TRUNCATED)], path, depth)
            self._note("truncated", path, len(text))
            return (cut if isinstance(cut, str) else "") + TRUNCATED
        if len(text) < _LEAST_TEXT and not policy.user_rules:
            return text
        hits = self._hits(text)
        known = policy.memory.get(text) if self._findings is None and not hits else None
        if known is not None:
            masked, notes = known
            for rule in notes:
                self._note(rule, path, 0)
            return masked
        families = policy.families(text)
        if not families and not policy.user_rules and not hits:
            return text
        found, parsed = parse(text)
        if found:
            self._inside += 1
            clean = self._walk(parsed, None, path, depth + 1)
            self._inside -= 1
            return text if clean is parsed else dump_like(text, None if clean is _DROP else clean)
        before = dict(self.counts)
        masked = self._mask_spans(text, families, path, hits)
        if masked is not text and not hits:  # (what one record told is none of the others' business)
            notes = [rule for rule, count in self.counts.items() for _ in range(count - before.get(rule, 0))]
            policy.memory.put(text, masked, notes)
        return masked

    def _mask_spans(self, text: str, families: list[str], path: Path, hits: list[Span]) -> str:
        """Answer a text with all that the finders see in it masked, and what else is known of it."""
        # A mask may uncover what stood half behind the secret; so that masking twice changes nothing, look
        # again. Texts that differ in their secrets only are the same by then, so what was looked at is
        # remembered.
        policy = self.policy
        settled = policy.settled
        raw = text
        changed: list[tuple[int, int]] = []
        for _ in range(_PASSES):
            kept = None if self.echoes is None else self.echoes.found
            spans = find_spans(policy, text, families, changed, hits, kept)
            if not spans:
                if text is not raw and len(text) <= _MOST_SETTLED:
                    if len(settled) >= _SETTLED:
                        settled.clear()
                    settled.add(text)
                break
            text, changed = self._replace(text, spans, path)
            hits = self._hits(text)
            if text in settled and not hits:
                break
            families = policy.families(text)
            if not families and not policy.user_rules and not hits:
                break
        return text

    def _replace(self, text: str, spans: list[Span], path: Path) -> tuple[str, list[tuple[int, int]]]:
        """Answer the text with its masks, and where they stand in it."""
        parts: list[str] = []
        changed: list[tuple[int, int]] = []
        at = size = 0
        for start, end, rule in spans:
            self._note(rule, path, end - start)
            mask = self._render(rule, text[start:end])
            parts += [text[at:start], mask]
            size += start - at
            changed.append((size, size + len(mask)))
            size += len(mask)
            at = end
        parts.append(text[at:])
        return "".join(parts), changed

    def _render(self, rule: str, shown: str) -> str:
        if self._known is None:
            return self.policy.masks.render(rule, shown, self._is_clean)
        return self._known.render(self.policy.masks, rule, shown, self._is_clean)

    # -- containers
    # -------------------------------------------------------------------------------------------------

    def _container(self, value: Any, verdict: Verdict | None, path: Path, depth: int) -> Any:
        kind = type(value)
        exact = kind is dict or kind is list
        plain = exact or isinstance(value, Mapping | list | tuple | set | frozenset | BaseException)
        fields = None if plain else fields_of(value)
        if not plain and fields is None:
            return value
        if id(value) in self._open:
            return CYCLE
        deep = depth >= self.policy.max_depth
        if verdict is None and fields is None and self._holds_nothing(value, deep):
            return value
        if deep:
            self._note("truncated", path, 0)
            return TRUNCATED
        self._open.add(id(value))
        try:
            if fields is not None:
                clean = self._mapping(fields, verdict, path, depth)
                return value if clean is fields else clean
            if kind is dict:
                return self._plain_dict(value, verdict, path, depth)
            if isinstance(value, BaseException):
                return self._exception(value, path, depth)
            if isinstance(value, Mapping):
                return self._mapping(value, verdict, path, depth)
            return self._sequence(value, verdict, path, depth)
        finally:
            self._open.discard(id(value))

    def _holds_nothing(self, value: Any, deep: bool) -> bool:
        """Tell, by one scan of its MessagePack bytes, that there is nothing to hide in a container of plain
        data.

        :param deep: what is not cleared is not walked either.
        """
        if self._vain >= _MOST_VAIN and self._vain % _MOST_VAIN and not deep and shapes.is_row(value):
            self._vain += 1  # (as in a list of rows with secrets)
            return False
        data = packed(value)
        # (of what is no plain data, only walking can tell)
        clean = data is not None and not self.policy.flags(data)
        clean = clean and (self._known is None or not self._known.stand_in(data or b""))
        self._vain = 0 if clean else self._vain + 1
        return clean

    def _plain_dict(self, value: dict[Any, Any], verdict: Verdict | None, path: Path, depth: int) -> Any:
        """Do what `_mapping` does, faster, for an ordinary dict: known clean keys, no describing ones."""
        policy = self.policy
        known = policy.known_keys
        simple = verdict is None and policy.plain and (self._known is None or self._none_in(value))
        if not simple or not shapes.DESCRIBERS.isdisjoint(value):
            return self._mapping(value, verdict, path, depth)
        changed: dict[Any, Any] | None = None
        for key, item in value.items():
            mark = known.get(key, _UNKNOWN)
            if mark is _UNKNOWN and (mark := self._learn(key)) is _UNKNOWN:
                return self._mapping(value, verdict, path, depth)
            kind = type(item)
            if kind is bool or item is None:
                continue
            if mark is None:
                if (
                    kind is float
                    or (kind is int and item < LEAST_NUMBER)
                    or (kind is str and len(item) < _LEAST_TEXT)
                ):
                    continue
            elif key == "token" and shapes.is_word(value):
                mark = shapes.verdict_below(key, value, None, policy)
            fresh = self._walk(item, mark, (*path, key), depth + 1)
            if fresh is not item:
                if changed is None:
                    changed = value.copy()
                changed[key] = fresh
        if changed is None:
            return value
        if policy.masks.drops:
            return {key: item for key, item in changed.items() if item is not _DROP}
        return changed

    def _none_in(self, keys: Iterable[Any]) -> bool:
        """Tell whether no key shows what is known of the record."""
        fresh = [key for key in keys if key not in self._clear]
        if any(type(key) is not str or self._hits(key) for key in fresh):
            return False
        if len(self._clear) < _MOST_KEYS:
            self._clear.update(fresh)
        return True

    def _learn(self, key: Any) -> Any:
        """Answer the verdict on a key that is clean text itself, and remember it."""
        policy = self.policy
        if type(key) is not str or not key or not policy.is_clean_key(key):
            return _UNKNOWN
        known = policy.known_keys
        if len(known) >= _MOST_KEYS:
            known.clear()
        mark = known[key] = policy.words.judge(key)
        return mark

    def _mapping(self, value: Mapping[Any, Any], verdict: Verdict | None, path: Path, depth: int) -> Any:
        policy = self.policy
        special: Mapping[Any, Any] = (
            shapes.named_item(value, policy)
            or shapes.table(value, policy)
            or shapes.web_key(value)
            or shapes.faulty_input(value, policy)
            or shapes.filled_field(value, policy)
            or {}
        )
        changed = False
        clean: dict[Any, Any] = {}
        for key, item in value.items():
            name = shapes.key_text(key)
            if policy.safe_paths and self._is_safe((*path, str(name))):
                clean[key] = item
                continue
            fresh_key = self._key(key, path, depth)
            inner = (*path, shapes.key_text(fresh_key) or f"({type(key).__name__})")
            if shapes.is_safe_key(name, policy):
                fresh = item
            elif isinstance(marks := special.get(key), list):
                fresh = self._rows(item, marks, inner, depth + 1)
            else:
                below = marks or shapes.verdict_below(name, value, verdict, policy)
                fresh = self._walk(item, below, inner, depth + 1)
            changed = changed or fresh is not item or fresh_key is not key
            if fresh is not _DROP:
                clean[key if fresh_key is key else shapes.free_key(clean, fresh_key)] = fresh
        return clean if changed else value

    def _key(self, key: Any, path: Path, depth: int) -> Any:
        if not isinstance(key, str | bytes | tuple):
            return key
        if type(key) is str and self.policy.is_clean_key(key) and not self._hits(key):
            return key
        fresh = self._walk(key, None, (*path, "(key)"), depth + 1)
        return "[MASKED:key]" if fresh is _DROP else fresh

    def _sequence(self, value: Any, verdict: Verdict | None, path: Path, depth: int) -> Any:
        items = list(value)
        if verdict is None and isinstance(value, list | tuple) and shapes.are_pairs(items):
            fresh = [self._pair(pair, (*path, str(at)), depth + 1) for at, pair in enumerate(items)]
            return shapes.rebuild(value, items, fresh, _DROP)
        marks = shapes.mark_items(value, items, verdict, self.policy)
        fresh = [
            self._walk(item, mark, (*path, str(at)), depth + 1)
            for at, (item, mark) in enumerate(zip(items, marks, strict=True))
        ]
        if verdict is None and self.policy.masks.drops:
            # a flag without its value would take the next argument for it
            for at in range(1, len(fresh)):
                if fresh[at] is _DROP and marks[at] is not None and shapes.is_flag(items[at - 1]):
                    fresh[at - 1] = _DROP
        for at in shapes.curl_users(items):
            user, _, secret = items[at].partition(":")
            if fresh[at] is items[at] and secret and not is_mask(secret) and not is_reference(secret):
                self._tell("password", secret, (*path, str(at)))
                mask = self._mask("password", secret, (*path, str(at)), secret)
                fresh[at] = items[at] if mask is secret else f"{user}:{'' if mask is _DROP else mask}"
        return shapes.rebuild(value, items, fresh, _DROP)

    def _pair(self, pair: Any, path: Path, depth: int) -> Any:
        name = shapes.key_text(pair[0])
        if shapes.is_safe_key(name, self.policy):
            return pair
        mark = self.policy.words.judge(name) if name else None
        if mark is None:
            return self._walk(pair, None, path, depth)
        first = self._key(pair[0], path, depth)
        second = self._walk(pair[1], mark, (*path, name or ""), depth + 1)
        if second is _DROP or (second is pair[1] and first is pair[0]):
            return pair if second is pair[1] else _DROP
        return [first, second] if isinstance(pair, list) else (first, second)

    def _rows(self, rows: Any, marks: shapes.Marks, path: Path, depth: int) -> Any:
        fresh = []
        for at, row in enumerate(rows):
            inner = (*path, str(at))
            if not isinstance(row, list | tuple) or len(row) != len(marks):
                fresh.append(self._walk(row, None, inner, depth))
                continue
            cells = [
                self._walk(cell, mark, (*inner, str(place)), depth + 1)
                for place, (cell, mark) in enumerate(zip(row, marks, strict=True))
            ]
            cells = [None if cell is _DROP else cell for cell in cells]  # a column keeps its place
            fresh.append(shapes.rebuild(row, list(row), cells, _DROP))
        return shapes.rebuild(rows, list(rows), fresh, _DROP)

    def _exception(self, error: BaseException, path: Path, depth: int) -> Any:
        """Answer the exception, or text in its place when it, a note of it or a cause shows a secret."""
        parts: list[str] = []
        changed = False
        for link in causes_of(error):
            notes = getattr(link, "__notes__", ())
            texts = [str(link), *(note for note in notes if isinstance(note, str))]
            clean = [self._text(text, path, depth) for text in texts]
            args = list(link.args)
            changed = changed or self._walk(args, None, path, depth + 1) is not args
            changed = changed or any(a is not b for a, b in zip(clean, texts, strict=True))
            parts.append(f"{type(link).__name__}: " + "\n".join(clean))
        return " (caused by) ".join(parts) if changed else error
