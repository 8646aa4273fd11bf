"""Put what `toolog demo` prints today, and what was measured, into README.md, between their marks.

    python docs/readme.py                     the demo's output
    python docs/readme.py --figures FILE      the figures, from `python benchmarks/overhead.py --json > FILE`

The demo runs in an empty folder, on a terminal of 100 columns and without colours. Times, ids, ports and the
order of concurrent work differ each time; `outline` takes them out, and a test compares the rest.
"""

from __future__ import annotations

import fcntl
import json
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
FIGURES, FIGURES_END = "<!-- figures -->\n", "<!-- /figures -->"
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


def table(figures: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the scenarios `small` and `4 kB` of a measurement as one Markdown table."""
    columns = [(scenario, who) for scenario in ("small", "4 kB") for who in ("caller", "total")]
    head = "| | " + " | ".join(f"{scenario}, {who}" for scenario, who in columns) + " |\n"
    rows = [head, "|---|" + "---:|" * len(columns) + "\n"]
    for name in figures["small"]:
        cells = []
        for scenario, who in columns:
            row = figures[scenario][name]
            cells.append(f"{row[who] / 1000:.1f} ({row[f'{who}_ratio']:.1f}x)")
        rows.append(f"| {name} | " + " | ".join(cells) + " |\n")
    return "".join(rows)


def replace(begin: str, text: str, end: str) -> None:
    """Put a text between two marks of README.md."""
    before, _, rest = README.read_text("utf-8").partition(begin)
    README.write_text(before + begin + text + end + rest.partition(end)[2], "utf-8")


def main(arguments: list[str]) -> None:
    """Rewrite one of the two blocks."""
    if arguments[:1] == ["--figures"]:
        measured = json.loads(Path(arguments[1]).read_text("utf-8"))
        replace(FIGURES, table(measured["nanoseconds"]), FIGURES_END)
        return
    with tempfile.TemporaryDirectory() as folder:
        printed = run_demo(Path(folder))
    replace(BEGIN, printed, END)


if __name__ == "__main__":
    main(sys.argv[1:])
