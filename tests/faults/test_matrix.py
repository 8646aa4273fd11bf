"""The command that carries out the whole matrix."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.faults import __main__ as command
from tests.faults.limits import OutOfTime, time_limit
from tests.faults.matrix import Part, Servers


def part(name: str, ran: list[str], wrong: tuple[str, ...] = (), *, limit: float = 60.0) -> Part:
    """Return a row that notes that it ran, and waits for ever when it has no time."""

    def run(servers: Servers) -> dict[str, Any]:
        ran.append(name)
        if not limit > 1:
            threading.Event().wait()
        if wrong == ("broke",):
            raise ValueError("no such server")
        return {"row": name, "accepted": 1, "seconds": 1.0, "wrong": [*wrong]}

    return Part(name, limit, run)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command over some rows; return its exit code."""

    def run(parts: list[Part], *words: str) -> int:
        monkeypatch.setattr(command, "parts", lambda options: parts)
        monkeypatch.setattr(sys, "argv", ["faults", *words])
        return command.main()

    return run


def test_work_is_broken_off_when_its_time_is_up() -> None:
    """What waits for ever is broken off."""
    with pytest.raises(OutOfTime), time_limit(0.05):
        threading.Event().wait()


def test_rows_behind_a_broken_one_are_run(ask: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A row that breaks, and one that never ends, are wrong and told with their names; the next is run."""
    ran: list[str] = []
    rows = [part("one", ran, ("broke",)), part("two", ran, limit=0.05), part("three", ran)]
    assert ask(rows) == 1
    assert ran == ["one", "two", "three"]
    said = capsys.readouterr().out
    assert "ValueError: no such server" in said
    assert "3 rows, 2 of them wrong" in said


def test_resume_goes_on(ask: Any, tmp_path: Path) -> None:
    """With --resume, rows that stand in the file and were right are not run again, and stay in it."""
    ran: list[str] = []
    file = tmp_path / "rows.json"
    assert ask([part("one", ran), part("two", ran, ("lost 1",))], "--json", str(file)) == 1
    assert ask([part("one", ran), part("two", ran), part("six", ran)], "--json", str(file), "--resume") == 0
    assert ran == ["one", "two", "two", "six"]
    assert [row["row"] for row in json.loads(file.read_text())] == ["one", "two", "six"]


def test_rows_that_were_not_begun_are_named(ask: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows for which there was no time are named, and the exit code is not 0; --row and --skip choose."""
    ran: list[str] = []
    rows = [part("s3: one", ran), part("search: two", ran), part("search: three", ran)]
    assert ask(rows, "--within", "1e-9", "--row", "search", "--skip", "three") == 1
    assert not ran
    said = capsys.readouterr().out
    assert "not begun: search: two" in said
    assert "three" not in said
    assert ask(rows, "--row", "search", "--skip", "three") == 0
    assert ran == ["search: two"]
