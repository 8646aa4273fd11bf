"""What a reader handed out and its sink has not acknowledged: behind it the cursor moves, never before."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque

from toolog.spool.frame import Frame
from toolog.spool.tracks import Mark, Marks


class _Run:
    """A stretch of one segment that was delivered at once and is not acknowledged yet."""

    __slots__ = ("end", "frames", "offsets", "segment")

    def __init__(self, name: str, end: int, offsets: list[int], crcs: list[tuple[int, int]]) -> None:
        self.segment = name
        self.end = end  # what is behind the last frame and was skipped belongs to it
        self.offsets = offsets
        self.frames = crcs  # (end, crc) of each frame


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
        offsets = [frame.offset for frame in frames]
        self._runs.append(_Run(name, end, offsets, [(frame.end, frame.crc) for frame in frames]))

    def acknowledge(self, marks: Marks, frame: Frame) -> None:
        """Move the cursor behind a frame and all before it; one that is not outstanding changes nothing."""
        while self._runs:
            run = self._runs[0]
            if run.segment == frame.segment and run.offsets and frame.offset <= run.offsets[-1]:
                self._pass(marks, run, bisect_right(run.offsets, frame.offset))
                break
            if not self._holds(frame):
                break
            self._pass(marks, run, len(run.offsets))

    def _holds(self, frame: Frame) -> bool:
        return any(
            run.segment == frame.segment and run.offsets[0] <= frame.offset <= run.offsets[-1]
            for run in self._runs
        )

    def _pass(self, marks: Marks, run: _Run, count: int) -> None:
        """Move the cursor over the first ``count`` frames of the oldest run."""
        if not count:
            return
        whole = count == len(run.offsets)
        frame_end, crc = run.frames[count - 1]
        marks[run.segment] = Mark(run.end if whole else frame_end, run.offsets[count - 1], crc)
        self.moved = True
        if whole:
            self._runs.popleft()
        else:
            del run.offsets[:count]
            del run.frames[:count]
