"""Small programs in processes of their own, and independent counts of what they left behind.

A program logs numbers and writes each to a ledger only after the logging call returned: what stands there was
accepted. What arrived is counted from the sink's file by `json` alone, and what is still in the spool by
`toolog.spool`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

from toolog.sinks.base import decode
from toolog.spool import pending

HEAD = """
import atexit, json, logging, os, signal, sys, threading, time
import logging.config
import toolog
from toolog.all_pipelines import flush, stats
from toolog.handler import ToologHandler

def handler(durability="process", **options):
    options = {
        "spool": {"path": "spool"},
        "sinks": {"out": {"type": "file", "path": "out.jsonl", "batch": {"max_age": 0.01}}},
        **options,
    }
    return ToologHandler(durability=durability, **options)

def attach(made, name="app"):
    log = logging.getLogger(name)
    log.setLevel(1)
    log.propagate = False
    log.addHandler(made)
    return log

def wait(asked, seconds=40):
    deadline = time.monotonic() + seconds
    while not asked():
        assert time.monotonic() < deadline, stats()
        time.sleep(0.01)

def open_ledger(name="ledger"):
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    def note(number):
        os.write(descriptor, b"%d\\n" % number)
    return note
"""


HANGING_SINK = """
import time
class Sink:
    def __init__(self, name): self.name = name
    def connect(self): pass
    def write(self, batch): time.sleep(3600)
    def close(self): pass
"""
"""A module of a sink whose writes do not return: ``hanging:Sink``, where it is saved as hanging.py."""


def start(script: str, folder: Path, *words: str, flags: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start a program that begins with HEAD and goes on with ``script``."""
    file = folder / f"program-{len(list(folder.glob('program-*')))}.py"
    file.write_text(HEAD + textwrap.dedent(script), "utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TOOLOG_", "LOG_"))}
    return subprocess.Popen(
        [sys.executable, *flags, str(file), *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(script: str, folder: Path, *words: str, code: int = 0, flags: tuple[str, ...] = ()) -> str:
    """Run a program to its end, which must have this exit code; return what it printed."""
    program = start(script, folder, *words, flags=flags)
    try:
        printed, complaints = program.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        program.kill()
        printed, complaints = program.communicate()
        raise AssertionError(f"the program hangs\n{printed}\n{complaints}") from None
    assert program.returncode == code, f"exit code {program.returncode}\n{printed}\n{complaints}"
    return printed


def complain(script: str, folder: Path) -> str:
    """Run a program that must end well; return what it wrote on stderr."""
    program = start(script, folder)
    _, complaints = program.communicate(timeout=60)
    assert program.returncode == 0, complaints
    return complaints


def ledger(folder: Path, name: str = "ledger") -> list[int]:
    """Return the numbers that were accepted."""
    file = folder / name
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def documents(folder: Path, name: str = "out.jsonl") -> list[dict[str, object]]:
    """Return the record documents in the sink's file; a line that is being written just now is waited for."""
    file = folder / name
    if not file.exists():
        return []
    for _ in range(500):
        if (content := file.read_bytes()).endswith(b"\n") or not content:
            break
        time.sleep(0.01)
    return [json.loads(line) for line in content.decode().splitlines()]


def arrived(folder: Path, name: str = "out.jsonl") -> Counter[int]:
    """Return how often each number stands in the sink's file."""
    return Counter(
        int(str(one["message"])) for one in documents(folder, name) if str(one.get("message")).isdigit()
    )


def waiting(folder: Path, sink: str = "out", spool: str = "spool") -> Counter[int]:
    """Return how often each number is in the spool, not acknowledged by the sink."""
    found = [decode(frame.payload, frame.serializer) for frame in pending(folder / spool, sink)]
    return Counter(int(one["message"]) for one in found if str(one.get("message")).isdigit())


def assert_complete(folder: Path, numbers: list[int]) -> None:
    """Everything accepted is there, each once, and nothing else."""
    found = arrived(folder)
    assert sorted(found) == sorted(numbers)
    assert set(found.values()) <= {1}
