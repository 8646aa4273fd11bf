"""What must be known of records in MessagePack before they stand in an object, found without decoding them.

To decode a record costs more than all that is done with it else. Two things must be known: that each is one
whole map, as damage in one would take those behind it along, and when the oldest was made.

The time stands somewhere in the map, and what looks like it may stand in some value. So the place is looked
at once for all records that begin with the same bytes, the id aside, which always takes as many: up to the
time the records of one tool are the same. Bytes that are the same are read in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

_HEADS = frozenset([*(bytes([first]) for first in (*range(0x80, 0x90), 0xDE, 0xDF))])
"""The first bytes of maps."""
_ID = b"\xa9record_id\xd9\x20"  # and 32 characters
_ID_SIZE = len(_ID) + 32
_TIME = b"\xa9timestamp\xbb"  # and 27 characters
_TIME_SIZE = 27
_MOST_KNOWN = 1024

Shape = tuple[bytes, bytes]
"""What stands before a record's id, and what between that and its time."""


class Maps:
    """Looks at records of one object."""

    def __init__(self) -> None:
        import msgpack

        self._library = msgpack
        self._unpacker: Any = None
        self._known: set[Shape] = set()

    def are_whole(self, records: Sequence[bytes]) -> bool:
        """Return whether each of these is one map, from its first byte to its last.

        What stands in its texts is not looked at: what is wrong there costs nobody else anything.
        """
        if not _HEADS.issuperset([data[:1] for data in records]):
            return False
        if self._unpacker is None:
            self._unpacker = self._library.Unpacker(max_buffer_size=0)
        skip, tell = self._unpacker.skip, self._unpacker.tell
        ends = list(accumulate(map(len, records), initial=tell()))
        found = ends[:1]
        try:
            self._unpacker.feed(b"".join(records))
            for _ in records:
                skip()
                found.append(tell())
        except (ValueError, self._library.UnpackException):
            pass
        if found != ends:
            self._unpacker = None
            return False
        return True

    def oldest(self, records: Sequence[bytes]) -> str | None:
        """Return the earliest of the times of records that are whole, as text that compares as time; None
        where one of them has none that is seen at once.
        """
        known = self._known
        times: list[bytes] = []
        for data in records:
            start = data.find(_ID)
            end = data.find(_TIME, start + _ID_SIZE)
            shape = data[:start], data[start + _ID_SIZE : end]
            if shape not in known and (min(start, end) < 0 or not self._learn(shape, data, start, end)):
                return None
            times.append(data[end + len(_TIME) : end + len(_TIME) + _TIME_SIZE])
        if not (b"".join(times).isascii() and {time[-1:] for time in times} == {b"Z"}):
            return None
        return min(times).decode()

    def _learn(self, shape: Shape, data: bytes, start: int, end: int) -> bool:
        """Return whether a record's id and time stand there, and not in some value; then that is known of all
        records that have the same bytes before its id, and between the two.
        """
        if len(self._known) >= _MOST_KNOWN:  # hardly two are alike here: to decode them takes less time
            return False
        unpacker = self._library.Unpacker(max_buffer_size=0)
        unpacker.feed(data)
        places: dict[Any, int] = {}
        for _ in range(unpacker.read_map_header()):
            place = unpacker.tell()
            if place > end:
                break
            places[unpacker.unpack()] = place
            unpacker.skip()
        is_right = places.get("record_id") == start and places.get("timestamp") == end
        if is_right:
            self._known.add(shape)
        return is_right
