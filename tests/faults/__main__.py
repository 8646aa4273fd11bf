"""Carry out the whole fault matrix and print its table: ``python -m tests.faults`` (or ``make faults``).

    --row TEXT     only the rows whose name contains TEXT; may be repeated
    --short        only the rows that the suite has too
    --kills N      how many programs are killed at random moments (300), half of them with each server
    --each N       how many at each point of their work (25)
    --soak MIN     how long the soak lasts (30 minutes; 0 leaves it out)
    --json FILE    write the figures into a file, for docs/faults.py

The exit code is 1 when the books of a row do not balance. Servers are started and ended here.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.faults import rows
from tests.faults.elsewhere import ELSEWHERE
from tests.faults.outages import OUTAGES, soak
from tests.faults.places import Place, S3Place, SearchPlace
from tests.services.opensearch import OpenSearch
from tests.services.s3_proxy import S3Proxy
from tests.services.search_proxy import SearchProxy
from tests.services.seaweedfs import SeaweedFS

COLUMNS = (
    "accepted",
    "stored",
    "dead letters",
    "dropped",
    "lost",
    "twice",
    "spurious",
    "corrupt",
    "again on the wire",
)


def main() -> int:
    """Run the rows that were asked for; print one line each, and what is wrong."""
    parser = argparse.ArgumentParser(description="The whole fault matrix.")
    parser.add_argument("--row", action="append", default=[], metavar="TEXT")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--kills", type=int, default=300, metavar="N")
    parser.add_argument("--each", type=int, default=25, metavar="N")
    parser.add_argument("--soak", type=float, default=30.0, metavar="MIN")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()

    def wanted(name: str) -> bool:
        return not options.row or any(text in name for text in options.row)

    found: list[dict[str, Any]] = []
    began = time.monotonic()
    print(f"{'':<58}" + "".join(f"{name.replace(' on the wire', ''):>13}" for name in COLUMNS) + "      s")
    for row in carry_out(options, wanted):
        found.append(row)
        tell(row)
        if options.json:  # after each row: whoever ends it early has what was done
            options.json.write_text(json.dumps(found, indent=1), "utf-8")
    again = sum(row.get("again on the wire", 0) for row in found)
    bad = [row["row"] for row in found if row["wrong"]]
    took = time.monotonic() - began
    print(f"\n{len(found)} rows, {len(bad)} of them wrong, {took:.0f} s; came again on the wire: {again}")
    return 1 if bad else 0


def carry_out(options: argparse.Namespace, wanted: Callable[[str], bool]) -> Iterator[dict[str, Any]]:
    """Run one row after the other; yield what comes out."""
    tier = rows.SHORT_TIER
    if not options.short:
        tier = [*rows.SEARCH, *rows.S3, *rows.kills(options.kills, options.each, long=True)]
    with OpenSearch() as opensearch, SeaweedFS() as seaweedfs:
        for row in tier:
            name = f"{row.place}: {row.name}"
            if wanted(name):
                yield run_row(row, name, opensearch, seaweedfs)
    if options.short:
        return
    for outage in OUTAGES:
        if wanted(outage.name):
            yield outage.run()
    if options.soak and wanted("soak"):
        yield soak(options.soak)
    for other in ELSEWHERE:
        if wanted(other.name):
            with tempfile.TemporaryDirectory() as folder:
                last, seconds, wrong = other.run(Path(folder))
            yield {"row": other.name, "notes": last, "seconds": round(seconds, 1), "wrong": wrong}


def run_row(row: rows.Row, name: str, opensearch: OpenSearch, seaweedfs: SeaweedFS) -> dict[str, Any]:
    """Run one row with a place of its own."""
    own = f"f{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory() as folder:
        place: Place
        if row.place == "search":
            with SearchProxy(opensearch.url) as search_proxy:
                place = SearchPlace(opensearch, search_proxy, own)
                kept, wrong = row.run(place, Path(folder))
        else:
            with S3Proxy(seaweedfs.endpoint_url) as s3_proxy:
                place = S3Place(seaweedfs, s3_proxy, seaweedfs.make_bucket(own))
                kept, wrong = row.run(place, Path(folder))
    return {"row": name, **kept.figures(), "wrong": wrong}


def tell(row: dict[str, Any]) -> None:
    """Print one row."""
    cells = "".join(f"{row[name]:>13,}" if name in row else f"{'':>13}" for name in COLUMNS)
    cells = f"{cells}{row['seconds']:>7.0f}" if cells.strip() else f"{row['seconds']:>7.0f}"
    print(f"{row['row']:<58}{cells}  {row.get('notes', '')}".rstrip(), flush=True)
    for complaint in row["wrong"]:
        print(f"    WRONG: {complaint}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
