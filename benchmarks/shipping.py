"""How fast records reach a search cluster and a bucket, at which cost, and what a caller sees of an outage.

    python benchmarks/shipping.py             all three tables (about eight minutes)
    python benchmarks/shipping.py --quick     fewer records, one round, a short outage
    python benchmarks/shipping.py --json      every figure as one JSON object

The servers are those of the tests (see docs/how-to/test-servers.md): a real OpenSearch, a real S3 server.

Ours run as `toolog ship` does; with --in-process as in an application, whose garbage collector they call and
whose threads they make room for.

`search`: the same records of 1 kB by our sink, from the spool to the last acknowledgement, and by the
clients' own `parallel_bulk`, over documents that are ready in memory; all through one proxy, each into a data
stream of its own with one template. `s3`: the same records by our sink, and their bytes by boto3's
`upload_fileobj`. Ways take turns, each in a fresh process; a figure is the median over the rounds, "cpu" the
client's processor seconds. `outage`: a program makes 1,000 calls a second while the search server is well,
while it is stopped by SIGSTOP, and until the backlog is gone.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from outage import PACE, measure_outage
from shippers import S3, SEARCH, write_records

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.services.opensearch import OpenSearch  # noqa: E402
from tests.services.search_proxy import SearchProxy  # noqa: E402
from tests.services.seaweedfs import SeaweedFS  # noqa: E402

Row = dict[str, float]
TABLES = ("search", "s3", "outage")
PEERS = {
    "search": {
        "toolog elasticsearch": "elasticsearch-py parallel_bulk",
        "toolog opensearch": "opensearch-py parallel_bulk",
    },
    "s3": {"toolog s3": "boto3 upload_fileobj"},
}


def run_way(way: str, url: str, place: str, folder: Path, in_process: bool) -> Row:
    """Run one way in a fresh process, with a copy of the spool."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        spool = Path(own) / "spool"
        shutil.copytree(folder / "spool", spool)
        job = {
            "way": way,
            "url": url,
            "place": place,
            "spool": str(spool),
            "records": str(folder / "records"),
            "in_process": in_process,
        }
        done = subprocess.run(
            [sys.executable, str(HERE / "shippers.py"), json.dumps(job)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{way}: {done.stderr.strip() or done.stdout}")
    figures: Row = json.loads(done.stdout.splitlines()[-1])
    return figures


def delete(url: str) -> None:
    """Send a DELETE."""
    with urllib.request.urlopen(urllib.request.Request(url, method="DELETE")):
        pass


def compare_search(folder: Path, count: int, rounds: int, in_process: bool) -> dict[str, Row]:
    """Return the figures of all ways into the search cluster."""
    runs: dict[str, list[Row]] = {way: [] for way in SEARCH}
    with OpenSearch(http_max="100mb", optimize=True) as server, SearchProxy(server.url, keep=False) as proxy:
        for number in range(rounds + 1):
            for way in turns(SEARCH, number):
                tell(f"search, round {number} of {rounds}: {way}")
                figures = run_way(way, proxy.url, "bench", folder, in_process)
                assert figures["done"] == count, (way, figures)
                delete(f"{server.url}/_data_stream/toolog-*-bench")
                if number:  # the first one warms the server up
                    runs[way].append(figures)
    return {way: summary(rows, count) for way, rows in runs.items()}


def compare_s3(folder: Path, count: int, size: int, rounds: int, in_process: bool) -> dict[str, Row]:
    """Return the figures of both ways into a bucket."""
    runs: dict[str, list[Row]] = {way: [] for way in S3}
    with SeaweedFS() as server:
        for number in range(rounds + 1):
            for way in turns(S3, number):
                tell(f"s3, round {number} of {rounds}: {way}")
                bucket = server.make_bucket(f"bench-{number}-{list(S3).index(way)}")
                figures = run_way(way, server.endpoint_url, bucket, folder, in_process)
                assert figures["done"] == count, (way, figures)
                if number:
                    runs[way].append(figures)
    return {
        way: {**summary(rows, count), "mb": summary(rows, size / 1e6)["rate"]} for way, rows in runs.items()
    }


def turns(ways: Iterable[str], number: int) -> list[str]:
    """Return the ways in the order of one round: back and forth, as a server gets faster with time."""
    return list(ways)[:: -1 if number % 2 else 1]


def summary(rows: list[Row], amount: float) -> Row:
    """Return the medians over the rounds, and the amount a second."""
    wall = statistics.median(row["wall"] for row in rows)
    return {"rate": amount / wall, "wall": wall, "cpu": statistics.median(row["cpu"] for row in rows)}


def tell(text: str) -> None:
    """Say on a terminal what is going on."""
    if sys.stderr.isatty():
        print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)


def show(tables: dict[str, Any]) -> None:
    """Print the figures for people."""
    for name in ("search", "s3"):
        if name in tables:
            mb = "     MB/s" if name == "s3" else ""
            print(f"\n{name:<34}records/s{mb}    wall s     cpu s")
            for way, row in tables[name].items():
                size = f"{row['mb']:9.1f}" if name == "s3" else ""
                print(f"{way:<34}{row['rate']:9,.0f}{size}{row['wall']:10.2f}{row['cpu']:10.2f}")
            for ours, peer in PEERS[name].items():
                a, b = tables[name][ours], tables[name][peer]
                print(f"  {ours} / {peer}: rate {a['rate'] / b['rate']:.2f}, cpu {a['cpu'] / b['cpu']:.2f}")
    if "outage" in tables:
        show_outage(tables["outage"])


def show_outage(row: Row) -> None:
    """Print the figures of the outage for people."""
    print(f"\noutage of {row['seconds']:g} s")
    for name in ("p99", "p50"):
        well, hung = row[f"well_{name}"], row[f"hung_{name}"]
        print(f"  a call's {name}   well {well:.0f} us, hung {hung:.0f} us: {hung / well:.2f}x")
    print(f"  memory         {row['memory_mib']:+.1f} MiB with a backlog of {row['backlog']:,.0f} records")
    rate, ratio = row["drain_per_second"], row["drain_ratio"]
    print(f"  drain          {rate:,.0f} records/s, {ratio:.1f}x the ingest of {PACE:,}/s")
    ended = [f"{row[name]:,.0f} {name}" for name in ("made", "stored", "found", "dropped")]
    print(f"  at the end     {', '.join(ended)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="rougher figures in a minute")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--in-process", action="store_true", help="ship as an application's threads do")
    parser.add_argument("--table", action="append", choices=TABLES, help="only this one; may be repeated")
    parser.add_argument("--records", type=int, help="how many records (50,000, quick: 10,000)")
    parser.add_argument("--rounds", type=int, help="how often each way runs (5, quick: 1)")
    parser.add_argument(
        "--outage", type=float, metavar="SECONDS", help="how long the server hangs (60, quick: 5)"
    )
    parser.add_argument(
        "--backlog", type=int, metavar="RECORDS", help="backlog at its end (600,000, quick: 30,000)"
    )
    parser.add_argument(
        "--drain",
        type=float,
        metavar="SECONDS",
        help="watch the backlog go for so long at most (till it is gone)",
    )
    options = parser.parse_args()
    count = options.records or (10_000 if options.quick else 50_000)
    rounds = options.rounds or (1 if options.quick else 5)
    wanted = options.table or TABLES
    tables: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "search" in wanted or "s3" in wanted:
            size = write_records(str(folder / "spool"), str(folder / "records"), count)
        if "search" in wanted:
            tables["search"] = compare_search(folder, count, rounds, options.in_process)
        if "s3" in wanted:
            tables["s3"] = compare_s3(folder, count, size, rounds, options.in_process)
        if "outage" in wanted:
            seconds = options.outage or (5.0 if options.quick else 60.0)
            tables["outage"] = measure_outage(
                seconds, options.backlog or (30_000 if options.quick else 600_000), drain=options.drain
            )
    tell("")
    print(json.dumps(tables, indent=1)) if options.json else show(tables)


if __name__ == "__main__":
    main()
