"""What became of texts with secrets that come again: the same header or key goes along with every call.

No secret is kept: a text is known by a digest under a key that only this process has, and forgets.
"""

from __future__ import annotations

import os
from hashlib import blake2b

MOST_TEXTS = 1024
"""How many texts are remembered; then all are forgotten."""
_LONGEST = 4096
"""Characters of the longest text that is remembered."""

Masked = tuple[str, list[str]]
"""The masked text, and the rules of its masks: one item for each."""


class Memory:
    """The masked texts of one policy; ``most`` of them, 0 for none."""

    __slots__ = ("_key", "_known", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._key = os.urandom(32)
        self._known: dict[bytes, Masked] = {}

    def get(self, text: str) -> Masked | None:
        """Return what became of a text, None where that is not known."""
        if not self._known or len(text) > _LONGEST:
            return None
        return self._known.get(self._digest(text))

    def put(self, text: str, masked: str, rules: list[str]) -> None:
        """Remember what became of a text."""
        if not self._most or len(text) > _LONGEST:
            return
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[self._digest(text)] = masked, rules

    def _digest(self, text: str) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._key).digest()
