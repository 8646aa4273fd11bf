"""How much is hidden, how much is touched that should not be, and what it costs: toolog beside other maskers.

    python benchmarks/masking.py
    python benchmarks/masking.py --cases more.jsonl --json

The cases are those of `tests/sanitize/corpus`: half of them hold an invented secret, half only look so. A
case of the
first half counts when nothing of the secret is left anywhere; one of the second half counts as a false
positive
when anything is changed. `us` is the mean time for one ordinary record of 4.9 kB without a secret, and
`us, hit` for one with a secret in it; the first pass, in which scans are made, is not counted.

Peers come with `pip install 'toolog[bench-masking]'`; one that is not there is left out and named. Each
is given
what it asks for: a scrubber of keys gets the whole value, a finder in text gets every text with its key
in front.
"""

from __future__ import annotations

import argparse
import copy
import importlib.metadata
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from maskers import MASKERS, Mask

ROOT = Path(__file__).resolve().parents[1]


class Score(NamedTuple):
    """One masker's figures."""

    name: str
    version: str
    recall: float
    false_positives: float
    us: float
    us_hit: float


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a value, keys and the content of JSON texts included."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from texts(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from texts(item)
    elif value is not None:
        yield str(value)
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                yield from texts(json.loads(value))
            except ValueError:
                pass


def judge(mask: Mask, cases: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the shares of secrets hidden and of look-alikes touched. An error hides nothing and touches."""
    hidden = touched = positives = 0
    for case in cases:
        try:
            output = mask(copy.deepcopy(case["input"]))
        except Exception as error:
            output = (repr(error), *case["hide"])
        if case["kind"] == "positive":
            positives += 1
            hidden += not any(secret in text for secret in case["hide"] for text in texts(output))
        else:
            touched += output != case["input"]
    return hidden / positives, touched / (len(cases) - positives)


def cost(mask: Mask, records: list[dict[str, Any]], seconds: float) -> float:
    """Return the mean microseconds for a record, over as many passes as `seconds` allow, the best of them."""
    for record in records[:20]:
        mask(copy.deepcopy(record))
    best = float("inf")
    until = time.perf_counter() + seconds
    while True:
        given = copy.deepcopy(records)
        begun = time.perf_counter()
        for record in given:
            mask(record)
        ended = time.perf_counter()
        best = min(best, (ended - begun) / len(records))
        if ended > until:
            return best * 1e6


def make_records(count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return ordinary records of 4.9 kB without a secret, and the same with one."""
    rows = [
        {
            "id": number,
            "sku": f"A-{1000 + number}",
            "title": "A walnut desk lamp with a linen shade",
            "price": 19.9,
        }
        for number in range(52)
    ]
    clean: list[dict[str, Any]] = [
        {
            "tool_name": "shop.find",
            "input": {"query": f"lamp {number}", "limit": 52},
            "output": {"rows": rows},
        }
        for number in range(count)
    ]
    return clean, [{**record, "input": {**record["input"], "password": "hunter2-made"}} for record in clean]


def measure(cases: list[dict[str, Any]], seconds: float) -> Iterator[Score]:
    """Yield the figures of each masker that is installed."""
    clean, leaky = make_records(40)
    for name, package, make in MASKERS:
        try:
            version = importlib.metadata.version(package)
            mask = make()
        except (ImportError, importlib.metadata.PackageNotFoundError):
            print(f"{name} is not installed: pip install {package}", file=sys.stderr)
            continue
        recall, false = judge(mask, cases)
        yield Score(name, version, recall, false, cost(mask, clean, seconds), cost(mask, leaky, seconds))


def read_cases(files: list[Path]) -> list[dict[str, Any]]:
    """Return the cases of files of JSON lines, or those of the tests."""
    if not files:
        sys.path.insert(0, str(ROOT))
        from tests.sanitize import corpus

        return corpus.cases()
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines() if line]


def main(arguments: list[str] | None = None) -> None:
    """Print the table, or one JSON object for each masker."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--cases", type=Path, nargs="*", default=[], help="files of labelled cases, as JSON lines"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each timing may take")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    given = parser.parse_args(arguments)
    cases = read_cases(given.cases)
    scores = list(measure(cases, given.seconds))
    if given.json:
        for score in scores:
            print(json.dumps(score._asdict()))
        return
    positives = sum(case["kind"] == "positive" for case in cases)
    print(f"{positives} cases with a secret, {len(cases) - positives} without")
    print(f"{'masker':34}{'recall':>8}{'false':>8}{'us':>10}{'us, hit':>10}")
    for score in scores:
        print(
            f"{score.name + ' ' + score.version:34}{score.recall:8.1%}{score.false_positives:8.1%}"
            f"{score.us:10.0f}{score.us_hit:10.0f}"
        )


if __name__ == "__main__":
    main()
