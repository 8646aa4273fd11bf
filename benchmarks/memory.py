"""Whether memory stays flat however many calls are recorded.

    python benchmarks/memory.py                    a million calls (about two minutes)
    python benchmarks/memory.py --calls 100000     fewer
    python benchmarks/memory.py --json             the same as one JSON object

One process calls a small tool (as overhead.py does, durability `process`, one file sink, every hundredth call
with a secret) and waits after each tenth of the calls until everything is written. "left" is the resident
memory at the end less that after the first three tenths, by which every cache has its size.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

from overhead import call_often
from recorders import RECORDERS, SMALL

STEPS = 10
WARM = 3
"""Steps that do not count: allocators and caches grow to their size in them."""


def resident() -> float:
    """Return the resident memory of this process in MiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def measure(calls: int, recorder: str = "toolog process") -> dict[str, Any]:
    """Make the calls in this process; return the memory in MiB after each tenth, and what was left behind."""
    with tempfile.TemporaryDirectory() as folder:
        bench = RECORDERS[recorder](Path(folder), SMALL)
        steps = []
        for _ in range(STEPS):
            call_often(bench, calls // STEPS)
            bench.flush()
            gc.collect()
            steps.append(round(resident(), 2))
        bench.check(calls // STEPS * STEPS)
        bench.close()
    return {"calls": calls, "mib": steps, "left_mib": round(steps[-1] - steps[WARM - 1], 2)}


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="Whether memory stays flat however many calls are recorded.")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    figures = measure(options.calls)
    if options.json:
        print(json.dumps(figures))
    else:
        for step, mib in enumerate(figures["mib"], 1):
            print(f"{options.calls // STEPS * step:>12,} calls {mib:10.2f} MiB")
        print(f"left behind: {figures['left_mib']:+.2f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
