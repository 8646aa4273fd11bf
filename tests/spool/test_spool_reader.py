"""The reader: order, acknowledgement, following live segments, and cursors that cannot be trusted."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spool.frames import texts, write
from toolog.spool import Frame, Spool, SpoolReader, SpoolWriter, iter_frames, pending
from toolog.spool.frame import HEAD_SIZE

Drain = Callable[[SpoolReader], list[Frame]]


def test_an_empty_or_missing_directory_gives_nothing(directory: Path) -> None:
    """A reader may come before the first writer."""
    reader = SpoolReader(directory, "s")
    assert reader.read() == []
    assert reader.pending() == 0
    SpoolWriter(directory)
    assert reader.read() == []


def test_segments_are_read_in_the_order_of_their_creation(directory: Path, drain: Drain) -> None:
    """Records of several writers come segment by segment, the oldest segment first."""
    one, two = SpoolWriter(directory), SpoolWriter(directory)
    write(one, "a")
    write(two, "b")
    one.seal()
    write(one, "c")
    write(two, "d")
    assert texts(drain(SpoolReader(directory, "s"))) == ["a", "b", "d", "c"]


def test_a_live_segment_is_followed(directory: Path) -> None:
    """What is appended after a read comes with the next one."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, "a", "b")
    assert texts(reader.read()) == ["a", "b"]
    assert reader.read() == []
    write(writer, "c")
    assert texts(reader.read()) == ["c"]
    writer.seal()
    write(writer, "d")
    assert texts(reader.read()) == ["d"]


def test_a_frame_tells_all_that_was_given(directory: Path) -> None:
    """Level, serializer, serial number, place and payload are those of the append."""
    writer = SpoolWriter(directory)
    writer.append(40, 1, b"payload")
    (frame,) = SpoolReader(directory, "s").read()
    assert (frame.levelno, frame.serializer, frame.payload, frame.seq) == (40, 1, b"payload", 1)
    assert frame.end - frame.offset == HEAD_SIZE + 7
    assert frame.record_key == f"{frame.segment}/1"
    assert frame.record_key in repr(frame)
    (path,) = directory.glob("*.seg")
    assert path.read_bytes()[frame.offset + HEAD_SIZE : frame.end] == b"payload"


def test_a_batch_keeps_its_bounds(directory: Path) -> None:
    """read returns at most so many records, and stops after so many bytes."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, *("." * 1000 for _ in range(500)))
    assert len(reader.read(max_records=3)) == 3
    by_size = reader.read(max_bytes=100_000)
    assert 60 <= len(by_size) <= 170
    rest = reader.read()
    assert len(rest) == 500 - 3 - len(by_size)


def test_a_record_longer_than_a_batch_is_delivered_alone(directory: Path, drain: Drain) -> None:
    """One long record does not block the way, and is whole."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, "small", "x" * 3_000_000, "after")
    frames = reader.read(max_bytes=5)
    assert texts(frames) == ["small"]
    frames += reader.read(max_bytes=5)
    assert [len(frame.payload) for frame in frames] == [5, 3_000_000]
    assert texts(drain(reader)) == ["after"]


def test_a_waiting_read_returns_as_soon_as_there_is_something(directory: Path) -> None:
    """max_wait is the longest wait, not a pause."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    thread = threading.Timer(0.05, write, (writer, "late"))
    thread.start()
    assert texts(reader.read(max_wait=60)) == ["late"]
    thread.join()
    assert reader.read(max_wait=0.02) == []


# -- acknowledgement


def test_what_was_not_acknowledged_is_read_again_after_a_restart(directory: Path) -> None:
    """The cursor stands behind the acknowledged frame, wherever reading was."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, "a", "b", "c", "d")
    frames = reader.read()
    assert reader.ack(frames[1])
    again = SpoolReader(directory, "s").read()
    assert texts(again) == ["c", "d"]
    assert [frame.record_key for frame in again] == [frame.record_key for frame in frames[2:]]


def test_a_frame_acknowledges_all_before_it_over_segments(directory: Path) -> None:
    """One acknowledgement covers earlier batches and earlier segments."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    for payload in "abcde":
        write(writer, payload)
        writer.seal()
    frames = reader.read(max_records=2) + reader.read(max_records=2) + reader.read()
    reader.ack(frames[3])
    assert texts(SpoolReader(directory, "s").read()) == ["e"]
    reader.ack(frames[0])  # of the past: changes nothing
    assert texts(SpoolReader(directory, "s").read()) == ["e"]


def test_interleaved_live_segments_are_acknowledged_in_the_order_of_reading(directory: Path) -> None:
    """Acknowledging a frame of a segment that was read twice covers exactly what was read before it."""
    one, two, reader = SpoolWriter(directory), SpoolWriter(directory), SpoolReader(directory, "s")
    write(one, "a1")
    write(two, "b1")
    first = reader.read()
    write(one, "a2")
    write(two, "b2")
    second = reader.read()
    assert texts(first + second) == ["a1", "b1", "a2", "b2"]
    reader.ack(second[0])
    assert texts(SpoolReader(directory, "s").read()) == ["b2"]


def test_sinks_have_cursors_of_their_own(directory: Path, drain: Drain) -> None:
    """One sink's progress moves no other sink, whatever characters its name has."""
    writer = SpoolWriter(directory)
    write(writer, "a", "b")
    names = ["search", "../../etc", "a b/ü", "x" * 300, ""]
    for name in names:
        assert texts(drain(SpoolReader(directory, name))) == ["a", "b"]
    write(writer, "c")
    for name in names:
        assert texts(drain(SpoolReader(directory, name))) == ["c"]
    assert sorted(Spool(directory).cursors()) == sorted(names)
    assert {path.parent for path in directory.rglob("*.cursor")} == {directory / "cursors"}


def test_a_sink_finds_its_state_again(directory: Path) -> None:
    """What a sink gives with an acknowledgement comes back with the cursor, until it gives something else."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "file")
    write(writer, "a", "b")
    one, two = reader.read()
    assert reader.state is None
    reader.ack(one, {"length": 10})
    reader.ack(two)
    assert SpoolReader(directory, "file").state == {"length": 10}


def test_forget_returns_to_the_cursor(directory: Path) -> None:
    """After forget, unacknowledged frames are read again by the same reader."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, "a", "b", "c")
    reader.ack(reader.read()[0])
    reader.forget()
    assert texts(reader.read()) == ["b", "c"]


def test_levels_that_a_sink_does_not_want_are_passed_over(directory: Path) -> None:
    """`keep` chooses by level number; the others neither come nor hold the segment."""
    spool = Spool(directory)
    writer, reader = spool.writer(), spool.reader("errors", keep=lambda levelno: levelno >= 40)
    write(writer, "debug", levelno=10)
    write(writer, "error", levelno=40)
    write(writer, "info", levelno=20)
    writer.close()
    assert reader.pending() == 1
    (frame,) = reader.read()
    assert frame.payload == b"error"
    assert spool.retire([reader]) == 0
    reader.ack(frame)
    assert reader.pending() == 0
    assert spool.retire([reader]) == 1


def test_a_segment_of_unwanted_levels_only_needs_no_acknowledgement(directory: Path) -> None:
    """A sink that wants nothing in a segment lets it be deleted after one look, and saves that."""
    spool = Spool(directory)
    writer, reader = spool.writer(), spool.reader("errors", keep=lambda levelno: levelno >= 40)
    write(writer, "a", "b", levelno=10)
    writer.close()
    assert reader.read() == []
    assert spool.retire([spool.cursors()["errors"]]) == 1


# -- pending


def test_pending_counts_what_is_not_acknowledged(directory: Path) -> None:
    """pending follows appends, reads (which change nothing), acknowledgements, and deletions."""
    spool = Spool(directory)
    writer, reader = spool.writer(), spool.reader("s")
    write(writer, "a", "b", "c")
    assert reader.pending() == 3
    frames = reader.read()
    assert reader.pending() == 3
    reader.ack(frames[0])
    assert reader.pending() == 2
    write(writer, "d")
    assert reader.pending() == 3
    assert spool.reader("s").pending() == 3
    reader.ack(frames[2])
    reader.ack(reader.read()[0])
    assert reader.pending() == 0
    writer.close()
    spool.retire([reader])
    assert reader.pending() == 0


def test_pending_frames_can_be_looked_at_without_a_reader(directory: Path) -> None:
    """The function pending yields just what a sink has not acknowledged."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, "a", "b", "c")
    assert texts(list(pending(directory, "s"))) == ["a", "b", "c"]
    reader.ack(reader.read()[1])
    assert texts(list(pending(directory, "s"))) == ["c"]
    assert texts(list(pending(directory, "other"))) == ["a", "b", "c"]


def test_looking_changes_nothing(directory: Path) -> None:
    """iter_frames on a live spool takes no lock and leaves every file as it is."""
    writer = SpoolWriter(directory)
    write(writer, "a", "b")
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in directory.rglob("*")}
    assert texts(list(iter_frames(directory))) == ["a", "b"]
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in directory.rglob("*")} == before
    write(writer, "c")
    assert len(list(iter_frames(directory))) == 3


# -- live tails


def test_the_beginning_of_a_frame_in_a_live_segment_means_not_yet(directory: Path) -> None:
    """A frame that is half there is waited for while the writer lives, and then read."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, "a" * 100, "b" * 100)
    (path,) = directory.glob("*.seg")
    whole = path.read_bytes()
    for cut in (1, 50, 100, 110, 127):
        os.truncate(path, len(whole) - cut)
        fresh = SpoolReader(directory, "other")
        assert texts(fresh.read()) == ["a" * 100]
        assert fresh.read() == []
        assert fresh.damaged == 0
        with path.open("ab") as file:
            file.write(whole[len(whole) - cut :])
        assert texts(fresh.read()) == ["b" * 100]
        assert fresh.damaged == 0
    assert len(reader.read()) == 2


def test_a_torn_tail_of_a_dead_writer_is_passed_over_and_counted(directory: Path) -> None:
    """When the writer is gone, half a frame is damage; the segment can be deleted after it."""
    spool = Spool(directory)
    writer = spool.writer()
    write(writer, "a", "b" * 100)
    writer.close()
    (path,) = directory.glob("*.seg")
    os.truncate(path, path.stat().st_size - 7)
    noted = []
    reader = spool.reader("s", on_damage=lambda *facts: noted.append(facts))
    frames = reader.read()
    assert texts(frames) == ["a"]
    assert reader.damaged == 1
    assert noted == [(frames[0].segment, 1, 121)]
    reader.ack(frames[0])
    assert reader.read() == []
    assert reader.damaged == 1
    assert spool.retire([reader]) == 1


def test_a_tail_that_is_torn_before_the_writer_dies_is_noticed_when_it_does(directory: Path) -> None:
    """A reader that waited for the rest of a frame gives it up when the writer is gone."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, "a", "b" * 100)
    (path,) = directory.glob("*.seg")
    os.truncate(path, path.stat().st_size - 7)
    assert texts(reader.read()) == ["a"]
    assert reader.damaged == 0
    writer.close()
    write(writer, "c")
    assert texts(reader.read(max_wait=10)) == ["c"]
    while not reader.damaged:  # asked for again a few times a second
        assert reader.read(max_wait=0.1) == []
    assert reader.damaged == 1


# -- cursors that cannot be trusted


def test_a_failing_read_is_tried_again_and_loses_nothing(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in the middle of a segment leaves what was read delivered and the rest for later."""
    import time

    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, *(f"{number:03d}" + "." * 10_000 for number in range(300)))
    real = os.pread
    calls = 0

    def fail_second(fd: int, count: int, offset: int) -> bytes:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(errno.EIO, "bad sector")
        return real(fd, count, offset)

    monkeypatch.setattr(os, "pread", fail_second)
    frames = reader.read()
    assert 0 < len(frames) < 300
    assert reader.unreadable == 1
    assert reader.read() == []
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    frames += reader.read()
    assert [int(frame.payload[:3]) for frame in frames] == list(range(300))


def test_a_raising_damage_callback_loses_no_frame(directory: Path) -> None:
    """What a callback raises comes out of read, and the frames around it are read again."""
    writer = SpoolWriter(directory)
    write(writer, *(f"{number:03d}" + "." * 10_000 for number in range(300)))
    writer.close()
    (path,) = directory.glob("*.seg")
    data = bytearray(path.read_bytes())
    data[-15_000] ^= 1  # in the last but one, far behind the first piece that is read at once
    path.write_bytes(data)
    angry = True

    def callback(*_: object) -> None:
        if angry:
            raise RuntimeError("no")

    reader = SpoolReader(directory, "s", on_damage=callback)
    with pytest.raises(RuntimeError):
        reader.read()
    angry = False
    assert [int(frame.payload[:3]) for frame in reader.read()] == [*range(298), 299]
