"""Helpers of the spool's tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolog.spool import Frame, SpoolReader


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A place for a spool that is not there yet."""
    return tmp_path / "spool"


@pytest.fixture
def drain() -> Callable[[SpoolReader], list[Frame]]:
    """Read all there is, in small batches, and acknowledge each batch."""

    def read_all(reader: SpoolReader) -> list[Frame]:
        found: list[Frame] = []
        while batch := reader.read(max_records=7):
            found += batch
            reader.ack(batch[-1])
        return found

    return read_all


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python code in a process of its own; what still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object) -> subprocess.Popen[str]:
        script = tmp_path / f"child{len(running)}.py"
        script.write_text(code)
        command = [sys.executable, str(script), *map(str, arguments)]
        running.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        )
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()
