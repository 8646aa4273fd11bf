"""Put the results of the packages' own test suites into reference/fidelity.md, between their marks.

    python -m tests.fidelity --json FILE
    python docs/fidelity.py FILE [FILE ...]

Of a run that stands in several files the last one counts; a run that was not made has no row.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "fidelity.md"
BEGIN, END = "<!-- fidelity -->\n", "<!-- /fidelity -->"
HEAD = "| package | Python | mode | tests | calls recorded | differ | by nature | unsteady |\n"


def table(rows: list[dict[str, Any]]) -> str:
    """Return the runs as a Markdown table."""
    last = {(row["package"].lower(), row["python"], row["mode"]): row for row in rows if "tests" in row}
    lines = [HEAD, "|---|---|---|---:|---:|---:|---:|---:|\n"]
    for _, row in sorted(last.items()):
        differ = len(row["reports"])
        cells = [f"{number:,}" for number in (row["tests"], row["calls"], differ)]
        cells += [f"{row[name]:,}" for name in ("by nature", "unsteady")]
        wrong = " **wrong**" if row["wrong"] else ""
        lines.append(f"| {row['package']} | {row['python']} | {row['mode']}{wrong} | {' | '.join(cells)} |\n")
    return "".join(lines)


def main(files: list[str]) -> None:
    """Rewrite the block."""
    rows = [row for file in files for row in json.loads(Path(file).read_text("utf-8"))]
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table(rows) + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
