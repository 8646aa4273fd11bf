"""One readable line for each call on a stream of the terminal, and what the tool printed below it.

Colours only on a terminal; ``NO_COLOR`` and ``FORCE_COLOR`` are respected. On a stream whose encoding has no
check marks, plain ASCII is written. A stream that is closed or whose reader is gone ends the output quietly
and is told once.
"""

from __future__ import annotations

import codecs
import os
import sys
from typing import TextIO

from toolog.counters import contain
from toolog.errors import ConfigError, SerializationError, SinkUnavailable, shown
from toolog.sinks import lines
from toolog.sinks.base import Answer, Batch, BatchLimits

_CODES = {"time": "2", "good": "32", "bad": "1;31", "warn": "33", "dim": "2", "tool": "1", "text": ""}


class ConsoleSink:
    """Writes a line for each record.

    ``stream``: ``"stderr"`` or ``"stdout"``, looked up at each write. ``color``: ``"auto"``, ``"always"`` or
    ``"never"``. ``printed``: how many lines of a tool's own output are shown below its call (0 to 1000).
    Raises ConfigError.
    """

    batch = BatchLimits(max_records=200, max_bytes=1024 * 1024, max_age=0.02)

    def __init__(
        self, *, name: str = "console", stream: str = "stderr", color: str = "auto", printed: int = 20
    ) -> None:
        if stream not in ("stderr", "stdout"):
            raise ConfigError(f"stream of sink {name!r} is 'stderr' or 'stdout', not {shown(stream)}")
        if color not in ("auto", "always", "never"):
            raise ConfigError(f"color of sink {name!r} is 'auto', 'always' or 'never', not {shown(color)}")
        if isinstance(printed, bool) or not isinstance(printed, int) or not 0 <= printed <= 1000:
            raise ConfigError(
                f"printed of sink {name!r} is a number of lines from 0 to 1000, not {shown(printed)}"
            )
        self.name = name
        self._stream = stream
        self._color = color
        self._printed = printed
        self._connected = False

    def connect(self) -> None:
        """Take batches from now on."""
        self._connected = True

    def write(self, batch: Batch) -> Answer | None:
        """Write the lines of a batch in one go. Records that cannot be decoded are rejected."""
        if not self._connected:
            raise SinkUnavailable(f"sink {self.name!r} is closed")
        stream: TextIO | None = getattr(sys, self._stream, None)
        if stream is None:  # pythonw and daemons have none
            return None
        encoding = _encoding(stream)
        marks = lines.UNICODE if can_write(encoding) else lines.ASCII
        color = wants_color(stream, self._color)
        rejected: dict[str, str] = {}
        text: list[str] = []
        for record in batch:
            try:
                document = record.decode()
            except SerializationError as error:
                rejected[record.record_id] = str(error)
                continue
            text.append(render(lines.line(document, marks=marks), color))
            margin = [("text", " " * 15 + "  " * _depth(document.get("depth")))]
            text += [render(margin + row, color) for row in lines.printed(document, self._printed, marks)]
        self._put(stream, "".join(text), encoding)
        return Answer(rejected) if rejected else None

    def _put(self, stream: TextIO, text: str, encoding: str) -> None:
        try:
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            flush = getattr(stream, "flush", None)
            if flush is not None:
                flush()
        except Exception as error:  # a broken pipe, a closed file; whatever a program put there in its place
            contain("the console is closed", error)

    def close(self) -> None:
        """Take no more batches; the stream is not ours to close."""
        self._connected = False


def _encoding(stream: TextIO) -> str:
    """Return a stream's encoding, or ASCII where it has none that anybody knows."""
    given = getattr(stream, "encoding", None)
    try:
        return codecs.lookup(given).name if isinstance(given, str) else "ascii"
    except LookupError:
        return "ascii"


def wants_color(stream: TextIO, choice: str = "auto") -> bool:
    """Return whether to colour what goes to ``stream``: the choice, then NO_COLOR, FORCE_COLOR, then: a
    terminal.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced != "0"
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except Exception:  # closed, or anybody's own
        return False


def can_write(encoding: str) -> bool:
    """Return whether an encoding has the marks that are not ASCII."""
    try:
        "".join(lines.UNICODE).encode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _depth(depth: object) -> int:
    return min(depth, 20) if isinstance(depth, int) and depth > 0 else 0


def render(pieces: lines.Line, color: bool) -> str:
    """Return the pieces of a line as text with its line feed, coloured by escape codes if wanted."""
    if not color:
        return lines.plain(pieces) + "\n"
    painted = (f"\x1b[{_CODES[style]}m{text}\x1b[0m" if _CODES[style] else text for style, text in pieces)
    return "".join(painted) + "\n"
