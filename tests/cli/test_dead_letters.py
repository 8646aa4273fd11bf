"""`toolog dead-letters`: the command around what tests/pipeline/test_letters.py tests."""

from __future__ import annotations

from pathlib import Path

import ormsgpack
import pytest

from tests.cli.conftest import Done, Shell
from toolog.pipeline.dead_letters import DeadLetters
from toolog.sinks.base import SinkRecord
from toolog.spool import Spool, pending


@pytest.fixture
def refused(bare_shell: Shell) -> Shell:
    """A shell in a folder with a spool in which two sinks have refused records."""
    spool = bare_shell.folder / "spool"
    for sink, name, reason in (
        ("search", "a1", "mapper_parsing: [price]"),
        ("search", "a2", "too large\x1b[31m"),
        ("archive", "b1", "no such bucket"),
    ):
        document = {"record_id": name, "event": "log", "level": "ERROR", "tool_name": f"shop.{name}"}
        box = DeadLetters(lambda sink=sink: Spool(spool).dead_letters(sink), sink, 1 << 20)  # type: ignore[misc]
        box.write([(SinkRecord(ormsgpack.packb(document), level=40), reason, "rejected")])
    return bare_shell


def call(shell: Shell, *words: str, given: str = "") -> Done:
    """Run the command on the spool of the folder."""
    return shell("dead-letters", *words, "--spool", "spool", given=given)


def ids_left(shell: Shell) -> list[str]:
    """Return the ids that are still dead letters."""
    return [row["id"] for row in call(shell, "list", "--json").rows]


def test_list_shows_what_was_refused_and_why(refused: Shell) -> None:
    """A row for each letter, with nothing in it that a terminal would obey; --json has the record too."""
    done = call(refused, "list")
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines()] == ["id", "b1", "a1", "a2"]
    assert "mapper_parsing: [price]" in done.out
    assert "shop.b1" in done.out
    assert "\x1b" not in done.out
    (row,) = call(refused, "list", "--sink", "archive", "--json").rows
    assert row["id"] == "b1"
    assert row["sink"] == "archive"
    assert row["reason"] == "no such bucket"
    assert row["record"]["tool_name"] == "shop.b1"


def test_retry_puts_the_chosen_ones_into_the_spool(refused: Shell) -> None:
    """By sink and reason, or by the beginning of an id; the others stay."""
    done = call(refused, "retry", "--sink", "search", "--reason", "mapper")
    assert done.code == 0, done.err
    assert "1 records are in the spool again; they go to search (1)" in done.out
    assert ids_left(refused) == ["b1", "a2"]
    assert call(refused, "retry", "b", "--json").rows == [{"retried": 1}]
    assert ids_left(refused) == ["a2"]
    spool = refused.folder / "spool"
    assert [len(list(pending(spool, sink))) for sink in ("search", "archive")] == [1, 1]


def test_drop_asks_before_it_deletes(refused: Shell) -> None:
    """Where nobody can be asked, --yes is needed; then they are gone for good."""
    done = call(refused, "drop", "--sink", "search")
    assert done.code == 2
    assert "2 dead letters of search (2) would be deleted for good; say --yes" in done.err
    assert len(ids_left(refused)) == 3
    assert call(refused, "drop", "--sink", "search", "--yes", "--json").rows == [{"dropped": 2, "held": 0}]
    assert ids_left(refused) == ["b1"]
    assert not list((refused.folder / "spool").glob("*.seg"))


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("list", "--sink", "serch"), 2, "did you mean 'search'"),
        (("list", "zz"), 2, "begins with 'zz'"),
        (("list", "--reason", "nothing like it"), 1, "no dead letters"),
        (("retry", "--yes"), 2, "--yes belongs to drop"),
        (("burn",), 2, "'burn' is not one of"),
    ],
)
def test_what_cannot_be_done_is_said(refused: Shell, words: tuple[str, ...], code: int, told: str) -> None:
    """A wrong choice is one clear line, and an empty one its own exit code."""
    done = call(refused, *words)
    assert done.code == code
    assert told in done.err
    assert len(ids_left(refused)) == 3


def test_no_spool_is_named(bare_shell: Shell, tmp_path: Path) -> None:
    """Without a spool the error says where it was looked for."""
    done = bare_shell("dead-letters", "list")
    assert done.code == 2
    assert "no spool at .toolog/spool" in done.err


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("[price]", ["a1"]),
        ("*[price]", ["a1"]),
        ("mapper*[price]*", ["a1"]),
        ("MAPPER_PARSING: [", ["a1"]),
        ("[a-z]*", []),
        ("???*", []),
        ("no such ?ucket*", []),
        ("no*bucket", ["b1"]),
        ("rejected", ["b1", "a1", "a2"]),
    ],
)
def test_reason_is_taken_as_it_stands_but_for_the_asterisk(
    refused: Shell, reason: str, found: list[str]
) -> None:
    """Brackets and question marks in a reason mean themselves."""
    assert [row["id"] for row in call(refused, "list", "--reason", reason, "--json").rows] == found


def test_none_chosen_is_told_apart_from_none_there(refused: Shell) -> None:
    """Letters that the choice leaves out are not said to be absent."""
    done = call(refused, "list", "--reason", "elsewhere")
    assert done.code == 1
    assert "no dead letters are as asked for in spool" in done.err
    assert call(refused, "drop", "--yes").code == 0
    done = call(refused, "list")
    assert done.code == 1
    assert "no dead letters in spool" in done.err


def test_retry_for_a_sink_that_nobody_ships_to_is_refused(refused: Shell) -> None:
    """With a configuration that does not name the sink nothing is put into the spool; with one that does it
    is. Where none is known, that is said.
    """
    (refused.folder / "ship.toml").write_text('sinks = { search = { type = "file", path = "out.jsonl" } }\n')
    done = call(refused, "retry", "--config", "ship.toml")
    assert done.code == 2
    assert "ship.toml has no sink 'archive'" in done.err
    assert len(ids_left(refused)) == 3
    done = call(refused, "retry", "--config", "ship.toml", "--sink", "search")
    assert done.code == 0, done.err
    assert not done.err
    assert len(list(pending(refused.folder / "spool", "search"))) == 2
    done = call(refused, "retry")
    assert done.code == 0, done.err
    assert "no sinks are configured here" in done.err


def test_retry_keeps_to_the_bound_of_the_configuration(refused: Shell) -> None:
    """--config also says how large the spool may be, and where it is."""
    box = DeadLetters(lambda: Spool(refused.folder / "spool").dead_letters("search"), "search", 1 << 20)
    document = {"record_id": "a3", "event": "log", "level": "ERROR", "message": "x" * 70_000}
    box.write([(SinkRecord(ormsgpack.packb(document), level=40), "too large", "rejected")])
    (refused.folder / "small.toml").write_text(
        'spool = { path = "spool", max_size = "64 KiB" }\n'
        'sinks.search = { type = "memory" }\nsinks.archive = { type = "memory" }\n'
    )
    done = refused("dead-letters", "retry", "--config", "small.toml")
    assert done.code == 2
    assert "below its bound of 65536" in done.err
    assert "a3" in ids_left(refused)


def test_drop_leaves_what_is_on_hold(bare_shell: Shell) -> None:
    """A record with the tag hold stays and is counted; with nothing else to drop the exit code is 1."""
    spool = bare_shell.folder / "spool"
    box = DeadLetters(lambda: Spool(spool).dead_letters("search"), "search", 1 << 20)
    for name, tags in (("a1", {"hold": "case 7"}), ("a2", {"team": "shop"})):
        document = {"record_id": name, "event": "log", "level": "ERROR", "tags": tags}
        box.write([(SinkRecord(ormsgpack.packb(document), level=40), "refused", "rejected")])
    done = call(bare_shell, "drop", "--yes")
    assert done.code == 0, done.err
    assert "1 dead letters are deleted; 1 are on hold and stay" in done.out
    assert ids_left(bare_shell) == ["a1"]
    done = call(bare_shell, "drop", "--yes", "--json")
    assert done.code == 1
    assert done.rows == [{"dropped": 0, "held": 1}]


def test_a_torn_last_line_swallows_no_letter(bare_shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written behind a line without an end stands on a line of its own, and is on the disk when the
    durability asks for that.
    """
    synced: list[int] = []
    monkeypatch.setattr("toolog.pipeline.dead_letters.os.fdatasync", synced.append)
    box = Spool(bare_shell.folder / "spool").dead_letters("search")
    box.write_bytes(b'{"sink":"search","reas')
    letters = DeadLetters(lambda: box, "search", 1 << 20, sync=True)
    document = ormsgpack.packb({"record_id": "a1", "event": "log", "level": "ERROR"})
    assert letters.write([(SinkRecord(document, level=40), "refused", "rejected")]) == 0
    assert ids_left(bare_shell) == ["a1"]
    assert len(synced) == 1
    assert box.read_bytes().startswith(b'{"sink":"search","reas\n{')
