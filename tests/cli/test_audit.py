"""`toolog audit` as a user runs it: exit codes, table, JSON, and secrets that are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Shell

SECRET = "Zq9-invented-1"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The command in a folder with a clean and a leaky file."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "clean.log").write_text("password=[MASKED:password]\n")
    (tmp_path / "leaky.log").write_text(f"first line\nGET /?token={SECRET}\n")
    (tmp_path / "secrets.txt").write_text(f"another one\n\n{SECRET}\n")
    return Shell(tmp_path)


def test_a_clean_place_ends_with_zero(shell: Shell) -> None:
    """Where everything was read and no secret stands, the exit code is 0 and one line says so."""
    done = shell("audit", "logs", "--secrets", "secrets.txt")
    assert (done.code, done.err) == (0, "")
    assert done.out == "no leak of 2 secrets in 1 file\n"


@pytest.mark.parametrize("way", ["file", "stdin", "env"])
def test_a_leak_is_told_by_place_and_spelling(shell: Shell, way: str) -> None:
    """However the secret is given: the exit code is 1, the table names it by its label and never shows it."""
    words = {
        "file": ("--secrets", "secrets.txt"),
        "stdin": ("--secrets", "-"),
        "env": ("--env", "MADE_TOKEN"),
    }[way]
    label = {"file": "line 3 of secrets.txt", "stdin": "line 1 of stdin", "env": "$MADE_TOKEN"}[way]
    done = shell("audit", "logs", "leaky.log", *words, given=SECRET, MADE_TOKEN=SECRET)
    assert (done.code, done.err) == (1, "")
    assert label in done.out
    assert "leaky.log" in done.out
    assert SECRET not in done.out
    lines = shell("audit", "leaky.log", *words, "--json", given=SECRET, MADE_TOKEN=SECRET)
    assert lines.code == 1
    assert lines.rows == [
        {"place": "leaky.log", "where": "bytes at 23", "secret": label, "spelling": "plain"}
    ]


def test_the_store_is_looked_into(shell: Shell) -> None:
    """`--store` is the configured store; one that is not there is a mistake, not a clean result."""
    missing = shell("audit", "--store", "--secrets", "secrets.txt")
    assert missing.code == 2
    assert "there is no store" in missing.err
    (shell.folder / ".toolog").mkdir()
    (shell.folder / ".toolog" / "calls.db").write_text(f"a file that is no database, with {SECRET}")
    assert shell("audit", "--store", "--secrets", "secrets.txt").code == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("logs",), "give the secrets"),
        (("--secrets", "secrets.txt"), "name a DIR or FILE"),
        (("logs", "--secrets", "none.txt"), "none.txt"),
        (("nothing", "--secrets", "secrets.txt"), "no file or folder"),
        (("logs", "--env", "MADE_TOKE"), "did you mean MADE_TOKEN?"),
        (("logs", "--env", "MADE_SHORT"), "at least 4 characters"),
    ],
    ids=str,
)
def test_what_is_missing_is_said(shell: Shell, words: tuple[str, ...], told: str) -> None:
    """A call that cannot say anything ends with 2 and one line that says what to do; no value is shown."""
    done = shell("audit", *words, MADE_TOKEN=SECRET, MADE_SHORT="xq7")
    assert done.code == 2
    assert told in done.err
    assert "xq7" not in done.err + done.out


def test_what_cannot_be_read_is_no_clean_result(shell: Shell) -> None:
    """Damage is told on stderr, and the exit code is 1 though no secret was seen."""
    (shell.folder / "logs" / "cut.zst").write_bytes(b"\x28\xb5\x2f\xfd\x04")
    done = shell("audit", "logs", "--secrets", "secrets.txt")
    assert done.code == 1
    assert done.err.startswith("damaged: logs/cut.zst ")
