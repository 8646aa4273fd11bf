"""`benchmarks/masking.py` scores what is installed, on any labelled cases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.sanitize.corpus import making

ROOT = Path(__file__).resolve().parents[2]


def test_the_benchmark_scores_labelled_cases(tmp_path: Path) -> None:
    """Of each masker that is there a line tells recall, false positives and cost."""
    cases = [
        making.hiding("found", {"password": "Zq9-made"}, "Zq9-made"),
        making.hiding("no rule can know it", {"t": "it is Zq9-made"}, "Zq9-made"),
        making.clean("prose", {"t": "the token expired"}),
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text(making.as_lines(making.numbered("t", cases)), encoding="utf-8")
    program = [sys.executable, str(ROOT / "benchmarks" / "masking.py")]
    done = subprocess.run(
        [*program, "--cases", str(path), "--seconds", "0", "--json"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["name"] for row in rows][:2] == ["toolog", "toolog, walk only"]
    for row in rows[:2]:
        assert (row["recall"], row["false_positives"]) == (0.5, 0.0)
        assert row["us"] > 0
        assert row["us_hit"] > 0
