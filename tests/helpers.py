"""What several tests share: a logging handler that keeps records, tools wrapped without patching anything,
waiting for something, and small programs.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import wrapt

import toolog
from toolog.call import Plan
from toolog.instrumentation.importlib_bootstrap import make_wrapper
from toolog.levels import ROOT
from toolog.record import ToolRecord
from toolog.settings import CaptureSettings

Case = TypeVar("Case")


class Collector(logging.Handler):
    """Keeps the records it is given, and gives their sanitized documents."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[ToolRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        assert isinstance(record, ToolRecord)
        self.records.append(record)

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [record.document() for record in self.records]

    def only(self) -> dict[str, Any]:
        """Return the one document there is."""
        assert len(self.records) == 1, self.documents
        return self.documents[0]


@contextmanager
def collecting(level: int = logging.INFO) -> Iterator[Collector]:
    """Collect what arrives at ``toolog.calls`` inside the block; leave logging as it was."""
    collector = Collector()
    logger = logging.getLogger(ROOT)
    before = (logger.level, logger.propagate, logger.handlers[:])
    logger.handlers[:] = [collector]
    logger.propagate = False
    logger.setLevel(level)
    try:
        yield collector
    finally:
        logger.handlers[:] = before[2]
        logger.propagate = before[1]
        logger.setLevel(before[0])


@contextmanager
def restored(settings: CaptureSettings) -> Iterator[None]:
    """Leave all settings of capture as they were before the block."""
    before = [(name, getattr(settings, name)) for name in settings.__slots__]
    try:
        yield
    finally:
        for name, value in before:
            setattr(settings, name, value)


def wrap(function: Callable[..., Any], tool_name: str = "", **options: Any) -> Any:
    """Return a function wrapped as a tool, without patching anything."""
    plan = Plan(function, tool_name=tool_name or function.__name__, module=function.__module__, **options)
    return wrapt.FunctionWrapper(function, make_wrapper(plan))


def check_each(
    cases: Iterable[Case], check: Callable[[Case], None], name: Callable[[Case], str] = ascii
) -> None:
    """Check every case within one test; an AssertionError that names all that did not hold, and why.

    For cases by the hundred: the frame of a test of its own takes more time than most of them do, and the
    sanitizer's scans are quick only over what is like something that the same process has seen.
    """
    count, failed = 0, []
    for case in cases:
        count += 1
        try:
            check(case)
        except Exception as error:
            failed.append(f"{name(case)}: {type(error).__name__}: {error}")
    assert count, "there are no cases"
    assert not failed, "\n\n".join([f"{len(failed)} of {count} cases:", *failed])


def wait_until(asked: Callable[[], object], what: str = "it", seconds: float = 90.0) -> None:
    """Wait until something holds; an AssertionError that names it when it does not come about."""
    deadline = time.monotonic() + seconds
    while not asked():
        assert time.monotonic() < deadline, f"waited in vain for {what}: {toolog.stats()}"
        time.sleep(0.01)


def run_json(file: Path, given: Any = None) -> Any:
    """Run a program in a process of its own, JSON on its stdin; return the JSON that it prints.

    Warnings are errors there, and nothing is configured that the program does not configure.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        input=json.dumps(given),
        env={**os.environ, "TOOLOG_AUTOCONFIGURE": "0"},
        cwd=file.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
