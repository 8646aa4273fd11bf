"""Whatever happens between the spool and the bucket, each record ends in exactly one object.

A real spool, the real runner and the real server; the shipper dies before or after any request, what comes
next has other limits and policies, and records are given up in between.
"""

from __future__ import annotations

import itertools
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.sinks.s3.bucket import Archive
from toolog.pipeline.dead_letters import DeadLetters
from toolog.pipeline.held import Held, HeldReader
from toolog.pipeline.losses import Losses
from toolog.pipeline.runner import SinkRunner
from toolog.retention import Policies
from toolog.sinks import BatchLimits, Delivery
from toolog.sinks.s3 import names
from toolog.sinks.s3.sink import S3Sink
from toolog.spool import Frame, Spool, SpoolReader

POLICIES = [
    Policies.from_config({level: {"sinks": ["archive"]} for level in levels}, ["archive"])
    for levels in (("DEBUG",), ("DEBUG", "ERROR"), ("DEBUG", "INFO", "ERROR"))
]


class Killed(BaseException):
    """The process ends here; nothing of ours may catch it."""


class MortalSink(S3Sink):
    """Dies at the ``life``-th moment before or after a request that stores something."""

    life = -1

    def _put_new(self, *given: Any) -> bool:
        self._age()
        done = super()._put_new(*given)
        self._age()
        return done

    def _age(self) -> None:
        self.life -= 1
        if self.life == 0:
            raise Killed


class FromSpool:
    """What a runner reads from, without a pipeline around it."""

    patience = 0.0

    def __init__(self, directory: Path) -> None:
        self.reader = SpoolReader(directory, "archive")
        self.ack, self.forget, self.pending = self.reader.ack, self.reader.forget, self.reader.pending
        self.in_hand = self.reader.in_hand

    @property
    def state(self) -> dict[str, Any] | None:
        return self.reader.state

    def read(self, max_records: int = 1000, max_bytes: int = 8 << 20) -> list[Frame]:
        return self.reader.read(max_records, max_bytes)

    def urgent(self) -> bool:
        return False


class World:
    """A spool with its writers, and the bucket behind it."""

    def __init__(self, archive: Archive, folder: Path) -> None:
        self.archive = archive
        self.spool = Spool(folder, segment_size=8192)
        self.writers = [self.spool.writer()]
        self.numbers = itertools.count()
        self.written: set[str] = set()
        self.dropped: set[str] = set()
        self.late: dict[int, list[int]] = {}

    def append(self, writer: int, levels: list[int], race: int = 0) -> None:
        """Append records of these levels. With a ``race``, serial numbers do not rise with the places, as if
        threads had taken them and were overtaken; some are still to be written by the next call.
        """
        while len(self.writers) <= writer:
            self.writers.append(self.spool.writer())
        if race:
            late = self.late.setdefault(writer, [])
            taken = late + [self.writers[writer]._next() for _ in range(max(0, len(levels) + 2 - len(late)))]
            random.Random(race).shuffle(taken)
            self.late[writer] = taken[len(levels) :]
            counting, self.writers[writer]._next = self.writers[writer]._next, iter(taken).__next__
            self.append(writer, levels)
            self.writers[writer]._next = counting
            return
        for level in levels:
            record_id = f"r{next(self.numbers)}"
            padding = "x" * (37 * len(self.written) % 400)
            data = ormsgpack.packb({"record_id": record_id, "event": "log", "padding": padding})
            self.writers[writer].append(level, 1, data)
            self.written.add(record_id)

    def ship(self, life: int, limit: int, policies: Policies, **options: Any) -> None:
        """Ship with batches of ``limit`` records until the spool is empty or the shipper dies."""

        def make() -> S3Sink:
            given = self.archive.options(**options)
            del given["type"]
            sink = MortalSink(name="archive", **given)
            sink.life = life
            return sink

        source = FromSpool(self.spool.directory)
        letters = DeadLetters(lambda: None, "archive", 0)
        delivery = Delivery(BatchLimits(max_records=limit, max_age=0.0), 5.0, 0.1)
        held = HeldReader(Held(), lambda level: True)
        runner = SinkRunner(
            "archive", make, delivery, policies, [source, held], letters, Losses(),
            purge=lambda sink: 0, purge_every=1e9,
        )  # fmt: skip
        try:
            runner.work_here(lambda: source.pending() == 0)
        except Killed:
            pass
        runner._close()

    def give_up(self) -> None:
        """Give up what is below ERROR in the segments that are complete."""
        before = self._waiting()
        for writer in self.writers:
            writer.seal()
        self.spool.drop_oldest(1 << 30, [SpoolReader(self.spool.directory, "archive")], below=40)
        self.dropped |= before - self._waiting()

    def _waiting(self) -> set[str]:
        frames = SpoolReader(self.spool.directory, "archive").read(1 << 20, 1 << 30)
        return {ormsgpack.unpackb(frame.payload)["record_id"] for frame in frames}

    def check(self) -> None:
        """All that was not given up is in the bucket, nothing is there twice, and under the right key."""
        found = self.archive.ids()
        assert {key: number for key, number in found.items() if number > 1} == {}
        assert self.written - set(found) <= self.dropped
        for key in self.archive.list_keys():
            assert names.parse(key) is not None, key


levels = st.lists(st.sampled_from([10, 20, 30, 40, 50]), min_size=1, max_size=30)
steps = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 2), levels, st.integers(0, 3)),
    st.tuples(st.just("append"), st.integers(0, 2), levels, st.integers(0, 3)),
    st.tuples(st.just("ship"), st.integers(1, 9), st.sampled_from([3, 16, 40, 1000]), st.integers(0, 2)),
    st.tuples(st.just("ship"), st.integers(1, 9), st.sampled_from([3, 16, 40, 1000]), st.integers(0, 2)),
    st.tuples(st.just("give_up")),
)
EXAMPLES = itertools.count()
FORMS: list[dict[str, Any]] = [{}, {"format": "jsonl", "prefix": "other"}, {"compression_level": 9}]


@given(st.lists(steps, min_size=2, max_size=9), st.integers(0, 2))
@example([("append", 0, [10] * 11 + [40]), ("ship", 9, 3, 2)], 0)
@example([("append", 0, [20] * 9, 2), ("ship", 2, 1000, 0), ("ship", -1, 1, 0)], 0)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_each_record_is_in_one_object(archive: Archive, life: list[tuple[Any, ...]], form: int) -> None:
    """In every history of appending, shipping, dying, changed settings and giving up, nothing is lost and
    nothing is stored twice.
    """
    with tempfile.TemporaryDirectory() as folder:
        world = World(archive.inner(f"example-{next(EXAMPLES)}"), Path(folder))
        for turn, (what, *given) in enumerate(life):
            if what == "append":
                world.append(*given)
            elif what == "give_up":
                world.give_up()
            else:
                moment, limit, policies = given
                world.ship(moment, limit, POLICIES[policies], **FORMS[(form + turn) % 3 if turn else form])
        world.ship(-1, 1000, POLICIES[0])
        world.check()


@pytest.mark.parametrize("moment", [1, 2, 5, 8])
def test_a_killed_shipper_is_repeated_exactly(archive: Archive, tmp_path: Path, moment: int) -> None:
    """A successor with another batch limit, form and policies makes the very objects that were begun: the
    same keys, the same bytes, and no other besides.
    """
    world = World(archive.inner("first"), tmp_path / "first")
    for turn in range(4):
        world.append(turn % 2, [20, 20, 40, 20, 30])
    twin = World(archive.inner("twin"), tmp_path / "twin")
    for turn in range(4):
        twin.append(turn % 2, [20, 20, 40, 20, 30])
    world.ship(moment, 1000, POLICIES[1])
    world.append(0, [20] * 40)  # which the successor finds too
    world.ship(-1, 7, POLICIES[0], format="jsonl", prefix="elsewhere")
    world.check()
    begun = [key for key in world.archive.list_keys() if key.startswith("first/policy=")]
    assert len(begun) == 4
    twin.ship(-1, 1000, POLICIES[1])
    bodies = Counter(archive.body(key) for key in begun)
    assert bodies == Counter(twin.archive.body(key) for key in twin.archive.list_keys())
