"""A batch on its way into one sink: which of its records are settled, and in which parts the rest is sent."""

from __future__ import annotations

from collections.abc import Sequence

from toolog.retention import Policies
from toolog.sinks.base import SinkRecord
from toolog.spool import Frame, addressee


class Batch:
    """The frames that one delivery is about. ``open`` are the parts (lists of places in ``records``) that are
    still to be sent, ``settled`` the places that are done with, ``broke`` how often a record was alone when
    the sink broke on it.
    """

    def __init__(self, frames: Sequence[Frame], policies: Policies) -> None:
        self.records: list[SinkRecord] = []
        for frame in frames:
            policy = policies.policy(frame.levelno)
            self.records.append(
                SinkRecord(
                    frame.payload,
                    serializer=frame.serializer,
                    level=frame.levelno,
                    policy="" if policy is None else policy.name,
                    segment=frame.segment,
                    seq=frame.seq,
                )
            )
        self.open: list[list[int]] = [list(range(len(frames)))]
        self.settled: set[int] = set()
        self.broke: dict[int, int] = {}
        self._sent: set[int] = set()
        self._letters = {index for index, frame in enumerate(frames) if addressee(frame.segment)}

    def resent(self, part: list[int]) -> int:
        """Note that a part is being sent; return how many of its records were sent before."""
        again = sum(index in self._sent for index in part)
        self._sent.update(part)
        return again

    def close(self, part: list[int], stored: list[int]) -> int:
        """Take a part out of what is open; return how many of the stored records were dead letters before."""
        self.open.remove(part)
        self.settled.update(stored)
        return len(self._letters.intersection(stored)) if self._letters else 0

    def settled_prefix(self) -> int:
        """Return how many records from the first on may be acknowledged: all settled ones, or none of them.

        Not some of them: what is acknowledged and what a sink says of its state must be the same.
        """
        count = len(self.settled)
        return count if self.settled == set(range(count)) else 0
