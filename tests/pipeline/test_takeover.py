"""Processes that do not ship: what they are owed by the one that does, and how they take over from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shippers import (
    CONFIG,
    Ship,
    no_shipper_left,  # noqa: F401 - a fixture
    wait_until,
)
from tests.pipeline.programs import arrived, ledger, run, start, waiting
from toolog.spool import ShipperLock, Spool
from toolog.spool.room import NAME, ask_for_room, room_asked_for


def test_taking_over_goes_on_where_the_other_one_was(tmp_path: Path) -> None:
    """A process that served its sink from memory while another one shipped reads the cursor again when it
    takes over: nothing is cut off the file, and nothing comes twice.
    """
    lock = ShipperLock(Spool(tmp_path / "spool").directory)
    assert lock.try_acquire()
    program = start(
        """
        from toolog.pipeline.outlet import Outlet
        made = handler(spool={"path": "spool", "segment_size": 4096})
        log = attach(made)
        log.info("0")
        while made.pipeline.shipping.is_shipper or not made.pipeline.outlet.spool.segments():
            time.sleep(0.01)
        # Its disk fails: records are held in memory, for which it has a thread for the sink.
        right, Outlet._to_disk = Outlet._to_disk, lambda self, frames: frames
        Outlet.recover = lambda self: False
        made.pipeline.outlet.degraded = True
        log.info("1")
        while not made.pipeline.shipping.runners:
            time.sleep(0.01)
        print("go", flush=True)
        while not os.path.exists("go-on"):
            time.sleep(0.01)
        while not made.pipeline.shipping.is_shipper:
            time.sleep(0.01)
        assert flush(20), stats()
        os._exit(0)
        """,
        tmp_path,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "go\n"
    wait_until(lambda: arrived(tmp_path) == {1: 1}, "the record that memory held")
    program.send_signal(19)  # it stops while the other one ships
    lock.release()
    run(
        """
        made = handler(spool={"path": "spool", "segment_size": 4096}, sinks={
            "out": {"type": "file", "path": "other.jsonl", "batch": {"max_age": 0.01}}})
        log = attach(made)
        for number in range(100, 200):
            log.info("%d", number)
        assert flush(20), stats()
        """,
        tmp_path,
    )
    assert sorted(arrived(tmp_path, "other.jsonl")) == [0, *range(100, 200)]
    (tmp_path / "go-on").touch()
    program.send_signal(18)
    _, complaints = program.communicate(timeout=60)
    assert program.returncode == 0, complaints
    assert arrived(tmp_path) == {1: 1}


@pytest.mark.parametrize("moment", ["between two tries", "in the sink"])
def test_what_is_in_hand_when_the_cursor_is_read_again_is_not_stored_twice(
    moment: str, tmp_path: Path
) -> None:
    """The right to ship is lost and won again while a batch waits to be tried again, or is being written:
    the batch comes once more from the cursor, and stands in the file once.
    """
    run(
        """
        from toolog.errors import SinkUnavailable
        from toolog.sinks.file import FileSink
        class Gate(FileSink):
            tries = 0
            def write(self, batch):
                Gate.tries += 1
                if sys.argv[1] == "in the sink":
                    answer = super().write(batch)
                    wait(lambda: os.path.exists("open"))
                    return answer
                if not os.path.exists("open"):
                    raise SinkUnavailable("closed")
                return super().write(batch)
        made = handler(sinks={"out": {"type": "__main__:Gate", "path": "out.jsonl"}})
        log = attach(made)
        for number in range(10):
            log.info("%d", number)
        wait(lambda: Gate.tries)
        os.unlink("spool/shipper.lock")
        wait(lambda: os.path.exists("spool/shipper.lock") and made.pipeline.shipping.is_shipper)
        open("open", "w").close()
        assert flush(30), stats()
        assert stats()["stored"] == {"out": 10}, stats()
        made.close()
        """,
        tmp_path,
        moment,
    )
    assert arrived(tmp_path) == dict.fromkeys(range(10), 1)


def test_room_is_asked_for_and_made_by_the_shipper(tmp_path: Path) -> None:
    """A spool full of DEBUG records, nobody reads it, and an application that does not ship has an ERROR: the
    shipper gives up DEBUG records for it, and both tell what was lost.
    """
    (tmp_path / "stuck.py").write_text(
        "from toolog.errors import SinkUnavailable\n"
        "from toolog.sinks.file import FileSink\nimport os\n"
        "class Stuck(FileSink):\n"
        "    def write(self, batch):\n"
        "        if not os.path.exists('open'): raise SinkUnavailable('no')\n"
        "        return super().write(batch)\n"
    )
    config = 'spool = { max_size = "256 KiB" }\n' + CONFIG.replace('"file"', '"stuck:Stuck"').replace(
        "INFO", "DEBUG"
    ).replace(', "store"', "")
    ship = Ship(tmp_path, config=config)
    ship.wait_for("shipping")
    writer = """
    made = handler(ship="none", spool={"path": "spool", "max_size": "256 KiB"}, queue={"max_records": 20})
    log = attach(made)
    number = 0
    while not stats()["dropped"]:
        log.debug("%d", number, extra={"filling": "x" * 500})
        number += 1
    for number in range(1_000_000, 1_000_010):
        log.error("%d", number)
    note = open_ledger()
    deadline = time.monotonic() + 40
    while not flush(0.2) and time.monotonic() < deadline:
        pass
    dropped = stats()["dropped"]
    assert set(dropped) == {"queue_full"} and set(dropped["queue_full"]) == {"DEBUG"}, dropped
    assert not made.pipeline.held.frames
    """
    run(writer, tmp_path)
    assert {number for number in waiting(tmp_path) if number >= 1_000_000} == set(range(1_000_000, 1_000_010))
    (tmp_path / "open").touch()
    wait_until(lambda: not waiting(tmp_path), "the spool to be empty")
    assert ship.end() == 0
    dropped = ship.wait_for("stopped")["dropped"]
    assert set(dropped) == {"spool_full"}
    assert set(dropped["spool_full"]) == {"DEBUG"}
    assert {number for number in arrived(tmp_path) if number >= 1_000_000} == set(range(1_000_000, 1_000_010))
    assert not ledger(tmp_path)


def test_the_highest_level_that_waits_for_room_counts(tmp_path: Path) -> None:
    """What several processes ask for is answered once, for the highest of their levels."""
    assert room_asked_for(tmp_path) is None
    for level in (10, 40, 20):
        ask_for_room(tmp_path, level)
    assert room_asked_for(tmp_path) == 40
    assert room_asked_for(tmp_path) is None
    (tmp_path / NAME).write_bytes(b"\xff\x00 rubbish")
    assert room_asked_for(tmp_path) is None
    assert not (tmp_path / NAME).exists()
    ask_for_room(tmp_path / "nowhere", 10)


def test_a_write_that_returns_after_the_right_is_lost_moves_no_cursor(tmp_path: Path) -> None:
    """A sink that hangs while its process gives up shipping, and returns when another one has shipped: its
    acknowledgement does not turn back the other's cursor.
    """
    program = start(
        """
        from toolog.sinks.memory import MemorySink
        class Slow(MemorySink):
            def write(self, batch):
                print("go", flush=True)
                while not os.path.exists("return"):
                    time.sleep(0.01)
                return super().write(batch)
        made = handler(sinks={"out": {"type": "__main__:Slow"}}, shutdown_timeout=0.1)
        log = attach(made)
        log.info("0")
        while not made.pipeline.shipping.runners or not made.pipeline.shipping.runners[0].busy:
            time.sleep(0.01)
        made.close()
        print("closed", flush=True)
        while not os.path.exists("return"):
            time.sleep(0.01)
        time.sleep(0.5)
        os._exit(0)
        """,
        tmp_path,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "go\n"
    assert program.stdout.readline() == "closed\n"
    run(
        """
        log = attach(handler())
        for number in range(1, 50):
            log.info("%d", number)
        assert flush(20), stats()
        """,
        tmp_path,
    )
    before = (tmp_path / "spool" / "cursors" / "out.cursor").read_bytes()
    (tmp_path / "return").touch()
    _, complaints = program.communicate(timeout=60)
    assert program.returncode == 0, complaints
    assert (tmp_path / "spool" / "cursors" / "out.cursor").read_bytes() == before
    assert arrived(tmp_path) == dict.fromkeys(range(50), 1)
