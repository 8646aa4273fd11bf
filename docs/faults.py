"""Put the figures of the fault matrix into reference/faults.md, between their marks.

    python -m tests.faults --json FILE
    python docs/faults.py FILE [FILE ...]

Of rows that stand in several files the last one counts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "reference" / "faults.md"
BEGIN, END = "<!-- faults -->\n", "<!-- /faults -->"
COLUMNS = {
    "accepted": "accepted", "stored": "stored", "dead letters": "dead letters", "dropped": "dropped",
    "lost": "lost", "twice": "twice", "spurious": "spurious", "corrupt": "corrupt",
    "again on the wire": "again",
}  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| fault | " + " | ".join(COLUMNS.values()) + " | |", "|---|" + "---:|" * len(COLUMNS) + "---|"]
    for row in rows:
        cells = [f"{row[name]:,}" if name in row else "" for name in COLUMNS]
        notes = "; ".join(filter(None, [row.get("notes", ""), "**wrong**" if row["wrong"] else ""]))
        lines.append(f"| {row['row']} | {' | '.join(cells)} | {notes} |")
    return "\n".join(lines) + "\n"


def shown() -> list[str]:
    """Return the names of the rows that the page shows."""
    block = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    return [line.split("|")[1].strip() for line in block.splitlines()[2:]]


def main(files: list[str]) -> None:
    """Rewrite the block."""
    rows: dict[str, dict[str, Any]] = {}
    for file in files:
        rows |= {row["row"]: row for row in json.loads(Path(file).read_text("utf-8"))}
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table(list(rows.values())) + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
