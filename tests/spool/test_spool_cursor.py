"""How far a sink came: cursors that are damaged, torn, unsaved, or have no room."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spool.frames import texts, write
from toolog.spool import Cursor, Frame, Mark, Spool, SpoolReader, SpoolWriter, cursor_file

Drain = Callable[[SpoolReader], list[Frame]]


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 200, b"{}", b"garbage\n", os.urandom(500), b"toolog-cursor 1 00000000 {}", b"[" * 100_000],
    ids=["empty", "zeros", "object", "text", "noise", "wrong checksum", "deep"],
)
def test_a_garbage_cursor_sends_everything_again(directory: Path, drain: Drain, content: bytes) -> None:
    """A cursor file with any bytes counts as none, and the next acknowledgement makes a good one."""
    writer = SpoolWriter(directory)
    write(writer, "a", "b")
    first = SpoolReader(directory, "s")
    first.ack(first.read()[-1])
    first.cursor.path.write_bytes(content)
    assert texts(drain(SpoolReader(directory, "s"))) == ["a", "b"]
    assert texts(drain(SpoolReader(directory, "s"))) == []


@pytest.mark.slow
def test_any_changed_bit_in_a_cursor_skips_nothing(directory: Path) -> None:
    """A cursor with one flipped bit says what it said before, less, or nothing, but never more."""
    writer = SpoolWriter(directory)
    write(writer, *(f"{number:02d}" for number in range(40)))
    first = SpoolReader(directory, "s")
    frames = first.read()
    first.ack(frames[0])
    first.ack(frames[1])
    good = first.cursor.path.read_bytes()
    for place in range(len(good)):
        for bit in (1, 2, 4, 8):
            changed = bytes([good[place] ^ bit])
            first.cursor.path.write_bytes(good[:place] + changed + good[place + 1 :])
            found = texts(SpoolReader(directory, "s").read())
            assert found[-38:] == [f"{number:02d}" for number in range(2, 40)]


def test_a_torn_cursor_line_falls_back_to_the_one_before(directory: Path) -> None:
    """Every truncation of a cursor leaves an older state, so that more is sent again and nothing skipped."""
    writer = SpoolWriter(directory)
    write(writer, "a", "b", "c")
    first = SpoolReader(directory, "s")
    frames = first.read()
    first.ack(frames[0])
    one = len(first.cursor.path.read_bytes())
    first.ack(frames[1])
    good = first.cursor.path.read_bytes()
    for length in range(len(good)):
        first.cursor.path.write_bytes(good[:length])
        expected = ["b", "c"] if length >= one else ["a", "b", "c"]
        assert texts(SpoolReader(directory, "s").read()) == expected
    first.cursor.path.write_bytes(good[: one + 20])
    second = SpoolReader(directory, "s")
    second.ack(second.read()[-1])
    assert SpoolReader(directory, "s").read() == []


def test_a_cursor_file_stays_small(directory: Path) -> None:
    """Thousands of acknowledgements do not make the file grow without bound."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    for number in range(3000):
        write(writer, str(number))
        reader.ack(reader.read()[-1])
    assert reader.cursor.path.stat().st_size < 80_000
    assert SpoolReader(directory, "s").read() == []
    assert [path.name for path in (directory / "cursors").iterdir()] == ["s.cursor"]


def test_a_cursor_beyond_a_segment_that_lost_its_end_sends_it_again(directory: Path) -> None:
    """After a loss of power the cursor may be ahead of the file: what is there is sent again."""
    writer = SpoolWriter(directory)
    write(writer, "a", "b", "c")
    writer.close()
    first = SpoolReader(directory, "s")
    first.ack(first.read()[-1])
    (path,) = directory.glob("*.seg")
    os.truncate(path, path.stat().st_size - 40)
    again = SpoolReader(directory, "s")
    assert texts(again.read()) == ["a"]
    assert again.rewound == 1


def test_a_cursor_that_points_elsewhere_sends_the_segment_again(directory: Path) -> None:
    """A segment that is not the one the cursor was made for is read from its beginning."""
    writer = SpoolWriter(directory)
    write(writer, "a", "b", "c")
    writer.close()
    first = SpoolReader(directory, "s")
    first.ack(first.read()[0])
    (path,) = directory.glob("*.seg")
    data = path.read_bytes()
    path.write_bytes(b"inserted" + data)
    again = SpoolReader(directory, "s")
    assert texts(again.read()) == ["a", "b", "c"]
    assert again.rewound == 1


def test_a_cursor_that_cannot_be_saved_is_told_and_tried_again(directory: Path) -> None:
    """ack answers whether the cursor is on disk; the place itself is kept."""
    writer, reader = SpoolWriter(directory), SpoolReader(directory, "s")
    write(writer, "a", "b")
    frames = reader.read()
    (directory / "cursors" / "s.cursor").mkdir(parents=True)
    assert not reader.ack(frames[0])
    assert reader.unsaved == 1
    (directory / "cursors" / "s.cursor").rmdir()
    assert reader.read() == []
    assert reader.ack(frames[1])
    assert SpoolReader(directory, "s").read() == []


def test_an_unsaved_cursor_of_a_sink_with_a_state_holds_its_segment(directory: Path) -> None:
    """A sink that cuts back to its saved state needs the records since: they are not deleted."""
    spool = Spool(directory)
    for name, deleted in (("plain", 1), ("file", 0)):
        writer, reader = spool.writer(), spool.reader(name)
        write(writer, "a")
        writer.close()
        (directory / "cursors" / f"{name}.cursor").mkdir(parents=True)
        state = {"length": 5} if name == "file" else None
        assert not reader.ack(reader.read()[-1], state)
        assert spool.retire([reader]) == deleted


def test_cursors_are_brought_to_the_disk_on_demand(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With sync, a saved cursor survives a loss of power; without, no time is spent on that."""
    synced: list[str] = []
    real = os.fsync

    def note(fd: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{fd}")).name)
        real(fd)

    monkeypatch.setattr(os, "fsync", note)
    writer = SpoolWriter(directory)
    write(writer, "a", "b")
    plain = SpoolReader(directory, "plain")
    plain.ack(plain.read()[-1])
    assert synced == []
    careful = SpoolReader(directory, "careful", sync=True)
    one, two = careful.read()
    careful.ack(one)
    assert synced == ["careful.cursor", "cursors"]
    careful.ack(two)
    assert synced == ["careful.cursor", "cursors", "careful.cursor"]


def test_room_for_a_cursor_is_taken_once(tmp_path: Path) -> None:
    """Reserving writes nothing that a cursor would read, and leaves a cursor that is there alone."""
    spool = Spool(tmp_path)
    assert spool.reserve("sink")
    path = tmp_path / "cursors" / "sink.cursor"
    assert path.stat().st_size == 32 * 1024
    assert not Cursor(tmp_path, "sink").found
    cursor = Cursor(tmp_path, "sink")
    cursor.marks["segment"] = Mark(7)
    assert cursor.save()
    size = path.stat().st_size
    assert spool.reserve("sink")
    assert path.stat().st_size == size
    assert Cursor(tmp_path, "sink").passed("segment") == 7


def test_a_cursor_keeps_its_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it was saved and replaced, a cursor's file has room for a much longer one on a full disk;
    one that is too long for it changes nothing.
    """
    cursor = Cursor(tmp_path, "sink")
    for end in range(2000):
        cursor.marks["segment"] = Mark(end)
        assert cursor.save()
    room = cursor.path.stat().st_size
    assert 32 * 1024 <= room < 100 * 1024

    def full(path: Path, data: bytes, flags: int, sync: bool) -> int:
        if flags & os.O_APPEND or len(data) > room:
            raise OSError(errno.ENOSPC, "full")
        return write_at(path, data, flags, sync)

    write_at = cursor_file._write
    monkeypatch.setattr(cursor_file, "_write", full)
    for length in (100, 30_000, 10, 29_000):
        cursor.state = {"text": "x" * length}
        assert cursor.save()
        assert cursor.path.stat().st_size == room
        assert Cursor(tmp_path, "sink").state == cursor.state
    cursor.state = {"text": "x" * 200_000}
    assert not cursor.save()
    assert Cursor(tmp_path, "sink").state == {"text": "x" * 29_000}


def test_a_cursor_has_room_for_every_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many segments wait, their marks and a state that speaks of all of them find room on a disk that
    has become full since, also after the file was replaced. Whoever only reads changes nothing.
    """
    spool = Spool(tmp_path)
    assert spool.reserve("sink")
    for _ in range(150):
        spool.writer().append(20, 1, b"payload")
    reader, stranger = SpoolReader(tmp_path, "sink"), SpoolReader(tmp_path, "sink")
    assert len(stranger.read()) == 150
    assert reader.cursor.path.stat().st_size == 32 * 1024
    frames = reader.read()
    assert reader.ack(frames[0])
    state = {"open": [frame.segment * 4 for frame in frames]}

    def full(path: Path, data: bytes, flags: int, sync: bool) -> int:
        if flags & os.O_APPEND or len(data) > path.stat().st_size:
            raise OSError(errno.ENOSPC, "full")
        return write_at(path, data, flags, sync)

    write_at = cursor_file._write
    for _ in range(2):
        with monkeypatch.context() as disk:
            disk.setattr(cursor_file, "_write", full)
            assert reader.ack(frames[-1], state)
        assert Cursor(tmp_path, "sink").state == state
        assert len(Cursor(tmp_path, "sink").marks) == 150
        for number in range(40):
            reader.cursor.state = {"number": number}
            reader.cursor.save()
