"""The spool as a whole: who ships, what is deleted, and starting with any bytes in the directory."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from toolog.errors import SpoolError
from toolog.spool import Frame, ShipperLock, Spool, SpoolReader, iter_frames
from toolog.spool.frame import MARK, build, salt_of
from toolog.spool.room import ask_for_room, room_asked_for
from toolog.spool.segment import sweep

Drain = Callable[[SpoolReader], list[Frame]]
Child = Callable[..., "subprocess.Popen[str]"]


def test_a_segment_is_deleted_when_all_sinks_have_it_and_its_writer_has_left(
    directory: Path, drain: Drain
) -> None:
    """Neither a slow sink's segment nor a live one is deleted."""
    spool = Spool(directory)
    writer, one, two = spool.writer(), spool.reader("one"), spool.reader("two")
    writer.append(20, 0, b"a")
    drain(one)
    writer.seal()
    assert spool.retire([one, two]) == 0
    drain(two)
    assert spool.retire([one, two]) == 1
    writer.append(20, 0, b"b")
    drain(one)
    drain(two)
    assert spool.retire([one, two]) == 0
    writer.append(20, 0, b"c")
    writer.close()
    assert spool.retire([one, two]) == 0
    assert [frame.payload for frame in drain(one)] == [b"c"]
    drain(two)
    assert spool.retire([one, two]) == 1
    assert spool.size() == 0


def test_without_sinks_nothing_is_deleted(directory: Path) -> None:
    """No cursor means that nothing was shipped."""
    spool = Spool(directory)
    writer = spool.writer()
    writer.append(20, 0, b"a")
    writer.close()
    assert spool.retire([]) == 0
    assert len(list(iter_frames(directory))) == 1


def test_cursors_on_disk_can_decide_what_is_deleted(directory: Path, drain: Drain) -> None:
    """Another process may delete by the saved cursors alone."""
    spool = Spool(directory)
    writer, reader = spool.writer(), spool.reader("s")
    writer.append(20, 0, b"a")
    writer.close()
    drain(reader)
    assert spool.retire(list(spool.cursors().values())) == 1


def test_segments_are_listed_with_their_facts(directory: Path) -> None:
    """segments() tells name, size, writer and whether it is live."""
    spool = Spool(directory)
    writer = spool.writer()
    writer.append(20, 0, b"a")
    writer.seal()
    writer.append(20, 0, b"b")
    first, second = spool.segments()
    assert (first.live, second.live) == (False, True)
    assert first.facts.writer == second.facts.writer
    assert first.facts.pid == os.getpid()
    assert first.size == first.path.stat().st_size
    assert spool.size() == first.size + second.size


# -- one shipper


def test_only_one_object_holds_the_shipper_lock(directory: Path) -> None:
    """A second one gets it only after the first has given it up."""
    spool = Spool(directory)
    one, two = spool.shipper_lock(), spool.shipper_lock()
    assert one.try_acquire()
    assert one.try_acquire()
    assert not two.try_acquire()
    assert not two.held
    assert two.owner() == os.getpid()
    with pytest.raises(SpoolError, match=f"process {os.getpid()}"), two:
        pass
    one.release()
    one.release()
    with two:
        assert two.held
        assert not one.try_acquire()
    assert not two.held
    assert one.try_acquire()


def test_a_lost_lock_object_gives_the_lock_up(directory: Path) -> None:
    """A lock that is collected is free."""
    spool = Spool(directory)
    lock = spool.shipper_lock()
    lock.try_acquire()
    del lock
    assert spool.shipper_lock().try_acquire()


def test_a_lock_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    """A directory in the lock file's place is a SpoolError, not a crash or a silent shipper."""
    (tmp_path / "shipper.lock").mkdir()
    with pytest.raises(SpoolError, match="cannot be opened"):
        ShipperLock(tmp_path).try_acquire()


def test_pipes_in_the_place_of_files_hold_nobody_up(directory: Path) -> None:
    """Under the name of the lock or of the file that asks for room may lie anything: nobody waits for it."""
    spool = Spool(directory)
    for name in ("shipper.lock", "room.wanted"):
        os.mkfifo(directory / name)
    ask_for_room(directory, 40)
    assert room_asked_for(directory) is None
    assert not (directory / "room.wanted").exists()
    assert spool.shipper_lock().owner() is None
    assert not ShipperLock(directory).is_taken()
    ask_for_room(directory, 40)
    assert room_asked_for(directory) == 40


def test_the_lock_of_a_killed_process_is_free(directory: Path, child: Child) -> None:
    """Another process can take over the moment the shipper is dead."""
    process = child(
        "import sys, time\n"
        "from toolog.spool import Spool\n"
        "lock = Spool(sys.argv[1]).shipper_lock()\n"
        "print(lock.try_acquire(), flush=True)\n"
        "time.sleep(600)\n",
        directory,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    lock = Spool(directory).shipper_lock()
    assert not lock.try_acquire()
    assert lock.owner() == process.pid
    process.kill()
    process.wait()
    assert lock.try_acquire()


# -- any bytes


def segment_name(number: int) -> str:
    """Return a good name for a segment, older than any other."""
    return f"20200101T0000000{number:05d}Z_host_1_0123456789ab_000001"


def hostile_directory(directory: Path) -> list[bytes]:
    """Fill a directory with what no writer makes; return the payloads of the good frames in it."""
    randomness = random.Random(4)
    spool = Spool(directory)
    writer = spool.writer()
    for number in range(50):
        writer.append(20, 0, b"good %d" % number)
    writer.close()
    noise = randomness.randbytes
    files = {
        segment_name(1): b"",
        segment_name(2): b"\xff" * 1_000_000,
        segment_name(3): b"\0" * 1_000_000,
        segment_name(4): noise(3_000_000),
        segment_name(5): MARK * 300_000,
        segment_name(6): (MARK + b"\xff" * 24) * 50_000,
        segment_name(7): b"TLSPOOL1",
        segment_name(8): b"TLSPOOL9" + noise(100),
    }
    for name, content in files.items():
        (directory / f"{name}.seg").write_bytes(content)
    huge = bytearray(build(salt_of(segment_name(9)), 1, 20, 0, b"x" * 100))
    huge[12:16] = (60 << 20).to_bytes(4, "little")
    (directory / f"{segment_name(9)}.seg").write_bytes(bytes(huge) * 20_000)
    (directory / f"{segment_name(10)}.seg").mkdir()
    os.mkfifo(directory / f"{segment_name(11)}.seg")
    (directory / f"{segment_name(12)}.seg").symlink_to("/dev/zero")
    (directory / f"{segment_name(13)}.seg").symlink_to("nowhere")
    (directory / f"{segment_name(14)}.seg").write_bytes(noise(100))
    (directory / f"{segment_name(14)}.seg").chmod(0)
    for name in (
        "x.seg",
        "core",
        ".hidden",
        "20200101.seg",
        "a_b_c_d_e.seg",
        f"9{segment_name(1)[1:4]}9999{segment_name(1)[8:]}.seg",
    ):
        (directory / name).write_bytes(noise(1000))
    (directory / "cursors").mkdir()
    (directory / "cursors" / "s.cursor").write_bytes(noise(1000))
    (directory / "cursors" / "t.cursor").mkdir()
    (directory / "cursors" / "\udcff.cursor").write_bytes(b"")
    (directory / "shipper.lock").write_bytes(noise(50))
    (directory / f".{segment_name(1)}-01234567.new").write_bytes(noise(50))
    return [b"good %d" % number for number in range(50)]


def test_a_spool_starts_with_any_bytes_in_its_directory(directory: Path, drain: Drain) -> None:
    """Noise, huge lengths, directories, pipes, links and unreadable files neither stop nor delay it."""
    good = hostile_directory(directory)
    began = time.process_time()
    spool = Spool(directory)
    lock = spool.shipper_lock()
    assert lock.try_acquire()
    reader = spool.reader("s")
    assert [frame.payload for frame in drain(reader)] == good
    assert reader.damaged > 0
    assert reader.pending() == 0
    spool.retire([reader])
    writer = spool.writer()
    writer.append(20, 0, b"new")
    assert [frame.payload for frame in drain(reader)] == [b"new"]
    assert [frame.payload for frame in iter_frames(directory)] == [b"new"]
    assert time.process_time() - began < 20
    assert len(spool.segments()) <= 2
    assert set(spool.cursors()) == {"s"}


def test_what_a_dying_creator_left_is_swept_up(directory: Path) -> None:
    """An old unfinished segment is deleted; a young one, and one that is locked, stay."""
    import fcntl

    Spool(directory)
    old, young, locked = (directory / f".{segment_name(n)}-01234567.new" for n in range(3))
    for path in (old, young, locked):
        path.write_bytes(b"x")
    for path in (old, locked):
        os.utime(path, (1, 1))
    with locked.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert sweep(directory) == 1
    assert sorted(directory.iterdir()) == sorted([young, locked])


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_a_lock_whose_file_was_taken_away_is_noticed(how: str, tmp_path: Path) -> None:
    """Others would make a new file and lock that one; whoever holds the old one must know."""
    directory = tmp_path / "spool"
    directory.mkdir()
    first, second = ShipperLock(directory), ShipperLock(directory)
    assert not first.is_lost()
    assert first.try_acquire()
    assert not first.is_lost()
    if how == "deleted":
        first.path.unlink()
    else:
        directory.rename(tmp_path / "moved")
        directory.mkdir()
    assert first.is_lost()
    assert second.try_acquire()
    first.release()
    assert not first.try_acquire()
    second.release()
