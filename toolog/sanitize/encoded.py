"""JSON that stands in text in base64, as states of pages, cursors and stored settings do: it is read, and all
of it is a secret when a secret is told in it."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator

from toolog.sanitize.literals import Held
from toolog.sanitize.rules import Span

#: How JSON begins in base64: `{"`, `{ "`, `{` and a new line, `[{"`.
BEGINNINGS = ("eyJ", "eyAi", "ewog", "ewoJ", "ew0K", "W3si")
BEGINNING = f"(?:{'|'.join(BEGINNINGS)})"
_LEAST, _MOST = 20, 16_384
_ENCODED = re.compile(
    r"[eW](?<![A-Za-z0-9_.-].)(?:(?<=e)(?:yJ|yAi|wog|woJ|w0K)|(?<=W)3si)"
    rf"[A-Za-z0-9+/_-]{{{_LEAST},{_MOST}}}+(?![A-Za-z0-9+/_-])={{0,2}}(?!\.[A-Za-z0-9])"
)


def find_encoded_json(text: str, look: Callable[[str], bool], held: Held) -> Iterator[Span]:
    """Find JSON in base64 in which a secret is told.

    :param look: tells whether a text tells a secret.
    :param held: which words (`BEGINNINGS`) stand in the text.
    """
    if not any(map(held.__getitem__, BEGINNINGS)):
        return
    for match in _ENCODED.finditer(text):
        plain = _decoded(match.group())
        if plain and look(plain):
            yield *match.span(), "secret"


def _decoded(blob: str) -> str:
    bare = blob.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4)).decode()
    except ValueError:
        return ""
