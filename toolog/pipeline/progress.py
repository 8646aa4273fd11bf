"""How each sink does, in figures: what was read for it, how long its writes took, when one last went well.

The figures are counters (`toolog.counters`), so they go on when a sink's thread is replaced by another.
"""

from __future__ import annotations

import time
from bisect import bisect_left

from toolog.counters import count, table, value
from toolog.forks import after_in_child

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds, in seconds, of the classes in which the durations of writes are counted."""

_last_success: dict[str, float] = {}
after_in_child(_last_success.clear)


def note_read(sink: str, number: int) -> None:
    """Count records that were read from the spool for a sink."""
    count("read", number, sink=sink)


def note_write(sink: str, seconds: float) -> None:
    """Count a write that the sink answered, and how long it took."""
    place = bisect_left(BOUNDS, seconds)
    bound = repr(BOUNDS[place]) if place < len(BOUNDS) else "+Inf"
    count("writes", sink=sink, le=bound)
    count("write_micros", max(1, int(seconds * 1e6)), sink=sink)
    _last_success[sink] = time.time()


def last_success(sink: str) -> float | None:
    """Return when a sink last answered a write (seconds of the Unix epoch), or None."""
    return _last_success.get(sink)


def histogram(sink: str) -> tuple[list[tuple[str, int]], float]:
    """Return the durations of a sink's writes: (bound, how many took no longer) for each bound, and their sum
    in seconds.
    """
    named = [(dict(labels), number) for labels, number in table("writes").items()]
    by_bound = {labels["le"]: number for labels, number in named if labels["sink"] == sink}
    buckets: list[tuple[str, int]] = []
    total = 0
    for bound in (*map(repr, BOUNDS), "+Inf"):
        total += by_bound.get(bound, 0)
        buckets.append((bound, total))
    return buckets, value("write_micros", sink=sink) / 1e6
