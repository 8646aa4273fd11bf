"""The file sink: rotation, its cursor, and everything that can happen to a file under it."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import documents
from tests.pipeline.programs import run
from tests.sinks.contract import batch
from toolog.errors import SinkUnavailable
from toolog.sinks.base import JSON
from toolog.sinks.file import FileSink


def numbers(directory: Path) -> list[int]:
    """Return the numbers of all records below a directory, in the order of the files and their lines."""
    found = []
    rotated = sorted(path for path in directory.iterdir() if "-" in path.name)
    for path in [*rotated, directory / "calls.jsonl"]:
        data = path.read_bytes()
        if path.suffix == ".zst":
            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        found += [int(orjson.loads(line)["record_id"], 16) for line in data.splitlines()]
    return found


def write(sink: FileSink, *wanted: int) -> None:
    """Write records as one batch."""
    assert sink.write(batch(documents.call(number) for number in wanted)) is None


def test_a_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    """The file has mode 0600, and its directory is made when missing."""
    sink = FileSink(path=tmp_path / "deep" / "er" / "calls.jsonl")
    sink.connect()
    write(sink, 1)
    assert sink.path.stat().st_mode & 0o777 == 0o600
    sink.close()


def test_a_full_file_is_rotated_and_nothing_is_lost(tmp_path: Path) -> None:
    """Rotation by size keeps every record once and in order, over numbered files that only rise."""
    sink = FileSink(path=tmp_path / "calls.jsonl", max_size=2000)
    sink.connect()
    for number in range(0, 60, 2):
        write(sink, number, number + 1)
    sink.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[:2] == ["calls-000001.jsonl", "calls-000002.jsonl"]
    assert numbers(tmp_path) == list(range(60))


def test_an_old_file_is_rotated(tmp_path: Path) -> None:
    """A file that was begun longer ago than ``rotate_every`` is rotated before the next batch."""
    path = tmp_path / "calls.jsonl"
    sink = FileSink(path=path, rotate_every="1 h")
    sink.connect()
    write(sink, 1)
    sink.close()
    os.utime(path, (0, 0))
    sink.connect()
    write(sink, 2)
    write(sink, 3)
    sink.close()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["calls-000001.jsonl", "calls.jsonl"]
    assert numbers(tmp_path) == [1, 2, 3]


def test_only_the_newest_rotated_files_stay_but_held_ones_always_do(tmp_path: Path) -> None:
    """``max_files`` bounds the rotated files; a file with a record on hold outlives it."""
    sink = FileSink(path=tmp_path / "calls.jsonl", max_size=1, max_files=2)
    sink.connect()
    assert sink.write(batch([documents.call(1, tags={"hold": "case 1"})])) is None
    for number in range(2, 9):
        write(sink, number)
    sink.close()
    assert numbers(tmp_path) == [1, 6, 7, 8]


def test_rotated_files_past_their_age_are_deleted(tmp_path: Path) -> None:
    """At a rotation, rotated files older than ``max_age`` go."""
    sink = FileSink(path=tmp_path / "calls.jsonl", max_size=1, max_age="7 days")
    sink.connect()
    write(sink, 1)
    write(sink, 2)
    os.utime(tmp_path / "calls-000001.jsonl", (0, 0))
    write(sink, 3)
    sink.close()
    assert numbers(tmp_path) == [2, 3]


def test_rotated_files_are_packed(tmp_path: Path) -> None:
    """With ``compress`` acknowledged rotated files become zstd frames with the same records, and stay
    private.
    """
    sink = FileSink(path=tmp_path / "calls.jsonl", max_size=1, compress=True)
    sink.connect()
    for number in range(4):
        write(sink, number)
    sink.close()
    packed = sorted(path.name for path in tmp_path.iterdir())
    assert packed == ["calls-000001.jsonl.zst", "calls-000002.jsonl.zst", "calls-000003.jsonl", "calls.jsonl"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    assert numbers(tmp_path) == [0, 1, 2, 3]


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=12),
    crashes=st.sets(st.integers(0, 11)),
    max_size=st.sampled_from([0, 1, 900]),
    compress=st.booleans(),
)
def test_a_crash_before_the_acknowledgement_never_leaves_a_record_twice(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    crashes: set[int],
    max_size: int,
    compress: bool,
) -> None:
    """Whatever batch was written but not acknowledged when the process died, every record stands there once,
    in order.
    """
    directory = tmp_path_factory.mktemp("crash")
    options: dict[str, Any] = {"path": directory / "calls.jsonl", "max_size": max_size, "compress": compress}
    sink = FileSink(**options)
    sink.connect()
    state = None
    next_number = 0
    for turn, size in enumerate(sizes):
        wanted = range(next_number, next_number + size)
        if turn in crashes and turn:  # before the first acknowledgement there is no cursor to cut back to
            write(sink, *wanted)
            sink.close()
            sink = FileSink(**options)
            sink.connect()
            sink.restore(state)
        write(sink, *wanted)
        state = sink.cursor_state()
        next_number += size
    sink.close()
    assert numbers(directory) == list(range(next_number))


def test_a_torn_line_spoils_only_itself(tmp_path: Path) -> None:
    """What is appended behind a line that a crash tore stands on a line of its own."""
    (tmp_path / "calls.jsonl").write_bytes(b'{"record_id": "torn')
    sink = FileSink(path=tmp_path / "calls.jsonl")
    sink.connect()
    sink.restore(None)
    write(sink, 5)
    sink.close()
    last = (tmp_path / "calls.jsonl").read_bytes().splitlines()[-1]
    assert orjson.loads(last) == documents.call(5)


def test_a_foreign_file_is_not_cut(tmp_path: Path) -> None:
    """A cursor of another file cuts nothing."""
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b'{"theirs": 1}\n')
    sink = FileSink(path=path)
    sink.connect()
    sink.restore({"inode": path.stat().st_ino + 1, "length": 0})
    sink.restore({"inode": "nonsense", "length": -5})
    sink.close()
    assert path.read_bytes() == b'{"theirs": 1}\n'


@pytest.mark.parametrize("how", ["moved", "deleted"])
def test_a_file_that_is_taken_away_is_made_anew(tmp_path: Path, how: str) -> None:
    """After a log rotator moved or deleted the file, records go to a new one at the path."""
    path = tmp_path / "calls.jsonl"
    sink = FileSink(path=path)
    sink.connect()
    write(sink, 1)
    if how == "moved":
        path.rename(tmp_path / "taken")
    else:
        path.unlink()
    write(sink, 2)
    sink.close()
    assert orjson.loads(path.read_bytes())["record_id"] == documents.call(2)["record_id"]


def test_two_sinks_never_write_one_file(tmp_path: Path) -> None:
    """A file that another sink writes makes this one unavailable, until the other is closed."""
    first, second = FileSink(path=tmp_path / "calls.jsonl"), FileSink(path=tmp_path / "calls.jsonl")
    first.connect()
    with pytest.raises(SinkUnavailable, match="another process or sink"):
        second.connect()
    first.close()
    second.connect()
    write(second, 1)
    second.close()


@pytest.mark.parametrize("path", ["file/calls.jsonl", "."])
def test_an_impossible_place_is_unavailable(tmp_path: Path, path: str) -> None:
    """A path that cannot be a file is SinkUnavailable and names the path."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkUnavailable, match=str(tmp_path)):
        FileSink(path=tmp_path / path).connect()


@contextmanager
def small_files() -> Iterator[None]:
    """Let no file of this process grow beyond 64 kB: the kernel then fails writes as it does on a full disk.

    Only for a moment, and not less: what runs the tests writes files, too.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_no_torn_batch(tmp_path: Path) -> None:
    """When a batch does not fit, nothing of it stays, the sink is unavailable, and goes on when there is
    room.
    """
    sink = FileSink(path=tmp_path / "calls.jsonl")
    sink.connect()
    write(sink, 1)
    with small_files(), pytest.raises(SinkUnavailable, match=r"calls\.jsonl"):
        write(sink, *range(2, 900))
    write(sink, 2)
    sink.close()
    assert numbers(tmp_path) == [1, 2]


def test_a_line_that_somebody_added_costs_no_record(tmp_path: Path) -> None:
    """A disk that fails after somebody wrote into the file by hand: only the torn batch is taken back."""
    sink = FileSink(path=tmp_path / "calls.jsonl")
    sink.connect()
    write(sink, 1)
    with sink.path.open("ab") as file:
        file.write(b'{"record_id": "5"}\n')
    write(sink, 2)
    with small_files(), pytest.raises(SinkUnavailable):
        write(sink, *range(3, 900))
    sink.close()
    assert numbers(tmp_path) == [1, 5, 2]


def test_json_with_line_feeds_is_put_on_one_line(tmp_path: Path) -> None:
    """A record that arrives as JSON over several lines still takes one line."""
    from toolog.sinks import SinkRecord

    sink = FileSink(path=tmp_path / "calls.jsonl")
    sink.connect()
    sink.write([SinkRecord(orjson.dumps(documents.call(1), option=orjson.OPT_INDENT_2), serializer=JSON)])
    sink.close()
    assert numbers(tmp_path) == [1]


def test_the_lock_is_let_go_at_close(tmp_path: Path) -> None:
    """After close anybody may lock the file."""
    sink = FileSink(path=tmp_path / "calls.jsonl")
    sink.connect()
    sink.close()
    with (tmp_path / "calls.jsonl").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_file_with_other_content_is_not_cut(tmp_path: Path) -> None:
    """Somebody wrote another file over ours, or it got our inode: none of it is cut off at a start."""
    sink = FileSink(path=tmp_path / "calls.jsonl")
    sink.connect()
    write(sink, 1)
    state = sink.cursor_state()
    sink.close()
    theirs = b'{"theirs": 1}\n' * 500
    sink.path.write_bytes(theirs)
    sink.connect()
    sink.restore(state)
    sink.close()
    assert sink.path.read_bytes() == theirs


def test_a_link_leads_to_the_file_that_is_rotated(tmp_path: Path) -> None:
    """Where the path is a link, the file behind it is rotated beside itself, and the link stays."""
    volume = tmp_path / "volume"
    volume.mkdir()
    link = tmp_path / "link.jsonl"
    link.symlink_to(volume / "calls.jsonl")
    sink = FileSink(path=link, max_size=300, compress=True)
    sink.connect()
    for number in range(5):
        write(sink, number)
    sink.close()
    assert link.is_symlink()
    assert [path.name for path in tmp_path.iterdir() if not path.is_dir()] == ["link.jsonl"]
    assert numbers(volume) == list(range(5))


@pytest.mark.parametrize("kind", ["a pipe", "a named pipe", "a file that a shell opened", "a device"])
def test_what_is_no_file_of_ours_is_only_written_to(tmp_path: Path, kind: str) -> None:
    """A stream, pipe or device is neither locked, rotated, deleted nor cut, however much goes through it."""
    reading = writing = -1
    path: str | Path = "/dev/null"
    if kind == "a pipe":
        reading, writing = os.pipe()
        path = tmp_path / "link"
        path.symlink_to(f"/proc/self/fd/{writing}")
    elif kind == "a named pipe":
        path = tmp_path / "fifo"
        os.mkfifo(path)
        reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    elif kind == "a file that a shell opened":
        writing = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
        reading = os.open(tmp_path / "log", os.O_RDONLY)
        path = f"/dev/fd/{writing}"
    first, second = [FileSink(path=path, max_size=100, max_age=0.001, sync=True) for _ in range(2)]
    first.connect()
    second.connect()
    for number in range(0, 6, 2):
        write(first, number)
        write(second, number + 1)
    assert first.cursor_state() is None
    first.restore({"inode": 0, "length": 0})
    assert first.delete_old() == 0
    first.close()
    second.close()
    if reading >= 0:
        rows = os.read(reading, 65536).splitlines()
        assert [int(orjson.loads(row)["record_id"], 16) for row in rows] == list(range(6))
    assert {entry.name for entry in tmp_path.iterdir()} <= {"link", "fifo", "log"}
    for descriptor in (reading, writing):
        if descriptor >= 0:
            os.close(descriptor)


def test_standard_output_may_be_the_file(tmp_path: Path) -> None:
    """Records go where the program's prints go, between them, and a restart cuts nothing away."""
    program = """
        sink = {"type": "file", "path": "/dev/stdout", "max_size": 500, "batch": {"max_age": 0}}
        log = attach(handler(sinks={"out": sink}))
        for number in range(10):
            log.info("%d", number)
            assert flush(20), stats()
        print("printed", flush=True)
    """
    output = tmp_path / "output"
    for _ in range(2):
        output.write_text(run(program, tmp_path))
        rows = output.read_text().splitlines()
        assert rows.pop() == "printed"
        assert [orjson.loads(row)["message"] for row in rows] == [str(number) for number in range(10)]
