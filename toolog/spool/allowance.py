"""How many bytes one writer may still put into a directory whose size is bounded, and how large a segment."""

from __future__ import annotations

import os
import time
from pathlib import Path

from toolog.spool import segment
from toolog.spool.segment import Segment

_CHECK_EVERY = 256 * 1024  # bytes between two looks at whether the file is still in its directory
_SMALLEST_SEGMENT = 64 * 1024
_SMALLEST_SHARE = 64 * 1024  # bytes that a writer takes of the directory's room before it looks again
_LARGEST_SHARE = 4 << 20
_SETTLED_NS = 100_000_000  # a directory's times are trusted when they are this much older than the look at it


class Allowance:
    """What a writer may use of ``max_size`` bytes in a directory, beside the other writers there.

    ``bound`` is how many bytes one segment may have: ``segment_size``, or less where many share the room.
    """

    def __init__(self, directory: Path, max_size: int, segment_size: int) -> None:
        self.bound = min(_SMALLEST_SEGMENT, segment_size)
        self._directory = directory
        self._max_size = max_size
        self._segment_size = segment_size
        self._free = 0  # bytes under the directory's bound, when it was last looked at
        self._room = 0  # what this writer may use of them before it looks again
        self._looked_ns = 0
        self._dir_mtime_ns = -1

    def covers(self, total: int) -> bool:
        """Tell whether ``total`` bytes more may be written; looks at the directory when that is not known."""
        if self._room < total:
            self._look(total)
        return self._room >= total

    def grant(self, current: Segment, total: int) -> None:
        """Let a segment grow by ``total`` bytes, and by some more from the room that is left."""
        more = max(total, min(_CHECK_EVERY, self.bound - current.size, self._room // 4))
        current.limit = current.size + more
        self._room -= more

    def _look(self, total: int) -> None:
        """Learn how much room there is in the directory, and how large one segment may become."""
        try:
            mtime = os.stat(self._directory).st_mtime_ns
            if self._free < total and mtime == self._dir_mtime_ns and self._looked_ns - mtime > _SETTLED_NS:
                return  # there was no room for it, and nothing was deleted since
            self._looked_ns = time.time_ns()
            self._dir_mtime_ns = mtime
            sizes = segment.listing(self._directory, on_disk=True)
        except OSError:
            sizes = {}  # creating the segment will tell what is wrong
        writers = len({name.rpartition("_")[0].partition("_")[2] for name in sizes}) + 1
        self._free = max(0, self._max_size - sum(sizes.values()))
        # The others take from the same room until each looks again.
        share = min(self._free // (8 * writers), _LARGEST_SHARE)
        self._room = min(self._free, max(total, _SMALLEST_SHARE, share))
        # Many processes with one large segment each would fill the directory with records that are long
        # shipped: only a complete segment can be deleted.
        share = self._max_size // (4 + 4 * writers)
        self.bound = min(self._segment_size, max(share, _SMALLEST_SEGMENT))
