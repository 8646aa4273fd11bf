"""Run the suites and print their table: ``python -m tests.fidelity`` (or ``make fidelity``).

    --package NAME   only this package; may be repeated
    --mode MODE      only this mode (package, nested, everything); may be repeated
    --python X.Y     only this Python; may be repeated (all of 3.11, 3.12, 3.13 that the machine has)
    --part PATH      only these tests of the package, a row of their own; may be repeated
    --limit SECONDS  how long one run of a suite may take (1500)
    --show           print pytest's report of each difference
    --json FILE      write the results into a file, for docs/fidelity.py

A test that differs is run again both ways, alone in its file; what then differs no more is unsteady, and
counted as such. A suite that takes too long for one run is run in parts, each into a file of its own;
docs/fidelity.py adds the parts up. The exit code is 1 when a test differs for which the table gives no
reason, when a record was not valid, or when something of toolog's own had to be contained.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tests.fidelity.comparison import LIMIT, MODES, Difference, Run, differences, run_suite, unexplained
from tests.fidelity.environments import CannotPrepare, Environment, find_python, prepare
from tests.fidelity.packages import PACKAGES, Subject

PYTHONS = ("3.11", "3.12", "3.13")


def main() -> int:
    """Run what was asked for; print one line for each package, mode and Python."""
    parser = argparse.ArgumentParser(description="Own test suites of packages, instrumented and not.")
    parser.add_argument("--package", action="append", choices=[one.name for one in PACKAGES], metavar="NAME")
    parser.add_argument("--mode", action="append", choices=MODES, metavar="MODE")
    parser.add_argument("--python", action="append", metavar="X.Y")
    parser.add_argument("--part", action="append", metavar="PATH")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    pythons = options.python or [version for version in PYTHONS if find_python(version)]
    found: list[dict[str, Any]] = []
    heads = ("tests", "calls", "differ", "s", "plain s")
    print(f"{'package':<24}{'python':<8}{'mode':<12}" + "".join(f"{head:>10}" for head in heads), flush=True)
    for version in pythons:
        for subject in PACKAGES:
            if options.package and subject.name not in options.package:
                continue
            parts = tuple(options.part or ())
            for row in compare(subject, version, options.mode or MODES, options.limit, parts):
                found.append(row)
                tell(row, show=options.show)
                if options.json:  # after each row: whoever ends it early has what was done
                    options.json.write_text(json.dumps(found, indent=1), "utf-8")
    wrong = [row for row in found if row["wrong"]]
    print(f"\n{len(found)} runs, {len(wrong)} of them wrong")
    return 1 if wrong or not found else 0


def compare(
    subject: Subject,
    version: str,
    modes: tuple[str, ...],
    limit: float = LIMIT,
    parts: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """Run one package's suite, or the parts of it that are named, plain and in the modes; return a row for
    each mode."""
    row = {"package": f"{subject.name} {subject.version}", "kind": subject.kind, "python": version}
    if parts:
        row["part"] = " ".join(parts)
    try:
        environment = prepare(subject, version)
    except CannotPrepare as error:
        return [{**row, "mode": "-", "wrong": [f"cannot be prepared: {error}"]}]
    plain = run_suite(subject, environment, "plain", only=parts, limit=limit)
    return [{**row, **_compare_mode(subject, environment, mode, plain, limit, parts)} for mode in modes]


def _compare_mode(
    subject: Subject, environment: Environment, mode: str, plain: Run, limit: float, parts: tuple[str, ...]
) -> dict[str, Any]:
    watched = run_suite(subject, environment, mode, only=parts, limit=limit)
    found = differences(plain, watched)
    left = unexplained(subject, found)
    unsteady = 0
    if left and not watched.ending:
        again = _try_again(subject, environment, mode, left)
        unsteady, left = len(left) - len(again), again
    wrong = [f"{one.test}: {one.plain} -> {one.watched}" for one in left]
    for reason, number in watched.facts.get("contained", {}).items():
        wrong.append(f"{number} times contained: {reason}; the last was {watched.facts.get('trouble')}")
    if watched.facts.get("faults"):
        wrong.append(f"{watched.facts['faults']} records not valid: {watched.facts['fault']}")
    broken = [test for test, outcome in plain.outcomes.items() if "collect failed" in outcome]
    if broken:
        wrong.append(f"the plain run could not collect {', '.join(broken)}")
    if not plain.outcomes or plain.ending:
        wrong.append(f"the plain run did not end well: {plain.ending or 'no test ran'}")
    if not watched.facts.get("wrapped") and not watched.ending:
        wrong.append("nothing was wrapped")
    return {
        "mode": mode, "tests": len(plain.outcomes), "calls": watched.facts.get("calls", 0),
        "differ": len(found), "by nature": len(found) - len(left) - unsteady, "unsteady": unsteady,
        "seconds": round(watched.seconds, 1), "plain seconds": round(plain.seconds, 1), "wrong": wrong,
        "reports": [one._asdict() for one in left],
    }  # fmt: skip


def _try_again(
    subject: Subject, environment: Environment, mode: str, left: list[Difference]
) -> list[Difference]:
    """Run the files of the tests that differed once more both ways; return those that differ again."""
    files = tuple(dict.fromkeys(one.test.partition("::")[0] for one in left))
    if not all(name and (environment.source / name).exists() for name in files):
        files = ()  # tests that are installed with the package tell no file: all of them again
    again = differences(
        run_suite(subject, environment, "plain", only=files),
        run_suite(subject, environment, mode, only=files),
    )
    names = {one.test for one in left}
    return [one for one in again if one.test in names]


def tell(row: dict[str, Any], *, show: bool) -> None:
    """Print one row, and what is wrong with it."""
    if "tests" in row:
        print(
            f"{row['package']:<24}{row['python']:<8}{row['mode']:<12}{row['tests']:>10}{row['calls']:>10}"
            f"{row['differ']:>10}{row['seconds']:>10}{row['plain seconds']:>10}",
            flush=True,
        )
    else:
        print(f"{row['package']:<24}{row['python']:<8}", flush=True)
    for line in row["wrong"]:
        print(f"    {line}", flush=True)
    for report in row.get("reports", ()) if show else ():
        print(f"\n  -- {report['test']}\n{report['text']}\n", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
