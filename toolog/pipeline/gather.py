"""Which frames become one batch: how long it waits to be full, and what ends that early."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from toolog.pipeline.source import Source
from toolog.sinks.base import BatchLimits
from toolog.spool import Frame

POLL = 0.05


class Waiting(Protocol):
    """Who waits for a full batch: ``hurry``, ``stopping`` and ``recalled`` end that."""

    hurry: bool
    stopping: bool
    recalled: bool

    def idle(self, seconds: float) -> None:
        """Sleep, unless somebody rings."""


def gather(
    source: Source,
    others: Sequence[Source],
    limits: BatchLimits,
    most_in_hand: float,
    goes_on: Callable[[str, int], bool] | None,
    who: Waiting,
) -> list[Frame]:
    """Return the frames of the next batch; waits for a full one at most ``max_age`` seconds.

    A batch waits no longer once ``most_in_hand`` bytes of the disk cannot be freed because of it, or when
    there is something in one of the ``others`` that must not wait. ``goes_on``: that of a sink which planned
    something before a crash, and gets all of that, whatever the limits are now.
    """
    most = int(min(limits.max_bytes, most_in_hand))
    frames = source.read(limits.max_records, most)
    if not frames:
        return frames
    size = sum([len(frame.payload) for frame in frames])
    full_at = time.monotonic() + min(limits.max_age, source.patience)
    while len(frames) < limits.max_records and size < most and not (who.hurry or who.stopping):
        rest = full_at - time.monotonic()
        if rest <= 0 or who.recalled or source.in_hand() >= most_in_hand:
            break
        if any(other.urgent() for other in others):
            break
        who.idle(min(rest, POLL))
        more = source.read(limits.max_records - len(frames), most - size)
        size += sum([len(frame.payload) for frame in more])
        frames += more
    while goes_on is not None and goes_on(frames[-1].segment, frames[-1].seq):
        more = source.read(limits.max_records, most)
        if not more:
            break
        frames += more
    return frames
