"""A batch on its way into one sink: which of its records are settled, and in which parts the rest is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from toolog.breath import breathing
from toolog.pipeline.answers import words_of
from toolog.retention import Policies
from toolog.serializers.base import COMPACT
from toolog.serializers.compact import HEAD_SIZE
from toolog.sinks.base import Answer, SinkRecord
from toolog.sinks.short import ShortRecord
from toolog.spool import Frame, addressee

MOST_SEGMENTS = 64
"""From so many segments the records of one batch may be that is planned: what is planned must be saved in a
cursor that has no more room than it once took, when the disk is full."""


def portions(frames: Sequence[Frame]) -> Iterator[Sequence[Frame]]:
    """Yield frames in the batches in which they are planned: none begins within a segment, so that whatever
    was begun in that before goes into one batch.
    """
    last = {frame.segment: place for place, frame in enumerate(frames)}
    start = border = 0  # up to the border every segment has ended
    open_until = -1
    seen: set[str] = set()
    for place, frame in enumerate(frames):
        if place > open_until:
            border = place
        open_until = max(open_until, last[frame.segment])
        seen.add(frame.segment)
        if len(seen) > MOST_SEGMENTS and border > start:
            yield frames[start:border]
            start = border
            seen = {frame.segment for frame in frames[start : place + 1]}
    yield frames[start:]


class Batch:
    """The frames that one delivery is about. ``open`` are the parts (lists of places in ``records``) that are
    still to be sent, ``settled`` the places that are done with, ``letters`` those of them that the sink
    refused, with (reason, status); ``broke``: how often a record was alone when the sink broke on it.
    """

    def __init__(self, frames: Sequence[Frame], policies: Policies) -> None:
        self.frames = frames
        self.records = [*_records(frames, policies)]
        self.open: list[list[int]] = [list(range(len(frames)))]
        self.settled: set[int] = set()
        self.letters: dict[int, tuple[str, str]] = {}
        self.broke: dict[int, int] = {}
        self._sent: set[int] = set()

    def send(self, part: list[int]) -> int:
        """Note that a part is being sent; return how many of its records were sent before."""
        again = len(self._sent.intersection(part))
        self._sent.update(part)
        return again

    def close(self, part: list[int], stored: list[int]) -> None:
        """Take a part out of what is open, of which these are stored."""
        self.open.remove(part)
        self.settled.update(stored)

    def take_answer(self, part: list[int], answer: Answer) -> list[int]:
        """Settle a part by what the sink answered; return what of it is to be tried again, which is the next
        to be sent.
        """
        stored, retry = part, []
        if answer.rejected or answer.retry:
            ids = {index: self.records[index].record_id for index in part}
            rejected = [index for index in part if ids[index] in answer.rejected]
            retry = [index for index in part if ids[index] in answer.retry and index not in rejected]
            out = {*rejected, *retry}
            stored = [index for index in part if index not in out]
            for index in rejected:
                self.refuse(index, words_of(answer.rejected[ids[index]]), "rejected")
        self.close(part, stored)
        if retry:
            self.open.insert(0, retry)
        return retry

    def isolate(self, part: list[int], reason: str, status: str, tries: int) -> bool:
        """Halve a part that the sink breaks on; a record that is alone is refused after so many tries.

        Returns whether the next try is for this record alone once more.
        """
        if len(part) > 1:
            middle = len(part) // 2
            self.open[0:1] = [part[:middle], part[middle:]]
            return False
        index = part[0]
        self.broke[index] = self.broke.get(index, 0) + 1
        if self.broke[index] < tries:
            return True
        self.refuse(index, reason, status)
        self.close(part, [])
        return False

    def refuse(self, index: int, reason: str, status: str) -> None:
        """Note that a record is settled as a dead letter."""
        self.letters[index] = reason, status
        self.settled.add(index)

    def settled_prefix(self) -> int:
        """Return how many records from the first on may be acknowledged: all settled ones, or none of them.

        Not some of them: what is acknowledged and what a sink says of its state must be the same.
        """
        count = len(self.settled)
        return count if self.settled == set(range(count)) else 0

    def stored(self, number: int) -> tuple[int, int]:
        """Return how many of so many records from the first on are stored when all of them are settled, and
        how many of those were dead letters before.
        """
        if self.letters:
            stored = [
                frame.segment for index, frame in enumerate(self.frames[:number]) if index not in self.letters
            ]
        else:
            stored = [frame.segment for frame in self.frames[:number]]
        return len(stored), sum([number for name, number in Counter(stored).items() if addressee(name)])


def _records(frames: Sequence[Frame], policies: Policies) -> Iterator[SinkRecord]:
    names: dict[int, str] = {}
    for segment, _, _, seq, levelno, code, _, _, payload in breathing(frames):
        policy = names.get(levelno)
        if policy is None:
            found = policies.policy(levelno)
            policy = names[levelno] = "" if found is None else found.name
        if code == COMPACT and len(payload) >= HEAD_SIZE:
            yield ShortRecord(payload, levelno, policy, segment, seq)
        else:  # a damaged short form the sink will refuse, as what it cannot read
            yield SinkRecord(payload, code, levelno, policy, segment, seq)
