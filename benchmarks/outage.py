"""What a program notices while the search server that it ships to hangs, and how fast the backlog goes then.

`measure_outage` runs this file as the program, and tells it what to do next, a line at a time:

    pace SECONDS   make PACE calls a second; print the percentiles of a call's wall time in microseconds
    burst COUNT    make COUNT calls as fast as possible
    memory         print the resident memory in bytes
    drain SECONDS  go on at PACE until the sink has all but a second's records, at most so long; print how
                   many it took meanwhile

Each answer is a line of JSON. `shipping.py` prints the figures, and the fault matrix of the tests takes them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from array import array
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from shippers import make_tool  # noqa: E402

PACE = 1000
"""Calls a second."""
WARM = 50_000
"""Records that the server gets before anything is measured."""


class Program:
    """The application: one tool, one handler, one sink."""

    def __init__(self, options: dict[str, Any]) -> None:
        import toolog

        self._handler = toolog.ToologHandler(**options)
        self._tool = make_tool(self._handler)
        self._made = 0

    def stored(self) -> int:
        """Return how many records the sink has acknowledged."""
        from toolog import counters

        return sum(counters.table("stored").values())

    def pace(self, seconds: float, *, exact: bool = True) -> array[int]:
        """Make calls at the pace; return what each took, in nanoseconds.

        ``exact``: each begins within microseconds of its time, which keeps the processor busy in between.
        """
        clock, due = time.perf_counter_ns, time.perf_counter_ns()
        near = 200_000 if exact else 0
        spans = array("q")  # one block of memory, which goes back: what stays is not the measurement's
        for _ in range(int(seconds * PACE)):
            due += 1_000_000_000 // PACE
            while (left := due - clock()) > 0:
                time.sleep(0 if left <= near else left / 2e9 if exact else left / 1e9)
            began = clock()
            self._tool(self._made)
            spans.append(clock() - began)
            self._made += 1
        return spans

    def do(self, words: list[str]) -> dict[str, float]:
        """Carry out one line."""
        if words[0] == "pace":
            spans = sorted(self.pace(float(words[1])))
            return {name: spans[int(len(spans) * share)] / 1e3 for name, share in SHARES.items()}
        if words[0] == "burst":
            began, first = time.perf_counter(), self._made
            while self._made < first + int(words[1]):
                self._tool(self._made)
                self._made += 1
            return {"per_second": (self._made - first) / max(time.perf_counter() - began, 1e-9)}
        if words[0] == "memory":
            return {"bytes": resident(), "backlog": self._made - self.stored()}
        assert words[0] == "drain", words
        return self.drain(float(words[1]))

    def drain(self, limit: float) -> dict[str, float]:
        """Go on at the pace until the backlog is gone, at most ``limit`` seconds."""
        before, began = self.stored(), time.perf_counter()
        over: list[tuple[float, int]] = []
        thread = threading.Thread(target=self._watch, args=(over,), daemon=True)
        thread.start()
        while not over and time.perf_counter() - began < limit:
            self.pace(0.5, exact=False)
        ended, stored = over[0] if over else (time.perf_counter(), self.stored())
        return {"records": stored - before, "seconds": ended - began}

    def _watch(self, over: list[tuple[float, int]]) -> None:
        """Note when all but a second's records are stored, and how many those are."""
        while self._made - (stored := self.stored()) > PACE:
            time.sleep(0.02)
        over.append((time.perf_counter(), stored))

    def close(self) -> dict[str, float]:
        """End; tell what is known of all records."""
        import toolog

        self._handler.flush(120)
        figures = toolog.stats()
        self._handler.close()
        return {
            "made": self._made,
            "stored": sum(figures["stored"].values()),
            "dropped": sum(sum(levels.values()) for levels in figures["dropped"].values()),
            "left": sum(figures["in_spool"].values()),
        }


SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def resident() -> int:
    """Return the memory that this process has, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def count_documents(url: str) -> int:
    """Return how many documents a search server has under a URL."""
    with urllib.request.urlopen(urllib.request.Request(f"{url}/_refresh", method="POST")):
        pass
    with urllib.request.urlopen(f"{url}/_count") as answer:
        count: int = json.load(answer)["count"]
    return count


def measure_outage(
    seconds: float, backlog: int, well: float = 60.0, drain: float | None = None
) -> dict[str, float]:
    """Return what a caller and the memory notice of a server that hangs for some seconds (SIGSTOP).

    Before, calls are made for as many seconds, at most ``well``, while it is well.
    At its end calls are made until ``backlog`` records wait at least; then the server is back. The rate at
    which they go is taken until the backlog is gone, or for ``drain`` seconds. ``found`` is how many records
    the server itself counts when two further minutes are over, or when all are there.
    """
    from tests.services.opensearch import OpenSearch

    with tempfile.TemporaryDirectory() as folder, OpenSearch(http_max="100mb", optimize=True) as server:
        options = {
            "durability": "process",
            "spool": {"path": f"{folder}/spool", "max_size": "2 GiB"},
            "sinks": {"search": {"type": "opensearch", "hosts": [server.url], "namespace": "outage"}},
            "retention": {"INFO": {"sinks": ["search"]}},
        }
        program = subprocess.Popen(
            [sys.executable, __file__, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert program.stdin is not None
        assert program.stdout is not None

        def ask(line: str) -> dict[str, float]:
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdin.write(line + "\n")
            program.stdin.flush()
            answer: dict[str, float] = json.loads(program.stdout.readline())
            return answer

        try:
            ask(f"burst {WARM}")  # a server that was just started takes a third of what it takes later
            ask("drain 120")
            healthy = ask(f"pace {min(seconds, well):g}")
            before = ask("memory")
            server.hang()
            hung = ask(f"pace {seconds:g}")
            waiting = ask("memory")["backlog"]
            if waiting < backlog:
                ask(f"burst {int(backlog - waiting)}")
            after = ask("memory")
            server.resume()
            limit = 60 + after["backlog"] / PACE  # slower than that is no drain at all
            drained = ask(f"drain {limit if drain is None else drain:g}")
            program.stdin.close()
            ended: dict[str, float] = json.loads(program.stdout.readline())
            found = count_documents(f"{server.url}/toolog-*-outage")
        finally:
            program.kill()
            program.wait()
            program.stdin.close()
            program.stdout.close()
    return {
        "seconds": seconds,
        "well_p99": healthy["p99"],
        "hung_p99": hung["p99"],
        "p99_ratio": hung["p99"] / healthy["p99"],
        "well_p50": healthy["p50"],
        "hung_p50": hung["p50"],
        "backlog": after["backlog"],
        "memory_mib": (after["bytes"] - before["bytes"]) / 2**20,
        "drain_per_second": drained["records"] / drained["seconds"],
        "drain_ratio": drained["records"] / drained["seconds"] / PACE,
        "found": found,
        **ended,
    }


def main() -> None:
    """Read lines until the end of the input."""
    program = Program(json.loads(sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(program.do(line.split())), flush=True)
    print(json.dumps(program.close()), flush=True)


if __name__ == "__main__":
    main()
