"""What `import toolog` costs, as a ratio to `import logging`, and what it must not load.

    python benchmarks/imports.py                    a table
    python benchmarks/imports.py --json             the same as one JSON object
    python benchmarks/imports.py --max-ratio 2.5    exit code 1 when the ratio is higher

Each figure is the time inside a fresh interpreter around the import statement alone; both imports take
turns, and the smallest of all rounds stands for each: whatever else the machine does can only add to it. A
first call (the import of what capturing needs) is shown for information.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

HEAVY = (
    "anthropic", "boto3", "botocore", "click", "elasticsearch", "httpx", "jsonschema", "langchain_core",
    "llm", "msgpack", "numpy", "openai", "opensearchpy", "opentelemetry", "orjson", "ormsgpack",
    "pandas", "pydantic", "re2", "requests", "rich", "sqlite3", "wrapt", "zstandard",
)  # fmt: skip
"""Names that `import toolog` must not load."""

_SNIPPET = """
import sys, time
began = time.perf_counter_ns()
{statement}
took = time.perf_counter_ns() - began
print(took, *(name for name in {heavy!r} if name in sys.modules))
"""

STATEMENTS = {
    "import logging": "import logging",
    "import toolog": "import toolog",
    "toolog.instrument": "import toolog; toolog.instrument",
    "toolog.configure": "import toolog; toolog.configure",
}


def run_fresh(statement: str) -> tuple[int, list[str]]:
    """Return the nanoseconds a statement takes in a fresh interpreter, and the heavy names it loads."""
    code = _SNIPPET.format(statement=statement, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    took, *loaded = done.stdout.split()
    return int(took), loaded


def measure(rounds: int, statements: Iterable[str] = tuple(STATEMENTS)) -> dict[str, Any]:
    """Return the figures of some statements (both imports among them), taken in turns."""
    times: dict[str, list[int]] = {name: [] for name in statements}
    loaded: dict[str, list[str]] = {}
    for _ in range(rounds):
        for name in times:
            took, heavy = run_fresh(STATEMENTS[name])
            times[name].append(took)
            loaded[name] = heavy
    best = {name: min(values) for name, values in times.items()}
    return {
        "rounds": rounds,
        "python": sys.version.split()[0],
        "rows": [
            {
                "statement": name,
                "best_ms": round(best[name] / 1e6, 2),
                "median_ms": round(statistics.median(times[name]) / 1e6, 2),
                "ratio": round(best[name] / best["import logging"], 2),
                "heavy": loaded[name],
            }
            for name in times
        ],
        "ratio": round(best["import toolog"] / best["import logging"], 2),
        "heavy": loaded["import toolog"],
    }


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="What `import toolog` costs beside `import logging`.")
    parser.add_argument("--rounds", type=int, default=15, help="fresh interpreters for each statement")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--max-ratio", type=float, help="exit 1 when import toolog / import logging is higher"
    )
    options = parser.parse_args()
    figures = measure(options.rounds)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        print(f"{'statement':<20}{'best ms':>9}{'median':>9}{'ratio':>7}  heavy modules loaded")
        for row in figures["rows"]:
            print(
                f"{row['statement']:<20}{row['best_ms']:>9.2f}{row['median_ms']:>9.2f}{row['ratio']:>7.2f}"
                f"  {', '.join(row['heavy']) or '-'}"
            )
    too_slow = options.max_ratio is not None and figures["ratio"] > options.max_ratio
    if too_slow:
        print(
            f"import toolog costs {figures['ratio']} times import logging; {options.max_ratio} is the bound"
        )
    if figures["heavy"]:
        print("import toolog loads", *figures["heavy"])
    return 1 if too_slow or figures["heavy"] else 0


if __name__ == "__main__":
    sys.exit(main())
