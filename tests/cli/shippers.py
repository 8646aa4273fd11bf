"""`toolog ship` in a process of its own, and programs beside it that write only."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import wait_until
from tests.pipeline.programs import start

CONFIG = """
retention = { INFO = { sinks = ["out", "store"] } }
[sinks.out]
type = "file"
path = "out.jsonl"
batch = { max_age = 0.01 }
[sinks.store]
type = "sqlite"
path = "calls.db"
"""
WRITE_FOR_EVER = """
log = attach(handler(ship="none"))
note = open_ledger()
number = int(sys.argv[1])
print("go", flush=True)
while not os.path.exists("stop"):
    log.info("%d", number)
    note(number)
    number += 1
    time.sleep(0.0005)
"""
WRITE = """
log = attach(handler(ship="none"))
for number in range(int(sys.argv[1]), int(sys.argv[2])):
    log.info("%d", number)
"""


IN_TIME = 20.0
"""Seconds after which an end was not in time. It is promised within five, which a busy machine makes more of;
where nothing ends it, it takes a minute."""

_running: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def no_shipper_left() -> Iterator[None]:
    """End what a failed test has left running."""
    yield
    for process in _running:
        if process.poll() is None:
            process.kill()
            process.communicate()
    _running.clear()


class Ship:
    """A running `toolog ship spool --json`; `events` are what it told so far."""

    def __init__(self, folder: Path, *words: str, config: str | None = CONFIG, **environment: str) -> None:
        if config is not None:
            (folder / "ship.toml").write_text(config)
            words = ("--config", "ship.toml", *words)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TOOLOG_")}
        self.output = folder / f"ship-{len(list(folder.glob('ship-*.jsonl')))}.jsonl"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [str(Path(sys.executable).with_name("toolog")), "ship", "spool", "--json", *words],
                cwd=folder,
                env={**kept, "PYTHONPATH": str(folder), **environment},
                stdout=output,
                stderr=subprocess.PIPE,
            )
        _running.append(self.process)

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it told so far, without a line that is being written."""
        lines = self.output.read_text("utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def wait_for(self, name: str, count: int = 1) -> dict[str, Any]:
        """Wait until it has told an event ``count`` times; return the last of them."""
        wait_until(lambda: self.count(name) >= count or self.process.poll() is not None, f"event {name}")
        found = [event for event in self.events if event["event"] == name]
        assert len(found) >= count, (name, self.events, self.process.poll())
        return found[count - 1]

    def count(self, name: str) -> int:
        """Return how often it told an event."""
        return sum(event["event"] == name for event in self.events)

    def end(self, number: int = signal.SIGTERM, timeout: float = 40.0) -> int:
        """Send a signal and wait for the end; return the exit code."""
        self.process.send_signal(number)
        return self.result(timeout)

    def result(self, timeout: float = 60.0) -> int:
        """Wait for the end and return the exit code."""
        try:
            _, complaints = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise AssertionError(f"the shipper does not end: {self.events}") from None
        self.complaints = complaints.decode()
        return self.process.returncode


def write(folder: Path, first: int, behind: int) -> None:
    """Have a program write some numbers into the spool, and end."""
    program = start(WRITE, folder, str(first), str(behind))
    _, complaints = program.communicate(timeout=60)
    assert program.returncode == 0, complaints


def start_writing(folder: Path, first: int = 0) -> subprocess.Popen[str]:
    """Start a program that writes until there is a file `stop`; returns when it has begun."""
    program = start(WRITE_FOR_EVER, folder, str(first))
    assert program.stdout is not None
    assert program.stdout.readline() == "go\n"
    return program


def stop_writing(folder: Path, *programs: subprocess.Popen[str]) -> None:
    """Let the programs end, which they must do well."""
    (folder / "stop").touch()
    for program in programs:
        _, complaints = program.communicate(timeout=60)
        assert program.returncode == 0, complaints
    (folder / "stop").unlink()


def stored(folder: Path) -> Counter[int]:
    """Return how often each number stands in the SQLite store, counted by SQLite itself."""
    connection = sqlite3.connect(folder / "calls.db")
    try:
        return Counter(int(row[0]) for row in connection.execute("SELECT message FROM logs"))
    finally:
        connection.close()
