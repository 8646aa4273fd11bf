"""Texts and keys as every reader of records can take them: valid UTF-8, of bounded length, no key twice."""

from __future__ import annotations

from typing import Any

MORE = "..."
MAX_KEY = 1024  # characters of one key


def clean(text: str) -> str:
    """Return the text itself if it is valid UTF-8, else with lone surrogates as their backslash escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def shorten(text: str, room: int, size: int) -> str:
    """Return the text cut to ``room`` bytes of UTF-8, at a blank if one is near, and how much is missing.

    Cutting at a blank keeps words whole: half a secret is not recognized by what masks secrets.
    """
    head = text[:room]
    if not head.isascii():
        head = head.encode()[:room].decode("utf-8", "ignore")
    if len(head) < len(text):
        start = max(0, len(head) - 256)
        blank = max(head.rfind(" ", start), head.rfind("\n", start))
        if blank > 0:
            head = head[: blank + 1]
    missing = size - (len(head) if head.isascii() else len(head.encode()))
    return f"{head}...[{max(missing, 1):,} more]"


def is_plain_key(key: str) -> bool:
    """Whether a string can be a key as it is: short enough, and valid UTF-8."""
    if len(key) > MAX_KEY:
        return False
    return key.isascii() or clean(key) is key


def are_plain(names: list[Any]) -> bool:
    """Whether all keys are short texts in ASCII, each another one (the columns of a table may repeat)."""
    for name in names:
        if type(name) is not str:
            return False
    joined = "".join(names)
    return len(joined) <= MAX_KEY and joined.isascii() and len(set(names)) == len(names)


def free_key(text: str, taken: Any, numbers: dict[str, int] | None = None) -> str:
    """Return the text, numbered if it is taken; ``numbers`` remembers how far each text was counted."""
    if text not in taken:
        return text
    number = 2 if numbers is None else numbers.get(text, 2)
    while f"{text} {number}" in taken:
        number += 1
    if numbers is not None:
        numbers[text] = number + 1
    return f"{text} {number}"
