"""Put what `toolog demo` prints today into README.md, between its two marks.

    python docs/readme.py

The demo runs in an empty folder, on a terminal of 100 columns and without colours. Times, ids, ports and the
order of concurrent work differ each time; `outline` takes them out, and a test compares the rest.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- demo -->\n```text\n", "```\n<!-- /demo -->"
COLUMNS = 100


def run_demo(folder: Path) -> str:
    """Return what the demo prints on a terminal, run in an empty folder."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOOLOG_")}
    program = subprocess.Popen(
        [str(Path(sys.executable).with_name("toolog")), "demo"],
        cwd=folder,
        env={**kept, "NO_COLOR": "1", "COLUMNS": str(COLUMNS), "PYTHONUTF8": "1"},
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    printed = bytearray()
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not data:
            break
        printed += data
    os.close(ours)
    if program.wait():
        raise RuntimeError(f"the demo ended with {program.returncode}: {printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


def outline(text: str) -> list[str]:
    """Return what is the same each time: the lines' beginnings, sorted, without times, ids and ports."""
    text = re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "TIME", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "SERVER", text)
    text = re.sub(r"\b[0-9a-f]{32}\b", "ID", text)
    text = re.sub(r"\d+(\.\d+)? (us|ms|s|min)\b", "SPAN", text)
    text = text.replace("├─", "└─")  # which one is the last differs
    return sorted(line[:60].rstrip() for line in text.splitlines() if line.strip())


def shown() -> str:
    """Return the output that README.md shows."""
    return README.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    """Run the demo and rewrite the block."""
    with tempfile.TemporaryDirectory() as folder:
        printed = run_demo(Path(folder))
    before, _, rest = README.read_text("utf-8").partition(BEGIN)
    README.write_text(before + BEGIN + printed + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
