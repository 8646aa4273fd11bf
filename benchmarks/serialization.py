"""Serialization libraries beside each other, on this machine.

    python benchmarks/serialization.py                    the table (about a minute)
    python benchmarks/serialization.py --rounds 5         fewer rounds
    python benchmarks/serialization.py --json             every figure as one JSON object
    python benchmarks/serialization.py --chart FILE.svg   the ratios as a chart

Standard json, orjson, msgspec, msgpack, ormsgpack and Protocol Buffers (a Struct, and a typed message) encode
and decode the same 300 made-up records. What is not installed is named and left out. The engine is
``toolog.report.bench_serialization``, so it also runs from an installed wheel.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from toolog.report.bench_chart import svg
from toolog.report.bench_serialization import ROUNDS, run, table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="print every figure as one JSON object")
    parser.add_argument("--chart", type=Path, metavar="FILE.svg", help="also draw the ratios")
    options = parser.parse_args()
    result = run(rounds=options.rounds)
    print(json.dumps(result.to_dict()) if options.json else table(result))
    if options.chart:
        options.chart.write_text(svg(result), encoding="utf-8")


if __name__ == "__main__":
    main()
