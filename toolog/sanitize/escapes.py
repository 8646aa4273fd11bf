"""Signs that stand in text as escapes, blanked out: a number or key right behind them begins there.

What is shown by ``repr``, written as JSON inside text, quoted for an address or coloured for a terminal has
`\\n`, `%0A` or `ESC[32m` where the text itself has an end of line or nothing. To a search for whole numbers
and keys the last letter or digit of such an escape looks like a part of them.
"""

from __future__ import annotations

import re

_COLOUR = r"\[[0-9;]{0,16}m"
_ESCAPE = re.compile(
    r"\\[nrt]"
    r"|\\u00(?i:0[9ad]|2[0267c]|3[bce]|5[bd]|7[bd]|a0)"
    r"|\\x(?i:0[9ad]|2[0267c]|3[bce]|5[bd]|7[bd])"
    r"|%(?:25){0,4}(?i:0[9ad]|2[0267c]|3[bce]|5[bd]|7[bd])"
    rf"|(?:\x1b|\\x1[bB]|\\u001[bB]|\\033|\\e){_COLOUR}"
)


def blank_escapes(text: str) -> str:
    """Return a text of the same length, with white space for the escapes of white space, quotes and brackets:
    tabs for `\\t`, ends of lines for all others, since numbers may have blanks within.
    """
    if "\\" not in text and "%" not in text and "\x1b" not in text:
        return text
    return _ESCAPE.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    escape = match.group()
    return "\t\t" if escape == "\\t" else "\n" * len(escape)
