"""The measurements of growth.py: each takes one size, in a process of its own, and returns figures.

python growing.py payload 1000
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import store as store_benchmark
import stores
from memory import resident
from overhead import call_often
from recorders import RECORDERS, Bench, Shop

Row = dict[str, float]
_ROW = {"id": 1000, "sku": "A-1001", "title": "A walnut desk lamp with a linen shade", "price": 19.9}
"""About 90 bytes of JSON."""


def _time_calls(rows: list[Any], calls: int) -> Row:
    """Return microseconds of CPU for a call whose result has these rows, for the caller and in all."""
    with tempfile.TemporaryDirectory() as folder:
        bench = RECORDERS["toolog process"](Path(folder), rows)
        call_often(bench, 50)
        bench.flush()
        gc.collect()
        caller, total = time.thread_time(), time.process_time()
        for number in range(calls):
            bench.tool(sku="A-1001", amount=number)
        caller = time.thread_time() - caller
        bench.flush()
        total = time.process_time() - total
        bench.close()
    return {"caller": caller / calls * 1e6, "total": total / calls * 1e6}


def measure_payload(size: int) -> Row:
    """Return what a call costs whose result has so many bytes of JSON."""
    rows: list[Any] = [_ROW] * (size // 90) if size >= 90 else ["x" * size]
    return _time_calls(rows, max(30, min(3000, 20_000_000 // (size + 1000))))


def measure_depth(levels: int) -> Row:
    """Return what a call costs whose result nests so deep."""
    value: Any = _ROW
    for _ in range(levels):
        value = {"inner": value}
    return _time_calls([value], 2000)


def measure_classes(count: int) -> Row:
    """Return what instrumenting so many classes with three methods each takes, and undoing it."""
    import toolog

    module = types.ModuleType("growing_tools")
    sys.modules[module.__name__] = module

    def method(self: Any, amount: int = 1) -> int:
        return amount

    for number in range(count):
        names = {
            name: types.FunctionType(method.__code__, method.__globals__, name, method.__defaults__)
            for name in ("find", "reserve", "pay")
        }
        for name, function in names.items():
            function.__module__, function.__qualname__ = module.__name__, f"Tool{number}.{name}"
        setattr(module, f"Tool{number}", type(f"Tool{number}", (), {"__module__": module.__name__, **names}))
    toolog.instrument(Shop).undo()  # loads what instrumenting needs
    gc.collect()
    memory, began = resident(), time.perf_counter()
    instrumented = toolog.instrument(module)
    took = time.perf_counter() - began
    gc.collect()
    memory = resident() - memory
    began = time.perf_counter()
    instrumented.undo()
    return {"seconds": took, "undo": time.perf_counter() - began, "mib": max(memory, 0.01)}


def measure_tasks(count: int) -> Row:
    """Return what a call costs in so many tasks at once, beside an async closure."""

    async def everything(bench: Bench) -> None:
        await asyncio.gather(*(bench.atool(sku="A-1001", amount=number) for number in range(count)))

    found: Row = {}
    for key, recorder in (("closure", "closure"), ("caller", "toolog process")):
        with tempfile.TemporaryDirectory() as folder:
            bench = RECORDERS[recorder](Path(folder), [])
            call_often(bench, 200)
            rounds = max(1, 2000 // count)
            asyncio.run(everything(bench))
            gc.collect()
            began = time.thread_time()
            for _ in range(rounds):
                asyncio.run(everything(bench))
            found[key] = (time.thread_time() - began) / rounds / count * 1e6
            bench.flush()
            bench.close()
    return found


def measure_queue(waiting: int) -> Row:
    """Return what it costs to put a record of 300 bytes into a queue in which so many wait."""
    from toolog.pipeline.held import Held
    from toolog.pipeline.queues import Queues

    queues = Queues(
        1 << 40,
        "drop_newest",
        0.0,
        on_drop=lambda reason, levelno: None,
        spill=lambda levelno, code, payload: False,
        held=Held(),
    )
    gc.collect()
    memory = resident()
    for number in range(waiting):
        queues.put(20, number.to_bytes(4, "little") * 75)
    memory = resident() - memory
    more = [number.to_bytes(4, "little") * 75 for number in range(20_000)]
    began = time.thread_time()
    for payload in more:
        queues.put(20, payload)
    return {"put": (time.thread_time() - began) / len(more) * 1e6, "mib": max(memory, 0.01)}


def measure_spool(megabytes: int) -> Row:
    """Return how long a start takes with so many megabytes of segments waiting, and the first call."""
    import toolog
    from toolog.spool import SpoolWriter

    with tempfile.TemporaryDirectory() as folder:
        writer = SpoolWriter(Path(folder) / "spool", max_size=1 << 40)
        packed = [(20, 1, data) for data in store_benchmark.pack(1000)]
        size = sum(len(data) for _, _, data in packed)
        for _ in range(max(1, megabytes * 1_000_000 // size)):
            writer.append_many(packed)
        writer.close()
        memory, began = resident(), time.perf_counter()
        toolog.configure(
            "prod",
            durability="process",
            spool={"path": str(Path(folder) / "spool"), "max_size": "1 TiB"},
            sinks={"archive": {"type": "file", "path": os.devnull, "format": "msgpack"}},
            retention={"DEBUG": {"sinks": ["archive"], "keep": "1 day"}},
        )
        start = time.perf_counter() - began

        @toolog.tool
        def reserve(amount: int) -> int:
            return amount

        reserve(1)
        first = time.perf_counter() - began
        found = {"start": start * 1e3, "first": first * 1e3, "mib": resident() - memory}
        print(json.dumps(found), flush=True)
        # It is not to be shipped now: that would take minutes. The second time gets what came meanwhile.
        for _ in range(2):
            subprocess.run(["rm", "-rf", folder], stderr=subprocess.DEVNULL, check=False)
        os._exit(0)


TOOLOG = [sys.executable, "-c", "from toolog.cli import main; main()"]
COMMANDS = {
    "tail": ["tail"],
    "tail_tree": ["tail", "--tree"],
    "tail_failed": ["tail", "--status", "timeout"],
    "tail_tool": ["tail", "--tool", "shop.tool_3"],
    "show": ["show"],
    "stats": ["stats"],
    "stats_hour": ["stats", "--since"],
}
"""What people ask a store; `timeout` is a status that no call in it has."""


def measure_store(calls: int) -> Row:
    """Return how many milliseconds the commands take with so many calls in the store, each with its start."""
    from toolog import store

    with tempfile.TemporaryDirectory(dir=os.environ.get("TOOLOG_BENCH_DIR")) as folder:
        path = Path(folder) / "calls.db"
        stores.fill(path, calls)
        with store.open(path) as opened:
            while opened.count():
                pass
            newest = opened.calls(limit=1)[0]
        found: Row = {"gib": path.stat().st_size / 2**30}
        for name, words in COMMANDS.items():
            more = {"show": [newest["trace_id"]], "stats_hour": [newest["timestamp"][:13] + ":00:00Z"]}
            command = [*TOOLOG, *words, *more.get(name, []), "--store", str(path)]
            times = []
            for _ in range(3):
                began = time.perf_counter()
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                times.append((time.perf_counter() - began) * 1e3)
                if done.returncode != (name == "tail_failed"):
                    raise RuntimeError(f"{command}: {done.stderr}")
            found[name] = statistics.median(times)
        return found


MEASUREMENTS: dict[str, Callable[[int], Row]] = {
    "payload": measure_payload,
    "depth": measure_depth,
    "classes": measure_classes,
    "tasks": measure_tasks,
    "queue": measure_queue,
    "spool": measure_spool,
    "store": measure_store,
}

if __name__ == "__main__":
    print(json.dumps(MEASUREMENTS[sys.argv[1]](int(sys.argv[2]))))
