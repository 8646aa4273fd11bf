"""Lines of pieces onto a stream: cut to the terminal's width, coloured where colours are wanted."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

from toolog.sinks.console import can_write, render, wants_color
from toolog.sinks.lines import ASCII, UNICODE, Line, Marks, cut, plain, width_of


def text(lines: Iterable[Line], width: int | None = None) -> str:
    """Return lines as plain text, each cut to ``width`` columns (None: not cut) and ended by a line feed."""
    return "".join(plain(_fit(line, width)).rstrip() + "\n" for line in lines)


def write(
    lines: Iterable[Line], stream: TextIO | None = None, *, color: str = "auto", fold: int | None = None
) -> None:
    """Write lines to a stream (default: stdout), each flushed as it comes when the stream is a terminal.

    On a terminal each line is cut to its width, or with ``fold`` goes on in the next line, after so many
    blanks; in a pipe or a file it stays as it is. Raises what the stream raises (a BrokenPipeError ends a
    program that nobody reads any more).
    """
    target = sys.stdout if stream is None else stream
    encoding = getattr(target, "encoding", None) or "utf-8"
    painted = wants_color(target, color)
    width = terminal_width(target)
    if fold is not None and width is not None:
        lines = (piece for line in lines for piece in _folded(line, width, fold))
    for line in lines:
        fitted = _fit(line, width)
        written = render(fitted, True) if painted else plain(fitted).rstrip() + "\n"
        target.write(written.encode(encoding, "backslashreplace").decode(encoding))
        if width is not None:
            target.flush()


def terminal_width(stream: TextIO) -> int | None:
    """Return how many columns a terminal has, None when the stream is none."""
    try:
        if not stream.isatty():
            return None
    except (AttributeError, ValueError):
        return None
    return max(shutil.get_terminal_size().columns, 40)


def marks_for(stream: TextIO) -> Marks:
    """Return the marks that a stream's encoding can show."""
    return UNICODE if can_write(getattr(stream, "encoding", None) or "ascii") else ASCII


def _fit(line: Line, width: int | None) -> Line:
    if width is None:
        return line
    fitted: Line = []
    room = width
    for position, (style, piece) in enumerate(line):
        wide = width_of(piece)
        last = position == len(line) - 1
        if wide > room or (wide == room and not last):
            fitted.append((style, cut(piece + " ", room) if wide == room else cut(piece, room)))
            break
        fitted.append((style, piece))
        room -= wide
    return fitted


def _folded(line: Line, width: int, margin: int) -> Iterator[Line]:
    """Yield a line in as many as it takes for none to be wider than ``width``."""
    row: Line = []
    room = width
    for style, piece in line:
        while width_of(piece) > room:
            kept = cut(piece, room, "")
            blank = kept.rfind(" ")
            if blank > len(kept) // 2:
                kept = kept[: blank + 1]
            yield [*row, (style, kept)]
            piece = piece[len(kept) :]
            row, room = [("text", " " * margin)], width - margin
        row.append((style, piece))
        room -= width_of(piece)
    yield row
