# ruff: noqa: SIM905 - word lists read better as text
"""Shapes in which data names its own parts: pairs, `{name, value}` items, tables, argument lists; and paths
to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolog.sanitize.commands import PROGRAMS, is_port
from toolog.sanitize.patterns import COLUMN_KEYS, FIELD_KEYS, FILLED_KEYS, NAME_KEYS, ROW_KEYS, VALUE_KEYS
from toolog.sanitize.plausible import is_scheme
from toolog.sanitize.policy import Policy
from toolog.sanitize.typed import is_filled, judge_field
from toolog.sanitize.validation import judge_place
from toolog.sanitize.words import Verdict, split

#: A dict without any of these keys describes no item or table.
DESCRIBERS = frozenset((*NAME_KEYS, *COLUMN_KEYS, *FIELD_KEYS, "kty", "loc"))
#: The private members of a JSON Web Key (RFC 7518); `k` is all of a symmetric one.
_PRIVATE_MEMBERS = ("d", "p", "q", "dp", "dq", "qi", "oth")
_MEASURES = frozenset(
    """bytes byte size ns us ms time timestamp ts duration elapsed count total id ids offset length len seq
    sequence version amount price balance population revenue hash seed index rows lines inode pid tid epoch
    nanos micros millis date at mtime ctime atime sum value volume order block height checksum crc build
    revision rev mem memory disk capacity free used limit quota max min mean avg median stddev std variance
    percentile quantile throughput bandwidth traffic usage heap rss ops reads writes hits misses requests
    tokens events messages records docs views clicks sales shares stock units weight mass speed ratio factor
    nonce counter ticks cycles frames samples pixels score distance""".split()
)
_SERIALS = frozenset(
    "seq sequence offset timestamp ts counter nonce seed hash checksum revision us micros nanos".split()
)
_PERCENTILE = re.compile(r"[pPqQ][0-9]{1,4}")
#: Below a sensitive key: names of what is about the secret, and, unless all below is secret, of what goes
#: with it.
_ABOUT = frozenset(
    """type types kind expiry expires expire expiration expired created updated at count scope scopes status
    version verified valid enabled length ttl algorithm issuer label description arn name
    format ref pattern mode path seconds minutes days date tags labels annotations stages rules""".split()
)
_PLACES = frozenset(("header", "query", "cookie", "path", "body"))
_ALL_SECRET = frozenset(("secret", "password", "cookie", "private_key", "api_key"))
_NEUTRAL = frozenset(
    """user username login host hostname port region client project tenant role account database db url uri
    server protocol driver schema environment env email type name label id scope scopes expires
    created""".split()
)
#: Below these keys the names of fields stand with what is wrong with them.
_FAULTS = frozenset(
    "errors error fielderrors validationerrors formerrors errormessages messages"
    " detail details issues problems"
    " helptexts hints labels placeholders descriptions".split()
)
_MESSAGE = re.compile(r"[^\W\d_]+(?:[ ,;:'’\"()/-]{1,3}[^\W\d_]+){2,60}[.!?。]?|[^\W\d_]+ [^\W\d_]+[.!?。]")
#: What is told of a piece of text and of no credential.
WORD_FIELDS = frozenset(
    "logprob logprobs top_logprobs prob probability count counts freq frequency lemma pos token_id tokenId"
    " idf tf tfidf offset offsets".split()
)
_LONGEST_WORD = 24
#: What may be told of each item of a list or column: a verdict, or nothing.
Marks = list[Verdict | None]
#: (what else stands beside a title is the text below it)
_TOLD_BY_TITLES = ("value", "Value")
_CHOICE = re.compile(r"[a-z]{2,20}(?:[A-Z_-][a-z]{1,20}){1,4}")
#: The name of a header as it is written on the wire.
_HEADER = re.compile(r"(?:[A-Z][a-z0-9]{0,20}-){1,4}[A-Z][A-Za-z0-9]{1,20}|Authorization|Cookie")
#: What is walked at once: containers of so many items, of texts too short for any `max_bytes`, and other
#: scalars.
_MOST_CELLS, _LONGEST_CELL = 16, 64
_SCALARS = frozenset((int, float, bool, type(None)))
_PROGRAMS = ("curl", "curl.exe")
_USER_FLAGS = ("-u", "--user", "--proxy-user")


def key_text(key: Any) -> str | None:
    """Answer a key as text, or None when it is no name."""
    if isinstance(key, str):
        return key
    if isinstance(key, bytes) and len(key) <= 128:
        return key.decode("utf-8", "replace")
    return None


def is_safe_key(name: str | None, policy: Policy) -> bool:
    """Tell whether the user declared the key safe."""
    return bool(policy.safe_keys) and name is not None and "".join(split(name)) in policy.safe_keys


def verdict_below(
    name: str | None, siblings: Mapping[Any, Any], outer: Verdict | None, policy: Policy
) -> Verdict | None:
    """Answer the verdict on a value of a dict: by its own name, else by the name of the dict it stands in."""
    own = policy.words.judge(name) if name else None
    if own is not None:
        return None if name == "token" and is_word(siblings) else own
    if outer is None or outer[1] == "credential" or name is None:
        return outer if outer and outer[1] != "credential" else None
    words = split(name)
    if name == "in" and str(siblings[name]) in _PLACES:
        return None  # (OpenAPI: where a key is to be put)
    if words[-2:] == ["expires", "in"] or (words and words[-1] in _ABOUT):
        return None
    return None if words and words[-1] in _NEUTRAL and outer[0] not in _ALL_SECRET else outer


def is_word(item: Mapping[Any, Any]) -> bool:
    """Tell whether the token of an item is a piece of text, as language models and their like count them."""
    token = item.get("token")
    return (
        isinstance(token, str)
        and not WORD_FIELDS.isdisjoint(item)
        and len(token) <= _LONGEST_WORD
        and not (any(map(str.isdigit, token)) and any(map(str.isalpha, token)))
    )


def named_item(value: Mapping[Any, Any], policy: Policy) -> dict[Any, Verdict] | None:
    """Answer the verdicts on the values of a `{name, value}` item, when its name is sensitive."""
    for name_key in NAME_KEYS:
        name = value.get(name_key)
        if isinstance(name, str):
            if name_key == "path":  # of a JSON Patch (RFC 6902), whose last part is the name
                name = name.rpartition("/")[2] if "op" in value and name[:1] == "/" else ""
            verdict = policy.words.judge(name)
            if verdict is not None and not is_safe_key(name, policy):
                told = _TOLD_BY_TITLES if name_key == "title" else VALUE_KEYS
                marks = {key: verdict for key in told if key in value}
                return {key: mark for key, mark in marks.items() if not _is_name(value[key], policy)} or None
    return None


def _is_name(value: Any, policy: Policy) -> bool:
    """Tell whether a value is itself a sensitive name, as in a list to choose from (`{"label": "API key",
    "value": "api_key"}`)."""
    return (
        isinstance(value, str)
        and _CHOICE.fullmatch(value) is not None
        and policy.words.judge(value) is not None
    )


def web_key(value: Mapping[Any, Any]) -> dict[Any, Verdict] | None:
    """Answer the verdicts on the private members of a JSON Web Key, or None when it has none."""
    kind = value.get("kty")
    if not isinstance(kind, str):
        return None
    members = (*_PRIVATE_MEMBERS, "k") if kind == "oct" else _PRIVATE_MEMBERS
    return {name: Verdict(("private_key", "")) for name in members if name in value} or None


def faulty_input(value: Mapping[Any, Any], policy: Policy) -> dict[Any, Verdict] | None:
    """Answer the verdict on what a validator says it was given for a field (`{"loc": ["password"], "input":
    "x1"}`), or None."""
    place = value.get("loc")
    if not isinstance(place, list | tuple) or not isinstance(value.get("input"), str | int | float):
        return None
    judge = policy.words.judge
    verdict = judge_place(place, lambda name: None if is_safe_key(name, policy) else judge(name))
    return {"input": verdict} if verdict else None


def filled_field(value: Mapping[Any, Any], policy: Policy) -> dict[Any, Verdict] | None:
    """Answer the verdicts on what is filled into a sensitive field of a page, or None.

    Steps of browsers' drivers tell it so: `{"element": "Password", "text": "x1"}`.
    """
    for field_key in FIELD_KEYS:
        field = value.get(field_key)
        if isinstance(field, str) and not is_safe_key(field, policy):
            verdict = judge_field(field, policy.words.judge)
            if verdict is not None:
                filled = [key for key in FILLED_KEYS if isinstance(value.get(key), str)]
                return {key: verdict for key in filled if is_filled(value[key], verdict)} or None
    return None


def table(value: Mapping[Any, Any], policy: Policy) -> dict[Any, Marks] | None:
    """Answer the marks of a table's columns for each key that holds its rows."""
    for column_key in COLUMN_KEYS:
        columns = value.get(column_key)
        if isinstance(columns, list | tuple) and columns and all(isinstance(name, str) for name in columns):
            marks = [None if is_safe_key(name, policy) else policy.words.judge(name) for name in columns]
            if any(marks):
                keys = [
                    key for key in ROW_KEYS if key != column_key and isinstance(value.get(key), list | tuple)
                ]
                return dict.fromkeys(keys, marks) or None
    return None


def is_row(value: Any) -> bool:
    """Tell whether a container is a plain little one of scalars."""
    kind = type(value)
    if kind is dict:
        if len(value) > _MOST_CELLS or any(type(key) is not str or len(key) > _LONGEST_CELL for key in value):
            return False
        cells = value.values()
    elif kind is list:
        cells = value
    else:
        return False
    return len(value) <= _MOST_CELLS and all(
        type(cell) in _SCALARS or (type(cell) is str and len(cell) <= _LONGEST_CELL) for cell in cells
    )


def are_pairs(items: list[Any]) -> bool:
    """Tell whether a list is one of name and value pairs, as headers are."""
    return bool(items) and all(
        isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str | bytes)
        for item in items
    )


def mark_items(value: Any, items: list[Any], verdict: Verdict | None, policy: Policy) -> Marks:
    """Answer the verdict on each item of a list: inherited, `(user, password)`, or behind a flag."""
    if verdict is not None and verdict[1] == "credential" and isinstance(value, list | tuple):
        known = len(items) == 2 and not all(isinstance(item, str) and is_scheme(item) for item in items)
        return [None, Verdict(("password", ""))] if known else [None] * len(items)
    marks: Marks = [verdict] * len(items)
    if verdict is None and isinstance(value, list | tuple):
        for at, item in enumerate(items[:-1]):
            if (
                isinstance(item, str)
                and item[:1] == "-"
                and len(item) > 2
                and "=" not in item
                and " " not in item
            ):
                following = items[at + 1]
                if isinstance(following, str | int) and not (
                    isinstance(following, str) and following[:2] == "--"
                ):
                    marks[at + 1] = policy.words.judge(item.lstrip("-"))
        for at in _secret_arguments(items):
            marks[at] = Verdict(("password", ""))
        for at in _header_values(items):
            marks[at] = policy.words.judge(items[at - 1])
    return marks


def _header_values(items: list[Any]) -> list[int]:
    """Answer where values stand behind their names in a flat list of headers, as servers keep them raw."""
    return [
        at + 1
        for at, item in enumerate(items[:-1])
        if isinstance(item, str)
        and isinstance(items[at + 1], str)
        and _HEADER.fullmatch(item)
        and not _HEADER.fullmatch(items[at + 1])
        and any(map(str.isdigit, items[at + 1]))
    ]


def _secret_arguments(items: list[Any]) -> list[int]:
    """Answer where passwords stand behind one-letter flags of well-known programs."""
    names = [item.rsplit("/", 1)[-1] if isinstance(item, str) else "" for item in items[:2]]
    flag = PROGRAMS.get(names[0]) if names else None
    if flag is None and names[1:] == ["login"]:
        flag = "-p"
    return [
        at + 1
        for at, item in enumerate(items[:-1])
        if isinstance(item, str)
        and isinstance(items[at + 1], str)
        and (item == flag or (item == "-p" and at > 1 and _is_beside_user(items, at)))
        and not is_port(items[at + 1])
    ]


def _is_beside_user(items: list[Any], at: int) -> bool:
    return isinstance(items[at - 2], str) and items[at - 2] in ("-u", "--user", "--username")


def is_flag(item: Any) -> bool:
    """Tell whether an argument is a flag of a command line."""
    return isinstance(item, str) and item[:1] == "-" and len(item) > 1


def curl_users(items: list[Any]) -> list[int]:
    """Answer where the `user:password` items of a curl command stand."""
    names = [item.rsplit("/", 1)[-1].lower() for item in items[:3] if isinstance(item, str)]
    if not any(name in _PROGRAMS for name in names):
        return []
    places = [at + 1 for at, item in enumerate(items[:-1]) if isinstance(item, str) and item in _USER_FLAGS]
    return [at for at in places if isinstance(items[at], str) and ":" in items[at]]


def is_measure(path: tuple[str, ...]) -> bool:
    """Tell whether a number at this path counts something, so that it is no telephone number; or has no name
    at all."""
    words = split(path[-1]) if path else []
    return not words or not _MEASURES.isdisjoint(words) or _PERCENTILE.fullmatch(path[-1]) is not None


def is_serial(path: tuple[str, ...]) -> bool:
    """Tell whether a number at this path is one of a series or of time, one of ten of which could be a
    card."""
    return bool(path) and not _SERIALS.isdisjoint(split(path[-1]))


def is_message(value: str, path: tuple[str, ...]) -> bool:
    """Tell whether a text says what is wrong with a field (`{"errors": {"password": ["This is
    required."]}}`)."""
    if len(value) > 500 or _MESSAGE.fullmatch(value) is None:
        return False
    outer = [part for part in path if not part.isdigit()][-2:-1]
    return bool(outer) and "".join(split(outer[0])) in _FAULTS


def free_key(taken: dict[Any, Any], key: Any) -> Any:
    """Answer the key, or with a number when another masked key is the same already; none is lost."""
    if key not in taken:
        return key
    number = 2
    while f"{key} ({number})" in taken:
        number += 1
    return f"{key} ({number})"


def fits_path(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Tell whether a path is the safe path or lies below it; `*` is any one segment, `**` any number of
    them."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(fits_path(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return bool(path) and pattern[0] in ("*", path[0]) and fits_path(pattern[1:], path[1:])


def is_neutral(name: str) -> bool:
    """Tell whether a name below a sensitive one says whose or where the secret is, or describes it."""
    words = split(name)
    return bool(words) and (words[-1] in _NEUTRAL or words[-1] in _ABOUT)


def rebuild(value: Any, items: list[Any], fresh: list[Any], drop: object) -> Any:
    """Answer a container like `value` with other items, without those that are left out; itself when all are
    the same."""
    if all(a is b for a, b in zip(items, fresh, strict=True)):
        return value
    kept = [item for item in fresh if item is not drop]
    if isinstance(value, list):
        return kept
    if isinstance(value, tuple):
        if hasattr(value, "_make") and len(kept) == len(items):
            return value._make(kept)
        return tuple(kept)
    try:
        return frozenset(kept) if isinstance(value, frozenset) else set(kept)
    except TypeError:
        return kept
