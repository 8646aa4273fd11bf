"""What the name of a segment says: when it began, by which writer, and for which sink."""

from __future__ import annotations

import calendar
import os
import re
import time
import zlib
from dataclasses import dataclass
from urllib.parse import quote

_DAY = r"[1-9]\d{3}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3])[0-5]\d[0-5]\d\d{6}"
_NAME = re.compile(
    rf"({_DAY}T{_TIME}Z)_([A-Za-z0-9.-]{{1,40}})_(\d{{1,10}})_([0-9a-f]{{12}})_(\d{{6,12}})"
    r"(?:_to-([A-Za-z0-9_.~%-]{1,100}))?",
    re.ASCII,
)
_TO = "_to-"
FOREIGN = 1 << 62
"""How far a sink has passed a segment that is addressed to another one."""


@dataclass(frozen=True, slots=True)
class SegmentName:
    """The facts that stand in a segment's name.

    When it was created, by which writer, the how many-th of it; ``to`` is the address of the one sink that
    it is for, or empty.
    """

    stamp: str
    host: str
    pid: int
    random: str
    number: int
    to: str = ""

    @classmethod
    def parse(cls, text: str) -> SegmentName:
        """Return the facts of a segment's name (without ``.seg``).

        Raises ValueError when it is no such name.
        """
        match = _NAME.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no segment's name")
        stamp, host, pid, random, number, to = match.groups()
        return cls(stamp, host, int(pid), random, int(number), to or "")

    @property
    def writer(self) -> str:
        """The writer's identity: host, process id, and a random part that is new at each start and fork."""
        return f"{self.host}_{self.pid}_{self.random}"

    @property
    def created_ns(self) -> int:
        """The time of creation in nanoseconds of the Unix epoch (with microseconds)."""
        # Not by strptime: it takes a lock, for which a signal handler or a forked child would wait for ever.
        year, month, day, hour, minute, second = (
            int(self.stamp[at : at + width])
            for at, width in ((0, 4), (4, 2), (6, 2), (9, 2), (11, 2), (13, 2))
        )
        seconds = calendar.timegm((year, month, day, hour, minute, second))
        return seconds * 1_000_000_000 + int(self.stamp[15:21]) * 1000

    @property
    def date(self) -> str:
        """The day of creation, ``YYYY-MM-DD`` in UTC."""
        return f"{self.stamp[:4]}-{self.stamp[4:6]}-{self.stamp[6:8]}"

    @property
    def hour(self) -> str:
        """The hour of creation, ``00`` to ``23`` in UTC."""
        return self.stamp[9:11]

    def __str__(self) -> str:
        to = f"{_TO}{self.to}" if self.to else ""
        return f"{self.stamp}_{self.writer}_{self.number:06d}{to}"


def address(sink: str) -> str:
    """Return a sink's name as it stands in the names of segments that are for it alone."""
    name = quote(sink, safe="") or "%"
    if len(name) > 100:
        name = f"{name[:80]}-{zlib.crc32(sink.encode('utf-8', 'surrogatepass')):08x}"
    return name


def addressee(name: str) -> str:
    """Return the address that stands in a segment's name, or "" when it is for all sinks."""
    return name.partition(_TO)[2]


def is_foreign(name: str, sink: str) -> bool:
    """Tell whether a segment is for another sink than this one."""
    to = addressee(name)
    return bool(to) and to != address(sink)


def stamp(now_ns: int) -> str:
    """Return a time (nanoseconds of the Unix epoch) as it stands in segment names: UTC with microseconds."""
    seconds, rest = divmod(now_ns, 1_000_000_000)
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds)) + f"{rest // 1000:06d}Z"


def host_name() -> str:
    """Return this host's name, fit to stand in a file's name."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename)[:40] or "host"


def is_name(text: str) -> bool:
    """Tell whether a text (without ``.seg``) is the name of a segment."""
    return _NAME.fullmatch(text) is not None


def origin(name: str) -> tuple[str, ...]:
    """Return what stays of a segment's name when its records are carried over to a new one in its place.

    Raises ValueError when it is no such name.
    """
    facts = SegmentName.parse(name)
    return facts.stamp, facts.host, str(facts.pid), str(facts.number), facts.to
