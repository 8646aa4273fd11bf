"""The writer: what is accepted is stored, on every way out; nobody waits, nobody dies of a full disk."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spool.frames import fill, payloads
from toolog.errors import SpoolError, SpoolFull
from toolog.spool import Frame, Spool, SpoolReader, SpoolWriter, iter_frames
from toolog.spool.browse import frames_open
from toolog.spool.frame import HEAD_SIZE, MAX_PAYLOAD
from toolog.spool.segment import Segment

Drain = Callable[[SpoolReader], list[Frame]]


def test_nothing_is_created_before_the_first_record(directory: Path) -> None:
    """Making a writer makes the directory, and no segment."""
    SpoolWriter(directory)
    assert list(directory.iterdir()) == []


def test_only_the_owner_can_read_a_spool(directory: Path) -> None:
    """The directory has permissions 0700 and every file 0600."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"x")
    spool = Spool(directory)
    spool.shipper_lock().try_acquire()
    reader = spool.reader("s")
    reader.ack(reader.read()[-1])
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.rglob("*") if path.is_file()}
    assert set(modes.values()) == {0o600}
    assert len(modes) == 3
    assert stat.S_IMODE((directory / "cursors").stat().st_mode) == 0o700


def test_serial_numbers_count_over_all_segments(directory: Path) -> None:
    """A writer's numbers begin with 1 and go on over a change of segments."""
    writer = SpoolWriter(directory)
    numbers = [writer.append(10, 0, b"a"), writer.append(10, 0, b"b")]
    writer.seal()
    numbers.append(writer.append(10, 0, b"c"))
    assert numbers == [1, 2, 3]
    assert [frame.seq for frame in iter_frames(directory)] == [1, 2, 3]


def test_a_record_after_close_is_still_written(directory: Path) -> None:
    """What an exit handler logs after the writer was closed is in the spool."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"before")
    writer.close()
    writer.append(20, 0, b"after")
    assert payloads(directory) == [b"before", b"after"]


def test_a_batch_is_one_write(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """append_many brings a whole batch to the kernel at once, in order."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"first")
    calls = []
    real = os.write

    def count(fd: int, data: bytes) -> int:
        calls.append(len(data))
        return real(fd, data)

    monkeypatch.setattr(os, "write", count)
    assert writer.append_many([(20, 1, b"%d" % number) for number in range(100)]) == 100
    assert len(calls) == 1
    assert payloads(directory)[1:] == [b"%d" % number for number in range(100)]


def test_an_empty_batch_is_nothing(directory: Path) -> None:
    """append_many of no records writes nothing and accepts nothing."""
    assert SpoolWriter(directory).append_many([]) == 0
    assert list(directory.iterdir()) == []


def test_a_batch_longer_than_a_segment_is_spread_over_several(directory: Path) -> None:
    """A long batch goes into as many segments as it needs."""
    writer = SpoolWriter(directory, segment_size=10_000)
    records = [(20, 1, b"%04d" % number + b"." * 900) for number in range(100)]
    assert writer.append_many(records) == 100
    assert payloads(directory) == [payload for _, _, payload in records]
    assert len(list(directory.glob("*.seg"))) >= 10


def test_segments_stay_near_their_size(directory: Path) -> None:
    """A writer goes on to the next segment when one has its size."""
    writer = SpoolWriter(directory, segment_size=20_000)
    for _ in range(200):
        writer.append(20, 0, b"." * 1000)
    sizes = [path.stat().st_size for path in sorted(directory.glob("*.seg"))]
    assert all(size <= 21_000 for size in sizes)
    assert len(sizes) >= 10


@pytest.mark.parametrize("levelno", [-5, 70000, 2**40])
def test_a_level_number_out_of_range_is_brought_into_it(directory: Path, levelno: int) -> None:
    """A level that the frame's field cannot hold is stored as the nearest one that it can."""
    writer = SpoolWriter(directory)
    writer.append(levelno, 0, b"one")
    writer.append_many([(levelno, 0, b"two")])
    assert {frame.levelno for frame in iter_frames(directory)} == {0 if levelno < 0 else 65535}
    assert payloads(directory) == [b"one", b"two"]


def test_a_record_longer_than_a_frame_is_refused_and_the_next_one_is_not(directory: Path) -> None:
    """A payload beyond the frame's bound raises SpoolError and leaves the spool as it was."""
    writer = SpoolWriter(directory, max_size=1 << 40, segment_size=1 << 30)
    with pytest.raises(SpoolError, match="too long"):
        writer.append(20, 0, bytes(MAX_PAYLOAD + 1))
    with pytest.raises(SpoolError, match="too long"):
        writer.append_many([(20, 0, bytes(MAX_PAYLOAD + 1)), (20, 0, b"x")])
    writer.append(20, 0, b"fine")
    assert payloads(directory) == [b"fine"]


def test_a_record_longer_than_a_segment_is_written(directory: Path) -> None:
    """The size of a segment bounds no record."""
    writer = SpoolWriter(directory, segment_size=1000)
    writer.append(20, 0, b"a" * 50_000)
    writer.append(20, 0, b"b")
    assert payloads(directory) == [b"a" * 50_000, b"b"]


# -- bounds


def test_a_full_spool_says_so_and_takes_records_again_when_there_is_room(
    directory: Path, drain: Drain
) -> None:
    """At its bound the writer raises SpoolFull, and goes on at once when shipped segments were deleted."""
    spool = Spool(directory, max_size=200_000)
    writer = spool.writer()
    with pytest.raises(SpoolFull) as full:
        fill(writer)
    accepted = full.value.args[-1]
    assert 100 < accepted < 200
    assert spool.size() <= 200_000
    with pytest.raises(SpoolFull):
        writer.append(20, 0, b"." * 1000)
    reader = spool.reader("s")
    assert [int(frame.payload[:6]) for frame in drain(reader)] == list(range(accepted))
    assert spool.retire([reader]) > 0
    writer.append(20, 0, b"room")
    assert [frame.payload for frame in drain(reader)] == [b"room"]


def test_a_full_spool_does_not_hold_back_its_last_segment(directory: Path, drain: Drain) -> None:
    """All of a full spool can be shipped and deleted while its writer lives on."""
    spool = Spool(directory, max_size=50_000)
    writer = spool.writer()
    with pytest.raises(SpoolFull):
        fill(writer)
    reader = spool.reader("s")
    drain(reader)
    spool.retire([reader])
    assert spool.size() == 0


def test_of_a_batch_that_does_not_fit_the_first_records_are_taken(directory: Path) -> None:
    """append_many tells how many records found room."""
    writer = SpoolWriter(directory, max_size=20_000)
    taken = writer.append_many([(20, 0, b"%03d" % number + b"." * 1000) for number in range(100)])
    assert 10 < taken < 20
    assert [int(payload[:3]) for payload in payloads(directory)] == list(range(taken))
    with pytest.raises(SpoolFull):
        writer.append_many([(20, 0, b"." * 5000)])


def test_writers_of_one_directory_share_its_bound(directory: Path) -> None:
    """Several writers together stay near the directory's bound."""
    writers = [SpoolWriter(directory, max_size=1_000_000) for _ in range(8)]
    full = set()
    while len(full) < len(writers):
        for writer in writers:
            try:
                writer.append(20, 0, b"." * 1000)
            except SpoolFull:
                full.add(writer)
    assert 800_000 < Spool(directory).size() <= 1_000_000 + 8 * 64 * 1024


# -- failures of the disk


def test_sync_brings_current_and_left_segments_and_the_directory_to_the_disk(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After sync every segment that was written since, and the directory that names it, was synced once."""
    synced: list[str] = []
    for name in ("fsync", "fdatasync"):
        real = getattr(os, name)

        def note(fd: int, real: Callable[[int], None] = real) -> None:
            synced.append(Path(os.readlink(f"/proc/self/fd/{fd}")).name)
            real(fd)

        monkeypatch.setattr(os, name, note)
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"one")
    writer.seal()
    writer.append(20, 0, b"two")
    writer.sync()
    names = sorted(path.name for path in directory.glob("*.seg"))
    assert sorted(synced) == sorted([*names, directory.name])
    synced.clear()
    writer.append(20, 0, b"three")
    writer.sync()
    assert synced == [names[-1]]


def test_a_segment_that_a_thread_may_still_write_to_is_synced_again(directory: Path) -> None:
    """A left segment stays on sync's list for as long as somebody holds it."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"one")
    held = writer._segment
    writer.seal()
    writer.sync()
    assert held is not None
    assert list(writer._left) == [held.name]
    del held
    writer.sync()
    assert not writer._left


def test_sync_of_nothing_is_nothing(directory: Path) -> None:
    """sync before the first record, and after a shipped segment was deleted, does no harm."""
    writer = SpoolWriter(directory)
    writer.sync()
    writer.append(20, 0, b"x")
    writer.seal()
    for path in directory.glob("*.seg"):
        path.unlink()
    writer.sync()


# -- threads, signals, finalizers


@pytest.mark.parametrize("segment_size", [600, 20_000, 1 << 20])
def test_eight_threads_lose_nothing_while_segments_change(directory: Path, segment_size: int) -> None:
    """Every record of eight threads is stored once, each thread's in its order, under constant rotation."""
    writer = SpoolWriter(directory, segment_size=segment_size)
    gate = threading.Barrier(8)
    failures: list[BaseException] = []

    def work(mine: int) -> None:
        gate.wait()
        try:
            for number in range(150):
                writer.append(20, 0, b"%d %d" % (mine, number))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    frames = list(iter_frames(directory))
    assert len({frame.seq for frame in frames}) == len(frames) == 1200
    found = sorted(tuple(map(int, frame.payload.split())) for frame in frames)
    assert found == [(mine, number) for mine in range(8) for number in range(150)]


def test_a_descriptor_is_not_closed_under_a_writer(directory: Path) -> None:
    """A segment that was left stays open while somebody is inside it: its number is not given away."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"x")
    inside = writer._segment
    assert inside is not None
    writer.seal()
    writer.append(20, 0, b"y")
    assert os.readlink(f"/proc/self/fd/{inside.fd}") == str(inside.path)
    spool = Spool(directory)
    assert [segment.live for segment in spool.segments()] == [True, True]
    del inside
    assert [segment.live for segment in spool.segments()] == [False, True]


def test_descriptors_do_not_pile_up(directory: Path) -> None:
    """After many segments the process has one descriptor more than before."""
    before = len(os.listdir("/proc/self/fd"))
    writer = SpoolWriter(directory, segment_size=500)
    for _ in range(300):
        writer.append(20, 0, b"." * 100)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    writer.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_signal_handler_may_append_in_the_middle_of_append(directory: Path) -> None:
    """A storm of signals whose handler appends, over appends and rotations, neither blocks nor loses."""
    writer = SpoolWriter(directory, segment_size=2000)
    numbers = itertools.count()
    handled: list[bytes] = []
    written = 0

    def handle(*_: object) -> None:
        payload = b"signal %d" % next(numbers)
        writer.append(40, 0, payload)
        handled.append(payload)

    old = signal.signal(signal.SIGVTALRM, handle)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.001, 0.001)
    try:
        while len(handled) < 10 or written < 1000:
            writer.append(20, 0, b"main %d" % written)
            written += 1
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)
    found = payloads(directory)
    assert {p for p in found if p.startswith(b"main")} == {b"main %d" % number for number in range(written)}
    assert sorted(p for p in found if p.startswith(b"signal")) == sorted(handled)
    assert len(found) == written + len(handled)


def test_append_while_this_thread_creates_a_segment_does_not_wait(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append from inside the creation of the first segment (a finalizer, a signal) gets through."""
    from toolog.spool import segment

    writer = SpoolWriter(directory)
    real = segment.create
    inner = []

    def create(*arguments: object) -> object:
        if not inner:
            inner.append(1)
            writer.append(40, 0, b"inner")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(segment, "create", create)
    writer.append(20, 0, b"outer")
    writer.append(20, 0, b"next")
    assert sorted(payloads(directory)) == [b"inner", b"next", b"outer"]
    writer.sync()


def test_creating_a_segment_waits_for_no_lock_of_the_standard_library(directory: Path) -> None:
    """A signal handler or a forked child gets through while a lock of strptime's is held for ever."""
    import _strptime

    with _strptime._cache_lock:  # type: ignore[attr-defined]
        SpoolWriter(directory).append(20, 0, b"x")
    assert payloads(directory) == [b"x"]


def test_a_torn_write_of_one_thread_does_not_harm_another_threads_frame(
    directory: Path, monkeypatch: pytest.MonkeyPatch, drain: Drain
) -> None:
    """A frame that a second thread appended right behind a torn one is read; the torn one is counted."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"first")
    current = writer._segment
    assert current is not None
    real = os.write

    def tear(fd: int, data: bytes) -> int:
        monkeypatch.setattr(os, "write", real)
        return real(fd, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", tear)
    with pytest.raises(SpoolError, match=f"of {HEAD_SIZE + 1000} bytes"):
        writer.append(20, 0, b"torn" * 250)
    assert writer._segment is None  # the next record begins another segment
    writer._segment, elsewhere = current, writer._segment  # the other thread had it in its hands
    writer.append(20, 0, b"second")
    writer._segment = elsewhere
    del current
    writer.append(20, 0, b"third")
    reader = SpoolReader(directory, "s")
    assert [frame.payload for frame in drain(reader)] == [b"first", b"second", b"third"]
    assert reader.damaged == 1


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_what_stands_in_a_segment_that_is_gone_can_be_read_until_it_is_parted_from(
    how: str, tmp_path: Path
) -> None:
    """Somebody deletes or moves the directory: the writer notices, gives out what it had written, and goes on
    anew.
    """
    writer = SpoolWriter(tmp_path / "spool")
    for number in range(3):
        writer.append(20, 1, b"%d" % number)
    assert not writer.notice_deleted()
    assert writer.take_deleted() == []
    if how == "deleted":
        shutil.rmtree(tmp_path / "spool")
    else:
        (tmp_path / "spool").rename(tmp_path / "moved")
    writer.append(20, 1, b"3")
    assert writer.notice_deleted()
    [deleted] = writer.take_deleted()
    assert [frame.payload for frame in frames_open(deleted)] == [b"0", b"1", b"2", b"3"]
    assert writer.take_deleted() == []
    writer.append(20, 1, b"4")
    assert not writer.notice_deleted()
    assert [frame.payload for frame in iter_frames(tmp_path / "spool")] == [b"4"]


def test_a_deleted_segment_is_noticed_by_an_append_that_looks_for_room(tmp_path: Path) -> None:
    """Nothing that was written between two looks at the directory is forgotten."""
    writer = SpoolWriter(tmp_path / "spool")
    writer.append(20, 1, b"first")
    shutil.rmtree(tmp_path / "spool")
    for _ in range(4):
        writer.append(20, 1, bytes(100_000))
    found = [frame.payload for one in writer.take_deleted() for frame in frames_open(one)]
    assert found[0] == b"first"
    assert len(found) + len(list(iter_frames(tmp_path / "spool"))) == 5


def test_a_file_that_is_closed_again_and_again_is_an_error(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application that closes every file as soon as it is there gets an error for each record, not a file
    after the other; when it stops, records are written.
    """
    writer = SpoolWriter(directory)
    make_room = writer._make_room

    def closed(total: int) -> Segment:
        current = make_room(total)
        os.close(current.fd)
        return current

    with monkeypatch.context() as patched:
        patched.setattr(writer, "_make_room", closed)
        for append in (lambda: writer.append(20, 1, b"one"), lambda: writer.append_many([(20, 1, b"two")])):
            with pytest.raises(SpoolError, match="Bad file descriptor"):
                append()
    assert len(list(directory.glob("*.seg"))) < 10
    writer.append(20, 1, b"three")
    assert payloads(directory) == [b"three"]
