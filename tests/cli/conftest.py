"""A store that the commands can be asked about, and a way to run them as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import toolog
from toolog import store
from toolog.testing import capture


@dataclass
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The JSON lines that it printed."""
        return [json.loads(line) for line in self.out.splitlines()]


class Shell:
    """Runs `toolog WORDS` in a folder, in a process of its own and without any setting from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TOOLOG_")}
        self.environment = {**kept, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
        self.program = str(Path(sys.executable).with_name("toolog"))

    def __call__(self, *words: str, given: str | bytes = "", **environment: str) -> Done:
        """Run a command, `given` on its stdin."""
        done = subprocess.run(
            [self.program, *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            input=given.encode() if isinstance(given, str) else given,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def pipe(self, line: str) -> Done:
        """Run a line of sh, `toolog` in it being the command."""
        line = line.replace("toolog", self.program)
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


class Till:
    """A tool with a constructor, as a third party would write it."""

    def __init__(self, currency: str, api_key: str) -> None:
        self.currency = currency
        self.api_key = api_key

    def charge(self, order: int, amount: float) -> dict[str, Any]:
        """Take money; refuses what is too much."""
        if amount > 100:
            raise ValueError(f"order {order} was declined, ring 13812345678")
        print(f"charged {amount}")
        return {"order": order, "paid": amount}


@pytest.fixture(scope="session")
def recorded() -> list[dict[str, Any]]:
    """Return the records of three sessions: in each a call with another below it; in one both fail."""

    def serve(order: int, amount: float) -> dict[str, Any]:
        return till.charge(order, amount)

    with capture(level="DEBUG", capture_output=True) as records:
        instrumentation = toolog.instrument(Till)
        try:
            till = Till("EUR", api_key="sk" + "_live_" + "4eC39HqLyjWDarjtT1zdp7dc")
            tool = toolog.tool(serve)
            for order, amount in ((1001, 39.0), (1002, 420.0), (1003, 12.5)):
                with toolog.session(f"order-{order}"):
                    try:
                        tool(order, amount)
                    except ValueError:
                        continue
        finally:
            instrumentation.undo()
    return records


@pytest.fixture
def shell(tmp_path: Path, recorded: list[dict[str, Any]]) -> Shell:
    """Return a shell in a folder whose store holds the records."""
    with store.open(tmp_path / ".toolog" / "calls.db") as held:
        assert held.write(recorded).stored == len(recorded)
    return Shell(tmp_path)


@pytest.fixture
def bare_shell(tmp_path: Path) -> Shell:
    """Return a shell in an empty folder."""
    return Shell(tmp_path)
