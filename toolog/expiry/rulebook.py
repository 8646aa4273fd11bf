"""A bucket's lifecycle configuration as the server wrote it.

Writing the configuration replaces all of it. So rules that are not ours are never taken apart and put
together again (a field that this version of the client does not know would be gone): they stay the bytes that
they were, and only our own rules are cut out and put in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from xml.parsers import expat
from xml.sax.saxutils import escape

_EMPTY = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b'<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LifecycleConfiguration>'
)


class Rulebook:
    """The document of one bucket; ``raw`` are its bytes, empty when there is none.

    ``rules`` are the bytes of each rule, in order. Raises ValueError when the bytes are no such document.
    """

    def __init__(self, raw: bytes = b"") -> None:
        self._raw = raw or _EMPTY
        self._spans, self._end, self._prefix = _read(self._raw)
        if self._raw[self._end : self._end + 2] != b"</":  # <LifecycleConfiguration/> has no room for a rule
            self._raw = _EMPTY
            self._spans, self._end, self._prefix = _read(_EMPTY)
        self.rules = [self._raw[start:end] for start, end in self._spans]

    def rewrite(self, without: Collection[int], add: Iterable[tuple[str, str, int]]) -> bytes:
        """Return the document without the rules at some places, and with expiring ones added at its end.

        ``add`` are ids, key prefixes and days. All other bytes stay as they are.
        """
        parts = []
        done = 0
        for place, (start, end) in enumerate(self._spans):
            if place in without:
                parts.append(self._raw[done:start])
                done = end
        parts.append(self._raw[done : self._end])
        parts += [self._write(*rule) for rule in add]
        parts.append(self._raw[self._end :])
        return b"".join(parts)

    def _write(self, name: str, prefix: str, days: int) -> bytes:
        p = self._prefix
        return (
            f"<{p}Rule><{p}ID>{escape(name)}</{p}ID><{p}Filter><{p}Prefix>{escape(prefix)}</{p}Prefix>"
            f"</{p}Filter><{p}Status>Enabled</{p}Status><{p}Expiration><{p}Days>{days}</{p}Days>"
            f"</{p}Expiration></{p}Rule>"
        ).encode()


def _read(raw: bytes) -> tuple[list[tuple[int, int]], int, str]:
    """Return where each rule begins and ends, where the root element's end tag begins, and the root's name
    space prefix with its colon.
    """
    parser = expat.ParserCreate()
    spans: list[tuple[int, int]] = []
    depth, start, end, prefix = 0, 0, 0, ""

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, start, prefix
        depth += 1
        if depth == 1:
            space, colon, local = name.rpartition(":")
            if local != "LifecycleConfiguration":
                raise ValueError(f"a lifecycle configuration was expected, not <{name}>")
            prefix = space + colon
        elif depth == 2:
            if name != f"{prefix}Rule":
                raise ValueError(f"a lifecycle configuration has rules only, not <{name}>")
            start = parser.CurrentByteIndex

    def finish(name: str) -> None:
        nonlocal depth, end
        depth -= 1
        if depth == 0:
            end = parser.CurrentByteIndex
        elif depth == 1:
            closing = parser.CurrentByteIndex  # where the end tag begins; behind it all for an empty <Rule/>
            is_tag = raw.startswith(f"</{prefix}Rule".encode(), closing)
            spans.append((start, raw.index(b">", closing) + 1 if is_tag else closing))

    parser.StartElementHandler = begin
    parser.EndElementHandler = finish
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise ValueError(f"the lifecycle configuration is no XML: {error}") from error
    return spans, end, prefix
