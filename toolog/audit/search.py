"""A secret in all its spellings, and the search for them in bytes that come piece by piece."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from toolog.audit.given import Secrets

_LEAST_CODED = 6
"""Characters that a spelling in base64 must have in common whatever stands around it; fewer are there by
chance."""
_LEAST_SQUEEZED = 8
_LEAST_HALVED = 24
_SIGNS = b" \t\r\n\"'`\\+"
"""What stands between the parts of a text that was cut into pieces: in source code, in wrapped lines."""


class Hit(NamedTuple):
    """A find: which secret (its place in `Secrets.all`), in which spelling, where in the bytes."""

    secret: int
    spelling: str
    at: int


def spellings(secret: str) -> dict[bytes, str]:
    """Return each way in which a secret may stand in bytes -> what that way is called."""
    found: dict[bytes, str] = {}

    def add(name: str, *forms: str | bytes) -> None:
        for form in forms:
            raw = form.encode("utf-8", "surrogatepass") if isinstance(form, str) else form
            if raw:
                found.setdefault(raw, name)

    raw = secret.encode("utf-8", "surrogatepass")
    add("plain", raw)
    escaped = [json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]]
    escaped += [text.replace("/", "\\/") for text in escaped]
    add("JSON-escaped", *escaped)
    add("JSON-escaped", *(json.dumps(text)[1:-1] for text in escaped))
    quoted = [quote(raw, safe=""), quote(raw), quote_plus(raw)]
    add("URL-quoted", *quoted, *map(_small_hex, quoted), *(quote(text, safe="") for text in quoted))
    add("HTML-escaped", html.escape(secret), html.escape(secret, quote=False))
    add("escaped as in Python", repr(secret)[1:-1], ascii(secret)[1:-1], repr(raw)[2:-1])
    add("hexadecimal", raw.hex(), raw.hex().upper())
    for order in ("utf-16-le", "utf-16-be"):
        wide = secret.encode(order, "surrogatepass")
        add("UTF-16", wide)
        add("UTF-16 in base64", *_in_base64(wide))
    add("base64", *_in_base64(raw))
    if len(secret) >= _LEAST_HALVED:  # what was cut off shows enough
        half = len(secret) // 2
        add("half of it", secret[:half], secret[half:])
    return found


def _small_hex(text: str) -> str:
    head, *rest = text.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def _in_base64(raw: bytes) -> Iterator[str]:
    """Yield what base64 shows of bytes at each of the three places where they may begin, in both
    alphabets."""
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        core = text[(0, 2, 3)[offset] :]
        core = core if (len(raw) + offset) % 3 == 0 else core[:-1]  # the last one depends on what follows
        if len(core) >= _LEAST_CODED:
            yield core
            yield core.replace("+", "-").replace("/", "_")


class Needles:
    """All spellings of all secrets, made once."""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets
        self._forms = [
            (form, number, name)
            for number, secret in enumerate(secrets.all)
            for form, name in spellings(secret.text).items()
        ]
        #: The secrets without signs between their parts, which are looked for in what was cut into pieces.
        self.joined = [
            (number, form)
            for number, secret in enumerate(secrets.all)
            if len(form := squeeze(secret.text.encode("utf-8", "surrogatepass"))) >= _LEAST_SQUEEZED
        ]
        self.longest = max(len(form) for form, _, _ in self._forms)

    def find(self, data: bytes) -> Iterator[Hit]:
        """Yield where each spelling stands first in the bytes."""
        for form, number, name in self._forms:
            at = data.find(form)
            if at >= 0:
                yield Hit(number, name, at)

    def find_squeezed(self, data: bytes) -> Iterator[Hit]:
        """Yield which secrets stand in bytes that `squeeze` returned."""
        for number, form in self.joined:
            at = data.find(form)
            if at >= 0:
                yield Hit(number, "in pieces", at)

    def hide(self, text: str) -> str:
        """Return a text that is to be shown, such as a file's name; as a whole left out when a secret is
        in it."""
        return "(a name with a secret)" if next(self.find(text.encode("utf-8", "replace")), None) else text


def squeeze(data: bytes) -> bytes:
    """Return bytes without blanks, quotes, backslashes and plus signs, so that pieces come together."""
    return data.translate(None, _SIGNS)


class Search:
    """The search through one stream of bytes; a secret across two pieces of it is found, too."""

    def __init__(self, needles: Needles) -> None:
        self._needles = needles
        self._tail = self._squeezed_tail = b""
        self._at = 0
        self._seen: set[tuple[int, str]] = set()

    def feed(self, piece: bytes) -> Iterator[Hit]:
        """Yield the finds of the next piece; of each secret and spelling the first one in the whole
        stream."""
        begin = self._at - len(self._tail)
        data = self._tail + piece
        plain = set()
        for hit in self._needles.find(data):
            plain.add(hit.secret)
            yield from self._new(hit._replace(at=begin + hit.at))
        pressed = self._squeezed_tail + squeeze(piece)
        for hit in self._needles.find_squeezed(pressed):
            if hit.secret not in plain and (hit.secret, "plain") not in self._seen:
                yield from self._new(hit._replace(at=self._at))
        keep = self._needles.longest - 1
        self._tail, self._squeezed_tail = data[-keep:], pressed[-keep:]
        self._at += len(piece)

    def _new(self, hit: Hit) -> Iterator[Hit]:
        if (hit.secret, hit.spelling) not in self._seen:
            self._seen.add((hit.secret, hit.spelling))
            yield hit
