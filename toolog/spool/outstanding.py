"""What a reader handed out and its sink has not acknowledged: behind it the cursor moves, never before."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from operator import attrgetter

from toolog.spool.frame import Frame
from toolog.spool.tracks import Mark, Marks

_offset = attrgetter("offset")


class _Run:
    """A stretch of one segment that was delivered at once and is not acknowledged yet."""

    __slots__ = ("end", "frames", "segment")

    def __init__(self, name: str, end: int, frames: list[Frame]) -> None:
        self.segment = name
        self.end = end  # what is behind the last frame and was skipped belongs to it
        self.frames = frames

    @property
    def last(self) -> int:
        """Where the last frame begins, or -1."""
        return self.frames[-1].offset if self.frames else -1


class Outstanding:
    """The frames that wait for their acknowledgement, in the order of reading; moves a cursor's ``marks``.

    ``moved``: whether marks moved since they were saved last.
    """

    def __init__(self) -> None:
        self.moved = False
        self._runs: deque[_Run] = deque()

    def __bool__(self) -> bool:
        return bool(self._runs)

    def clear(self) -> None:
        """Forget what was handed out: it will be read again."""
        self._runs.clear()

    def add(self, marks: Marks, name: str, end: int, frames: list[Frame]) -> None:
        """Note that a segment was read up to ``end``; what holds no frame needs no acknowledgement."""
        if not frames:
            for run in reversed(self._runs):
                if run.segment == name:
                    run.end = max(run.end, end)
                    return
            old = marks.get(name, Mark(0))
            if end > old.end:
                marks[name] = old._replace(end=end)
                self.moved = True
            return
        self._runs.append(_Run(name, end, frames))

    def acknowledge(self, marks: Marks, frame: Frame) -> None:
        """Move the cursor behind a frame and all before it; one that is not outstanding changes nothing."""
        while self._runs:
            run = self._runs[0]
            if run.segment == frame.segment and frame.offset <= run.last:
                self._pass(marks, run, bisect_right(run.frames, frame.offset, key=_offset))
                break
            if not self._holds(frame):
                break
            self._pass(marks, run, len(run.frames))

    def _holds(self, frame: Frame) -> bool:
        return any(
            run.segment == frame.segment and run.frames[0].offset <= frame.offset <= run.last
            for run in self._runs
        )

    def _pass(self, marks: Marks, run: _Run, count: int) -> None:
        """Move the cursor over the first ``count`` frames of the oldest run."""
        if not count:
            return
        whole = count == len(run.frames)
        last = run.frames[count - 1]
        marks[run.segment] = Mark(run.end if whole else last.end, last.offset, last.crc)
        self.moved = True
        if whole:
            self._runs.popleft()
        else:
            del run.frames[:count]
