"""For the tests beside this file: wrap a function as a tool, and see the records that it makes."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers import wrap
from toolog import emit
from toolog.levels import tool_logger
from toolog.schema import validate

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent


def tool(function: Callable[..., Any], name: str = "", **options: Any) -> Any:
    """Return the function, watched as a tool."""
    return wrap(function, name, **options)


@tool
def double(number: int) -> int:
    """Stand for a tool that another tool calls."""
    return 2 * number


class Records(list[dict[str, Any]]):
    """The documents of the records so far, each valid by the schema."""

    def of(self, name: str) -> dict[str, Any]:
        """Return the one record of a tool."""
        (found,) = self.all(name)
        return found

    def all(self, name: str) -> list[dict[str, Any]]:
        """Return all records of a tool."""
        return [record for record in self if record.get("tool_name") == name and record["event"] != "log"]

    def brief(self) -> list[tuple[str, str, Any]]:
        """Return tool, status and output of each record, in the order in which they came."""
        return [(record["tool_name"], record["status"], record.get("output")) for record in self]


class _Keep(logging.Handler):
    def __init__(self, records: Records) -> None:
        super().__init__()
        self.records = records

    def handle(self, record: Any) -> bool:
        document = record.document()
        validate(document)
        self.records.append(document)
        return True


@contextmanager
def watch(level: int = logging.INFO) -> Iterator[Records]:
    """Collect the records that are made in this block."""
    logger = logging.getLogger("toolog.calls")
    tool_logger("none")  # sets the logger's first level, which is then replaced
    records = Records()
    handler = _Keep(records)
    held = logger.level, logger.propagate
    emit.cancel_first_record()
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield records
    finally:
        logger.removeHandler(handler)
        logger.setLevel(held[0])
        logger.propagate = held[1]


def run(program: str, *arguments: str, file: Path | None = None) -> str:
    """Run a program in a fresh interpreter that turns every warning into an error; return its output.

    ``file`` is where it is written first, for programs that other processes import. It fails unless the
    program ends well and with nothing on stderr.
    """
    path = os.pathsep.join([str(REPOSITORY), str(HERE), os.environ.get("PYTHONPATH", "")])
    text = textwrap.dedent(program)
    if file is not None:
        file.write_text(text)
    what = ["-c", text] if file is None else [str(file)]
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", *what, *arguments],
        env={**os.environ, "PYTHONPATH": path, "TOOLOG_AUTOCONFIGURE": "0"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stderr, done.returncode) == ("", 0), done.stderr
    return done.stdout
