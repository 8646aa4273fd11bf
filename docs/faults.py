"""Put the figures of the fault matrix into reference/faults.md, between their marks.

    python -m tests.faults --json FILE
    python docs/faults.py FILE [FILE ...]

Of a row that stands in several files the last one counts; a row that stands in none is said to be not
measured.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "faults.md"
BEGIN, END = "<!-- faults -->\n", "<!-- /faults -->"
COLUMNS = {
    "accepted": "accepted", "stored": "stored", "dead letters": "dead letters", "dropped": "dropped",
    "lost": "lost", "twice": "twice", "spurious": "spurious", "corrupt": "corrupt",
    "again on the wire": "again", "seconds": "s",
}  # fmt: skip


def outline(name: str) -> str:
    """Return a row's name without how often it is done."""
    return re.sub(r",? [\d,.]+ (times|min)$", "", name)


def all_rows() -> list[str]:
    """Return the names of all rows of the matrix."""
    sys.path.insert(0, str(ROOT))
    from tests.faults.elsewhere import ELSEWHERE
    from tests.faults.outages import OUTAGES, SOAK
    from tests.faults.rows import S3, SEARCH, kills

    servers = [f"{row.place}: {row.name}" for row in [*SEARCH, *S3, *kills(300, 25, long=True)]]
    return [*servers, *(row.name for row in OUTAGES), SOAK, *(row.name for row in ELSEWHERE)]


def table(measured: list[dict[str, Any]]) -> str:
    """Return all rows as a Markdown table."""
    found = {outline(row["row"]): row for row in measured}
    lines = ["| fault | " + " | ".join(COLUMNS.values()) + " | |", "|---|" + "---:|" * len(COLUMNS) + "---|"]
    for name in all_rows():
        row = found.get(outline(name), {"row": name, "notes": "not measured yet", "wrong": []})
        cells = [f"{row[column]:,.0f}" if column in row else "" for column in COLUMNS]
        notes = "; ".join(filter(None, [row.get("notes", ""), "**wrong**" if row["wrong"] else ""]))
        lines.append(f"| {row['row']} | {' | '.join(cells)} | {notes} |")
    return "\n".join(lines) + "\n"


def shown() -> list[str]:
    """Return the names of the rows that the page shows."""
    block = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    return [line.split("|")[1].strip() for line in block.splitlines()[2:]]


def main(files: list[str]) -> None:
    """Rewrite the block."""
    rows = [row for file in files for row in json.loads(Path(file).read_text("utf-8"))]
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table(rows) + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
