"""Put the figures of the fault matrix into reference/faults.md, between their marks.

    python -m tests.faults --json FILE
    python docs/faults.py FILE [FILE ...]

Of a row that stands in several files the last one counts; one that stands in none keeps what the page says,
or is said to be not measured. A row that was wrong is left out and named: it is to be understood first.
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
    return re.sub(r", [\d,.]+ (times|min)$", "", name)


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
    found = {outline(row["row"]): row for row in measured if not row["wrong"]}
    kept = {outline(line.split("|")[1].strip()): line for line in lines_shown()}
    lines = ["| fault | " + " | ".join(COLUMNS.values()) + " | |", "|---|" + "---:|" * len(COLUMNS) + "---|"]
    for name in all_rows():
        if outline(name) not in found and outline(name) in kept:
            lines.append(kept[outline(name)])
            continue
        row = found.get(outline(name), {"row": name, "notes": "not measured yet"})
        cells = [f"{row[column]:,.0f}" if column in row else "" for column in COLUMNS]
        lines.append(f"| {row['row']} | {' | '.join(cells)} | {row.get('notes', '')} |")
    return "\n".join(lines) + "\n"


def lines_shown() -> list[str]:
    """Return the rows that the page shows, as they stand there."""
    return PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0].splitlines()[2:]


def shown() -> list[str]:
    """Return the names of the rows that the page shows."""
    return [line.split("|")[1].strip() for line in lines_shown()]


def main(files: list[str]) -> None:
    """Rewrite the block."""
    rows = [row for file in files for row in json.loads(Path(file).read_text("utf-8"))]
    for row in rows:
        if row["wrong"]:
            print(f"left out: {row['row']}: {'; '.join(row['wrong'])}", file=sys.stderr)
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table(rows) + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
