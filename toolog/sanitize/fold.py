"""Look-alike characters folded to ASCII, one character for one character, so that spans stay valid.

A fullwidth `１３８` or a mathematical `𝐩` hides a number or a word from any pattern written in ASCII. `fold` answers a
text of the same length in which such characters are their plain ASCII forms; positions found in the folded text are
positions in the original. Only one-to-one forms are folded, and only those that nobody writes by accident: `²`, `™`
or `℃` stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_KEPT = frozenset("ªº²³¹")
_SIGNS = "@_+=/.-"
_NUMBER_SIGNS = {
    0xFF08: "(", 0xFF09: ")",
    0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: "-", 0x2014: "-", 0x2015: "-", 0x2212: "-",
    0x00A0: " ", 0x2002: " ", 0x2003: " ", 0x2007: " ", 0x2009: " ", 0x202F: " ", 0x3000: " ",
}  # fmt: skip
_RANGES = (
    (0x0130, 0x0131), (0x017F, 0x0180), (0x0660, 0x066A), (0x06F0, 0x06FA), (0x07C0, 0x07CA), (0x0966, 0x0970),
    (0x09E6, 0x09F0), (0x0A66, 0x0A70), (0x0AE6, 0x0AF0), (0x0E50, 0x0E5A), (0x0ED0, 0x0EDA), (0x17E0, 0x17EA),
    (0x212A, 0x212B), (0x24B6, 0x24EA), (0xFF01, 0xFF5F), (0x1D400, 0x1D800),
)  # fmt: skip


def _table() -> dict[int, str]:
    table: dict[int, str] = {}
    for start, stop in _RANGES:
        for code in range(start, stop):
            char = chr(code)
            plain = unicodedata.normalize("NFKC", char)
            if unicodedata.category(char) == "Nd":
                plain = str(unicodedata.decimal(char))
            if len(plain) == 1 and plain.isascii() and char not in _KEPT and (plain.isalnum() or plain in _SIGNS):
                table[code] = plain
    return table


#: Code point -> ASCII. Every one of these alone makes the prefilter flag a text, so common signs are not among them.
TABLE = _table()
_NUMBER_TABLE = TABLE | _NUMBER_SIGNS
_SURROGATES = re.compile("[\ud800-\udfff]")


def fold(text: str) -> str:
    """Answer `text` with look-alikes as ASCII and lone surrogates as `?`; the length never changes."""
    if text.isascii():
        return text
    return _SURROGATES.sub("?", text.translate(TABLE))


def fold_numbers(text: str) -> str:
    """Fold like `fold`, and also the dashes, blanks and brackets that group the digits of a number."""
    if text.isascii():
        return text
    return text.translate(_NUMBER_TABLE)


def byte_class(codes: Iterable[int]) -> str:
    """Answer a regular expression over UTF-8 bytes (written in Latin-1) that matches any of the code points."""
    groups: dict[bytes, list[int]] = {}
    for code in sorted(codes):
        encoded = chr(code).encode()
        groups.setdefault(encoded[:-1], []).append(encoded[-1])
    parts = []
    for head, lasts in groups.items():
        prefix = "".join(f"\\x{byte:02x}" for byte in head)
        parts.append(prefix + "[" + "".join(f"\\x{byte:02x}" for byte in lasts) + "]")
    return "(?:" + "|".join(parts) + ")"


def escape_class(codes: Iterable[int]) -> str:
    """Answer a regular expression that matches any of the code points written as a JSON `\\uXXXX` escape."""
    groups: dict[str, set[str]] = {}
    for code in codes:
        units = f"{code:04x}" if code < 0x10000 else f"{0xD800 + ((code - 0x10000) >> 10):04x}"
        groups.setdefault(units[:3], set()).add(units[3])
    parts = [f"{head}[{''.join(sorted(lasts))}]" for head, lasts in sorted(groups.items())]
    return r"\\u(?i:" + "|".join(parts) + ")"
