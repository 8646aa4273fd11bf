"""What recording a call costs, for the caller and for the whole process, with peers beside us.

    python benchmarks/overhead.py             the table (about two minutes)
    python benchmarks/overhead.py --quick     fewer calls and rounds
    python benchmarks/overhead.py --json      every figure as one JSON object

Recorders take turns: in each round every one runs once, in a fresh process with an empty folder, so that
what else the machine does falls on all of them. A figure is the median over the rounds; a ratio is the
median of the ratios to the closure of the same round. "caller" is CPU time of the calling thread for one
call (in `8 threads` and `paced` the median wall time), "total" CPU time of the whole process for one call
until everything is written (writing, encoding and delivery included). At the end of each run the recorder
proves that every call arrived, for toolog also masked and schema-valid; a run that cannot is an error.

Scenarios: `small` (a small dict in and out), `4 kB` (an SQL result of about 4 kB), `8 threads` (small, and
the 99.9th percentile of a call's wall time), `asyncio` (10,000 tasks, small), `paced` (5,000 calls a second,
4 kB, and the 99.9th percentile).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from recorders import LARGE, NOTE, RECORDERS, SMALL, Bench

CALLS = {"small": 20_000, "4 kB": 10_000, "8 threads": 16_000, "asyncio": 10_000, "paced": 5_000}
QUICK = {"small": 5_000, "4 kB": 3_000, "8 threads": 4_000, "asyncio": 3_000, "paced": 2_000}
PACE = 5_000
"""Calls a second in the scenario `paced`."""
CHEAP = ("closure", "wrapt alone", "toolog disabled")
"""Recorders that record nothing: a few thousand calls of theirs are over before a clock tells much."""


def call_often(bench: Bench, calls: int) -> None:
    """Call the tool; every hundredth input holds a secret."""
    tool = bench.tool
    for number in range(calls):
        if number % 100:
            tool(sku="A-1001", amount=number)
        else:
            tool(sku="A-1001", amount=number, note=NOTE)


def call_in_threads(bench: Bench, calls: int) -> list[int]:
    """Call the tool from eight threads at once; return the wall time of each call in nanoseconds."""
    spans: list[list[int]] = [[] for _ in range(8)]
    gate = threading.Barrier(8)

    def work(mine: list[int]) -> None:
        tool, clock = bench.tool, time.perf_counter_ns
        gate.wait()
        for number in range(calls // 8):
            began = clock()
            tool(sku="A-1001", amount=number)
            mine.append(clock() - began)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in spans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [span for mine in spans for span in mine]


def call_in_tasks(bench: Bench, calls: int) -> None:
    """Await the async tool in as many tasks as there are calls."""

    async def work(number: int) -> None:
        await bench.atool(sku="A-1001", amount=number)

    async def everything() -> None:
        await asyncio.gather(*(work(number) for number in range(calls)))

    asyncio.run(everything())


def call_paced(bench: Bench, calls: int) -> list[int]:
    """Call the tool at a fixed rate; return the wall time of each call in nanoseconds."""
    tool, clock = bench.tool, time.perf_counter_ns
    spans = []
    due = clock()
    for number in range(calls):
        due += 1_000_000_000 // PACE
        while (left := due - clock()) > 0:
            time.sleep(left / 2e9 if left > 200_000 else 0)
        began = clock()
        tool(sku="A-1001", amount=number)
        spans.append(clock() - began)
    return spans


SCENARIOS: dict[str, tuple[Callable[[Bench, int], list[int] | None], list[dict[str, Any]]]] = {
    "small": (call_often, SMALL),
    "4 kB": (call_often, LARGE),
    "8 threads": (call_in_threads, SMALL),
    "asyncio": (call_in_tasks, SMALL),
    "paced": (call_paced, LARGE),
}


def work_here(recorder: str, scenario: str, calls: int) -> dict[str, float]:
    """Run one recorder in one scenario in this process; return nanoseconds for a call."""
    run, rows = SCENARIOS[scenario]
    with tempfile.TemporaryDirectory() as folder:
        bench = RECORDERS[recorder](Path(folder), rows)
        warm = 200
        call_often(bench, warm)
        if scenario == "asyncio":
            call_in_tasks(bench, warm)
            warm *= 2
        bench.flush()
        gc.collect()
        wall, caller, total = time.perf_counter_ns(), time.thread_time_ns(), time.process_time_ns()
        spans = run(bench, calls)
        caller, wall = time.thread_time_ns() - caller, time.perf_counter_ns() - wall
        bench.flush()
        total = time.process_time_ns() - total
        bench.check(calls + warm)
        bench.close()  # its files are about to be deleted
    figures = {"caller": caller / calls, "total": total / calls, "wall": wall / calls}
    if spans:
        spans.sort()
        # Waiting for a turn burns CPU too: here the caller's figure is the median wall time of a call.
        figures |= {"caller": spans[len(spans) // 2], "p99.9": spans[int(len(spans) * 0.999)]}
        if scenario == "paced":
            del figures["total"]
    return figures


def work_elsewhere(recorder: str, scenario: str, calls: int) -> dict[str, float]:
    """Run one recorder in one scenario in a fresh process."""
    command = [sys.executable, __file__, "--worker", recorder, scenario, str(calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{recorder}, {scenario}: {done.stderr.strip() or done.stdout}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


Runs = dict[str, list[dict[str, float]]]
"""Figures of each recorder, one for each round."""


def take_turns(scenario: str, recorders: Iterable[str], calls: int, rounds: int, *, cheap: int = 1) -> Runs:
    """Run recorders in one scenario, in turns and in fresh processes, every second round in reverse order.
    Those that record nothing make ``cheap`` times as many calls.
    """
    names = list(recorders)
    runs: Runs = {name: [] for name in names}
    for number in range(rounds):
        for name in names[:: -1 if number % 2 else 1]:
            if sys.stderr.isatty():
                print(f"\r{scenario}, round {number + 1}: {name:<20}", end="", file=sys.stderr, flush=True)
            runs[name].append(work_elsewhere(name, scenario, calls * cheap if name in CHEAP else calls))
    if sys.stderr.isatty():
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    return runs


def measure(
    rounds: int, calls: dict[str, int], scenarios: list[str]
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the medians by scenario and recorder, with ratios to the closure."""
    answer: dict[str, dict[str, dict[str, float]]] = {}
    for scenario in scenarios:
        runs = take_turns(scenario, RECORDERS, calls[scenario], rounds)
        answer[scenario] = {}
        units = runs[next(iter(RECORDERS))]
        for name, figures in runs.items():
            row = {key: statistics.median(each[key] for each in figures) for key in figures[0]}
            for key in [key for key in row if key != "wall"]:
                pairs = zip(figures, units, strict=True)
                row[f"{key}_ratio"] = statistics.median(mine[key] / unit[key] for mine, unit in pairs)
            answer[scenario][name] = row
    return answer


def show(figures: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print one table for each scenario, and how the peers stand to toolog."""
    for scenario, rows in figures.items():
        columns = [key for key in ("caller", "total", "p99.9") if key in rows["closure"]]
        print(f"\n{scenario:<18}" + "".join(f"{key + ' us':>12}{'x':>7}" for key in columns))
        for name, row in rows.items():
            print(
                f"{name:<18}"
                + "".join(f"{row[key] / 1e3:>12.2f}{row[key + '_ratio']:>7.1f}" for key in columns)
            )
        ours = rows["toolog process"]
        for peer in ("json logging", "opentelemetry"):
            ratios = ", ".join(f"{rows[peer][key] / ours[key]:.1f} ({key})" for key in columns)
            print(f"  {peer} / toolog process: {ratios}")
        if "total" in columns:
            print(f"  toolog process, total / caller: {ours['total'] / ours['caller']:.2f}")


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="What recording a call costs, with peers beside us.")
    parser.add_argument("--rounds", type=int, help="how often each recorder runs (5, quick: 2)")
    parser.add_argument("--quick", action="store_true", help="fewer calls and rounds, rougher figures")
    parser.add_argument(
        "--scenario", action="append", choices=list(SCENARIOS), help="only this one; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--worker", nargs=3, metavar=("RECORDER", "SCENARIO", "CALLS"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.worker:
        recorder, scenario, calls = options.worker
        print(json.dumps(work_here(recorder, scenario, int(calls))))
        return 0
    rounds = options.rounds or (2 if options.quick else 5)
    figures = measure(rounds, QUICK if options.quick else CALLS, options.scenario or list(SCENARIOS))
    if options.json:
        print(
            json.dumps({"python": sys.version.split()[0], "rounds": rounds, "nanoseconds": figures}, indent=2)
        )
    else:
        show(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
