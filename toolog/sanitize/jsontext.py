"""JSON inside strings: read it strictly, and write it back in the style in which it was written."""

from __future__ import annotations

import json
from typing import Any


class _Twice(ValueError):
    """A key stands twice in one object: only reading the text itself sees both values."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Twice
    return made


def parse(text: str) -> tuple[bool, Any]:
    """Answer (True, value) when the text is a JSON object, list or text that holds JSON, else (False,
    None)."""
    begin = text[:1] if not text[:1].isspace() else text.lstrip()[:1]
    if begin not in ("{", "[", '"') or text.rstrip()[-1] not in '}]"' or (begin == '"' and "\\" not in text):
        return False, None
    try:
        return True, json.loads(text, object_pairs_hook=_pairs)
    except (ValueError, RecursionError):
        return False, None


def dump_like(text: str, value: Any) -> str:
    """Write a value as JSON, with the blanks, indent and escapes that the text has."""
    inner = text.strip()
    indent = None
    if "\n" in inner:
        second = inner.split("\n", 2)[1]
        indent = len(second) - len(second.lstrip(" ")) or None
    wide = '": ' in inner or '":' not in inner
    comma = ", " if (", " in inner or "," not in inner) and indent is None and wide else ","
    if indent is None and not wide and '", "' in inner:
        comma = ", "
    dumped = json.dumps(
        value, ensure_ascii=inner.isascii(), indent=indent, separators=(comma, ": " if wide else ":")
    )
    head = text[: len(text) - len(text.lstrip())]
    return head + dumped + text[len(text.rstrip()) :]
