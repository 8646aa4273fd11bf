"""Which of many words stand in a text: one scan for all of them, where looking for each would cost more than
what is done for those that are there.
"""

from __future__ import annotations

from typing import Any

from re2 import _re2

from toolog.sanitize import scans

Held = dict[str, bool]
"""Whether each word stands in a text. Asked for another word it raises: one that is not looked for is never
taken for one that is not there."""

_ANYWHERE = _re2.RE2.Anchor.UNANCHORED
_MEMORY = 16 << 20


class Literals:
    """The scan for some words.

    :param words: the words, in any script.
    """

    def __init__(self, *words: str) -> None:
        self._words = tuple(dict.fromkeys(words))
        self._none = dict.fromkeys(self._words, False)
        self._scan: Any = None
        scans.watch(self)

    def after_fork_in_child(self) -> Any:
        """Part from a scan that may be locked for ever."""
        parted, self._scan = self._scan, None
        return parted

    def held(self, text: str) -> Held:
        """Answer which of the words stand in a text without lone surrogates."""
        scan = self._scan
        if scan is None:
            scan = self._scan = self._make()
        held = self._none.copy()
        for number in scan.Match(text.encode("utf-8", "replace")):
            held[self._words[number]] = True
        return held

    def _make(self) -> Any:
        options = _re2.RE2.Options()
        options.encoding = _re2.RE2.Options.Encoding.LATIN1
        options.never_capture = True
        options.max_mem = _MEMORY
        options.log_errors = False
        scan = _re2.Set(_ANYWHERE, options)
        for word in self._words:
            scan.Add("".join(f"\\x{byte:02x}" for byte in word.encode()).encode())
        # (one that could not be compiled must not be asked: that ends the process)
        if not scan.Compile() or len(scan.Match("\n".join(self._words).encode())) != len(self._words):
            raise MemoryError("the words that programs are known by need more memory than their scan has")
        return scan
