"""Carry out the whole fault matrix and print its table: ``python -m tests.faults`` (or ``make faults``).

    --row TEXT     only the rows whose name contains TEXT; may be repeated
    --skip TEXT    not the rows whose name contains TEXT; may be repeated
    --short        only the rows that the suite has too
    --kills N      how many programs are killed at random moments (300), half of them with each server
    --each N       how many at each point of their work (25)
    --soak MIN     how long the soak lasts (30 minutes; 0 leaves it out)
    --json FILE    write the figures into a file after each row, for docs/faults.py
    --resume       go on where FILE ends: rows that stand there and were not wrong are not run again
    --within MIN   begin no row after so many minutes

Each row is printed when it is over, with the seconds that it took. One that takes much longer than it should
is broken off and wrong, as is one that breaks; the others go on. The exit code is 1 when a row is wrong, or
was not begun. Servers are started and ended here.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from tests.faults.limits import OutOfTime, time_limit
from tests.faults.matrix import Part, Servers, parts

COLUMNS = (
    "accepted",
    "stored",
    "dead letters",
    "dropped",
    "lost",
    "twice",
    "spurious",
    "corrupt",
    "again on the wire",
)


def main() -> int:
    """Run the rows that were asked for; print one line each, and what is wrong."""
    options = _read_options()
    began = time.monotonic()
    found = _kept(options.json) if options.resume else []
    done = {row["row"] for row in found}
    planned = [part for part in parts(options) if _is_wanted(part.name, options)]
    left: list[str] = []
    print(f"{'':<58}" + "".join(f"{name.replace(' on the wire', ''):>13}" for name in COLUMNS) + "      s")
    for row in found:
        tell(row)
    with Servers() as servers:
        for part in planned:
            if part.name in done:
                continue
            if options.within and time.monotonic() - began > options.within * 60:
                left.append(part.name)
                continue
            row = run(part, servers)
            found.append(row)
            tell(row)
            if options.json:  # after each row: whoever ends it early has what was done
                options.json.write_text(json.dumps(found, indent=1), "utf-8")
    again = sum(row.get("again on the wire", 0) for row in found)
    bad = [row["row"] for row in found if row["wrong"]]
    took = time.monotonic() - began
    print(f"\n{len(found)} rows, {len(bad)} of them wrong, {took:.0f} s; came again on the wire: {again}")
    for name in bad:
        print(f"    wrong: {name}")
    for name in left:
        print(f"    not begun: {name}")
    return 1 if bad or left else 0


def run(part: Part, servers: Servers) -> dict[str, Any]:
    """Run one row within its time; a row that breaks is a wrong one."""
    began = time.monotonic()
    try:
        with time_limit(part.limit):
            return {"seconds": 0.0, **part.run(servers)}
    except (Exception, OutOfTime) as error:
        servers.end()  # whatever state they are in
        where = "".join(traceback.format_exception(error)[-3:])
        return {"row": part.name, "seconds": time.monotonic() - began, "wrong": [where.strip()]}


def tell(row: dict[str, Any]) -> None:
    """Print one row."""
    cells = "".join(f"{row[name]:>13,}" if name in row else f"{'':>13}" for name in COLUMNS)
    cells = f"{cells}{row['seconds']:>7.0f}" if cells.strip() else f"{row['seconds']:>7.0f}"
    print(f"{row['row']:<58}{cells}  {row.get('notes', '')}".rstrip(), flush=True)
    for complaint in row["wrong"]:
        print(f"    WRONG: {complaint}", flush=True)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The whole fault matrix.")
    parser.add_argument("--row", action="append", default=[], metavar="TEXT")
    parser.add_argument("--skip", action="append", default=[], metavar="TEXT")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--kills", type=int, default=300, metavar="N")
    parser.add_argument("--each", type=int, default=25, metavar="N")
    parser.add_argument("--soak", type=float, default=30.0, metavar="MIN")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--within", type=float, metavar="MIN")
    options = parser.parse_args()
    if options.resume and not options.json:
        parser.error("--resume goes on where the file of --json ends: name one")
    return options


def _is_wanted(name: str, options: argparse.Namespace) -> bool:
    if any(text in name for text in options.skip):
        return False
    return not options.row or any(text in name for text in options.row)


def _kept(file: Path) -> list[dict[str, Any]]:
    """Return the rows of an earlier run that need not be run again."""
    if not file.exists():
        return []
    return [row for row in json.loads(file.read_text("utf-8")) if not row["wrong"]]


if __name__ == "__main__":
    sys.exit(main())
