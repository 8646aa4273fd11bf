"""Look-alike characters folded to ASCII, one character for one character, so that spans stay valid.

A fullwidth `１３８` or a mathematical `𝐩` hides a number or a word from any pattern written in ASCII. `fold`
answers a text of the same length in which such characters are their plain ASCII forms; positions found in the
folded text are positions in the original. Only one-to-one forms are folded, and only those that nobody writes
by accident: `²`, `™` or `℃` stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_SIGNS = "@_+=/.-"
_NUMBER_SIGNS = {
    0xFF08: "(", 0xFF09: ")",
    0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: "-", 0x2014: "-", 0x2015: "-", 0x2212: "-",
    0x00A0: " ", 0x2002: " ", 0x2003: " ", 0x2007: " ", 0x2009: " ", 0x202F: " ", 0x3000: " ",
}  # fmt: skip
_RANGES = (
    (0x0130, 0x0132),
    (0x017F, 0x0180),
    (0x212A, 0x212B),
    (0x24B6, 0x24EA),
    (0xFF01, 0xFF5F),
    (0x1D400, 0x1D800),
)
#: Where the digits of other scripts begin: Arabic, Persian, N'Ko, Devanagari, Bengali, Thai, Khmer and more.
_DIGITS = (0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0E50, 0x0ED0, 0x17E0)


def _marks() -> str:
    """Answer a regular expression's class of accents that stand for themselves, of points, and of the vowel
    signs of Indic scripts and Thai, which `\\w` leaves out."""
    ranges = ((0x0300, 0x0370), (0x0591, 0x0670), (0x0900, 0x10A0), (0x1780, 0x1800), (0x3099, 0x309B))
    codes = [
        code for some in ranges for code in range(*some) if unicodedata.category(chr(code)) in ("Mn", "Mc")
    ]
    return "".join(map(chr, codes))


#: Signs that are part of a word though no letters: to be put into a character class beside `\\w`.
MARKS = _marks()


def _table() -> dict[int, str]:
    table: dict[int, str] = {}
    for start, stop in _RANGES:
        for code in range(start, stop):
            char = chr(code)
            plain = unicodedata.normalize("NFKC", char)
            if len(plain) == 1 and plain.isascii() and (plain.isalnum() or plain in _SIGNS):
                table[code] = plain
    return table


#: Code point -> ASCII. Every one of these alone makes the prefilter flag a text, so common signs are not
#: among them.
TABLE = _table()
#: Digits of other scripts: folded in numbers only.
FOREIGN_DIGITS = {start + value: str(value) for start in _DIGITS for value in range(10)}
_NUMBER_ONLY = _NUMBER_SIGNS | FOREIGN_DIGITS
_NUMBER_TABLE = TABLE | _NUMBER_ONLY


def _runs(table: dict[int, str]) -> re.Pattern[str]:
    """Answer an expression that matches runs of what a table folds, and of a few characters more."""
    wide = [code for code in table if code > 0xFFFF]  # (`re` asks for each of them in turn but for a range)
    narrow = "".join(chr(code) for code in table if code <= 0xFFFF)
    return re.compile(f"[{re.escape(narrow)}{chr(min(wide))}-{chr(max(wide))}]+")


#: What `fold` and `fold_numbers` replace: looked for first, because translating all of a long text is slow.
_FOLDS = TABLE | dict.fromkeys(range(0xD800, 0xE000), "?")
_LOOK_ALIKES = _runs(_FOLDS | _NUMBER_TABLE)
_ASCII = bytes(range(128))
#: So many different characters are replaced one by one: each is one pass in C.
_FEW = 48


def fold(text: str) -> str:
    """Answer `text` with look-alikes as ASCII and lone surrogates as `?`; the length never changes."""
    return text if text.isascii() else _plain(text, _look_alikes(text), _FOLDS)


def fold_numbers(text: str) -> str:
    """Fold like `fold`, and also what numbers are made of: dashes, blanks, brackets, the digits of all
    scripts."""
    return text if text.isascii() else _plain(text, _look_alikes(text), _NUMBER_TABLE)


def fold_both(text: str) -> tuple[str, str]:
    """Answer what `fold` makes of a text, and that with what numbers are made of folded, too; the text is
    read only once for both."""
    if text.isascii():
        return text, text
    found = _look_alikes(text)
    folded = _plain(text, found, _FOLDS)
    return folded, _plain(folded, found, _NUMBER_ONLY)


def _look_alikes(text: str) -> set[str]:
    """Answer which characters of a text either table may replace; ASCII, which is most of most texts, is left
    out in C."""
    others = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    return set("".join(_LOOK_ALIKES.findall(others)))


def _plain(text: str, found: set[str], table: dict[int, str]) -> str:
    replaced = [char for char in found if ord(char) in table]
    if len(replaced) > _FEW:
        # every character has an entry: one without would cost an exception each time it is met
        return text.translate({ord(char): table.get(ord(char), char) for char in set(text)})
    for char in replaced:
        text = text.replace(char, table[ord(char)])
    return text


def byte_class(codes: Iterable[int]) -> str:
    """Answer a regular expression over UTF-8 bytes (written in Latin-1) that matches any of the code
    points."""
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
