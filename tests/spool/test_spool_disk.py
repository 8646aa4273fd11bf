"""A disk that is full, read-only or not there, while records are written."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.spool.frames import fill, payloads
from toolog.errors import SpoolError
from toolog.spool import Frame, Spool, SpoolReader, SpoolWriter

Drain = Callable[[SpoolReader], list[Frame]]


def small_disk(tmp_path: Path, size: str) -> Iterator[Path]:
    """Mount a small disk, or skip the test where that is not allowed."""
    place = tmp_path / "small"
    place.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(options, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a small disk can be mounted by the superuser only")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 512 KiB."""
    yield from small_disk(tmp_path, "512k")


def test_a_full_disk_loses_nothing_that_was_accepted(disk: Path, drain: Drain) -> None:
    """On a full disk append raises SpoolError.

    What was accepted is read; it goes on when there is room again.
    """
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(100_000))
    spool = Spool(disk / "spool")
    writer = spool.writer()
    accepted: list[bytes] = []
    refused: list[BaseException | None] = []
    for number in range(1500):
        payload = b"%06d" % number + b"." * (number % 997)
        try:
            writer.append(20, 0, payload)
            accepted.append(payload)
        except SpoolError as error:
            refused.append(error.__cause__)
    assert len(refused) > 10
    assert {cause.errno for cause in refused if isinstance(cause, OSError)} == {errno.ENOSPC}
    ballast.unlink()
    for number in range(20):
        payload = b"later %d" % number
        writer.append(20, 0, payload)
        accepted.append(payload)
    writer.append_many([(20, 0, b"batch")])
    accepted.append(b"batch")
    writer.close()
    reader = spool.reader("s")
    assert [frame.payload for frame in drain(reader)] == accepted


def test_on_a_full_disk_what_is_shipped_can_still_be_deleted(disk: Path, drain: Drain) -> None:
    """A cursor that has no room on the full disk does not keep the spool from being emptied."""
    spool = Spool(disk / "spool", segment_size=50_000)
    writer = spool.writer()
    with pytest.raises(SpoolError):
        fill(writer)
    writer.close()
    (disk / "ballast").write_bytes(b"")
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        try:
            while ballast.write(bytes(4096)):
                pass
        except OSError:
            pass
    reader = spool.reader("s")
    assert len(drain(reader)) > 100
    assert spool.retire([reader]) > 5
    writer.append(20, 0, b"there is room again")
    assert [frame.payload for frame in drain(reader)] == [b"there is room again"]


def test_of_a_batch_on_a_full_disk_the_accepted_ones_are_exactly_those_stored(disk: Path) -> None:
    """append_many tells truly how much of a batch is in the file when the disk fills up inside it."""
    writer = SpoolWriter(disk / "spool")
    with pytest.raises(SpoolError) as full:
        fill(writer, 700, batch=30)
    accepted = full.value.args[-1]
    assert accepted > 100
    assert [int(payload[:6]) for payload in payloads(disk / "spool")] == list(range(accepted))


def test_a_file_size_limit_of_the_process_costs_no_accepted_record(directory: Path) -> None:
    """Where the system cuts a write short, the writer refuses that record and goes on in another segment."""
    pid = os.fork()
    if not pid:  # the limit can only be lowered, so it is set in a child
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
            writer = SpoolWriter(directory)
            accepted = b""
            for number in range(40):
                try:
                    writer.append(20, 0, b"%03d" % number + b"." * 400)
                    accepted += b"%03d" % number
                except SpoolError:
                    pass
            (directory / "accepted").write_bytes(accepted)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    accepted = (directory / "accepted").read_bytes()
    assert b"".join(payload[:3] for payload in payloads(directory)) == accepted
    assert len(accepted) > 60
    assert len(list(directory.glob("*.seg"))) > 1


def test_a_directory_that_cannot_be_made_is_told_plainly(tmp_path: Path) -> None:
    """Where a file stands in the way, the error names the directory and the reason."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(SpoolError, match=r"file/spool cannot be created: .*Not a directory"):
        SpoolWriter(tmp_path / "file" / "spool")


def test_a_read_only_disk_is_told_plainly(tmp_path: Path) -> None:
    """On a disk mounted read-only, making a writer raises SpoolError with the reason."""
    for place in small_disk(tmp_path, "64k"):
        (place / "spool").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        with pytest.raises(SpoolError, match="not writable"):
            SpoolWriter(place / "spool")
        with pytest.raises(SpoolError, match="cannot be created"):
            SpoolWriter(place / "other")


def test_a_disk_that_becomes_read_only_is_told_and_recovers(tmp_path: Path) -> None:
    """When a segment cannot be created any more, append raises SpoolError; later it works again."""
    for place in small_disk(tmp_path, "256k"):
        writer = SpoolWriter(place / "spool")
        writer.append(20, 0, b"one")
        writer.seal()
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        with pytest.raises(SpoolError, match="no segment can be created"):
            writer.append(20, 0, b"two")
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
        writer.append(20, 0, b"three")
        assert payloads(place / "spool") == [b"one", b"three"]
        writer.close()


def test_a_deleted_spool_directory_is_made_again(directory: Path) -> None:
    """Somebody who deletes the directory under a running writer loses what was in it, and nothing later."""
    writer = SpoolWriter(directory, segment_size=5000)
    writer.append(20, 0, b"gone")
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    for number in range(30):
        writer.append(20, 0, b"%03d" % number + b"." * 1000)
    found = [int(payload[:3]) for payload in payloads(directory)]
    assert found[-1] == 29
    assert len(found) > 20


# -- sync
