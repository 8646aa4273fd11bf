"""What it costs to hand a record to the spool, and how fast it is read back, with peers beside it.

    python benchmarks/spool.py             the table (about half a minute)
    python benchmarks/spool.py --quick     fewer records and rounds
    python benchmarks/spool.py --json      every figure as one JSON object

All take turns: in each round every way runs once, in an empty folder, so that what else the machine does
falls on all of them. A figure is the median over the rounds of the CPU time of the calling thread for one
record, system calls included; "best" is the smallest. "kept" says what is still there after `kill -9` of the
writer: `all` that was handed over, or all but what lay in a `buffer`. Half of each record is noise, half
repeated words.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zstandard

from toolog.pipeline.held import Held
from toolog.pipeline.queues import Queues
from toolog.spool import SpoolReader, SpoolWriter

SIZES = {"small": 300, "4 kB": 4000}
COUNTS = {"small": 10_000, "4 kB": 4_000}
ROUNDS = 9
GROUP = 64
SYNC_GROUP = 100

Append = Callable[[bytes], object]


class Way:
    """One way to store records: what it is called, what survives a kill, and how to begin it in a folder."""

    def __init__(self, name: str, kept: str, begin: Callable[[Path], Any]) -> None:
        self.name = name
        self.kept = kept
        self.begin = begin


@contextmanager
def spool_append(folder: Path) -> Iterator[Append]:
    """One frame and one write(2) for each record."""
    writer = SpoolWriter(folder / "spool")
    append = writer.append
    yield lambda data: append(20, 1, data)
    writer.close()


@contextmanager
def spool_batches(folder: Path) -> Iterator[Append]:
    """Frames in batches, as the worker of memory durability writes them."""
    writer = SpoolWriter(folder / "spool")
    batch: list[tuple[int, int, bytes]] = []

    def append(data: bytes) -> None:
        batch.append((20, 1, data))
        if len(batch) == GROUP:
            writer.append_many(batch)
            batch.clear()

    yield append
    writer.append_many(batch)
    writer.close()


@contextmanager
def spool_synced(folder: Path) -> Iterator[Append]:
    """One write for each record, and one fdatasync for each group of them."""
    writer = SpoolWriter(folder / "spool")
    waiting = 0

    def append(data: bytes) -> None:
        nonlocal waiting
        writer.append(20, 1, data)
        waiting += 1
        if waiting == SYNC_GROUP:
            writer.sync()
            waiting = 0

    yield append
    writer.sync()
    writer.close()


@contextmanager
def memory_queue(folder: Path) -> Iterator[Append]:
    """The queue of memory durability, which a worker would empty."""
    queues = Queues(
        1 << 40,
        "drop_newest",
        0.0,
        on_drop=lambda reason, levelno: None,
        spill=lambda levelno, code, payload: False,
        held=Held(),
    )
    yield lambda data: queues.put(20, data)


@contextmanager
def bare_write(folder: Path) -> Iterator[Append]:
    """Nothing but write(2): no frame, no checksum, no bound."""
    fd = os.open(folder / "bare", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    yield lambda data: os.write(fd, data)
    os.close(fd)


@contextmanager
def buffered_file(folder: Path) -> Iterator[Append]:
    """Python's buffered file, a length before each record."""
    with (folder / "buffered").open("ab") as file:
        write = file.write
        yield lambda data: write(len(data).to_bytes(4, "little") + data)


@contextmanager
def sqlite_wal(folder: Path) -> Iterator[Append]:
    """SQLite in WAL mode, synchronous NORMAL, one transaction for each record."""
    base = sqlite3.connect(folder / "base.db", isolation_level=None)
    base.execute("pragma journal_mode = wal")
    base.execute("pragma synchronous = normal")
    base.execute("create table records (seq integer primary key, level integer, data blob)")
    yield lambda data: base.execute("insert into records (level, data) values (20, ?)", (data,))
    base.close()


@contextmanager
def zstd_segments(folder: Path) -> Iterator[Append]:
    """zstd level 3 into a segment, a flushed block for each 256 kB."""
    compressor = zstandard.ZstdCompressor(level=3)
    with (folder / "segment.zst").open("wb", buffering=0) as file, compressor.stream_writer(file) as writer:
        waiting = 0

        def append(data: bytes) -> None:
            nonlocal waiting
            writer.write(len(data).to_bytes(4, "little") + data)
            waiting += len(data)
            if waiting > 256_000:
                writer.flush()
                waiting = 0

        yield append


WAYS = [
    Way("write(2) alone", "all", bare_write),
    Way("toolog spool, append", "all", spool_append),
    Way(f"toolog spool, batches of {GROUP}", "buffer", spool_batches),
    Way(f"toolog spool, synced by {SYNC_GROUP}", "all, power too", spool_synced),
    Way("toolog queue in memory", "a clean exit", memory_queue),
    Way("buffered file", "buffer", buffered_file),
    Way("SQLite WAL, a commit each", "all", sqlite_wal),
    Way("zstd-3 segments", "buffer", zstd_segments),
]


def records_of(size: int, count: int) -> list[bytes]:
    """Return records of one size: half noise, half text."""
    randomness = random.Random(size)
    words = [b"walnut", b"lamp", b"order", b"stock", b"linen", b"shade", b"price", b"reserve"]
    text = b" ".join(randomness.choice(words) for _ in range(size))
    half = size // 2
    return [randomness.randbytes(size - half) + text[at % size : at % size + half] for at in range(count)]


def time_append(way: Way, records: list[bytes]) -> tuple[float, float]:
    """Return CPU and wall seconds for one record, handed over in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, way.begin(Path(folder)) as append:
        append(records[0])
        wall, cpu = time.perf_counter(), time.thread_time()
        for record in records:
            append(record)
        return (time.thread_time() - cpu) / len(records), (time.perf_counter() - wall) / len(records)


def time_spool_reading(records: list[bytes]) -> float:
    """Return CPU seconds for one record that is read from a spool and acknowledged, a thousand at once."""
    with tempfile.TemporaryDirectory() as folder:
        writer = SpoolWriter(folder)
        writer.append_many([(20, 1, record) for record in records])
        writer.close()
        reader = SpoolReader(folder, "bench")
        began, count = time.thread_time(), 0
        while frames := reader.read(max_records=1000):
            count += len(frames)
            reader.ack(frames[-1])
        took = time.thread_time() - began
        assert count == len(records)
        return took / count


def time_sqlite_reading(records: list[bytes]) -> float:
    """Return CPU seconds for one record that is read from SQLite and deleted, a thousand at once."""
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(Path(folder) / "base.db", isolation_level=None)
        base.execute("pragma journal_mode = wal")
        base.execute("pragma synchronous = normal")
        base.execute("create table records (seq integer primary key, level integer, data blob)")
        base.execute("begin")
        base.executemany(
            "insert into records (level, data) values (20, ?)", ((record,) for record in records)
        )
        base.execute("commit")
        began, count = time.thread_time(), 0
        while rows := base.execute("select seq, level, data from records order by seq limit 1000").fetchall():
            count += len(rows)
            base.execute("delete from records where seq <= ?", (rows[-1][0],))
        took = time.thread_time() - began
        base.close()
        assert count == len(records)
        return took / count


def measure(rounds: int, share: float) -> list[dict[str, Any]]:
    """Return one row of figures for each way and size; all ways take turns."""
    rows = []
    for label, size in SIZES.items():
        records = records_of(size, int(COUNTS[label] * share))
        appends: dict[str, list[tuple[float, float]]] = {way.name: [] for way in WAYS}
        reads: dict[str, list[float]] = {"read toolog spool": [], "read SQLite": []}
        for _ in range(rounds):
            for way in WAYS:
                appends[way.name].append(time_append(way, records))
            reads["read toolog spool"].append(time_spool_reading(records))
            reads["read SQLite"].append(time_sqlite_reading(records))
        for way in WAYS:
            cpu = [pair[0] for pair in appends[way.name]]
            wall = [pair[1] for pair in appends[way.name]]
            rows.append(_row(label, way.name, way.kept, cpu, wall))
        rows += [_row(label, name, "", times, None) for name, times in reads.items()]
    return rows


def _row(label: str, name: str, kept: str, cpu: list[float], wall: list[float] | None) -> dict[str, Any]:
    median = statistics.median(cpu)
    return {
        "record": label,
        "way": name,
        "kept": kept,
        "us": round(median * 1e6, 2),
        "best_us": round(min(cpu) * 1e6, 2),
        "wall_us": round(statistics.median(wall) * 1e6, 2) if wall else None,
        "per_second": round(1 / median),
    }


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print the figures for people."""
    for label in SIZES:
        print(
            f"\n{label} ({SIZES[label]} B)".ljust(36)
            + "CPU us    best    wall   records/s  kept after kill -9"
        )
        for row in rows:
            if row["record"] == label:
                wall = f"{row['wall_us']:8.2f}" if row["wall_us"] is not None else " " * 8
                figures = f"{row['us']:7.2f}{row['best_us']:8.2f}{wall}{row['per_second']:12,}"
                print(f"{row['way']:<34}{figures}  {row['kept']}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer records and rounds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    rows = measure(3, 0.2) if options.quick else measure(ROUNDS, 1)
    if options.json:
        print(json.dumps({"sizes": SIZES, "rows": rows}, indent=1))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
