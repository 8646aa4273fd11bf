"""Writes docs/performance.md and its charts from measured figures; `make performance` measures and calls it.

    python benchmarks/page.py gate.json growth.json

Takes files that gate.py and growth.py wrote with --json, several of each if need be: what stands in a later
one replaces what stands in an earlier one, row by row. The machine that is described is this one.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gate import BUSY
from growth import GROWTHS, cells, chart

DOCS = Path(__file__).resolve().parents[1] / "docs"
TEXTS = {
    "payload": "Durability `process`, one file sink, masking on. What is longer than the bounds of values is "
    "cut, so the cost of very large results is that of looking at them.",
    "depth": "The same; deeper than `max_depth` a value is cut.",
    "classes": "All in one module, instrumented at once.",
    "tasks": "CPU of the event loop's thread, durability `process`; beside it an async closure that does "
    "nothing.",
    "queue": "Durability `memory`, with nobody taking from the queue.",
    "spool": "Real segments with records of 4 kB that no sink has yet; `start` is `toolog.configure`, "
    "`first call` ends when the first call has been recorded.",
    "store": "The whole command, with the interpreter's start. `tail --status` asks for a status that no "
    "call has, `stats --since` for the last hour (10,000 calls).",
}
"""What a reader must know of each table."""


def machine() -> str:
    """Return what the figures were taken on, in one line."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
        with open("/proc/meminfo", encoding="utf-8") as file:
            memory = f", {int(file.readline().split()[1]) / 2**20:.0f} GiB of memory"
    except (OSError, StopIteration, ValueError):
        memory = ""
    return (
        f"{model}, {os.cpu_count()} cores{memory}; {platform.system()} {platform.release().split('-')[0]}, "
        f"{platform.python_implementation()} {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def markdown(table: list[list[str]]) -> Iterable[str]:
    """Yield a table's lines, its head first; all columns but the first are numbers."""
    yield "| " + " | ".join(table[0]) + " |"
    yield "|---|" + "---:|" * (len(table[0]) - 1)
    for row in table[1:]:
        yield "| " + " | ".join(row) + " |"


def gate_lines(figures: dict[str, Any]) -> Iterable[str]:
    """Yield the table of the gate."""
    head = ["measure", "measured", "must", "aim"]
    table = [head]
    for row in figures["rows"]:
        value = row["measured"]
        sign = "≤" if row["better"] == "lower" else "≥"
        table.append(
            [
                row["title"],
                f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}",
                f"{sign} {row['must']:,g}" + ("" if holds(row) else " (missed)"),
                f"{row['aim']:,g}",
            ]
        )
    yield from markdown(table)


def busy_lines(gate: dict[str, Any]) -> Iterable[str]:
    """Yield what a reader must know of figures that were not taken in peace."""
    share = gate.get("others", 0)
    if share > BUSY:
        yield f"**Other programs used {share:.0%} of the machine meanwhile.** Times are several times those"
        yield "of a quiet one, 99.9th percentiles and rates say nothing: measure again, then rely on them."
        yield ""


def holds(row: dict[str, Any]) -> bool:
    """Return whether a row of the gate keeps its must."""
    better: bool = (
        row["measured"] <= row["must"] if row["better"] == "lower" else row["measured"] >= row["must"]
    )
    return better


def merge(found: Iterable[dict[str, list[dict[str, float]]]]) -> dict[str, list[dict[str, float]]]:
    """Return the tables of several files as one, each with its sizes in order."""
    tables: dict[str, dict[float, dict[str, float]]] = {}
    for one in found:
        for name, rows in one.items():
            tables.setdefault(name, {}).update({row["size"]: row for row in rows})
    return {name: [rows[size] for size in sorted(rows)] for name, rows in tables.items()}


def write(gate: dict[str, Any], growths: dict[str, list[dict[str, float]]]) -> str:
    """Return the page."""
    command = "python benchmarks/gate.py" + " --quick" * gate["quick"]
    missed = sum(not holds(row) for row in gate["rows"])
    lines = [
        "<!-- Written by benchmarks/page.py (`make performance`); do not change this page. -->",
        "",
        "# Performance",
        "",
        f"Measured on: {machine()}.",
        "",
        "Read ratios and how things grow; single times are this machine's. What is compared was measured in "
        "turns, in fresh processes, and the median counts.",
        "",
        *busy_lines(gate),
        "## What is promised, and what holds",
        "",
        f"`{command}`. {len(gate['rows']) - missed} of {len(gate['rows'])} musts hold. CI runs the short "
        "form and fails when a measure gets worse than `benchmarks/goals.toml` allows.",
        "",
        *gate_lines(gate),
        "",
        "## How it grows",
        "",
        "`python benchmarks/growth.py`.",
    ]
    for name, rows in growths.items():
        growth = GROWTHS[name]
        lines += ["", f"### {growth.title}", "", TEXTS[name], "", *markdown(cells(growth, rows)), ""]
        lines.append(f"![{growth.title}](performance/{name}.svg)")
    return "\n".join([*lines, ""])


def main(files: list[str]) -> int:
    """Write the page and its charts, and return the exit code."""
    found = [json.loads(Path(file).read_text("utf-8")) for file in files]
    gates = [one for one in found if "rows" in one]
    gate = {**gates[-1], "rows": list({row["name"]: row for one in gates for row in one["rows"]}.values())}
    tables = merge(one for one in found if "rows" not in one)
    (DOCS / "performance").mkdir(exist_ok=True)
    for name, rows in tables.items():
        (DOCS / "performance" / f"{name}.svg").write_text(chart(name, rows), encoding="utf-8")
    (DOCS / "performance.md").write_text(write(gate, tables), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
