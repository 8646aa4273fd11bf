"""The spool in memory: the same interface, a bound, and nothing kept by a forked child."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from toolog.errors import SpoolError, SpoolFull
from toolog.spool import MemorySpool, Spool, SpoolReader, SpoolWriter
from toolog.spool.frame import MAX_PAYLOAD
from toolog.spool.memory import MemoryReader

Pair = tuple["SpoolWriter | MemorySpool", Callable[[str], "SpoolReader | MemoryReader"], Callable[..., int]]


@pytest.fixture(params=["disk", "memory"])
def pair(request: pytest.FixtureRequest, directory: Path) -> Pair:
    """A writer, a maker of readers, and a retirer: of a spool on disk, and of one in memory."""
    if request.param == "disk":
        spool = Spool(directory)
        return spool.writer(), spool.reader, spool.retire
    memory = MemorySpool()
    return memory, memory.reader, memory.retire


def test_both_spools_behave_alike(pair: Pair) -> None:
    """Append, read, acknowledge, forget, count: on disk and in memory the same answers."""
    writer, make, retire = pair
    one, two = make("one"), make("two")
    assert one.read() == []
    assert one.pending() == 0
    assert [writer.append(20, 1, b"a"), writer.append(40, 0, b"b")] == [1, 2]
    assert writer.append_many([(10, 1, b"c"), (10, 1, b"d")]) == 2
    frames = one.read(max_records=3)
    assert [(f.payload, f.levelno, f.serializer, f.seq) for f in frames] == [
        (b"a", 20, 1, 1),
        (b"b", 40, 0, 2),
        (b"c", 10, 1, 3),
    ]
    assert len({frame.record_key for frame in frames}) == 3
    assert one.pending() == 4
    assert one.ack(frames[1], {"n": 1})
    assert one.state == {"n": 1}
    assert one.pending() == 2
    one.forget()
    assert [frame.payload for frame in one.read()] == [b"c", b"d"]
    assert one.read(max_wait=0.01) == []
    assert [frame.payload for frame in two.read(max_bytes=1)] == [b"a"]
    assert [frame.payload for frame in two.read()] == [b"b", b"c", b"d"]
    writer.sync()
    writer.seal()
    writer.close()
    writer.after_fork_in_child()
    assert retire([one, two]) == 0
    assert retire([]) == 0
    assert two.pending() == 4
    assert one.passed(frames[0].segment) > 0
    assert two.passed(frames[0].segment) == 0


def test_memory_is_let_go_when_all_sinks_have_it() -> None:
    """retire frees what every reader has acknowledged, and only that."""
    spool = MemorySpool()
    one, two = spool.reader("one"), spool.reader("two")
    for number in range(10):
        spool.append(20, 0, b"%d" % number)
    one.ack(one.read()[-1])
    two.ack(two.read(max_records=4)[-1])
    assert spool.retire([one, two]) == 4
    assert spool.size() == 6 * 29
    assert [frame.payload for frame in two.read()] == [b"4", b"5", b"6", b"7", b"8", b"9"]
    assert two.pending() == 6


def test_memory_has_a_bound() -> None:
    """A full spool in memory refuses, and takes again after retire."""
    spool = MemorySpool(max_size=1280)
    reader = spool.reader("s")
    for _ in range(10):
        spool.append(20, 0, b"." * 100)
    with pytest.raises(SpoolFull):
        spool.append(20, 0, b"." * 100)
    with pytest.raises(SpoolFull):
        spool.append_many([(20, 0, b"." * 100)])
    reader.ack(reader.read()[-1])
    spool.retire([reader])
    assert spool.append_many([(20, 0, b"." * 100)] * 20) == 10
    with pytest.raises(SpoolError, match="too long"):
        spool.append(20, 0, bytes(MAX_PAYLOAD + 1))


def test_the_oldest_can_be_given_up() -> None:
    """drop_oldest frees what was asked, and counts by level; readers go on behind it."""
    spool = MemorySpool(max_size=1280)
    reader = spool.reader("s")
    for number in range(10):
        spool.append(10 if number % 2 else 40, 0, b"%03d" % number + b"." * 97)
    assert spool.drop_oldest(300) == {40: 2, 10: 1}
    assert spool.drop_oldest(100) == {}
    assert [int(frame.payload[:3]) for frame in reader.read()] == [3, 4, 5, 6, 7, 8, 9]
    spool.append_many([(20, 0, b"." * 100)] * 3)
    with pytest.raises(SpoolFull):
        spool.append(20, 0, b"." * 100)


def test_unwanted_levels_do_not_hold_memory() -> None:
    """A reader with `keep` passes over other levels without acknowledging them."""
    spool = MemorySpool()
    reader = spool.reader("errors", keep=lambda levelno: levelno >= 40)
    spool.append(10, 0, b"a")
    spool.append(40, 0, b"b")
    spool.append(10, 0, b"c")
    (frame,) = reader.read()
    assert reader.pending() == 1
    reader.ack(frame)
    assert reader.read() == []
    assert spool.retire([reader]) >= 2
    spool.append(10, 0, b"d")
    assert reader.read() == []
    spool.retire([reader])
    assert spool.size() == 0


def test_threads_append_without_losing(directory: Path) -> None:
    """Eight threads and a reader that retires: every record comes once, in each thread's order."""
    spool = MemorySpool()
    reader = spool.reader("s")
    gate = threading.Barrier(8)

    def work(mine: int) -> None:
        gate.wait()
        for number in range(300):
            spool.append(20, 0, b"%d %d" % (mine, number))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(8)]
    for thread in threads:
        thread.start()
    found: list[tuple[int, int]] = []
    while len(found) < 2400:
        for frame in reader.read(max_records=100, max_wait=5):
            mine, number = map(int, frame.payload.split())
            found.append((mine, number))
            reader.ack(frame)
        spool.retire([reader])
    for thread in threads:
        thread.join()
    for mine in range(8):
        assert [number for lane, number in found if lane == mine] == list(range(300))
    assert spool.size() == 0


def test_a_forked_child_begins_empty() -> None:
    """What waits in memory belongs to the parent: the child does not deliver it again."""
    spool = MemorySpool()
    spool.append(20, 0, b"parent")
    pid = os.fork()
    if not pid:
        code = 1
        try:
            assert spool.reader("s").read() == []
            spool.append(20, 0, b"child")
            assert [frame.payload for frame in spool.reader("s").read()] == [b"child"]
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert [frame.payload for frame in spool.reader("s").read()] == [b"parent"]
