"""The database file: how it is made and migrated, several programs at once, forks, and damage."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests import documents
from toolog import store
from toolog.errors import ConfigError, SinkUnavailable
from toolog.sinks.base import JSON, SinkRecord
from toolog.sinks.sqlite import SqliteSink
from toolog.store import connections, log_mover
from toolog.store.schema import APPLICATION_ID, INDEXES, MIGRATIONS, VERSION

WRITER = """
import sys
from tests import documents
from toolog import store
opened = store.open(sys.argv[1])
first, count, size = map(int, sys.argv[2:5])
for start in range(first, first + count, size):
    opened.write(documents.call(number) for number in range(start, start + size))
    print(start + size, flush=True)
"""


def run_writer(path: Path, first: int, count: int, size: int) -> subprocess.Popen[str]:
    """Start a process that stores records in batches, and prints the number behind the last stored one after
    each.
    """
    arguments = [sys.executable, "-c", WRITER, str(path), str(first), str(count), str(size)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def ids(opened: store.Store) -> list[int]:
    """Return the numbers of all stored calls in the order of arrival."""
    return [int(document["record_id"], 16) for _, document in opened.follow(limit=1_000_000)]


def assert_sound(path: Path) -> None:
    """Assert that SQLite finds no fault in the file, nor in its full-text index."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.execute("INSERT INTO search (search) VALUES ('integrity-check')")
    connection.close()


def make_version(path: Path, version: int) -> None:
    """Make a database as an older toolog would have left it."""
    connection = sqlite3.connect(path)
    for step in MIGRATIONS[:version]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("version", range(1, VERSION))
def test_an_older_store_is_migrated_with_its_records(tmp_path: Path, version: int) -> None:
    """A store of every older version is brought up to date when it is opened, and its records can be
    queried.
    """
    path = tmp_path / "calls.db"
    make_version(path, version)
    with store.open(tmp_path / "new.db") as new:
        new.write([documents.call(1)])
    with sqlite3.connect(path) as old:
        old.execute("ATTACH ? AS new", (str(tmp_path / "new.db"),))
        old.execute("INSERT INTO tool_calls SELECT * FROM new.tool_calls")
        old.execute("INSERT INTO shapes SELECT * FROM new.shapes")
        old.execute("UPDATE meta SET value = 2 WHERE key = 'next_id'")
    old.close()
    with pytest.raises(ConfigError, match="older store version"):
        store.open(path, read_only=True)
    with store.open(path) as opened:
        assert opened.record(documents.call(1)["record_id"]) == documents.call(1)
        assert opened.search("shoes") == [documents.call(1)]
        assert opened.size()["version"] == VERSION


def indexes_of(path: Path) -> dict[str, str]:
    """Return the statements of a database's indexes that came later than their tables."""
    connection = sqlite3.connect(path)
    found = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index'").fetchall())
    connection.close()
    return {name: sql for name, sql in found.items() if name in INDEXES}


def test_new_and_small_stores_have_their_indexes_at_once(tmp_path: Path) -> None:
    """A new store, and a small one of an older version, have every index when they are open."""
    make_version(tmp_path / "old.db", 2)
    assert indexes_of(tmp_path / "old.db") != INDEXES
    for name in ("old.db", "new.db"):
        store.open(tmp_path / name).close()
        assert indexes_of(tmp_path / name) == INDEXES


def test_a_large_older_store_opens_at_once_and_gets_its_indexes_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening reads no rows of a large store; the sink makes one index with each small batch, and then no
    more."""
    monkeypatch.setattr(connections, "SMALL", 0)
    path = tmp_path / "calls.db"
    make_version(path, 2)
    sink = SqliteSink(path=path)
    sink.connect()
    before = indexes_of(path)
    assert len(before) == 1
    made = []
    for number in range(len(INDEXES) + 2):
        document = orjson.dumps(documents.call(number))
        assert sink.write([SinkRecord(document, JSON)]) is None
        made.append(sum(sql == INDEXES[name] for name, sql in indexes_of(path).items()))
    sink.close()
    assert made == [1, 2, 3, 4, 4, 4]


def test_a_death_while_an_index_is_made_costs_nothing(tmp_path: Path) -> None:
    """A process that is killed in the middle of it leaves a sound store, and the next one makes the index."""
    path = tmp_path / "calls.db"
    make_version(path, 2)
    code = (
        "import os, signal, sys\n"
        "from tests import documents\n"
        "from toolog import store\n"
        "from toolog.store import connections, database\n"
        "connections.SMALL = 0\n"
        "opened = store.open(sys.argv[1])\n"
        "opened.write([documents.call(1)])\n"
        "make, die = database.make_next_index, lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
        "database.make_next_index = lambda connection: (make(connection), die())\n"
        "opened.improve()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert len(indexes_of(path)) == 1
    with store.open(path) as opened:
        assert opened.record(documents.call(1)["record_id"]) == documents.call(1)
        missing = opened.improve()
        while missing:
            missing = opened.improve()
    assert indexes_of(path) == INDEXES


def test_a_newer_store_is_left_alone(tmp_path: Path) -> None:
    """A store of a later version is a ConfigError that says what to do, and not a byte of it changes."""
    path = tmp_path / "calls.db"
    store.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="newer toolog"):
        store.open(path)
    assert path.read_bytes() == before


def test_somebody_elses_file_is_left_alone(tmp_path: Path) -> None:
    """A file that is no database, or one of another program, is a ConfigError and stays as it is."""
    text, other = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("my notes\n" * 100)
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = text.read_bytes(), other.read_bytes()
    with pytest.raises(ConfigError, match="not a SQLite database"):
        store.open(text)
    with pytest.raises(ConfigError, match="another program"):
        store.open(other)
    assert (text.read_bytes(), other.read_bytes()) == before


def test_a_damaged_store_is_told_and_kept(tmp_path: Path) -> None:
    """Damage is SinkUnavailable with the file's name and what to do; the file is neither moved nor
    emptied.
    """
    path = tmp_path / "calls.db"
    with store.open(path) as opened:
        opened.write(documents.call(number) for number in range(500))
    data = bytearray(path.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    path.write_bytes(data)
    with pytest.raises(SinkUnavailable, match="move the file away"):
        store.open(path)
    assert path.stat().st_size == len(data)


def test_a_missing_store_is_not_made_by_a_reader(tmp_path: Path) -> None:
    """Reading where there is no store is a ConfigError and makes no file."""
    with pytest.raises(ConfigError, match="there is no store"):
        store.open(tmp_path / "calls.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    """A path below a file is SinkUnavailable."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkUnavailable, match="file"):
        store.open(tmp_path / "file" / "calls.db")


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    """A store opened to read refuses to write, and searches what is not indexed all the same."""
    path = tmp_path / "calls.db"
    with store.open(path) as writer:
        writer.write([documents.call(1)])
        with store.open(path, read_only=True) as reader:
            with pytest.raises(SinkUnavailable, match="read only"):
                reader.write([documents.call(2)])
            assert reader.size()["not_indexed"] == 1
            assert reader.search("shoes") == [documents.call(1)]


@pytest.mark.slow
def test_two_programs_write_one_store(tmp_path: Path) -> None:
    """Two processes that store at the same time lose and mix up nothing."""
    path = tmp_path / "calls.db"
    programs = [run_writer(path, 0, 3000, 100), run_writer(path, 10_000, 3000, 100)]
    for program in programs:
        program.communicate(timeout=60)
        assert program.returncode == 0
    with store.open(path) as opened:
        found = ids(opened)
        assert sorted(found) == [*range(3000), *range(10_000, 13_000)]
        assert [n for n in found if n < 10_000] == list(range(3000))
        assert opened.size()["records"]["tool_calls"] == 6000
    assert_sound(path)


def test_readers_see_whole_batches_and_hold_up_nobody(tmp_path: Path) -> None:
    """While another process writes, every answer is made of whole batches; a long reader does not stop the
    writer.
    """
    path = tmp_path / "calls.db"
    with store.open(path) as opened:
        opened.write([documents.call(999_999)])
        held = opened._database.reading()
        connection = held.__enter__()
        connection.execute("SELECT count(*) FROM tool_calls").fetchone()
        program = run_writer(path, 0, 4000, 50)
        with store.open(path, read_only=True) as reader:
            while program.poll() is None:
                assert reader.size()["records"]["tool_calls"] % 50 == 1
        program.communicate()
        assert program.returncode == 0
        assert connection.execute("SELECT count(*) FROM tool_calls").fetchone() == (1,)
        held.__exit__(None, None, None)
        assert opened.size()["records"]["tool_calls"] == 4001


@pytest.mark.parametrize("after", [1, 4, 9, 15])
def test_a_killed_writer_loses_nothing_it_reported(tmp_path: Path, after: int) -> None:
    """After kill -9 at any time the store is sound and holds every batch that was reported, each record
    once.
    """
    path = tmp_path / "calls.db"
    program = run_writer(path, 0, 1_000_000, 40)
    assert program.stdout is not None
    reported = 0
    for _ in range(after):
        reported = int(program.stdout.readline())
    program.kill()
    reported = max([reported, *map(int, program.stdout.read().split())])
    program.wait()
    program.stdout.close()
    with store.open(path) as opened:
        found = ids(opened)
        assert found == list(range(len(found)))
        assert len(found) >= reported
        opened.write(documents.call(number) for number in range(len(found) + 5))
        assert ids(opened) == list(range(len(found) + 5))
    assert_sound(path)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_store_works_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    """Parent and forked child use the same Store object, each with connections of its own; nothing is lost or
    mixed.
    """
    path = tmp_path / "calls.db"
    opened = store.open(path)
    opened.write([documents.call(0)])
    opened.size()
    children = []
    for child in range(1, 5):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for number in range(child * 100, child * 100 + 50):
                    opened.write([documents.call(number)])
                code = 0 if len(ids(opened)) >= 51 else 2
            finally:
                os._exit(code)
        children.append(pid)
        opened.write([documents.call(child)])
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 4
    expected = {0, 1, 2, 3, 4, *(child * 100 + n for child in range(1, 5) for n in range(50))}
    assert set(ids(opened)) == expected
    opened.close()
    assert_sound(path)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_during_a_write_neither_hangs_nor_harms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forks while a thread writes: children write too (or are told that they cannot now), and the store stays
    sound.
    """
    path = tmp_path / "calls.db"
    monkeypatch.setattr(connections, "BUSY_MS", 500)
    opened = store.open(path)
    stop = threading.Event()
    written = []

    def write() -> None:
        number = 0
        while not stop.is_set():
            opened.write(documents.call(n) for n in range(number, number + 200))
            number += 200
            written.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    children = []
    for child in range(8):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                opened.write([documents.call(10_000_000 + child)])
                code = 0
            except SinkUnavailable:
                code = 3
            finally:
                os._exit(code)
        children.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    stop.set()
    writer.join()
    assert set(codes) <= {0, 3}
    found = set(ids(opened))
    assert set(range(written[-1])) <= found
    assert {10_000_000 + child for child, code in enumerate(codes) if code == 0} <= found
    opened.close()
    assert_sound(path)


def test_a_locked_store_is_unavailable_and_then_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program that holds the write lock makes a batch SinkUnavailable; the same batch is stored
    afterwards.
    """
    monkeypatch.setattr(connections, "BUSY_MS", 50)
    path = tmp_path / "calls.db"
    with store.open(path) as opened:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SinkUnavailable, match="locked"):
            opened.write([documents.call(1)])
        other.execute("ROLLBACK")
        other.close()
        assert opened.write([documents.call(1)]).stored == 1


@pytest.fixture
def small_files() -> Iterator[None]:
    """Let no file of this process grow beyond 1 MiB: the kernel then fails writes as it does on a full
    disk.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_is_unavailable_and_loses_nothing(tmp_path: Path, small_files: None) -> None:
    """A batch for which there is no room is SinkUnavailable; what was stored stays, and smaller ones still go
    in.
    """
    path = tmp_path / "calls.db"
    with store.open(path) as opened:
        opened.write([documents.call(1)])
        with pytest.raises(SinkUnavailable, match=r"calls\.db"):
            opened.write(documents.call(number, output="x" * 5000) for number in range(2, 1000))
        assert ids(opened) == [1]
        assert opened.write([documents.call(2)]).stored == 1
    assert_sound(path)


@pytest.mark.parametrize("way", ["deleted", "replaced"])
def test_a_store_that_is_taken_away_is_made_again(tmp_path: Path, way: str) -> None:
    """When the file is deleted or replaced while it is written, records go to the file at the path, not into
    nowhere.
    """
    path = tmp_path / "deep" / "calls.db"
    with store.open(path) as opened, store.open(path, read_only=True) as reader:
        opened.write([documents.call(1)])
        assert ids(opened) == ids(reader) == [1]
        path.parent.rename(tmp_path / "taken")
        if way == "replaced":
            with store.open(path) as other:
                other.write([documents.call(2)])
        assert opened.write([documents.call(3)]).stored == 1
        assert ids(opened) == ids(reader) == ([2, 3] if way == "replaced" else [3])
    assert_sound(path)
    assert_sound(tmp_path / "taken" / "calls.db")


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_many_processes_make_the_store_at_once(tmp_path: Path) -> None:
    """Processes that open a store that is not there yet all succeed: one makes it, the others wait."""
    path = tmp_path / "calls.db"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_store_one, args=(path, number)) for number in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    with store.open(path) as opened:
        assert sorted(ids(opened)) == list(range(6))


def _store_one(path: Path, number: int) -> None:
    with store.open(path) as opened:
        opened.write([documents.call(number)])


@pytest.mark.slow
def test_the_log_is_moved_into_the_database_while_writing_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write-ahead log stays bounded under steady writing, and all records are in the database at the
    end.
    """
    monkeypatch.setattr(log_mover, "LOG_BYTES", 256 * 1024)
    monkeypatch.setattr(log_mover, "LOG_LIMIT", 1024 * 1024)
    path = tmp_path / "calls.db"
    log = Path(f"{path}-wal")
    largest = 0
    with store.open(path) as opened:
        for start in range(0, 6000, 100):
            opened.write(documents.call(number, output="x" * 2000) for number in range(start, start + 100))
            largest = max(largest, log.stat().st_size)
        assert largest < 3 * 1024 * 1024
        assert ids(opened) == list(range(6000))
    assert not log.exists()
    assert_sound(path)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_read_only_directory_can_be_read() -> None:
    """A store on a medium that may not be written is readable and can be searched."""
    with tempfile.TemporaryDirectory() as name:  # not tmp_path: other users may not look into that
        medium = Path(name)
        path = medium / "calls.db"
        with store.open(path) as opened:
            opened.write([documents.call(1)])
        medium.chmod(0o555)
        path.chmod(0o444)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                if os.getuid() == 0:  # root may write anywhere
                    os.setgid(65534)
                    os.setuid(65534)
                with store.open(path, read_only=True) as reader:
                    code = 0 if len(reader.calls()) == len(reader.search("shoes")) == 1 else 2
            finally:
                os._exit(code)
        status = os.waitpid(pid, 0)[1]
        medium.chmod(0o755)
        assert os.waitstatus_to_exitcode(status) == 0


def test_threads_share_a_store(tmp_path: Path) -> None:
    """Several threads write and read through one Store."""
    failures: list[BaseException] = []
    with store.open(tmp_path / "calls.db") as opened:

        def work(thread: int) -> None:
            try:
                for number in range(30):
                    opened.write([documents.call(thread * 1000 + number)])
                    opened.calls(limit=5)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(ids(opened)) == 120


def test_open_takes_the_time_that_a_lock_may_last(tmp_path: Path) -> None:
    """The default wait for another writer is seconds, not none: a short lock is waited for."""
    path = tmp_path / "calls.db"
    with store.open(path) as opened:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        released = threading.Event()

        def let_go() -> None:
            released.set()
            other.execute("ROLLBACK")

        release = threading.Timer(0.2, let_go)
        release.start()
        assert opened.write([documents.call(1)]).stored == 1
        assert released.is_set()
        release.join()
        other.close()
