"""How long a batch waits to be full, what ends that early, and sinks that plan what they will make."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipeline.handlers import Make, making
from tests.pipeline.programs import run
from toolog import spool
from toolog.all_pipelines import flush, stats
from toolog.errors import SinkUnavailable
from toolog.pipeline import batch as batch_module
from toolog.pipeline.batch import MOST_SEGMENTS, portions
from toolog.pipeline.breaker import PROBE
from toolog.pipeline.held import Held, HeldReader
from toolog.sinks.base import Answer, Batch, BatchLimits
from toolog.sinks.memory import MemorySink
from toolog.spool.naming import SegmentName


class Patient(MemorySink):
    """Would rather wait a minute for a full batch."""

    batch = BatchLimits(max_records=100_000, max_bytes=1 << 30, max_age=60.0)


class Planning(MemorySink):
    """Plans each batch, and tells what was planned and written; fails as often as it is told to."""

    batch = BatchLimits(max_records=100, max_age=0.05)
    max_backoff = 0.05

    def __init__(self) -> None:
        super().__init__(name="planning")
        self.log: list[tuple[str, int]] = []
        self.failures = 0
        self.restored: Any = None

    def plan(self, batch: Batch) -> bool:
        self.log.append(("plan", len(batch)))
        return True

    def goes_on(self, segment: str, seq: int) -> bool:
        return seq < 150

    def cursor_state(self) -> dict[str, Any]:
        return {"log": len(self.log)}

    def restore(self, state: Any) -> None:
        self.restored = state

    def write(self, batch: Batch) -> Answer | None:
        self.log.append(("write", len(batch)))
        if self.failures:
            self.failures -= 1
            raise SinkUnavailable("not now")
        return super().write(batch)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes a handler with its logger, and closes it."""
    with making(tmp_path, durability="process", shutdown_timeout=0.5) as make:
        yield make


def test_a_flush_does_not_wait_for_a_full_batch(make: Make) -> None:
    """A batch that may wait a minute goes at once when somebody flushes."""
    sink = Patient()
    log, _ = make(sinks={"memory": sink})
    log.info("first")
    time.sleep(0.3)
    assert not sink.deliveries
    assert flush(40)
    assert len(sink.rows) == 1


def test_a_waiting_batch_does_not_fill_the_spool(make: Make, tmp_path: Path) -> None:
    """A sink that waits for rare records lets go before the others' records, which it only passes over, fill
    the spool: nothing is dropped while all sinks are well.
    """
    quick, patient = MemorySink(name="quick"), Patient(name="patient")
    log, _ = make(
        spool={"path": str(tmp_path / "spool"), "max_size": 1 << 20, "segment_size": 64 << 10},
        sinks={"quick": quick, "patient": patient},
        retention={"DEBUG": {"sinks": ["quick"]}, "ERROR": {"sinks": ["quick", "patient"]}},
    )
    for number in range(4000):  # several times the bound, and no faster than the quick sink can follow
        (log.error if number % 500 == 0 else log.info)("%d %s", number, "x" * 700)
        if number % 200 == 0:
            assert quick.wait_for(number - 200, 60)
    assert flush(40)
    assert (len(quick.rows), len(patient.rows)) == (4000, 8)
    assert stats()["dropped"] == {}
    assert len(patient.deliveries) > 1


def test_records_held_in_memory_do_not_wait(tmp_path: Path) -> None:
    """While the disk fails, neither the batch in hand nor what memory holds waits for a full batch."""
    printed = run(
        """
from toolog.sinks.base import BatchLimits
from toolog.sinks.memory import MemorySink
import resource
class Patient(MemorySink):
    batch = BatchLimits(max_records=100_000, max_age=60.0)
sink = Patient()
log = attach(handler(sinks={"memory": sink}))
log.info("on disk")
time.sleep(0.5)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log.info("in memory")
assert sink.wait_for(2, 40), stats()
print(*[len(one) for one in sink.deliveries], *[one[0].segment[-6:] for one in sink.deliveries])
os._exit(0)
""",
        tmp_path,
    )
    assert printed == "1 1 000001 000000\n"


def test_records_name_their_place(make: Make, tmp_path: Path) -> None:
    """A sink learns segment and serial number of each record: the ones of its frame."""
    sink = MemorySink()
    log, _ = make(sinks={"memory": sink})
    for number in range(10):
        log.info("%d", number)
    frames = {(one.segment, one.seq) for one in spool.iter_frames(tmp_path / "spool")}
    assert flush(40)
    assert {(one.segment, one.seq) for batch in sink.deliveries for one in batch} == frames


def test_memory_has_a_segment_of_its_own_for_each_outage() -> None:
    """What is held while the disk fails names a segment of number 0, a new one when holding begins again, and
    no place twice.
    """
    held = Held()
    reader = HeldReader(held, lambda level: True)
    places = []
    for _ in range(3):
        held.append(0, 20, 1, b"a")
        held.append(0, 20, 1, b"b")
        frames = reader.read()
        places += [(one.segment, one.seq) for one in frames]
        reader.ack(frames[-1])
    assert len(set(places)) == 6
    names = [SegmentName.parse(segment) for segment, _ in places]
    assert {one.number for one in names} == {0}
    assert len({one.random for one in names}) == 3


def test_what_is_passed_over_in_memory_is_let_go_with_the_batch_before_it() -> None:
    """Held records that a sink does not want, read while its batch waits, go when that is acknowledged."""
    held = Held()
    reader = HeldReader(held, lambda level: level >= 40)
    held.append(3, 40, 1, b"wanted")
    (wanted,) = reader.read()
    for _ in range(5):
        held.append(0, 20, 1, b"not")
        assert reader.read() == []
    assert len(held) == 6
    reader.ack(wanted)
    assert held.is_empty()
    held.append(3, 40, 1, b"wanted")
    held.append(0, 20, 1, b"not")
    assert len(reader.read()) == 1
    reader.forget()
    assert [frame.payload for frame in reader.read()] == [b"wanted"]


def test_what_comes_while_a_reader_looks_is_read_next() -> None:
    """A record that is held in the middle of a reader's look is neither passed over nor let go."""
    held = Held()
    coming = [b"second", b"third"]

    def keep(level: int) -> bool:
        if coming:
            held.append(0, 20, 1, coming.pop(0))
        return True

    reader = HeldReader(held, keep)
    held.append(0, 20, 1, b"first")
    found = []
    for _ in range(3):
        frames = reader.read()
        found += [frame.payload for frame in frames]
        reader.ack(frames[-1])
    assert found == [b"first", b"second", b"third"]
    assert held.is_empty()


def test_a_plan_is_saved_before_it_is_carried_out(make: Make, tmp_path: Path) -> None:
    """Before each write the state that the plan left stands in the cursor on disk."""
    sink = Planning()
    seen: list[Any] = []
    write = sink.write

    def look(batch: Batch) -> Answer | None:
        (cursor,) = spool.Spool(tmp_path / "spool").cursors().values()
        seen.append((cursor.state, len(sink.log)))
        return write(batch)

    sink.write = look  # type: ignore[method-assign]
    log, _ = make(sinks={"planning": sink})
    for number in range(10):
        log.info("%d", number)
    assert flush(40)
    assert seen
    assert all(state == {"log": before} for state, before in seen)


def test_a_batch_that_is_planned_stays_whole(make: Make) -> None:
    """Behind an open breaker, too, a planned batch is sent as it is: no probe of a part of it."""
    sink = Planning()
    sink.failures = 8
    log, _ = make(sinks={"planning": sink})
    for number in range(60):
        log.info("%d", number)
    assert flush(40)
    tries = [size for what, size in sink.log if what == "write"][:9]
    assert len(set(tries)) == 1
    assert tries[0] > PROBE


def test_what_was_planned_is_gathered_to_its_end(make: Make) -> None:
    """A batch goes on beyond its limits as long as the sink says that something planned goes on there."""
    sink = Planning()
    sink.failures = 1
    log, handler = make(sinks={"planning": sink}, ship="none")
    for number in range(400):
        log.info("%d", number)
    log.handlers = []
    handler.close()
    make(sinks={"planning": sink})
    assert sink.wait_for(400, 60)
    sizes = [len(batch) for batch in sink.deliveries]
    assert sizes[0] == 200  # to the first 100 came 100 more, as the 150th had to be among them
    assert sink.restored is None


def test_a_plan_is_of_no_more_segments_than_fit_into_a_cursor(make: Make, tmp_path: Path) -> None:
    """What lies in very many segments is planned in several batches, each of whole segments, in order."""
    spooled = {"path": str(tmp_path / "spool"), "segment_size": "4 KiB"}
    sink = Planning()
    sink.batch = BatchLimits(max_records=100_000, max_age=0.05)
    log, handler = make(sinks={"planning": sink}, ship="none", spool=spooled)
    for number in range(1500):
        log.info("%d %s", number, "x" * 200)
    log.handlers = []
    handler.close()
    there = len(list((tmp_path / "spool").glob("*.seg")))
    assert there > 2 * MOST_SEGMENTS
    make(sinks={"planning": sink}, spool=spooled)
    assert sink.wait_for(1500, 60)
    assert flush(40)
    segments = [{record.segment for record in batch} for batch in sink.deliveries]
    assert max(len(one) for one in segments) == MOST_SEGMENTS
    assert sum(len(one) for one in segments) == len(set().union(*segments)) == there
    numbers = [int(str(record["message"]).split()[0]) for record in sink.records]
    assert numbers == list(range(1500))


@given(names=st.lists(st.integers(0, 12), max_size=40), most=st.integers(1, 6))
def test_a_portion_ends_where_no_segment_goes_on(names: list[int], most: int) -> None:
    """Portions are all frames in order; no segment is in two of them; and one has more segments than it may
    only where it cannot be parted.
    """
    frames = [spool.Frame(str(name), seq, seq + 1, seq, 20, 0, 0, 0, b"") for seq, name in enumerate(names)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batch_module, "MOST_SEGMENTS", most)
        parts = [list(part) for part in portions(frames)]
    assert [frame for part in parts for frame in part] == frames
    segments = [{frame.segment for frame in part} for part in parts]
    assert sum(map(len, segments)) == len({frame.segment for frame in frames})
    for part, there in zip(parts, segments, strict=True):
        borders = [
            place
            for place in range(1, len(part))
            if not {one.segment for one in part[:place]} & {one.segment for one in part[place:]}
        ]
        assert (
            len(there) <= most
            or not borders
            or all(len({one.segment for one in part[:border]}) > most for border in borders)
        )


def test_a_plan_that_cannot_be_saved_is_not_carried_out(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the cursor cannot be written, a planning sink waits; it goes on when it can."""
    sink = Planning()
    refused: list[int] = []
    save = spool.cursor.Cursor.save

    def refuse(self: Any, *, sync: bool = False) -> bool:
        if len(refused) < 3 and sink.log:
            refused.append(1)
            return False
        return save(self, sync=sync)

    monkeypatch.setattr(spool.cursor.Cursor, "save", refuse)
    log, _ = make(sinks={"planning": sink})
    log.info("one")
    assert flush(40)
    assert len(refused) == 3
    assert [what for what, _ in sink.log] == ["plan", "plan", "plan", "plan", "write"]
    assert len(sink.rows) == 1
