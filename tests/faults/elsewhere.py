"""The rows of the matrix that other tests of the suite are, and how often each is done in the long tier."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.shared import ROOT


@dataclass(frozen=True)
class Elsewhere:
    """A row that tests of the suite cover; ``more`` is the environment that makes them thorough."""

    name: str
    tests: tuple[str, ...]
    more: dict[str, str] = field(default_factory=dict)

    def run(self, folder: Path) -> tuple[str, float, list[str]]:
        """Run the tests; return pytest's last line, the seconds, and what is wrong."""
        began = time.monotonic()
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "3600"]
        done = subprocess.run(
            [*words, f"--basetemp={folder / 'pytest'}", *self.tests],
            cwd=ROOT,
            env={**os.environ, **self.more},
            capture_output=True,
            text=True,
            check=False,
        )
        last = re.sub(r" in [\d.]+s.*", "", done.stdout.strip().rpartition("\n")[2])
        wrong = [] if done.returncode == 0 else [done.stdout[-2000:] + done.stderr[-500:]]
        return last, time.monotonic() - began, wrong


P, S = "tests/pipeline/", "tests/spool/"
ELSEWHERE = [
    Elsewhere(
        "kill -9 at random, file and store",
        (P + "test_kill.py", S + "test_spool_processes.py"),
        {"TOOLOG_KILLS": "100"},
    ),
    Elsewhere("power-loss model", (S + "test_spool_damage.py::test_a_loss_of_power_costs_no_synced_record",)),
    Elsewhere(
        "1,500 mutations of a spool",
        (S + "test_spool_damage.py::test_mutated_segments_lose_only_what_was_hit",),
        {"TOOLOG_MUTATIONS": "1500"},
    ),
    Elsewhere("disk full, read-only, every write refused, at its bound", (P + "test_disk.py",)),
    Elsewhere("fork, prefork, pools, two programs on one spool", (P + "test_processes.py",)),
    Elsewhere("one shipper after another", (P + "test_takeover.py", "tests/cli/test_ship.py")),
    Elsewhere("EIO, a clock that jumps, a crowd with a hung sink", ("tests/faults/test_machine.py",)),
    Elsewhere("exits of every kind", (P + "test_exit.py",)),
    Elsewhere("signals", ("tests/handler/test_signals.py", "tests/handler/test_reentrancy.py")),
    Elsewhere("a sink that never returns", (P + "test_hung.py",)),
    Elsewhere("dictConfig twenty times under load", ("tests/handler/test_dictconfig.py",)),
    Elsewhere("hostile values, both serializers", ("tests/serializers", "tests/snapshot/test_hostile.py")),
]
