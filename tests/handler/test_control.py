"""A running process obeys ``toolog level`` within a second."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.pipeline.programs import start
from toolog import control
from toolog.errors import ConfigError


def test_level_of_a_running_process_changes(tmp_path: Path) -> None:
    """A process that logs nothing at its level obeys all the same, for the tools that were meant."""
    program = start(
        """
        made = handler("memory")
        from toolog.levels import tool_logger
        payment, other = tool_logger("payment.charge"), tool_logger("lookup")
        print("go", flush=True)
        wait(lambda: payment.isEnabledFor(10))
        assert payment.isEnabledFor(10) and not other.isEnabledFor(10)
        """,
        tmp_path,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "go\n"
    told: list[int] = []
    while not told and program.poll() is None:
        told = control.send_level(tmp_path / "spool", "DEBUG", tool="payment.*")
    _, complaints = program.communicate(timeout=60)
    assert program.returncode == 0, complaints
    assert told == [program.pid]
    assert control.processes(tmp_path / "spool") == []
    assert not list((tmp_path / "spool" / "control").iterdir())


def test_dead_processes_are_told_nothing(tmp_path: Path) -> None:
    """The file of a killed process is recognized by its lock, whatever now has its number, and cleared
    away.
    """
    folder = tmp_path / "control"
    folder.mkdir()
    (folder / f"{os.getpid()}-0011{control.SUFFIX}").touch()
    assert control.send_level(tmp_path, "DEBUG") == []
    assert not list(folder.iterdir())


def test_unknown_level_is_told_before_anybody_else_is(tmp_path: Path) -> None:
    """A wrong level is a ConfigError, and writes nothing."""
    with pytest.raises(ConfigError, match="DEBUG"):
        control.send_level(tmp_path, "DEBUGG")


def test_nonsense_in_the_file_is_survived(tmp_path: Path) -> None:
    """Lines that are no orders, and half a line, neither raise nor keep later orders from being obeyed."""
    from toolog.levels import set_level, tool_logger

    inbox = control.Inbox(tmp_path)
    inbox.open()
    (process,) = control.processes(tmp_path)
    logger = tool_logger("control.nonsense")
    with process.path.open("ab") as file:
        file.write(b'nonsense\n[1]\n{"level": "LOUD"}\n{"level": 10, "tool": "control.nonsense"}\n{"lev')
    assert inbox.poll() == 4
    assert logger.isEnabledFor(10)
    assert inbox.poll() == 0
    with process.path.open("ab") as file:
        file.write(b'el": 40, "tool": "control.nonsense"}\n')
    assert inbox.poll() == 1
    assert not logger.isEnabledFor(30)
    set_level("INFO", tool="control.nonsense")
    inbox.close()
    inbox.close()
