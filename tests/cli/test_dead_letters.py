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
    assert call(refused, "drop", "--sink", "search", "--yes", "--json").rows == [{"dropped": 2}]
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
