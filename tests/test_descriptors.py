"""Descriptors that stay open stand above those of the standard streams."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def test_a_descriptor_that_stands_well_is_left_alone(tmp_path: Path) -> None:
    """Only the numbers of the standard streams are changed."""
    from toolog.descriptors import above_standard

    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        assert above_standard(fd) == fd
    finally:
        os.close(fd)
