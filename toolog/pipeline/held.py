"""Sealed records held in memory while the disk cannot be written; sinks read them from here meanwhile.

Callers give records up in it when all of memory is full, so what they use takes no lock: single operations on
dicts and deques. Readers and the worker, who move records out of it, take one among themselves.
"""

from __future__ import annotations

import itertools
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from toolog.spool import Frame
from toolog.spool.naming import SegmentName, host_name, stamp

PATIENCE = 1.0
"""Seconds that records in memory wait at most for a full batch: they are lost with the process, and newer
ones are given up when memory is full."""


class Held:
    """Records held in memory, in the order of their arrival.

    A record that no reader took yet can be given up for one of a higher level (`give_up`), or moved to the
    disk when that is well again (`take_untouched`).
    """

    def __init__(self) -> None:
        self.readers: list[HeldReader] = []
        self._begin()

    def _begin(self) -> None:
        self.frames: dict[int, Frame] = {}  # its size is read on the caller's way
        self._lanes: tuple[deque[int], ...] = (deque(), deque(), deque(), deque())
        self._places = itertools.count()
        self._segment = ""
        self._end = 0
        self._moving = False  # some were taken, and it is not known yet whether the disk has them
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.frames)

    def append(self, lane: int, levelno: int, code: int, payload: bytes) -> None:
        """Hold one record; its bound is kept by whoever calls (see `Queues`). Called by one thread only."""
        place = next(self._places)
        if not self.frames:
            self._segment = _segment_name()
        self.frames[place] = Frame(self._segment, place, place + 1, place, levelno, code, 0, 0, payload)
        self._lanes[lane].append(place)
        self._end = place + 1

    def give_up(self, lane: int, oldest: bool) -> int | None:
        """Give up the oldest or newest record of a lane that not every reader took; return its level
        number.
        """
        places = self._lanes[lane]
        taken = min([reader.at for reader in self.readers], default=0)
        while True:
            try:
                place = places.popleft() if oldest else places.pop()
            except IndexError:
                return None
            if place >= taken:
                frame = self.frames.pop(place, None)
                if frame is not None:
                    return frame.levelno
            elif not oldest:
                return None  # what is older was taken too

    def is_empty(self) -> bool:
        """Whether nothing is held, nor on its way from here to the disk."""
        with self.lock:
            return not self.frames and not self._moving

    def take_untouched(self, limit: int) -> list[Frame]:
        """Remove and return records that no reader took yet, oldest first; `put_back` must follow."""
        with self.lock:
            start = max([reader.at for reader in self.readers], default=0)
            places = [place for place in list(self.frames) if place >= start][:limit]
            taken = [self.frames.pop(place, None) for place in places]
            self._moving = bool(places)
        return [frame for frame in taken if frame is not None]

    def take_all(self) -> list[Frame]:
        """Remove and return every record that some reader has not acknowledged."""
        with self.lock:
            done = self.acked()
            frames = [frame for place, frame in sorted(self.frames.items()) if place >= done]
            self.frames.clear()
        return frames

    def put_back(self, frames: Sequence[Frame]) -> None:
        """Return what the disk did not take of `take_untouched`, if anything, to the places it had."""
        with self.lock:
            self._moving = False
            if frames:
                self.frames = dict(
                    sorted([*self.frames.items(), *((frame.offset, frame) for frame in frames)])
                )

    def retire(self) -> None:
        """Let go of what every reader has acknowledged."""
        if not self.readers or not self.frames:
            return
        with self.lock:
            done = self.acked()
            for place in [place for place in list(self.frames) if place < done]:
                self.frames.pop(place, None)
        for places in self._lanes:
            for _ in range(len(places)):
                try:
                    place = places.popleft()
                except IndexError:
                    break
                if place >= done:
                    places.appendleft(place)
                    break

    def between(self, start: int, end: int) -> list[Frame]:
        """Return the records from one place up to another; the caller holds the lock. (Others may come
        meanwhile, behind that.)
        """
        if end - start > 2 * len(self.frames):
            return sorted(
                (frame for place, frame in list(self.frames.items()) if start <= place < end),
                key=lambda frame: frame.offset,
            )
        return [frame for place in range(start, end) if (frame := self.frames.get(place)) is not None]

    def acked(self) -> int:
        """Return the place up to which every reader has acknowledged."""
        return min([reader.acked for reader in self.readers], default=0)

    @property
    def end(self) -> int:
        """The place behind the newest record."""
        return self._end

    def after_fork_in_child(self) -> None:
        """Forget everything: it is the parent's."""
        self.readers = []
        self._begin()


def _segment_name() -> str:
    """Return what frames in memory name as their segment: when holding began, in which process; number 0.

    No segment on disk has that number. The frames' offsets are places, not bytes.
    """
    return str(SegmentName(stamp(time.time_ns()), host_name(), os.getpid(), secrets.token_hex(6), 0))


class HeldReader:
    """Reads what is held for one sink, like a SpoolReader; its cursor is in memory, as the records are."""

    patience = PATIENCE

    def __init__(self, held: Held, keep: Callable[[int], bool]) -> None:
        self.state: dict[str, Any] | None = None
        self.at = self.acked = 0
        self._wanted = 0  # the place behind the last record that was handed out
        self._held = held
        self._keep = keep
        held.readers.append(self)

    def read(self, max_records: int = 1000, max_bytes: int = 8 << 20) -> list[Frame]:
        """Return the next frames that the sink wants."""
        if self.at >= self._held.end:
            return []
        with self._held.lock:
            frames: list[Frame] = []
            end = self._held.end
            for frame in self._held.between(self.at, end):
                if len(frames) >= max_records or max_bytes <= 0:
                    break
                self.at = frame.end
                if self._keep(frame.levelno):
                    frames.append(frame)
                    self._wanted = frame.end
                    max_bytes -= len(frame.payload)
            else:
                self.at = end  # and not what came meanwhile
            self._pass_over()
        return frames

    def _pass_over(self) -> None:
        """Acknowledge what was only passed over, once nothing before it waits for the sink."""
        if self.acked >= self._wanted:
            self.acked = self.at

    def ack(self, frame: Frame, state: dict[str, Any] | None = None) -> bool:
        """Acknowledge a frame and all that were read before it."""
        self.acked = max(self.acked, frame.end)
        self._pass_over()
        self._held.retire()  # at once: until then it counts against the bound, and newer records are given up
        return True

    def forget(self) -> None:
        """Return to what was acknowledged."""
        self.at = self._wanted = self.acked

    def in_hand(self) -> int:
        """Return 0: nothing of the disk's room waits for what was read here."""
        return 0

    def urgent(self) -> bool:
        """Return whether records wait here that were not read yet."""
        return self.at < self._held.end

    def pending(self) -> int:
        """Return how many records the sink has not acknowledged."""
        with self._held.lock:
            frames = self._held.between(self.acked, self._held.end)
            return sum([self._keep(frame.levelno) for frame in frames])
