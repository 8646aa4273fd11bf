"""Put the results of the packages' own test suites into reference/fidelity.md, between their marks.

    python -m tests.fidelity --json FILE
    python docs/fidelity.py FILE [FILE ...]

Of a run that stands in several files the last one counts; one that was made in parts is their sum. A run
that stands in none of them keeps its row, as long as the table of the packages has that version; one that was
never made has no row.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "fidelity.md"
BEGIN, END = "<!-- fidelity -->\n", "<!-- /fidelity -->"
HEAD = "| package | Python | mode | tests | calls recorded | differ | by nature | unsteady |\n"
RULE = "|---|---|---|---:|---:|---:|---:|---:|\n"
_WRONG = " **wrong**"

Key = tuple[str, str, str]
"""Package with its version, Python, mode."""


def packages() -> dict[str, dict[str, str]]:
    """Return the packages with their versions, and of each the tests that differ by nature, with the
    reason."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.fidelity.packages import PACKAGES

    return {f"{one.name} {one.version}": one.by_nature for one in PACKAGES}


def shown() -> dict[Key, str]:
    """Return the rows that stand on the page."""
    rows = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0].splitlines(keepends=True)
    found = {}
    for row in rows:
        package, python, mode = ([cell.strip() for cell in row.split("|")[1:4]] + ["", "", ""])[:3]
        if row not in (HEAD, RULE) and row.startswith("|"):
            found[package, python, mode.removesuffix(_WRONG)] = row
    return found


def row(result: dict[str, Any]) -> str:
    """Return one run as a row of the table."""
    cells = [f"{number:,}" for number in (result["tests"], result["calls"], len(result["reports"]))]
    cells += [f"{result[name]:,}" for name in ("by nature", "unsteady")]
    wrong = _WRONG if result["wrong"] else ""
    return f"| {result['package']} | {result['python']} | {result['mode']}{wrong} | {' | '.join(cells)} |\n"


def table(rows: dict[Key, str]) -> str:
    """Return the rows as a table, and below it the reasons for what differs by nature."""
    known = packages()
    lines = [HEAD, RULE]
    lines += [rows[key] for key in sorted(rows, key=lambda key: (key[0].lower(), key)) if key[0] in known]
    reasons = [f"- {package}, {text}\n" for package, held in known.items() for text in tell(held)]
    return "".join([*lines, "\nBy nature:\n\n", *reasons])


def add_up(results: Iterable[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    """Return the runs, those made in parts added up; of the same part the last one counts."""
    parts: dict[Key, dict[str, dict[str, Any]]] = {}
    for result in results:
        if "tests" in result:
            key = result["package"], result["python"], result["mode"]
            held = parts.setdefault(key, {})
            part = result.get("part", "")
            if not part or "" in held:  # a run of the whole suite and one of a part of it are no sum
                held.clear()
            held[part] = result
    return {key: _sum(list(held.values())) for key, held in parts.items()}


def _sum(results: list[dict[str, Any]]) -> dict[str, Any]:
    counted = ("tests", "calls", "by nature", "unsteady")
    numbers = {name: sum(one[name] for one in results) for name in counted}
    lists = {name: [item for one in results for item in one[name]] for name in ("wrong", "reports")}
    return {**results[0], **numbers, **lists}


def tell(by_nature: dict[str, str]) -> Iterable[str]:
    """Give each reason with the tests that it is the reason for."""
    for reason in dict.fromkeys(by_nature.values()):
        globs = [f"`{glob.rpartition('::')[2]}`" for glob, why in by_nature.items() if why == reason]
        yield f"{', '.join(globs)}: {reason}."


def main(files: list[str]) -> None:
    """Rewrite the block."""
    rows = shown()
    read = (result for file in files for result in json.loads(Path(file).read_text("utf-8")))
    rows.update({key: row(result) for key, result in add_up(read).items()})
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table(rows) + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
