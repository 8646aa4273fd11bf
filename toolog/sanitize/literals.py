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

    def after_fork_in_child(self) -> Any:
        """Part from a scan that may be locked for ever."""
        parted, self._scan = self._scan, None
        return parted

    def held(self, text: str) -> Held:
        """Answer which of the words stand in a text."""
        held = self._none.copy()
        for word in self.seen(text.encode("utf-8", "surrogatepass")):
            held[word] = True
        return held

    def seen(self, data: bytes) -> list[str]:
        """Answer those of the words that stand in UTF-8 text or in MessagePack."""
        inside = scans.inside
        inside.append(None)
        try:
            if scans.ending:
                scans.check_thread()
            scan = self._scan
            if scan is None:
                scan = self._scan = self._make()
            words = self._words
            return [words[number] for number in scan.Match(data)]
        finally:
            inside.pop()

    def _make(self) -> Any:
        options = _re2.RE2.Options()
        options.encoding = _re2.RE2.Options.Encoding.LATIN1
        options.never_capture = True
        options.max_mem = _MEMORY
        options.log_errors = False
        scan = _re2.Set(_ANYWHERE, options)
        encoded = [word.encode("utf-8", "surrogatepass") for word in self._words]
        for word in encoded:
            scan.Add("".join(f"\\x{byte:02x}" for byte in word).encode())
        # (one that could not be compiled must not be asked: that ends the process)
        if not scan.Compile() or len(scan.Match(b"\n".join(encoded))) != len(encoded):
            raise MemoryError("the words that are looked for need more memory than their scan has")
        return scan
