"""`toolog ship` when sinks come and go, signals come at bad times, and root looks in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import ormsgpack
import pytest

from tests.cli.conftest import Shell
from tests.cli.shippers import (
    CONFIG,
    IN_TIME,
    Ship,
    no_shipper_left,  # noqa: F401 - a fixture
    stored,
    write,
)
from tests.helpers import wait_until
from tests.pipeline.programs import arrived, waiting
from toolog.sinks.base import SinkRecord
from toolog.sinks.file import FileSink
from toolog.spool import Spool

ONE = '[sinks.out]\ntype = "file"\npath = "out.jsonl"\nbatch = { max_age = 0.01 }\n'
TWO = ONE + '[sinks.down]\ntype = "moody:Moody"\npath = "down.jsonl"\n'
MOODY = """
import os, time
from toolog.errors import SinkUnavailable
from toolog.sinks.base import BatchLimits
from toolog.sinks.file import FileSink
class Moody(FileSink):
    max_backoff = 0.1
    def write(self, batch):
        if os.path.exists("down"):
            raise SinkUnavailable("the place is closed", tells=True)
        return super().write(batch)
class Slow(FileSink):
    def __init__(self, *, name, path, **options):
        super().__init__(name=name, path=path)
    batch = BatchLimits(max_records=1000, max_age=0.01)
    timeout = 60.0
    def write(self, batch):
        with open("begun", "a") as file:
            file.write("x")
        while os.path.exists("slow"):
            time.sleep(0.02)
        return super().write(batch)
"""
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with sinks that are down while there is a file `down`, or slow while there is one `slow`."""
    (tmp_path / "moody.py").write_text(MOODY)
    return tmp_path


def test_records_for_a_sink_that_is_left_out_stay(folder: Path) -> None:
    """A shipper without one of the sinks ships to the others, keeps what waits for that one, says so, and
    exits with 1; the sink has everything once when it is back.
    """
    (folder / "down").touch()
    write(folder, 0, 50)
    ship = Ship(folder, config=TWO)
    wait_until(lambda: len(arrived(folder)) == 50, "the other sink")
    assert ship.end() == 0
    assert ship.events[-1]["in_spool"] == {"out": 0, "down": 50}
    ship = Ship(folder, "--once", config=ONE)
    assert ship.result() == 1
    assert ship.events[-1]["in_spool"] == {"out": 0, "down": 50}
    assert "holds records for down" in str([event for event in ship.events if event["event"] == "trouble"])
    (folder / "down").unlink()
    ship = Ship(folder, "--once", config=TWO)
    assert ship.result() == 0
    assert arrived(folder) == arrived(folder, "down.jsonl") == dict.fromkeys(range(50), 1)
    assert not list((folder / "spool").glob("*.seg"))


def test_a_sink_taken_out_by_hangup_keeps_its_records_until_it_is_forgotten(folder: Path) -> None:
    """SIGHUP without a sink: what waits for it stays, later records do not wait for it; --forget gives it up
    while the shipper runs, tells how many, and refuses what is configured or not there.
    """
    (folder / "down").touch()
    write(folder, 0, 30)
    ship = Ship(folder, config=TWO)
    wait_until(lambda: len(arrived(folder)) == 30, "the other sink")
    (folder / "ship.toml").write_text(ONE)
    ship.process.send_signal(signal.SIGHUP)
    ship.wait_for("reloaded")
    write(folder, 30, 40)
    wait_until(lambda: len(arrived(folder)) == 40, "the later records")
    shell = Shell(folder)
    words = ("ship", "spool", "--config", "ship.toml")
    (status,) = shell(*words, "--status", "--json").rows
    assert (status["in_spool"], status["unserved"]) == ({"out": 0, "down": 30}, ["down"])
    assert "down: 30 records to ship, 0 dead letters; no sink" in shell(*words, "--status").out
    for sink, told in (("out", "is configured"), ("donw", "there is: down")):
        done = shell(*words, "--forget", sink)
        assert (done.code, told in done.err) == (2, True), done.err
    done = shell(*words, "--forget", "down")
    assert (done.code, done.out) == (0, "30 records that waited for down are given up\n"), done.err
    wait_until(lambda: not list((folder / "spool").glob("*.seg")), "the segments to go")
    assert ship.end() == 0
    assert ship.events[-1]["in_spool"] == {"out": 0}


def test_hangup_during_a_write_gives_no_record_twice(folder: Path) -> None:
    """A reload that the sink's write outlasts: the records are written and counted once, and the sink is
    served on by the new configuration when that write has returned.
    """
    (folder / "slow").touch()
    write(folder, 0, 40)
    ship = Ship(folder, config='[sinks.out]\ntype = "moody:Slow"\npath = "out.jsonl"\n')
    wait_until((folder / "begun").exists, "the write")
    ship.wait_for("shipping")
    ship.process.send_signal(signal.SIGHUP)
    ship.wait_for("reloaded")
    ship.wait_for("shipping", 2)
    time.sleep(0.5)
    assert (folder / "begun").read_text() == "x"
    (folder / "slow").unlink()
    write(folder, 40, 60)
    wait_until(lambda: len(arrived(folder)) == 60, "everything")
    wait_until(lambda: not waiting(folder), "the acknowledgements")
    assert ship.end() == 0
    assert arrived(folder) == dict.fromkeys(range(60), 1)
    assert ship.events[-1]["stored"] == {"out": 60}
    assert "delivered again" not in str(ship.events)


def test_signal_during_a_reload_ends_in_time(folder: Path) -> None:
    """SIGHUP and then SIGTERM while a write does not return: the end takes no longer than without SIGHUP."""
    (folder / "slow").touch()
    write(folder, 0, 10)
    ship = Ship(folder, config='[sinks.out]\ntype = "moody:Slow"\npath = "out.jsonl"\n')
    wait_until((folder / "begun").exists, "the write")
    ship.process.send_signal(signal.SIGHUP)
    time.sleep(1.5)
    began = time.monotonic()
    assert ship.end() == 0
    assert time.monotonic() - began < IN_TIME
    assert ship.count("reloaded") == 0
    ship = Ship(folder, config='[sinks.out]\ntype = "moody:Slow"\npath = "out.jsonl"\n')
    wait_until(lambda: (folder / "begun").read_text() == "xx", "the write")
    ship.process.send_signal(signal.SIGHUP)
    ship.wait_for("reloaded")
    began = time.monotonic()
    assert ship.end() == 0  # the write of before the reload still hangs
    assert time.monotonic() - began < IN_TIME


def test_hangup_at_any_moment_of_the_start_is_survived(folder: Path) -> None:
    """However early SIGHUP comes, the process goes on to ship."""
    for delay in (0.05, 0.2, 0.5):
        ship = Ship(folder, config=ONE)
        wait_until(lambda ship=ship: _is_ours(ship.process.pid), "the command to begin")  # type: ignore[misc]
        time.sleep(delay)
        ship.process.send_signal(signal.SIGHUP)
        ship.wait_for("shipping")
        assert ship.end() == 0


def _is_ours(pid: int) -> bool:
    """Tell whether SIGHUP is caught or ignored by a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    masks = {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines}
    return bool((int(masks["SigIgn"], 16) | int(masks["SigCgt"], 16)) >> (signal.SIGHUP - 1) & 1)


def test_second_signal_ends_at_once(folder: Path) -> None:
    """It does not depend on what the system does with the signal: the first process of a container has no
    default for it.
    """
    (folder / "slow").touch()
    write(folder, 0, 10)
    ship = Ship(folder, config='[sinks.out]\ntype = "moody:Slow"\npath = "out.jsonl"\n')
    wait_until((folder / "begun").exists, "the write")
    ship.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    began = time.monotonic()
    assert ship.end() == 128 + signal.SIGTERM
    assert time.monotonic() - began < IN_TIME


def test_damage_is_told_and_is_no_success(folder: Path) -> None:
    """With --once a damaged frame stands in the last event and makes the exit code 1."""
    write(folder, 0, 20)
    (segment,) = (folder / "spool").glob("*.seg")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 255
    segment.write_bytes(content)
    ship = Ship(folder, "--once", config=ONE)
    assert ship.result() == 1
    assert ship.events[-1]["damaged"] == {"out": 1}
    assert len(arrived(folder)) == 19


def test_a_large_backlog_holds_up_neither_the_end_nor_the_figures(folder: Path) -> None:
    """200,000 records for two sinks that are down: SIGTERM ends the process within 5 seconds."""
    (folder / "down").touch()
    writer = Spool(folder / "spool").writer()
    for _ in range(200):
        writer.append_many([(20, 0, b"x" * 300)] * 1000)
    writer.close()
    config = TWO.replace('type = "file"', 'type = "moody:Moody"')
    ship = Ship(folder, config=config)
    ship.wait_for("started")
    time.sleep(0.3)
    began = time.monotonic()
    assert ship.end() == 0
    assert time.monotonic() - began < IN_TIME
    (status,) = Shell(folder)("ship", "spool", "--config", "ship.toml", "--status", "--json").rows
    assert status["in_spool"] == {"out": 200_000, "down": 200_000}


def test_status_makes_nothing_and_names_all_that_have_something_there(folder: Path) -> None:
    """--status leaves the folder as it is, does not make a spool, and lists letters of unknown sinks too."""
    write(folder, 0, 5)
    (folder / "ship.toml").write_text(ONE)
    before = sorted(folder.rglob("*"))
    shell = Shell(folder)
    words = ("ship", "--config", "ship.toml", "--status", "--json")
    assert shell(*words[:1], "spool", *words[1:]).code == 1
    assert sorted(folder.rglob("*")) == before
    done = shell(*words)
    assert done.code == 2
    assert "there is no spool at" in done.err
    assert not (folder / ".toolog").exists()
    box = Spool(folder / "spool").dead_letters("gone")
    box.write_bytes(b'{"record":{"record_id":"a"},"reason":"no"}\n')
    (status,) = shell(*words[:1], "spool", *words[1:]).rows
    assert status["dead_letters"] == {"out": 0, "gone": 1}
    assert status["unserved"] == ["gone"]
    assert shell("dead-letters", "retry", "--spool", "spool").code == 0
    (status,) = shell(*words[:1], "spool", *words[1:]).rows
    assert status["in_spool"] == {"out": 5, "gone": 1}


@ROOT
def test_root_leaves_no_file_that_the_service_cannot_open(folder: Path) -> None:
    """What root's commands make in a folder of somebody else belongs to that one: cursors, letters, segments,
    lock, and the file of a file sink.
    """
    write(folder, 0, 5)
    spool = folder / "spool"
    box = Spool(spool).dead_letters("out")
    lines = [b'{"record":{"record_id":"%d"},"reason":"no"}\n' % number for number in range(3)]
    box.write_bytes(b"".join(lines))
    (folder / "ship.toml").write_text(ONE)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 12345, 12346)
    shell = Shell(folder)
    assert shell("ship", "spool", "--config", "ship.toml", "--status").code == 1
    assert shell("dead-letters", "drop", "0", "--spool", "spool", "--yes").code == 0
    assert shell("dead-letters", "retry", "1", "--spool", "spool", "--config", "ship.toml").code == 0
    assert Ship(folder, "--once", config=ONE).result() == 0
    ours = [
        path
        for path in (folder / "out.jsonl", *spool.rglob("*"))
        if (path.stat().st_uid, path.stat().st_gid) != (12345, 12346)
    ]
    assert ours == []


def test_last_words_do_not_add_up_sinks(folder: Path) -> None:
    """Each sink has figures of its own: five records for two sinks are not ten."""
    write(folder, 0, 5)
    (folder / "ship.toml").write_text(CONFIG)
    done = subprocess.run(
        [Path(sys.executable).with_name("toolog"), "ship", "spool", "--config", "ship.toml", "--once"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "stored: 5 for out, 5 for store; left in the spool: nothing" in done.stdout
    assert " 10 " not in done.stdout
    assert len(stored(folder)) == 5


@ROOT
def test_rotation_by_root_keeps_the_owner(folder: Path) -> None:
    """The new file and the packed old one belong to whom the old one did, also in a folder of root's."""
    file = folder / "out.jsonl"
    file.write_bytes(b"{}\n")
    os.chown(file, 12345, 12346)
    sink = FileSink(path=file, max_size=1, compress=True)
    sink.connect()
    for _ in range(3):
        sink.write([SinkRecord(ormsgpack.packb({"event": "log"}), level=20)])
    sink.close()
    files = list(folder.glob("out*"))
    assert len(files) >= 3
    assert {(path.stat().st_uid, path.stat().st_gid) for path in files} == {(12345, 12346)}
