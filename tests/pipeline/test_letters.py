"""Dead letters that are sent again or dropped: each once, whoever dies in between."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from tests.pipeline.programs import assert_complete, run
from toolog import counters
from toolog.errors import ConfigError
from toolog.pipeline import letters
from toolog.pipeline.dead_letters import DeadLetters
from toolog.pipeline.letters import Letter, drop, read_letters, send_again, settle
from toolog.sinks.base import JSON, SinkRecord
from toolog.spool import Spool, iter_frames, pending

BOUND = 1 << 20


def bury(spool: Path, sink: str, *messages: str, reason: str = "too blue") -> None:
    """Have a sink refuse a record for each message."""
    box = DeadLetters(lambda: Spool(spool).dead_letters(sink), sink, 1 << 20)
    for message in messages:
        document = {"record_id": f"id-{message}", "event": "log", "level": "ERROR", "message": message}
        box.write([(SinkRecord(ormsgpack.packb(document), level=40), reason, "rejected")])


def messages_of(found: list[Letter]) -> list[str]:
    """Return the messages of the letters' records."""
    return [letter.record["message"] for letter in found]


def in_spool(spool: Path, sink: str) -> list[str]:
    """Return the messages that a sink has still to get."""
    return [json.loads(frame.payload)["message"] for frame in pending(spool, sink)]


def test_letters_are_chosen_by_sink_reason_and_id(tmp_path: Path) -> None:
    """Each filter chooses what it says; an unknown sink or id is an error that names the nearest."""
    bury(tmp_path, "search", "1", "2")
    bury(tmp_path, "search", "3", reason="too large: 20 MB")
    bury(tmp_path, "archive", "4")
    assert messages_of(read_letters(tmp_path)) == ["4", "1", "2", "3"]
    assert messages_of(read_letters(tmp_path, sink="search")) == ["1", "2", "3"]
    assert messages_of(read_letters(tmp_path, reason="TOO LARGE")) == ["3"]
    assert messages_of(read_letters(tmp_path, reason="too large: * MB")) == ["3"]
    assert messages_of(read_letters(tmp_path, ids=["id-2", "id-4"])) == ["4", "2"]
    assert messages_of(read_letters(tmp_path, reason="rejected")) == ["4", "1", "2", "3"]
    with pytest.raises(ConfigError, match="did you mean 'search'"):
        read_letters(tmp_path, sink="serch")
    with pytest.raises(ConfigError, match="begins with 'id-9'"):
        read_letters(tmp_path, ids=["id-9"])


def test_sending_again_is_for_the_sink_that_refused(tmp_path: Path) -> None:
    """What is sent again is in the spool for its own sink, with its level, and gone from the letters; no
    other sink sees it.
    """
    bury(tmp_path, "search", "1", "2", "3")
    chosen = read_letters(tmp_path, ids=["id-1", "id-3"])
    assert send_again(tmp_path, chosen, max_size=BOUND) == 2
    assert in_spool(tmp_path, "search") == ["1", "3"]
    assert in_spool(tmp_path, "archive") == []
    assert messages_of(read_letters(tmp_path)) == ["2"]
    assert {(frame.levelno, frame.serializer) for frame in iter_frames(tmp_path)} == {(40, JSON)}
    assert send_again(tmp_path, chosen, max_size=BOUND) == 0


def test_a_record_that_was_refused_twice_is_sent_once(tmp_path: Path) -> None:
    """After a crash a sink may refuse the same record again: both letters go, and it is sent once."""
    bury(tmp_path, "search", "1", "2", "1")
    assert send_again(tmp_path, read_letters(tmp_path, ids=["id-1"]), max_size=BOUND) == 2
    assert in_spool(tmp_path, "search") == ["1"]
    assert messages_of(read_letters(tmp_path)) == ["2"]


def test_a_letter_that_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    """Where a crash came between the letters and the cursor, the same records make no second letter: those
    that are there count as kept, whether they are records or not.
    """
    box = DeadLetters(lambda: Spool(tmp_path).dead_letters("search"), "search", 1 << 20)
    good = SinkRecord(b'{"record_id": "id-1", "level": "ERROR"}', serializer=JSON, level=40)
    more = SinkRecord(b'{"record_id": "id-2", "level": "ERROR"}', serializer=JSON, level=40)
    odd = SinkRecord(b"\xc1nonsense", serializer=JSON, level=30)
    before = counters.value("dead_letters", sink="search")
    assert box.write([(good, "no", "rejected"), (odd, "no", "rejected")], once=True) == 0
    assert (
        box.write([(good, "no", "rejected"), (odd, "no", "rejected"), (more, "", "failed")], once=True) == 0
    )
    assert len(read_letters(tmp_path)) == 3
    assert counters.value("dead_letters", sink="search") - before == 5
    assert box.write([(good, "no", "rejected")]) == 0  # whoever knows that it is new may say so
    assert len(read_letters(tmp_path)) == 4


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_death_between_letters_and_cursor_makes_no_second_letter(tmp_path: Path, place: str) -> None:
    """A shipper that dies when its letters are written, and the cursor is not moved, leaves what comes after
    it to write none of them twice and each of them once.
    """
    script = """
    from toolog.sinks.base import Answer
    from toolog.sinks.file import FileSink
    from toolog.pipeline import runner
    class Picky(FileSink):
        def write(self, batch):
            bad = {one.record_id: "no" for one in batch if int(one.decode()["message"]) % 3 == 0}
            super().write([one for one in batch if one.record_id not in bad])
            return Answer(rejected=bad)
    if sys.argv[1] != "go":
        bury = runner.SinkRunner._bury
        def die(self, batch, number, **options):
            if sys.argv[1] == "after":
                bury(self, batch, number, **options)
            else:
                bury(self, batch, 5, **options)
            os.kill(os.getpid(), signal.SIGKILL)
        runner.SinkRunner._bury = die
    log = attach(handler(sinks={"out": {"type": "__main__:Picky", "path": "out.jsonl"}}))
    for number in range(30 if sys.argv[1] != "go" else 0):
        log.info("%d", number)
    assert flush(30), stats()
    """
    run(script, tmp_path, place, code=-9)
    assert read_letters(tmp_path / "spool")
    run(script, tmp_path, "go")
    assert sorted(map(int, messages_of(read_letters(tmp_path / "spool")))) == list(range(0, 30, 3))
    assert_complete(tmp_path, [number for number in range(30) if number % 3])


def test_bytes_that_are_no_record_come_back_as_they_were(tmp_path: Path) -> None:
    """A letter of unreadable bytes is sent again with exactly these, and its serializer."""
    box = DeadLetters(lambda: Spool(tmp_path).dead_letters("search"), "search", 1 << 20)
    box.write([(SinkRecord(b"\xc1\x00nonsense", serializer=JSON, level=30), "no JSON", "rejected")])
    (letter,) = read_letters(tmp_path)
    assert letter.status == "unreadable"
    send_again(tmp_path, [letter], max_size=BOUND)
    (frame,) = pending(tmp_path, "search")
    assert (frame.payload, frame.serializer, frame.levelno) == (b"\xc1\x00nonsense", JSON, 30)


def test_letters_of_an_earlier_version_go_by_their_records_level(tmp_path: Path) -> None:
    """A letter without `levelno` has the level that stands in its record."""
    line = {"sink": "search", "reason": "no", "status": "rejected", "time": "", "record": {"level": "ERROR"}}
    Spool(tmp_path).dead_letters("search").write_text(json.dumps(line) + "\n")
    (letter,) = read_letters(tmp_path)
    assert letter.levelno == 40
    assert letter.id.startswith("line-")


def test_no_room_in_the_spool_is_said_and_nothing_changes(tmp_path: Path) -> None:
    """What would not fit below the bound stays a dead letter."""
    bury(tmp_path, "search", "1")
    with pytest.raises(ConfigError, match="no room"):
        send_again(tmp_path, read_letters(tmp_path), max_size=1000)
    assert messages_of(read_letters(tmp_path)) == ["1"]
    assert in_spool(tmp_path, "search") == []


def test_dropping_deletes_the_chosen_ones_and_leaves_what_is_no_letter(tmp_path: Path) -> None:
    """Only what was chosen goes; a torn line stays where it is."""
    bury(tmp_path, "search", "1", "2")
    box = Spool(tmp_path).dead_letters("search")
    with box.open("ab") as target:
        target.write(b'{"sink": "search", "rea')
    assert drop(tmp_path, read_letters(tmp_path, ids=["id-1"])) == 1
    assert messages_of(read_letters(tmp_path)) == ["2"]
    assert box.read_bytes().endswith(b'\n{"sink": "search", "rea')


def test_a_disk_that_refuses_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the letters cannot be written anew, they stay, and nothing is sent."""
    bury(tmp_path, "search", "1")

    def refuse(box: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(letters, "_replace", refuse)
        with pytest.raises(OSError, match="No space"):
            send_again(tmp_path, read_letters(tmp_path), max_size=BOUND)
    assert messages_of(read_letters(tmp_path)) == ["1"]
    assert in_spool(tmp_path, "search") == []


DIE = """
from pathlib import Path
from toolog.pipeline import letters
step, where = sys.argv[1:]
right = getattr(letters, step)
def die(*given):
    if where == "behind":
        right(*given)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(letters, step, die)
letters.send_again(Path("spool"), letters.read_letters(Path("spool")), max_size=1 << 20)
"""


@pytest.mark.parametrize("where", ["before", "behind"])
@pytest.mark.parametrize("step", ["_write_segment", "_replace", "_publish"])
def test_a_death_in_the_middle_loses_and_doubles_nothing(tmp_path: Path, step: str, where: str) -> None:
    """Whoever sends again dies before or behind each step: after the next look, every record is either a
    dead letter or in the spool, once; a letter that came meanwhile is there too.
    """
    spool = tmp_path / "spool"
    bury(spool, "search", "1", "2", "3")
    run(DIE, tmp_path, step, where, code=-9)
    bury(spool, "search", "4")
    settle(spool)
    left, sent = messages_of(read_letters(spool)), in_spool(spool, "search")
    assert sorted(left + sent) == ["1", "2", "3", "4"]
    assert left in (["1", "2", "3", "4"], ["4"])
    assert sorted(path.name for path in (spool / "dead-letters").glob("[!.]*")) == ["search.jsonl"]
    committed = (step, where) in (("_replace", "behind"), ("_publish", "before"), ("_publish", "behind"))
    assert sent == (["1", "2", "3"] if committed else [])


def test_letters_written_meanwhile_are_not_lost(tmp_path: Path) -> None:
    """While one thread sends letters again and again, others write new ones: none is missing, none twice."""
    numbers = [str(number) for number in range(120)]

    def write(mine: list[str]) -> None:
        for number in mine:
            bury(tmp_path, "search", number)

    threads = [threading.Thread(target=write, args=(numbers[first::3],)) for first in range(3)]
    for thread in threads:
        thread.start()
    sent = 0
    while any(thread.is_alive() for thread in threads):
        if (tmp_path / "dead-letters" / "search.jsonl").exists():
            sent += send_again(tmp_path, read_letters(tmp_path), max_size=BOUND)
    left = messages_of(read_letters(tmp_path))
    assert sorted(left + in_spool(tmp_path, "search")) == sorted(numbers)
    assert len(left) == len(numbers) - sent


def test_a_shipper_sends_them_to_their_sink_and_counts(tmp_path: Path) -> None:
    """With a real shipper: what one of two file sinks refused is sent again while it runs, stands in its file
    once, in the other's once, and is counted as sent again.
    """
    printed = run(
        """
        from pathlib import Path
        from toolog.pipeline.letters import read_letters, send_again
        from toolog.sinks.base import Answer
        from toolog.sinks.file import FileSink
        refuses = True
        class Picky(FileSink):
            def write(self, batch):
                bad = {one.record_id: "no" for one in batch if one.decode()["message"] == "3" and refuses}
                super().write([one for one in batch if one.record_id not in bad])
                return Answer(bad) if bad else None
        made = handler(sinks={
            "picky": {"type": "__main__:Picky", "path": "picky.jsonl", "batch": {"max_age": 0.01}},
            "out": {"type": "file", "path": "out.jsonl", "batch": {"max_age": 0.01}}})
        log = attach(made)
        for number in range(6):
            log.error("%d", number)
        assert flush(20), stats()
        refuses = False
        assert send_again(Path("spool"), read_letters(Path("spool")), max_size=1 << 20) == 1
        wait(lambda: stats()["resent"])
        found = stats()
        print(json.dumps([found["resent"], found["stored"], found["dead_letters"], found["dropped"]]))
        """,
        tmp_path,
    )
    figures: list[Any] = json.loads(printed)
    assert figures == [{"picky": 1}, {"picky": 6, "out": 6}, {"picky": 1}, {}]
    for name in ("picky.jsonl", "out.jsonl"):
        lines = (tmp_path / name).read_text().splitlines()
        assert sorted(json.loads(line)["message"] for line in lines) == list("012345")
    assert not list((tmp_path / "spool").glob("*.seg"))
