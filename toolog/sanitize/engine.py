"""The walk: from any value to the same value with its secrets masked, copied only where something was hidden.

The caller's objects are never changed. What is clean comes back as the very same object. It fails closed: a rule that
breaks leaves `[REDACTION_FAILED]`, what lies deeper than `max_depth` `[TRUNCATED]`, a cycle `[CYCLE]`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import ormsgpack

from toolog.sanitize.fold import fold, fold_numbers
from toolog.sanitize.jsontext import dump_like, parse
from toolog.sanitize.masks import CYCLE, FAILED, TRUNCATED
from toolog.sanitize.objects import fields_of
from toolog.sanitize.plausible import fits_shape, is_mask, is_reference
from toolog.sanitize.policy import Policy
from toolog.sanitize.rules import FINDERS, Span, int_rule
from toolog.sanitize.words import Verdict, split

_TOKEN = re.compile(r"\[MASKED:[a-z0-9_]{1,40}(?::[0-9a-f]{12})?\]|\[REDACTION_FAILED\]|\[TRUNCATED\]|\[CYCLE\]")
_NUMBERS = frozenset(("phone", "id_number", "card", "ssn"))
_NAME_KEYS = ("name", "key", "header", "field", "param", "parameter", "variable", "column", "Name", "Key", "k")
_VALUE_KEYS = ("value", "val", "content", "Value", "v")
_COLUMN_KEYS = ("columns", "column_names", "cols", "fields", "header", "headers", "names")
_ROW_KEYS = ("rows", "data", "values", "records", "row", "results")
_MEASURES = frozenset(
    """bytes byte size ns us ms time timestamp ts duration elapsed count total id ids offset length len seq sequence
    version amount price balance population revenue number_of hash seed index rows lines inode pid tid epoch nanos micros
    millis date at mtime ctime atime sum value volume order block height checksum crc build revision rev mem memory disk
    capacity free used limit quota max min""".split()
)
#: Below a sensitive key: names of what is about the secret, and, unless all below is secret, of what goes with it.
_ABOUT = frozenset(
    """type types kind expiry expires expire expiration expired created updated at count scope scopes status version
    verified valid enabled length ttl algorithm issuer label description""".split()
)
_ALL_SECRET = frozenset(("secret", "password", "cookie", "private_key", "api_key"))
_NEUTRAL = frozenset(
    """user username login host hostname port region client project tenant role account database db url uri server
    protocol driver schema environment env email type name label id scope scopes expires created""".split()
)
_EXACT = ormsgpack.OPT_PASSTHROUGH_DATACLASS | ormsgpack.OPT_PASSTHROUGH_SUBCLASS | ormsgpack.OPT_PASSTHROUGH_DATETIME
_LEAST_TEXT = 4
_DROP = object()
_PASSES = 4


class Finding(NamedTuple):
    """What `explain` answers: where, which rule, how many characters. Never the value."""

    path: str
    rule: str
    length: int


class Walk:
    """One run over one value.

    :param policy: the rules.
    :param path: where the value stands in the record (`input`), as segments.
    """

    def __init__(self, policy: Policy, path: tuple[str, ...] = ()) -> None:
        self.policy = policy
        self.path = path
        self.counts: dict[str, int] = {}
        self.findings: list[Finding] = []
        self._open: set[int] = set()

    def run(self, value: Any) -> Any:
        """Answer the value with its secrets masked; the same object when there are none. Never raises."""
        if self.policy.safe_paths and self._is_safe(self.path):
            return value
        result = self._walk(value, None, self.path, 0)
        return None if result is _DROP else result

    # -- bookkeeping ------------------------------------------------------------------------------------------------

    def _note(self, rule: str, path: tuple[str, ...], length: int) -> None:
        self.counts[rule] = self.counts.get(rule, 0) + 1
        self.findings.append(Finding(".".join(path), rule, length))

    def _is_safe(self, path: tuple[str, ...]) -> bool:
        return any(_fits(pattern, path) for pattern in self.policy.safe_paths)

    def _fail(self, path: tuple[str, ...]) -> str:
        self._note("redaction_failed", path, 0)
        return FAILED

    # -- values -----------------------------------------------------------------------------------------------------

    def _walk(self, value: Any, verdict: Verdict | None, path: tuple[str, ...], depth: int) -> Any:
        try:
            return self._step(value, verdict, path, depth)
        except Exception:
            return self._fail(path)

    def _step(self, value: Any, verdict: Verdict | None, path: tuple[str, ...], depth: int) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if isinstance(value, str):
            return self._secret(value, verdict, path) if verdict else self._text(value, path, depth)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value, verdict, path)
        if isinstance(value, bytes | bytearray | memoryview):
            return self._bytes(value, verdict, path, depth)
        return self._container(value, verdict, path, depth)

    def _container(self, value: Any, verdict: Verdict | None, path: tuple[str, ...], depth: int) -> Any:
        fields: dict[str, Any] | None = None
        if not isinstance(value, Mapping | list | tuple | set | frozenset | BaseException):
            fields = fields_of(value)
            if fields is None:
                return value
        if id(value) in self._open:
            return CYCLE
        if verdict is None and fields is None and self._holds_nothing(value):
            return value
        if depth >= self.policy.max_depth:
            return TRUNCATED
        self._open.add(id(value))
        try:
            if fields is not None:
                clean = self._mapping(fields, verdict, path, depth)
                return value if clean is fields else clean
            if isinstance(value, BaseException):
                return self._exception(value, path, depth)
            if isinstance(value, Mapping):
                return self._mapping(value, verdict, path, depth)
            return self._sequence(value, verdict, path, depth)
        finally:
            self._open.discard(id(value))

    def _holds_nothing(self, value: Any) -> bool:
        """Tell, by one scan of its MessagePack bytes, that there is nothing to hide in a container of plain data."""
        try:
            return not self.policy.flags(ormsgpack.packb(value, option=_EXACT))
        except (TypeError, ValueError):  # not plain data: only walking can tell
            return False

    def _bytes(self, value: Any, verdict: Verdict | None, path: tuple[str, ...], depth: int) -> Any:
        text = bytes(value).decode("utf-8", "surrogateescape")
        clean = self._secret(text, verdict, path) if verdict else self._text(text, path, depth)
        return value if clean is text else clean if clean is _DROP else clean.encode("utf-8", "surrogateescape")

    def _number(self, value: int | float, verdict: Verdict | None, path: tuple[str, ...]) -> Any:
        if isinstance(value, float):
            if not math.isfinite(value) or abs(value) < 128 or verdict is None:
                return value
            text = str(int(value)) if value.is_integer() else repr(value)
        else:
            text = str(int(value)) if -(1 << 200) < value < 1 << 200 else "9" * 30
            if verdict is None:
                return self._bare_number(int(value), text, path) if value > 10**10 else value
            if value < (100 if verdict[0] == "code" else 128):
                return value
        if verdict[1] and not fits_shape(text, verdict[1]):
            return value
        return self._mask(verdict[0], text, path, value)

    def _bare_number(self, number: int, text: str, path: tuple[str, ...]) -> Any:
        rule = int_rule(number)
        if rule is None or (rule == "phone" and (not path or not _MEASURES.isdisjoint(split(path[-1]) or ("id",)))):
            return number
        return self._mask(rule, text, path, number)

    def _mask(self, rule: str, text: str, path: tuple[str, ...], value: Any) -> Any:
        if rule in self.policy.disabled:
            return value
        self._note(rule, path, len(text))
        if self.policy.masks.dropped(rule):
            return _DROP
        return self.policy.masks.render(rule, text, self._is_clean)

    def _secret(self, value: str, verdict: Verdict, path: tuple[str, ...]) -> Any:
        rule, shape = verdict
        if not value.strip() or is_mask(value) or is_reference(value):
            return value
        if rule in self.policy.disabled or (shape and not fits_shape(fold(value), shape)):
            return self._text(value, path, 0)
        return self._mask(rule, value, path, value)

    # -- text -------------------------------------------------------------------------------------------------------

    def _is_clean(self, text: str) -> bool:
        return not self._spans(text)

    def _text(self, text: str, path: tuple[str, ...], depth: int) -> Any:
        if len(text) > self.policy.max_bytes:
            cut = self._text(text[: self.policy.max_bytes - len(TRUNCATED)], path, depth)
            self._note("truncated", path, len(text))
            return (cut if type(cut) is str else "") + TRUNCATED
        if len(text) < _LEAST_TEXT and not self.policy.user_rules:
            return text
        families = self.policy.families(text)
        if not families and not self.policy.user_rules:
            return text
        if text[:1] in '{["' or text[:1].isspace():
            found, parsed = parse(text)
            if found:
                clean = self._walk(parsed, None, path, depth + 1)
                if clean is parsed:
                    return text
                return dump_like(text, None if clean is _DROP else clean)
        for _ in range(_PASSES):
            spans = self._spans(text, families)
            if not spans:
                break
            text = self._replace(text, spans, path)
            families = self.policy.families(text)
        return text

    def _spans(self, text: str, families: Iterable[str] | None = None) -> list[Span]:
        policy = self.policy
        seen = set(policy.families(text) if families is None else families)
        folded = fold(text)
        numbers = fold_numbers(text)
        if "hidden" in seen:
            seen = {"named", *seen, *policy.families(numbers)}
        spans: list[Span] = []
        if "named" in seen:
            spans += policy.named.find(folded)
        for name, finder in FINDERS.items():
            if name in seen:
                spans += finder(numbers if name in _NUMBERS else folded)
        for rule in policy.user_rules:
            spans += rule.find(folded if text.isascii() else _encodable(text))
        if "known" in seen:
            spans += _literals(text, policy.known)
        return _merge(text, [span for span in spans if span[2] not in policy.disabled])

    def _replace(self, text: str, spans: list[Span], path: tuple[str, ...]) -> str:
        parts: list[str] = []
        at = 0
        for start, end, rule in spans:
            self._note(rule, path, end - start)
            parts += [text[at:start], self.policy.masks.render(rule, text[start:end], self._is_clean)]
            at = end
        parts.append(text[at:])
        return "".join(parts)

    # -- containers -------------------------------------------------------------------------------------------------

    def _mapping(self, value: Mapping[Any, Any], verdict: Verdict | None, path: tuple[str, ...], depth: int) -> Any:
        policy = self.policy
        special = _named_item(value, policy) or _columns(value, policy)
        changed = False
        clean: dict[Any, Any] = {}
        for key, item in value.items():
            name = _key_text(key)
            inner = (*path, name if name is not None else str(type(key).__name__))
            if policy.safe_paths and self._is_safe(inner):
                fresh_key, fresh = key, item
            else:
                fresh_key = self._key(key, path, depth)
                if name is not None and policy.safe_keys and "".join(split(name)) in policy.safe_keys:
                    fresh = item
                else:
                    mark = self._child(name, value, verdict)
                    if special and key in special:
                        mark = special[key]
                    if isinstance(mark, list):
                        fresh = self._rows(item, mark, inner, depth + 1)
                    else:
                        fresh = self._walk(item, mark, inner, depth + 1)
            if fresh is _DROP:
                changed = True
                continue
            changed = changed or fresh is not item or fresh_key is not key
            clean[_free(clean, fresh_key) if fresh_key is not key else key] = fresh
        return clean if changed else value

    def _child(self, name: str | None, siblings: Mapping[Any, Any], verdict: Verdict | None) -> Verdict | None:
        own = self.policy.words.judge(name) if name else None
        if own is not None:
            return None if name == "token" and "logprob" in siblings else own
        if verdict is None or verdict[1] == "credential" or name is None:
            return verdict if verdict and verdict[1] != "credential" else None
        words = split(name)
        if words[-2:] == ["expires", "in"] or (words and words[-1] in _ABOUT):
            return None
        return None if words and words[-1] in _NEUTRAL and verdict[0] not in _ALL_SECRET else verdict

    def _key(self, key: Any, path: tuple[str, ...], depth: int) -> Any:
        if type(key) is str and self.policy.is_clean_key(key):
            return key
        if isinstance(key, str | bytes | tuple):
            fresh = self._walk(key, None, (*path, "(key)"), depth + 1)
            return "[MASKED:key]" if fresh is _DROP else fresh
        return key

    def _rows(self, rows: Any, marks: list[Verdict | None], path: tuple[str, ...], depth: int) -> Any:
        changed = False
        clean = []
        for at, row in enumerate(rows):
            if not isinstance(row, list | tuple) or len(row) != len(marks):
                fresh = self._walk(row, None, (*path, str(at)), depth)
            else:
                cells = [
                    self._walk(cell, mark, (*path, str(at), str(place)), depth + 1)
                    for place, (cell, mark) in enumerate(zip(row, marks, strict=True))
                ]
                same = all(a is b for a, b in zip(cells, row, strict=True))
                fresh = row if same else type(row)(None if cell is _DROP else cell for cell in cells)
            changed = changed or fresh is not row
            clean.append(fresh)
        return clean if changed else rows

    def _sequence(self, value: Any, verdict: Verdict | None, path: tuple[str, ...], depth: int) -> Any:
        items = list(value)
        marks: list[Verdict | None] = [verdict] * len(items)
        if isinstance(value, list | tuple):
            if verdict is not None and verdict[1] == "credential":
                marks = [None, Verdict(("password", ""))] if len(items) == 2 else [None] * len(items)
            elif verdict is None:
                if _are_pairs(items):
                    return self._pairs(value, items, path, depth)
                marks = self._arguments(items)
        fresh = [self._walk(item, mark, (*path, str(at)), depth + 1) for at, (item, mark) in enumerate(zip(items, marks, strict=True))]
        if isinstance(value, list | tuple):
            self._after_curl(items, fresh, path)
        return _rebuild(value, items, fresh)

    def _pairs(self, value: Any, items: list[Any], path: tuple[str, ...], depth: int) -> Any:
        fresh = []
        for at, pair in enumerate(items):
            name = _key_text(pair[0])
            inner = (*path, str(at))
            safe = name is not None and "".join(split(name)) in self.policy.safe_keys
            mark = self.policy.words.judge(name) if name and not safe else None
            if mark is None or (mark[1] and not isinstance(pair[1], str | bytes | int)):
                fresh.append(pair if safe else self._walk(pair, None, inner, depth + 1))
                continue
            second = self._walk(pair[1], mark, (*inner, name or ""), depth + 2)
            if second is pair[1]:
                fresh.append(pair)
            elif second is _DROP:
                fresh.append(_DROP)
            else:
                fresh.append([pair[0], second] if isinstance(pair, list) else (pair[0], second))
        return _rebuild(value, items, fresh)

    def _arguments(self, items: list[Any]) -> list[Verdict | None]:
        """Mark the values behind flags in an argument list."""
        marks: list[Verdict | None] = [None] * len(items)
        for at, item in enumerate(items[:-1]):
            if isinstance(item, str) and item[:1] == "-" and len(item) > 2 and "=" not in item and " " not in item:
                following = items[at + 1]
                if isinstance(following, str | int) and not (isinstance(following, str) and following[:2] == "--"):
                    marks[at + 1] = self.policy.words.judge(item.lstrip("-"))
        return marks

    def _after_curl(self, items: list[Any], fresh: list[Any], path: tuple[str, ...]) -> None:
        """Mask the password of `curl -u user:password`, where the words are items of a list."""
        if not items or not any(isinstance(item, str) and item.rsplit("/", 1)[-1].lower() in ("curl", "curl.exe") for item in items[:3]):
            return
        for at, item in enumerate(items[:-1]):
            if item not in ("-u", "--user", "--proxy-user") or not isinstance(fresh[at + 1], str) or fresh[at + 1] is not items[at + 1]:
                continue
            user, colon, secret = items[at + 1].partition(":")
            if colon and secret and not is_mask(secret) and not is_reference(secret):
                mask = self._mask("password", secret, (*path, str(at + 1)), secret)
                fresh[at + 1] = user + ":" + ("" if mask is _DROP else mask)

    def _exception(self, error: BaseException, path: tuple[str, ...], depth: int) -> Any:
        """Answer the exception, or text in its place when it, a note of it or a cause shows a secret."""
        parts: list[str] = []
        changed = False
        seen: set[int] = set()
        link: BaseException | None = error
        while link is not None and id(link) not in seen and len(seen) < 16:
            seen.add(id(link))
            notes = getattr(link, "__notes__", ())
            texts = [str(link), *(note for note in notes if isinstance(note, str))]
            clean = [self._text(text, path, depth) for text in texts]
            stray = self._walk(list(link.args), None, path, depth + 1)
            changed = changed or any(a is not b for a, b in zip(clean, texts, strict=True)) or stray[:] != list(link.args)
            parts.append(f"{type(link).__name__}: " + "\n".join(clean))
            link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
        return " (caused by) ".join(parts) if changed else error


def _merge(text: str, spans: list[Span]) -> list[Span]:
    """Answer the spans in order, without overlaps, and without those inside a mask that stands there already."""
    masks = [match.span() for match in _TOKEN.finditer(text)] if "[" in text else []
    merged: list[Span] = []
    place = 0
    for start, end, rule in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end <= start:
            continue
        while place < len(masks) and masks[place][1] <= start:
            place += 1
        if place < len(masks) and masks[place][0] <= start and end <= masks[place][1]:
            continue
        if merged and start < merged[-1][1]:
            first, last, known = merged[-1]
            merged[-1] = (first, max(last, end), known)
        else:
            merged.append((start, end, rule))
    return merged


def _literals(text: str, known: list[str]) -> list[Span]:
    spans: list[Span] = []
    for literal in known:
        at = text.find(literal)
        while at >= 0:
            spans.append((at, at + len(literal), "known_secret"))
            at = text.find(literal, at + len(literal))
    return spans


def _encodable(text: str) -> str:
    return fold(text).encode("utf-8", "replace").decode() if not text.isascii() else text


def _key_text(key: Any) -> str | None:
    if isinstance(key, str):
        return key
    if isinstance(key, bytes) and len(key) <= 128:
        return key.decode("utf-8", "replace")
    return None


def _free(taken: dict[Any, Any], key: Any) -> Any:
    """Answer the key, or with a number when another masked key is the same already; none is lost."""
    if key not in taken:
        return key
    if not isinstance(key, str):
        key = str(key)
    number = 2
    while f"{key} ({number})" in taken:
        number += 1
    return f"{key} ({number})"


def _named_item(value: Mapping[Any, Any], policy: Policy) -> dict[Any, Any] | None:
    """Answer the verdict on `value` of a `{name, value}` item."""
    for name_key in _NAME_KEYS:
        name = value.get(name_key)
        if isinstance(name, str):
            verdict = policy.words.judge(name)
            if verdict is not None and "".join(split(name)) not in policy.safe_keys:
                return {key: verdict for key in _VALUE_KEYS if key in value} or None
    return None


def _columns(value: Mapping[Any, Any], policy: Policy) -> dict[Any, Any] | None:
    """Answer the verdicts of the columns for the rows of a table."""
    for column_key in _COLUMN_KEYS:
        columns = value.get(column_key)
        if isinstance(columns, list | tuple) and columns and all(isinstance(name, str) for name in columns):
            marks = [policy.words.judge(name) if "".join(split(name)) not in policy.safe_keys else None for name in columns]
            if any(marks):
                rows = {key: marks for key in _ROW_KEYS if key != column_key and isinstance(value.get(key), list | tuple)}
                return rows or None
    return None


def _are_pairs(items: list[Any]) -> bool:
    return bool(items) and all(
        isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str | bytes) for item in items
    )


def _rebuild(value: Any, items: list[Any], fresh: list[Any]) -> Any:
    if all(a is b for a, b in zip(items, fresh, strict=True)):
        return value
    kept = [item for item in fresh if item is not _DROP]
    if isinstance(value, list):
        return kept
    if isinstance(value, tuple):
        if hasattr(value, "_fields") and len(kept) == len(items):
            return type(value)._make(kept)  # type: ignore[attr-defined]
        return tuple(kept)
    try:
        return frozenset(kept) if isinstance(value, frozenset) else set(kept)
    except TypeError:
        return kept


def _fits(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Tell whether a path is the safe path or lies below it; `*` is any one segment, `**` any number of them."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(_fits(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return bool(path) and pattern[0] in ("*", path[0]) and _fits(pattern[1:], path[1:])
