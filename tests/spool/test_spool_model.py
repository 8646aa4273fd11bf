"""A state machine against a plain model.

Whatever happens in whatever order, no sink misses an accepted record.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from toolog.spool import Frame, Spool, SpoolReader, SpoolWriter, iter_frames
from toolog.spool.frame import build, salt_of

SINKS = ("search", "errors")
LEVELS = (10, 20, 40)
NUMBERS = st.integers(0, 10**6)


@dataclass
class Record:
    """What the model knows of one accepted record."""

    payload: bytes
    levelno: int
    damaged: bool = False
    acked: set[str] = field(default_factory=set)


@dataclass
class Shipper:
    """One sink of the model: its reader, and what it has in hand."""

    reader: SpoolReader
    in_hand: list[Frame] = field(default_factory=list)
    trusted: bool = True  # nothing happened since its start that makes it send again what was acknowledged


def wanted(sink: str, levelno: int) -> bool:
    """The sink `errors` wants only errors."""
    return sink == "search" or levelno >= 40


class SpoolMachine(RuleBasedStateMachine):
    """Appends, rotations, crashes, damage, restarts, acknowledgements and deletions in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp()) / "spool"
        self.spool = Spool(self.directory, segment_size=700)
        self.writers: list[SpoolWriter | None] = [None, None]
        self.records: dict[bytes, Record] = {}
        self.serial = 0
        self.shippers: dict[str, Shipper] = {}
        for sink in SINKS:
            self.open_reader(sink)

    def open_reader(self, sink: str, *, trusted: bool = True) -> None:
        """Begin as a new process would."""
        reader = self.spool.reader(sink, keep=lambda levelno: wanted(sink, levelno))
        self.shippers[sink] = Shipper(reader, trusted=trusted)

    def new_payload(self, size: int) -> bytes:
        """Return a payload that no other record has."""
        self.serial += 1
        return b"<%d>" % self.serial + b"." * size

    # -- writers

    @rule(which=st.integers(0, 1), levelno=st.sampled_from(LEVELS), size=st.integers(0, 300))
    def append(self, which: int, levelno: int, size: int) -> None:
        writer = self.writers[which] = self.writers[which] or self.spool.writer()
        payload = self.new_payload(size)
        writer.append(levelno, 1, payload)
        self.records[payload] = Record(payload, levelno)

    @rule(which=st.integers(0, 1), levelno=st.sampled_from(LEVELS), count=st.integers(0, 8))
    def append_many(self, which: int, levelno: int, count: int) -> None:
        writer = self.writers[which] = self.writers[which] or self.spool.writer()
        batch = [(levelno, 0, self.new_payload(40)) for _ in range(count)]
        assert writer.append_many(batch) == count
        for _, _, payload in batch:
            self.records[payload] = Record(payload, levelno)

    @rule(which=st.integers(0, 1))
    def seal(self, which: int) -> None:
        writer = self.writers[which]
        if writer is not None:
            writer.seal()

    @rule(which=st.integers(0, 1), cut=st.integers(1, 60))
    def crash(self, which: int, cut: int) -> None:
        """The writer dies in the middle of a write: a part of a frame is left, and the lock is gone."""
        writer, self.writers[which] = self.writers[which], None
        if writer is None:
            return
        current = writer._segment
        if current is not None and current.path.exists():
            torn = build(salt_of(current.name), 10**9, 20, 0, self.new_payload(40))[:cut]
            with current.path.open("ab") as file:
                file.write(torn)
        writer.close()

    # -- damage

    @precondition(lambda self: self.records)
    @rule(choice=NUMBERS, place=NUMBERS, bit=st.integers(0, 7))
    def damage(self, choice: int, place: int, bit: int) -> None:
        """A bit flips somewhere in a segment."""
        segments = self.spool.segments()
        if not segments:
            return
        segment = segments[choice % len(segments)]
        data = bytearray(segment.path.read_bytes())
        at = place % len(data)
        for frame in iter_frames(self.directory):
            if (
                frame.segment == segment.name
                and frame.offset <= at < frame.end
                and frame.payload in self.records
            ):
                self.records[frame.payload].damaged = True
        data[at] ^= 1 << bit
        with segment.path.open("r+b") as file:
            file.write(data)
        for shipper in self.shippers.values():
            shipper.trusted = False  # it may hit the frame by which a cursor knows its place

    @rule(sink=st.sampled_from(SINKS), how=st.sampled_from(["delete", "garbage", "cut"]))
    def lose_cursor(self, sink: str, how: str) -> None:
        path = self.shippers[sink].reader.cursor.path
        if path.exists():
            if how == "delete":
                path.unlink()
            elif how == "garbage":
                path.write_bytes(b"\0" * 64)
            else:
                path.write_bytes(path.read_bytes()[:-1])
        self.open_reader(sink, trusted=False)

    # -- shippers

    @rule(sink=st.sampled_from(SINKS), most=st.integers(1, 12))
    def read(self, sink: str, most: int) -> None:
        shipper = self.shippers[sink]
        frames = shipper.reader.read(max_records=most)
        assert len(frames) <= most
        for frame in frames:
            record = self.records[frame.payload]
            assert record.levelno == frame.levelno
            assert wanted(sink, frame.levelno)
            if shipper.trusted:
                assert sink not in record.acked, "delivered again without a reason"
        keys = [frame.record_key for frame in shipper.in_hand + frames]
        if shipper.trusted:
            assert len(set(keys)) == len(keys)
        shipper.in_hand += frames

    @precondition(lambda self: any(shipper.in_hand for shipper in self.shippers.values()))
    @rule(choice=NUMBERS)
    def ack(self, choice: int) -> None:
        """One sink acknowledges some of what it has in hand."""
        sink, shipper = [pair for pair in self.shippers.items() if pair[1].in_hand][choice % 2 - 1]
        count = choice % len(shipper.in_hand) + 1
        done, shipper.in_hand = shipper.in_hand[:count], shipper.in_hand[count:]
        assert shipper.reader.ack(done[-1], {"n": count} if sink == "errors" else None)
        for frame in done:
            self.records[frame.payload].acked.add(sink)

    @rule(sink=st.sampled_from(SINKS))
    def restart(self, sink: str) -> None:
        """The shipper dies and another one begins: what was in hand comes again."""
        self.open_reader(sink, trusted=self.shippers[sink].trusted)

    @rule(sink=st.sampled_from(SINKS))
    def forget(self, sink: str) -> None:
        self.shippers[sink].reader.forget()
        self.shippers[sink].in_hand.clear()

    @rule()
    def retire(self) -> None:
        """Whatever is deleted, every sink has it."""
        before = {frame.payload for frame in iter_frames(self.directory)}
        self.spool.retire([shipper.reader for shipper in self.shippers.values()])
        after = {frame.payload for frame in iter_frames(self.directory)}
        for payload in before - after:
            record = self.records[payload]
            assert {sink for sink in SINKS if wanted(sink, record.levelno)} <= record.acked

    @invariant()
    def pending_is_right(self) -> None:
        """While nothing was damaged, pending is what the model says."""
        for sink, shipper in self.shippers.items():
            if shipper.trusted:
                expected = [
                    record
                    for record in self.records.values()
                    if wanted(sink, record.levelno) and sink not in record.acked
                ]
                assert shipper.reader.pending() == len(expected)

    def teardown(self) -> None:
        """In the end every accepted record that was not damaged has come to every sink that wants it."""
        for writer in self.writers:
            if writer is not None:
                writer.close()
        for sink in SINKS:
            self.open_reader(sink)
            reader = self.shippers[sink].reader
            while frames := reader.read():
                for frame in frames:
                    self.records[frame.payload].acked.add(sink)
                reader.ack(frames[-1])
            missing = [
                record
                for record in self.records.values()
                if wanted(sink, record.levelno) and not record.damaged and sink not in record.acked
            ]
            assert not missing
        self.spool.retire([shipper.reader for shipper in self.shippers.values()])
        assert self.spool.size() == 0
        shutil.rmtree(self.directory.parent)


SpoolMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestSpoolModel = pytest.mark.slow(SpoolMachine.TestCase)
