"""Debuggers, profilers and coverage tools: they see the user's code, and ours as little and by name."""

from __future__ import annotations

import cProfile
import io
import pdb
import pstats
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import coverage
import pytest
from tooling import calls, package

from tests.helpers import Collector
from toolog.instrumentation.entry import instrument

SHOP = """
    import asyncio

    class Till:
        def __init__(self, rate=2):
            self.rate = rate

        def charge(self, amount):
            if amount < 0:
                raise ValueError(amount)
            return self.tax(amount)

        def tax(self, amount):
            return amount * self.rate

    def find(word):
        parts = [word.upper()]
        for part in parts:
            if not part:
                return None
        return parts

    def walk(n):
        for number in range(n):
            yield number
        yield "end"

    async def ask(word):
        await asyncio.sleep(0)
        return word
"""
USE = """
    import asyncio
    from tillshop import Till, ask, find, walk

    def use():
        till = Till()
        till.charge(3)
        try:
            till.charge(-1)
        except ValueError:
            pass
        find("lamp")
        list(walk(2))
        asyncio.run(ask("lamp"))

    if __name__ == "__main__":
        use()
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ModuleType]:
    """A package of tools."""
    with package(tmp_path, "tillshop", {"__init__.py": SHOP}) as module:
        yield module


def test_where_shows_ours_by_name(seen: Collector, shop: ModuleType) -> None:
    """At a breakpoint inside a tool each tool's frame has one of ours above it, whose function's name begins
    with `toolog_`; `up` leads past it to the caller's names."""
    instrument(shop, nested=True)
    typed = io.StringIO("continue\nwhere\nup\nup\np amount * 100\ncontinue\n")
    said = io.StringIO()
    debugger = pdb.Pdb(stdin=typed, stdout=said, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    source = Path(str(shop.__file__))
    line = 1 + source.read_text().splitlines().index("        return amount * self.rate")
    debugger.set_break(str(source), line)
    assert debugger.runcall(lambda: shop.Till().charge(3)) == 6
    where, *_, printed, _ = said.getvalue().split("(Pdb) ")[2:]
    functions = [part.rpartition(")")[2] for part in re.findall(r"[>\s] (\S+\.py\(\d+\)\w+)\(\)", where)]
    assert functions[-4:] == ["toolog_wrapper", "charge", "toolog_wrapper", "tax"]
    assert printed.strip() == "300"
    assert [record["tool_name"] for record in calls(seen)] == ["Till.tax", "Till.charge"]


def test_a_profile_names_the_tools(seen: Collector, shop: ModuleType) -> None:
    """cProfile lists each of the package's functions as often as without us."""

    def profile() -> dict[str, int]:
        profiler = cProfile.Profile()
        profiler.runcall(lambda: [shop.Till().charge(n) for n in range(5)] + list(shop.walk(3)))
        rows: dict[Any, Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
        return {key[2]: row[0] for key, row in rows.items() if key[0] == shop.__file__}

    before = profile()
    instrument(shop, nested=True)
    assert profile() == before


def test_coverage_is_the_same(tmp_path: Path) -> None:
    """Lines and branches that coverage finds executed are those of the plain package."""
    (tmp_path / "tillshop.py").write_text(textwrap.dedent(SHOP))
    (tmp_path / "use.py").write_text(textwrap.dedent(USE))
    (tmp_path / "watched.py").write_text(
        "import logging, toolog, tillshop\n"
        "logging.getLogger('toolog.calls').addHandler(logging.NullHandler())\n"
        "toolog.instrument(tillshop, nested=True)\n"
        "import use\nuse.use()\n"
    )
    found = []
    for program in ("use.py", "watched.py"):
        data = tmp_path / f"data-{program}"
        how = ["-m", "coverage", "run", "--branch", f"--data-file={data}", "--include=*/tillshop.py"]
        done = subprocess.run(
            [sys.executable, *how, program], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        kept = coverage.CoverageData(str(data))
        kept.read()
        found.append(sorted(kept.arcs(str(tmp_path / "tillshop.py")) or ()))
    assert found[0] == found[1]
    assert len(found[0]) > 10
