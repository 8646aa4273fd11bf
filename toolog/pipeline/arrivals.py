"""Whether what a process had at some moment has arrived, wherever it went meanwhile.

Records do not stay where they were. What memory held is moved to the disk when that is well again; what stays
of a segment of which some records are given up is carried over to another one, in its place; and what was in
a segment that somebody deleted is written again.
"""

from __future__ import annotations

from collections.abc import Callable

from toolog.pipeline.held import Held
from toolog.pipeline.outlet import Outlet
from toolog.spool import successors


class Arrivals:
    """What was in the spool and in memory when this was made.

    ``segments`` returns this process's segments and their sizes, ``passed`` up to which byte of a segment
    every sink has acknowledged.
    """

    def __init__(
        self,
        outlet: Outlet,
        held: Held,
        segments: Callable[[], dict[str, int]],
        passed: Callable[[str], int],
    ) -> None:
        self._outlet = outlet
        self._held = held
        self._segments = segments
        self._passed = passed
        self._moves = outlet.moves  # first: what moves from here on is noticed
        self._held_to = held.end if held.frames else 0
        self._target = segments()

    @property
    def left_memory(self) -> bool:
        """Whether every sink has what was held in memory, apart from what was moved to the disk."""
        held = self._held
        if self._held_to and held.frames and held.acked() < self._held_to:
            return False
        return not self._outlet.moving  # asked after that: what is on its way is neither here nor there

    def left_disk(self) -> bool:
        """Tell whether every sink has what was in the spool, or came there from memory since.

        Nothing may be given up in the spool while this looks (see `SpoolReader.hold`).
        """
        if self._moves != self._outlet.moves:
            self._moves = self._outlet.moves
            self._target.update(self._segments())
        for name, size in list(self._target.items()):
            if self._passed(name) >= size:
                del self._target[name]
            elif not self._outlet.has(name):
                found = successors(self._outlet.directory, name)
                if not found and self._outlet.lost_segments():
                    continue  # it was deleted by hand, and is about to be written again
                del self._target[name]
                self._target.update(found)
        # What is on its way from a deleted segment since was in none of them when it was looked for.
        return not self._target and not self._outlet.moving and self._moves == self._outlet.moves
