"""The rows of the matrix that take long: a server that hangs for minutes, and a soak with all at once."""

from __future__ import annotations

import importlib
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.places import S3Place, SearchPlace
from tests.faults.rows import Run, ended
from tests.services import s3_proxy as s3
from tests.services.bulk import OmitItems, RejectItems, every
from tests.services.faults import Drop, Status, Truncate, Withhold
from tests.services.opensearch import OpenSearch
from tests.services.proxy import Fault
from tests.services.s3_proxy import S3Proxy
from tests.services.search_proxy import SearchProxy
from tests.services.seaweedfs import SeaweedFS
from tests.services.shared import ROOT
from toolog.spool import pending

SOAK = "soak, everything at once"
REQUESTS_A_FAULT = 5
"""At most every so many requests meet a fault in the soak."""
MOST_MEMORY = 64.0
"""MiB that a backlog may cost."""


@dataclass(frozen=True)
class Outage:
    """A search server that hangs for ``seconds`` while 1,000 calls a second are made."""

    name: str
    seconds: float
    backlog: int

    def run(self) -> dict[str, Any]:
        """Measure; return the row."""
        sys.path.insert(0, str(ROOT / "benchmarks"))
        began = time.monotonic()
        got = importlib.import_module("outage").measure_outage(self.seconds, self.backlog)
        return {
            "row": self.name,
            "accepted": int(got["made"]),
            "stored": int(got["found"]),
            "dropped": int(got["dropped"]),
            "in spool": int(got["left"]),
            "lost": max(0, int(got["made"] - got["found"] - got["dropped"] - got["left"])),
            "seconds": time.monotonic() - began,
            "notes": f"p99 {got['well_p99']:.0f} -> {got['hung_p99']:.0f} us,"
            f" memory {got['memory_mib']:+.0f} MiB with {got['backlog']:,.0f} waiting,"
            f" drain {got['drain_per_second']:,.0f}/s",
            "wrong": list(self._faults(got)),
        }

    def _faults(self, got: dict[str, float]) -> list[str]:
        wrong = []
        ended = [f"{got[name]:,.0f} {name}" for name in ("made", "found", "dropped", "left")]
        if got["made"] != got["found"]:
            wrong.append(", ".join(ended))
        if got["p99_ratio"] > 2:
            wrong.append(f"a call's p99 is {got['p99_ratio']:.1f}x while the server hangs")
        if got["memory_mib"] > MOST_MEMORY:
            wrong.append(f"{got['memory_mib']:.0f} MiB more memory")
        if got["drain_ratio"] < 5:
            wrong.append(f"the backlog goes at {got['drain_ratio']:.1f}x the rate at which it came")
        return wrong


OUTAGES = [
    Outage("search: the server hangs for 10 s", 10, 10_000),
    Outage("search: the server hangs for 2 min", 120, 120_000),
    Outage("search: the server hangs for 10 min", 600, 600_000),
]


def soak(minutes: float) -> dict[str, Any]:
    """Ship to both servers for so long while everything fails now and then; memory and descriptors stay flat.

    Producers are killed and started again; one `toolog ship` does the shipping all the time.
    """
    own = f"f{uuid.uuid4().hex[:12]}"
    chance = random.Random(minutes)
    began = time.monotonic()
    with ExitStack() as stack:
        enter = stack.enter_context
        opensearch, seaweedfs = enter(OpenSearch()), enter(SeaweedFS())
        folder = Path(enter(tempfile.TemporaryDirectory()))
        search = SearchPlace(opensearch, enter(SearchProxy(opensearch.url)), own)
        bucket = S3Place(seaweedfs, enter(S3Proxy(seaweedfs.endpoint_url)), seaweedfs.make_bucket(own))
        run = enter(ended(Run(search, folder)))
        sinks = {"search": search.sink(), "s3": {**bucket.sink(), "batch": {"max_age": "1 s"}}}
        config = folder / "ship.json"
        config.write_text(json.dumps({"sinks": sinks}), "utf-8")
        run.spool.mkdir()
        shipper = subprocess.Popen(
            [str(Path(sys.executable).with_name("toolog")), "ship", str(run.spool), "--config", str(config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(shipper.wait)
        stack.callback(shipper.terminate)
        samples: list[tuple[float, int]] = []
        life = faults = 0
        quiet_until = {place.name: 0 for place in (search, bucket)}
        while time.monotonic() - began < minutes * 60:
            options = run.handler(ship="none", sinks=sinks)
            program = run.start(first=life * 1_000_000, count=0, pause=0.005, handler=options)
            for _ in range(4):
                time.sleep(chance.uniform(1, 5))
                for place in (search, bucket):
                    # A sink that is asked to slow down sends fewer requests than there would be faults.
                    if len(place.proxy.deliveries) >= quiet_until[place.name]:
                        quiet_until[place.name] = len(place.proxy.deliveries) + REQUESTS_A_FAULT
                        place.proxy.add(chance.choice(FAULTS[place.name]), 1, where=place.is_write)
                        faults += 1
                samples.append(_measure(shipper.pid))
            program.send_signal(signal.SIGKILL)
            run.finish(program, -signal.SIGKILL)
            life += 1
        search.proxy.clear()
        bucket.proxy.clear()
        left = {sink: _wait_until_shipped(run.spool, sink) for sink in ("search", "s3")}
        kept = run.balance(began)
        run.place = bucket
        other = run.balance(began)
    wrong = []
    for books in (kept, other):
        books.unsure = life
        wrong += books.faults()
    flat = _flat(samples, wrong)
    waited = ", ".join(f"{number:,} for {sink}" for sink, number in left.items())
    flat["notes"] += f", {faults} faults, {life} kills, waiting at its end {waited}"
    return {"row": f"{SOAK}, {minutes:g} min", **kept.figures(), **flat}


def _wait_until_shipped(spool: Path, sink: str, stall: float = 120.0) -> int:
    """Wait until nothing waits for a sink, for as long as it becomes less; return how much there was."""
    first = left = least = sum(1 for _ in pending(spool, sink))
    since = time.monotonic()
    while left:
        time.sleep(0.5)
        left = sum(1 for _ in pending(spool, sink))
        if left < least:
            least, since = left, time.monotonic()
        assert time.monotonic() - since < stall, f"{left} records wait for {sink}, and become no fewer"
    return first


FAULTS: dict[str, list[Fault]] = {
    "search": [
        Status(503), Status(429), RejectItems(429, every(3)), RejectItems(503, every(2)), OmitItems(every(5)),
        Withhold(), Truncate(), Truncate(announced=False), Drop(),
    ],
    "s3": [s3.INTERNAL_ERROR, s3.SLOW_DOWN, s3.EXPIRED_TOKEN, s3.CONFLICT, s3.Corrupt(), Withhold(), Drop()],
}  # fmt: skip


def _measure(pid: int) -> tuple[float, int]:
    """Return the resident memory of a process in MiB, and how many descriptors it has open."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * 4096 / 2**20, len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _flat(samples: list[tuple[float, int]], wrong: list[str]) -> dict[str, Any]:
    """Compare the second third with the last: what grows all the time has grown between them."""
    third = max(1, len(samples) // 3)
    middle, last = samples[third : 2 * third] or samples, samples[-third:]
    memory = [statistics.median(one for one, _ in part) for part in (middle, last)]
    files = [max(many for _, many in part) for part in (middle, last)]
    if memory[1] > memory[0] + 16:
        wrong.append(f"memory grew from {memory[0]:.0f} to {memory[1]:.0f} MiB")
    if files[1] > files[0] + 8:
        wrong.append(f"descriptors grew from {files[0]} to {files[1]}")
    notes = f"memory {memory[0]:.0f} -> {memory[1]:.0f} MiB, descriptors {files[0]} -> {files[1]}"
    return {"notes": notes, "wrong": wrong}
