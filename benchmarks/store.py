"""How fast records get into the local store, beside plain SQLite.

    python benchmarks/store.py             records a second (about half a minute)
    python benchmarks/store.py --quick     fewer records and rounds
    python benchmarks/store.py --json      the same as one JSON object

Records of 4 kB of JSON on average (`toolog.report.bench_records`) go as MessagePack through the sink
`sqlite` in batches as the pipeline makes them: decoded, into columns, JSON and indexes, committed.
`toolog store` is a process that does nothing else, as `toolog ship` is; `beside an application` rests
between stretches of work, as the thread of a handler does. `plain SQLite` stores the same bytes in one
column, in the same batches. They take turns, each in an empty folder. The rate is by the clock; the best
round stands for each, as what else the machine does can only slow it down.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ormsgpack

from toolog.report.bench_records import make_records
from toolog.shipper.devotion import devoted
from toolog.sinks.base import SinkRecord
from toolog.sinks.sqlite import SqliteSink

BATCH = 1000
RECORDS = 20_000
ROUNDS = 5


def pack(count: int) -> list[bytes]:
    """Return so many different records as MessagePack."""
    documents = make_records(300)
    packed = []
    for number in range(count):
        document = documents[number % len(documents)]
        packed.append(ormsgpack.packb({**document, "record_id": uuid.uuid4().hex}))
    return packed


def fill_store(folder: Path, packed: list[bytes]) -> float:
    """Store records through the sink; return the seconds it took."""
    sink = SqliteSink(path=folder / "calls.db")
    sink.connect()
    began = time.perf_counter()
    for start in range(0, len(packed), BATCH):
        answer = sink.write([SinkRecord(data) for data in packed[start : start + BATCH]])
        if answer is not None:
            raise RuntimeError(f"the store refused records: {answer}")
    took = time.perf_counter() - began
    sink.close()
    return took


def fill_devoted(folder: Path, packed: list[bytes]) -> float:
    """Do the same in a process that does nothing else; return the seconds it took."""
    with devoted():
        return fill_store(folder, packed)


def fill_plain(folder: Path, packed: list[bytes]) -> float:
    """Store the bytes alone, one transaction a batch; return the seconds it took."""
    base = sqlite3.connect(folder / "plain.db", isolation_level=None)
    base.execute("pragma journal_mode = wal")
    base.execute("pragma synchronous = normal")
    base.execute("create table records (seq integer primary key, data blob)")
    began = time.perf_counter()
    for start in range(0, len(packed), BATCH):
        base.execute("begin")
        rows = ((data,) for data in packed[start : start + BATCH])
        base.executemany("insert into records (data) values (?)", rows)
        base.execute("commit")
    took = time.perf_counter() - began
    base.close()
    return took


WAYS: dict[str, Callable[[Path, list[bytes]], float]] = {
    "toolog store": fill_devoted,
    "beside an application": fill_store,
    "plain SQLite": fill_plain,
}


def measure(rounds: int, records: int, ways: Iterable[str] = tuple(WAYS)) -> dict[str, Any]:
    """Return the records a second of some ways: the best of the rounds."""
    packed = pack(records)
    best: dict[str, float] = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name in best:
            with tempfile.TemporaryDirectory() as folder:
                best[name] = min(best[name], WAYS[name](Path(folder), packed))
    size = sum(map(len, packed)) / records
    return {
        "records": records,
        "mean_bytes": round(size),
        "rates": {name: round(records / took) for name, took in best.items()},
    }


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="How fast records get into the local store.")
    parser.add_argument("--quick", action="store_true", help="fewer records and rounds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    figures = measure(2, 5000) if options.quick else measure(ROUNDS, RECORDS)
    if options.json:
        print(json.dumps(figures))
    else:
        print(f"{figures['records']:,} records of {figures['mean_bytes']:,} bytes")
        for name, rate in figures["rates"].items():
            print(f"{name:<24}{rate:>10,} records/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
