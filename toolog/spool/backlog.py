"""How many frames a sink has still to acknowledge: counted once, then kept up to date.

Only what came and what was acknowledged since the last look is read. No cursor is moved, and no lock is held
that a sink's thread needs, so counting a large backlog holds up nobody.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from toolog.spool import segment
from toolog.spool.browse import fits, walk
from toolog.spool.frame import CHUNK, count_whole, salt_of
from toolog.spool.tracks import Mark

_Keep = Callable[[int], bool] | None


class _Stretch:
    """What was counted of one segment: so many frames from ``start`` to ``end``."""

    __slots__ = ("end", "number", "start")

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.number = 0


class Backlog:
    """Counts the frames of a spool behind a sink's marks. Several threads may ask."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stretches: dict[str, _Stretch] = {}
        self._lock = threading.Lock()

    def count(
        self,
        wanted: Mapping[str, _Keep],
        marks: Mapping[str, Mark],
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Return how many frames of the segments ``wanted`` (name -> which levels, None: all) lie behind
        ``marks``.

        ``stop`` is asked after each chunk: when it says yes, what was counted so far is returned, and the
        next call goes on from there.
        """
        with self._lock:
            for name in [name for name in self._stretches if name not in wanted]:
                del self._stretches[name]
            for name, keep in wanted.items():
                if stop():
                    break
                try:
                    self._look(name, keep, marks.get(name), stop)
                except OSError:  # deleted since, or not readable: nothing can be said of it
                    self._stretches.pop(name, None)
            return sum([stretch.number for stretch in self._stretches.values()])

    def _look(self, name: str, keep: _Keep, mark: Mark | None, stop: Callable[[], bool]) -> None:
        fd = segment.open_to_read(self.directory / (name + segment.SUFFIX))
        try:
            size = os.fstat(fd).st_size
            begin = mark.end if mark is not None and fits(fd, mark, size) else 0
            stretch = self._stretches.get(name)
            if stretch is None or begin < stretch.start:
                stretch = self._stretches[name] = _Stretch(begin)
            if begin >= stretch.end:
                stretch.start = stretch.end = begin
                stretch.number = 0
            for number, pos in _tally(fd, name, stretch.start, begin, keep):
                stretch.number -= number
                stretch.start = pos
                if stop():
                    return
            stretch.start = begin
            for number, pos in _tally(fd, name, stretch.end, size, keep):
                stretch.number += number
                stretch.end = pos
                if stop():
                    return
        finally:
            os.close(fd)


def _tally(fd: int, name: str, start: int, stop: int, keep: _Keep) -> Iterator[tuple[int, int]]:
    """Yield for one chunk after the other how many wanted frames are in it, and where it ends."""
    salt = salt_of(name)
    pos = start
    while pos < stop:
        data = os.pread(fd, min(CHUNK, stop - pos), pos)
        skip = len(segment.MAGIC) if pos == 0 and data.startswith(segment.MAGIC) else 0
        number, done = count_whole(data, skip, salt, keep)
        if done > skip:
            pos += done
        else:  # damage, or a frame that is longer than a chunk
            step = next(walk(fd, name, salt, pos, stop, final=False, keep=keep), None)
            if step is None:
                return
            number, pos = len(step.frames), step.consumed
        yield number, pos
