"""Descriptors that stay open stand above those of the standard streams."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from toolog.descriptors import is_still, keep, let_go, mark

PROGRAM = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import toolog
toolog.configure(
    "prod", spool={"path": "spool"}, sinks={"out": {"type": "file", "path": "out.jsonl"}}
)
@toolog.tool
def find(word):
    return word
for number in range(20):
    find(number)
    try:
        os.write(2, b"said by a library to a stream that is not there\\n")
    except OSError:
        pass
    if number == 10:
        assert toolog.flush(60)
assert toolog.flush(60)
deadline = time.monotonic() + 60  # what is open for a moment only may be there
while [number for number in (0, 1, 2) if os.path.exists(f"/proc/self/fd/{number}")]:
    if time.monotonic() > deadline:
        os._exit(8)
    time.sleep(0.01)
os._exit(7)
"""


def test_a_program_without_standard_streams_keeps_its_files_clean(tmp_path: Path) -> None:
    """What a library writes to a standard error that was closed before the start gets into no file of
    ours.
    """
    command = '"$0" -c "$1" "$2" <&- >&- 2>&-'
    root = str(Path(__file__).parents[1])
    done = subprocess.run(["sh", "-c", command, sys.executable, PROGRAM, root], cwd=tmp_path, timeout=120)
    assert done.returncode == 7
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert len(lines) == 20
    assert all(line.startswith("{") for line in lines)


def test_a_descriptor_is_kept_at_a_high_number(tmp_path: Path) -> None:
    """What stays open stands above the numbers that are given out, also where a process may have few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for most, lowest in ((soft, min(768, soft - soft // 4)), (400, 300)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            kept = keep(os.open(tmp_path, os.O_RDONLY))
            assert kept >= lowest
            assert keep(kept) == kept
            assert not os.get_inheritable(kept)
            os.close(kept)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_number_that_is_another_files_is_let_alone(tmp_path: Path) -> None:
    """Letting go of a descriptor closes ours, and not a file that got its number meanwhile."""
    ours, other = os.open(tmp_path, os.O_RDONLY), os.open(os.devnull, os.O_RDONLY)
    marked = mark(ours)
    assert is_still(ours, marked)
    os.dup2(other, ours)
    let_go(ours, marked)
    assert mark(ours) == mark(other)
    let_go(ours, mark(other))
    assert not is_still(ours, mark(other))
    let_go(ours, mark(other))
    os.close(other)


CLOSING = """
import os, sys
sys.path.insert(0, sys.argv[1])
import toolog
toolog.configure(
    "prod",
    spool={"path": "spool"},
    sinks={"out": {"type": "file", "path": "out.jsonl", "batch": {"max_age": 0.01}}},
)
@toolog.tool
def find(word):
    return word
sys.setswitchinterval(1e-5)
taken = []
for number in range(60):
    if number % 20 == 10:
        os.closerange(3, 256 if number == 10 else 4096)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        taken = [os.open(f"app-{number}-{place}.txt", flags) for place in range(20)]
    find(number)
    for descriptor in taken:
        os.write(descriptor, b"the application's")
    if number % 20 == 15:
        assert toolog.flush(60), toolog.stats()
assert toolog.flush(60), toolog.stats()
"""


def test_an_application_that_closes_what_it_did_not_open_loses_nothing(tmp_path: Path) -> None:
    """Code that turns its process into a daemon closes our files: no record is lost or stands twice, and what
    the application opens then has its own bytes only."""
    root = str(Path(__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", CLOSING, root], cwd=tmp_path, timeout=120)
    assert done.returncode == 0
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    numbers = [record["output"] for record in records if record["event"] == "tool_call_success"]
    assert numbers == list(range(60))
    for file in tmp_path.glob("app-*.txt"):
        assert not file.read_bytes().replace(b"the application's", b"")
