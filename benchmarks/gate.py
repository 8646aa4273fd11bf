"""Whether recording still costs no more than it may: the guard of CI.

    python benchmarks/gate.py --quick          about a minute, as CI runs it
    python benchmarks/gate.py                  more calls and rounds, a million calls for memory (ten minutes)
    python benchmarks/gate.py --only caller    one measure (and those that come with it); may be repeated
    python benchmarks/gate.py --json           every figure as one JSON object

The measures and what they must reach are in goals.toml. Each is measured by the benchmark of its kind, in
several rounds; what is compared takes turns within a round, and the median over the rounds counts. Exit code
1: one is worse than its bar by more than its tolerance, mostly a quarter. Where the bar is not the must yet,
the table says so: a gate that holds is not a promise that is kept.

Machines are noisy, so what seems to fail is measured again, up to twice, and the best of these tries counts:
what has become slower is slower in each of them, while noise of half a minute is not in all. Of 99.9th
percentiles and rates the best round counts, on both sides: other programs only make them worse. When others
use more than a fifth of the machine at the beginning or at the end, these are shown and not judged.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import imports
import maskers
import masking
import store
from overhead import Runs, take_turns

HERE = Path(__file__).parent
AGAIN = 2
"""How often what seems to fail is measured again, at most; once in any case, ..."""
LONGEST = 90.0
"""... and once more while not so many seconds have passed."""

BUSY = 0.2
"""Share of the machine that other programs use from which on what needs quiet is not judged."""

Values = dict[str, list[tuple[float, float]]]
"""By measure, in each round a figure and what it is compared with (1.0 where it stands alone)."""


class Goal(NamedTuple):
    """One measure of goals.toml; see there."""

    name: str
    title: str
    better: str
    must: float
    aim: float
    bar: float | None = None
    quiet: bool = False
    tolerance: float | None = None

    def value(self, rounds: list[tuple[float, float]]) -> float:
        """Return what counts of several rounds: the median, or each side's best for what needs quiet."""
        if not self.quiet:
            return statistics.median(figure / unit for figure, unit in rounds)
        best = min if self.better == "lower" else max
        return best(figure for figure, _ in rounds) / best(unit for _, unit in rounds)

    def better_of(
        self, before: list[tuple[float, float]] | None, rounds: list[tuple[float, float]]
    ) -> list[tuple[float, float]]:
        """Return the rounds of the better of two tries."""
        if before is None or self.reaches(self.value(rounds), self.value(before)):
            return rounds
        return before

    def reaches(self, value: float, wanted: float, tolerance: float = 0.0) -> bool:
        """Return whether a value is as good as wanted, but for a tolerance (0.25: a quarter)."""
        if self.better == "lower":
            return value <= wanted * (1 + tolerance)
        return value >= wanted / (1 + tolerance)

    def verdict(self, value: float, tolerance: float, *, busy: bool = False) -> str:
        """Return `FAILS`, or what a value that holds says of must and bar."""
        bar = self.must if self.bar is None else self.bar
        tolerance = tolerance if self.tolerance is None else self.tolerance
        if not self.reaches(value, bar, tolerance):
            return "must missed, not judged: the machine is busy" if busy and self.quiet else "FAILS"
        if not self.reaches(value, self.must):
            loose = self.bar is not None and not self.reaches(bar, value, tolerance)
            return "must missed, bar can be tightened" if loose else "must missed"
        if self.bar is not None:
            return "must held, bar can go"
        return "aim reached" if self.reaches(value, self.aim) else "must held"


def read_goals(path: Path = HERE / "goals.toml") -> tuple[list[Goal], float]:
    """Return the goals and the tolerance. Raises ValueError for a table that makes no sense."""
    content = tomllib.loads(path.read_text("utf-8"))
    tolerance = float(content.pop("tolerance"))
    goals = []
    for name, table in content.items():
        goal = Goal(name, **table)
        if goal.better not in ("lower", "higher"):
            raise ValueError(f"{path}: [{name}] better is 'lower' or 'higher', not {goal.better!r}")
        if not goal.reaches(goal.aim, goal.must):
            raise ValueError(f"{path}: [{name}] aim {goal.aim} is less than its must {goal.must}")
        if goal.bar is not None and goal.reaches(goal.bar, goal.must):
            raise ValueError(f"{path}: [{name}] a bar that keeps the must is not needed: leave it out")
        goals.append(goal)
    return goals, tolerance


def others() -> float:
    """Return the share of the machine that other programs use just now, looked at for a second."""

    def look() -> tuple[int, int]:
        with open("/proc/stat") as file:
            times = [int(part) for part in file.readline().split()[1:9]]
        return sum(times), times[3] + times[4]

    total, idle = look()
    time.sleep(1)
    total, idle = (after - before for after, before in zip(look(), (total, idle), strict=True))
    return 1 - idle / max(1, total)


def ratios(runs: Runs, above: tuple[str, str], below: tuple[str, str]) -> list[tuple[float, float]]:
    """Return in each round one recorder's figure and another's; both given as (recorder, figure)."""
    pairs = zip(runs[above[0]], runs[below[0]], strict=True)
    return [(one[above[1]], other[below[1]]) for one, other in pairs]


def measure_small(rounds: int, quick: bool) -> Values:
    """Small calls, one after the other."""
    recorders = ("closure", "wrapt alone", "toolog disabled", "toolog process", "opentelemetry")
    runs = take_turns("small", recorders, 4_000 if quick else 20_000, rounds, cheap=10)
    ours, peer = "toolog process", "opentelemetry"
    return {
        "caller": ratios(runs, (ours, "caller"), ("closure", "caller")),
        "caller-beside-opentelemetry": ratios(runs, (peer, "caller"), (ours, "caller")),
        "total-beside-opentelemetry": ratios(runs, (peer, "total"), (ours, "total")),
        "total-by-caller": ratios(runs, (ours, "total"), (ours, "caller")),
        "disabled": ratios(runs, ("toolog disabled", "caller"), ("wrapt alone", "caller")),
    }


def measure_large(rounds: int, quick: bool) -> Values:
    """Calls with 4 kB, one after the other."""
    runs = take_turns("4 kB", ("toolog process", "json logging"), 2_000 if quick else 10_000, rounds)
    name = "total-beside-json-logging"
    return {name: ratios(runs, ("json logging", "total"), ("toolog process", "total"))}


def measure_paced(rounds: int, quick: bool) -> Values:
    """Calls at a fixed rate; fewer than 5,000 make no 99.9th percentile."""
    runs = take_turns("paced", ("closure", "toolog process"), 5_000 if quick else 25_000, rounds)
    return {"paced-tail": ratios(runs, ("toolog process", "p99.9"), ("closure", "p99.9"))}


def measure_threads(rounds: int, quick: bool) -> Values:
    """Eight threads at once."""
    runs = take_turns("8 threads", ("closure", "toolog process"), 8_000 if quick else 40_000, rounds)
    return {"threads-tail": ratios(runs, ("toolog process", "p99.9"), ("closure", "p99.9"))}


def measure_tasks(rounds: int, quick: bool) -> Values:
    """Tasks of asyncio, 10,000 at once."""
    runs = take_turns("asyncio", ("closure", "toolog process"), 10_000, rounds)
    return {"tasks": ratios(runs, ("toolog process", "caller"), ("closure", "caller"))}


def measure_masking(rounds: int, quick: bool) -> Values:
    """Masking of clean records, by the walk alone and as it is done."""
    clean, _ = masking.make_records(40)
    walk, ours = maskers.toolog_walk(), maskers.toolog()
    seconds = 0.1 if quick else 1.0
    return {
        "masking": [
            (masking.cost(walk, clean, seconds), masking.cost(ours, clean, seconds)) for _ in range(rounds)
        ]
    }


def measure_store(rounds: int, quick: bool) -> Values:
    """The rate into the local store, the better of two fillings in each round."""
    records = 4_000 if quick else 20_000
    rates = [store.measure(2, records, ["toolog store"])["rates"]["toolog store"] for _ in range(rounds)]
    return {"store-rate": [(rate, 1.0) for rate in rates]}


def measure_imports(rounds: int, quick: bool) -> Values:
    """Fresh interpreters that import."""
    both = ("import logging", "import toolog")
    found = [imports.measure(5 if quick else 15, both) for _ in range(rounds)]
    if heavy := found[0]["heavy"]:
        raise SystemExit(f"import toolog loads {', '.join(heavy)}")
    return {"import": [(figures["ratio"], 1.0) for figures in found]}


def measure_memory(rounds: int, quick: bool) -> Values:
    """One process with many calls; once is enough, as nothing else can add to its memory."""
    calls = 60_000 if quick else 1_000_000
    command = [sys.executable, str(HERE / "memory.py"), "--json", "--calls", str(calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"memory: {done.stderr.strip() or done.stdout}")
    return {"memory": [(json.loads(done.stdout)["left_mib"], 1.0)]}


GROUPS: dict[Callable[[int, bool], Values], tuple[str, ...]] = {
    measure_small: (
        "caller", "caller-beside-opentelemetry", "total-beside-opentelemetry", "total-by-caller", "disabled",
    ),
    measure_large: ("total-beside-json-logging",),
    measure_paced: ("paced-tail",),
    measure_threads: ("threads-tail",),
    measure_tasks: ("tasks",),
    measure_masking: ("masking",),
    measure_store: ("store-rate",),
    measure_imports: ("import",),
    measure_memory: ("memory",),
}  # fmt: skip
"""What is measured together, and the measures that come out."""


def measure(
    goals: Iterable[Goal], tolerance: float, rounds: int, quick: bool, *, busy: bool = False
) -> Values:
    """Return the rounds of each goal; what seems to fail is measured again, and its best try is returned."""
    wanted = {goal.name: goal for goal in goals}
    values: Values = {}
    began = time.monotonic()
    for group, names in GROUPS.items():
        missing = [wanted[name] for name in names if name in wanted]
        for tried in range(1 + AGAIN):
            if not missing or (tried > 1 and time.monotonic() - began > LONGEST):
                break
            found = group(rounds, quick)
            for goal in missing:
                values[goal.name] = goal.better_of(values.get(goal.name), found[goal.name])
            missing = [
                goal
                for goal in missing
                if goal.verdict(goal.value(values[goal.name]), tolerance, busy=busy) == "FAILS"
            ]
    return {name: values[name] for name in wanted}


def judge(
    goals: Iterable[Goal], values: Values, tolerance: float, *, busy: bool = False
) -> list[dict[str, Any]]:
    """Return a row of the table for each goal."""
    rows = []
    for goal in goals:
        value = goal.value(values[goal.name])
        row = {**goal._asdict(), "measured": value, "rounds": values[goal.name]}
        rows.append({**row, "verdict": goal.verdict(value, tolerance, busy=busy)})
    return rows


def print_table(rows: list[dict[str, Any]], tolerance: float, seconds: float) -> None:
    """Print the figures for people; what is missed is said in words below."""
    width = max(len(row["title"]) for row in rows)
    print(f"{'':<{width}}{'measured':>10}{'bar':>8}{'must':>8}{'aim':>8}")
    for row in rows:
        bar = "" if row["bar"] is None else f"{row['bar']:,g}"
        sign = "<=" if row["better"] == "lower" else ">="
        print(
            f"{row['title']:<{width}}{_short(row['measured']):>10}{bar:>8}"
            f"{sign + format(row['must'], ',g'):>8}{row['aim']:>8,g}  {row['verdict']}"
        )
    missed = [row["name"] for row in rows if not row["verdict"].startswith(("must held", "aim"))]
    print(f"\n{seconds:.0f} s; {len(rows) - len(missed)} of {len(rows)} musts hold", end="")
    print(f", missed: {', '.join(missed)}" if missed else "")
    if failed := [row["name"] for row in rows if row["verdict"] == "FAILS"]:
        print(f"worse than the bar by more than {tolerance:.0%} (or its own tolerance): {', '.join(failed)}")


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


def main() -> int:
    """Measure, judge, print, and return the exit code."""
    goals, tolerance = read_goals()
    parser = argparse.ArgumentParser(description="Whether recording still costs no more than it may.")
    parser.add_argument("--quick", action="store_true", help="fewer calls and rounds, as CI runs it")
    parser.add_argument("--rounds", type=int, help="rounds of each measure (7, quick: 3)")
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=[goal.name for goal in goals], help="only this one"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.only:
        goals = [goal for goal in goals if goal.name in options.only]
    began = time.monotonic()
    share = others()
    busy = share > BUSY
    values = measure(
        goals, tolerance, options.rounds or (3 if options.quick else 7), options.quick, busy=busy
    )
    rows = judge(goals, values, tolerance, busy=busy)
    if not busy and any(row["verdict"] == "FAILS" for row in rows):
        share = others()  # they may have come in the meantime
        busy = share > BUSY
        rows = judge(goals, values, tolerance, busy=busy)
    seconds = time.monotonic() - began
    if options.json:
        figures = {
            "quick": options.quick,
            "others": round(share, 2),
            "seconds": round(seconds),
            "tolerance": tolerance,
            "rows": rows,
        }
        print(json.dumps(figures, indent=1))
    else:
        print_table(rows, tolerance, seconds)
        if busy:
            print(
                f"other programs used {share:.0%} of the machine: 99.9th percentiles and rates are not judged"
            )
    return int(any(row["verdict"] == "FAILS" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
