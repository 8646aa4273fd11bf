"""How costs grow: with payload, depth, classes, tasks, what waits in queue and spool, and the store.

    python benchmarks/growth.py                    all tables (about half an hour, 12 GB of disk)
    python benchmarks/growth.py --quick            small sizes only (about two minutes)
    python benchmarks/growth.py --only store       one table; may be repeated
    python benchmarks/growth.py --max 1000000      no size above this
    python benchmarks/growth.py --json             every figure as one JSON object
    python benchmarks/growth.py --charts FOLDER    also draws each table

Each figure is taken in a fresh process; the rounds go through all sizes in turns, and the median counts. What
takes long is done once. `TOOLOG_BENCH_DIR` names where the large stores are made (else the temporary folder).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from charts import lines_svg

HERE = Path(__file__).parent


class Growth(NamedTuple):
    """One table: its title, what the sizes are, the sizes, how many of them --quick takes, and the columns.

    ``columns``: figure -> what stands above it. The chart shows those in ``drawn``, which have the same unit.
    """

    title: str
    unit: str
    sizes: tuple[int, ...]
    quick: int
    columns: dict[str, str]
    drawn: tuple[str, ...]
    rounds: int = 3


GROWTHS: dict[str, Growth] = {
    "payload": Growth(
        "A call, by the size of its result", "bytes",
        (10, 100, 1_000, 10_000, 100_000, 1_000_000), 5,
        {"caller": "caller us", "total": "total us"}, ("caller", "total"),
    ),
    "depth": Growth(
        "A call, by how deep its result nests", "levels",
        (1, 4, 16, 64, 256), 4,
        {"caller": "caller us", "total": "total us"}, ("caller", "total"),
    ),
    "classes": Growth(
        "Instrumenting classes with three methods each", "classes",
        (10, 100, 1_000, 10_000), 3,
        {"seconds": "instrument s", "undo": "undo s", "mib": "MiB"}, ("seconds", "undo"), 1,
    ),
    "tasks": Growth(
        "A call in asyncio tasks, all at once", "tasks",
        (1, 10, 100, 1_000, 10_000, 100_000), 5,
        {"closure": "closure us", "caller": "caller us"}, ("closure", "caller"),
    ),
    "queue": Growth(
        "Handing a record of 300 bytes to the queue, by how many wait in it", "waiting",
        (10, 1_000, 100_000, 1_000_000), 3,
        {"put": "put us", "mib": "MiB"}, ("put",),
    ),
    "spool": Growth(
        "A start, by what waits in the spool", "MB",
        (1, 10, 100, 1_000, 10_000), 3,
        {"start": "start ms", "first": "first call ms", "mib": "MiB"}, ("start", "first"), 1,
    ),
    "store": Growth(
        "Commands, by the calls in the store (each with its start)", "calls",
        (10_000, 100_000, 1_000_000, 10_000_000), 2,
        {
            "tail": "tail ms", "tail_tree": "tail --tree", "tail_tool": "tail --tool",
            "tail_failed": "tail --status", "show": "show", "stats": "stats", "stats_hour": "stats --since",
            "gib": "GiB",
        },
        ("tail", "show", "stats"), 1,
    ),
}  # fmt: skip


def take(name: str, size: int) -> dict[str, float]:
    """Return the figures of one size, from a fresh process."""
    command = [sys.executable, str(HERE / "growing.py"), name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}, {size}: {done.stderr.strip() or done.stdout}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure(name: str, sizes: tuple[int, ...], rounds: int) -> list[dict[str, float]]:
    """Return a row of medians for each size."""
    runs: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
    for number in range(rounds):
        for size in sizes:
            if sys.stderr.isatty():
                print(f"\r{name}, round {number + 1}: {size:<20,}", end="", file=sys.stderr, flush=True)
            runs[size].append(take(name, size))
    if sys.stderr.isatty():
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    return [
        {"size": size, **{key: statistics.median(one[key] for one in found) for key in found[0]}}
        for size, found in runs.items()
    ]


def cells(growth: Growth, rows: list[dict[str, float]]) -> list[list[str]]:
    """Return a table of text, its head first."""
    table = [[growth.unit, *growth.columns.values()]]
    table += [[f"{row['size']:,}", *(short(row[key]) for key in growth.columns)] for row in rows]
    return table


def short(value: float) -> str:
    """Return a number with three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def print_table(growth: Growth, rows: list[dict[str, float]]) -> None:
    """Print one table for people."""
    print(f"\n{growth.title}")
    for line in cells(growth, rows):
        print(f"{line[0]:>12}" + "".join(f"{cell:>15}" for cell in line[1:]))


def chart(name: str, rows: list[dict[str, float]]) -> str:
    """Return a table's chart as SVG."""
    growth = GROWTHS[name]
    lines = {growth.columns[key]: [(row["size"], row[key]) for row in rows] for key in growth.drawn}
    return lines_svg(growth.title, growth.unit, lines)


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument("--only", action="append", choices=list(GROWTHS), help="only this one")
    parser.add_argument("--max", type=int, metavar="SIZE", help="no size above this")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--charts", type=Path, metavar="FOLDER", help="also draw each table")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.only or GROWTHS:
        growth = GROWTHS[name]
        sizes = growth.sizes[: growth.quick] if options.quick else growth.sizes
        sizes = tuple(size for size in sizes if options.max is None or size <= options.max)
        found[name] = measure(name, sizes, 1 if options.quick else growth.rounds)
        if not options.json:
            print_table(growth, found[name])
        if options.charts:
            options.charts.mkdir(parents=True, exist_ok=True)
            (options.charts / f"{name}.svg").write_text(chart(name, found[name]), encoding="utf-8")
    if options.json:
        print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
