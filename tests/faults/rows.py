"""The rows of the matrix that ship to a real server: a fault each, and the books afterwards."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ormsgpack

from tests.faults import books, deaths
from tests.faults.books import Books
from tests.faults.places import Place
from tests.helpers import wait_until
from tests.services import s3_proxy as s3
from tests.services.bulk import OmitItems, RejectItems, every
from tests.services.faults import Drop, Slow, Status, Truncate, Withhold
from tests.services.proxy import Fault
from tests.services.shared import ROOT
from toolog.spool import pending

PRODUCER = Path(__file__).with_name("producer.py")


@dataclass
class Run:
    """One row being run: where records go, a folder of its own, and the producers that were started."""

    place: Place
    folder: Path
    producers: list[subprocess.Popen[str]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)

    @property
    def spool(self) -> Path:
        """The spool of all producers of the row."""
        return self.folder / "spool"

    def handler(self, **options: Any) -> dict[str, Any]:
        """Return the options of a producer's handler."""
        return {
            "durability": "process",
            "spool": {"path": str(self.spool)},
            "sinks": {self.place.name: self.place.sink()},
            "shutdown_timeout": 0.5,
            **options,
        }

    def start(self, first: int = 0, count: int = 400, **job: Any) -> subprocess.Popen[str]:
        """Start a producer and wait until it logs."""
        job = {
            "first": first,
            "count": count,
            "ledger": str(self.folder / f"ledger-{first}"),
            "handler": self.handler(),
            **job,
        }
        complaints = (self.folder / "stderr").open("a")
        with complaints:
            program = subprocess.Popen(
                [sys.executable, str(PRODUCER), json.dumps(job)],
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            )
        self.producers.append(program)
        assert program.stdout is not None
        if not job.get("die"):
            assert program.stdout.readline() == "go\n", (self.folder / "stderr").read_text()
        return program

    def finish(self, program: subprocess.Popen[str], code: int = 0) -> None:
        """Wait until a producer has ended, and keep its figures."""
        printed, _ = program.communicate(timeout=100)
        assert program.returncode == code, (self.folder / "stderr").read_text()[-3000:]
        lines = [line for line in printed.splitlines() if line.startswith("{")]
        if lines:
            self.figures.append(json.loads(lines[-1]))

    def produce(self, **job: Any) -> None:
        """Run a producer from its start to its end."""
        self.finish(self.start(**job))

    def balance(self, began: float) -> Books:
        """Return the books as they are now."""
        ledgers = [file.read_text().split() for file in self.folder.glob("ledger-*")]
        stored, corrupt = books.count(self.place.stored())
        wire, _ = books.count(self.place.wire())
        letters = self.spool / "dead-letters" / f"{self.place.name}.jsonl"
        lines = letters.read_text("utf-8").splitlines() if letters.exists() else []
        dead = [json.loads(line)["record"] for line in lines]
        waiting = [ormsgpack.unpackb(frame.payload) for frame in pending(self.spool, self.place.name)]
        levels = [levels for figures in self.figures for levels in figures["dropped"].values()]
        return Books(
            accepted={int(number) for numbers in ledgers for number in numbers},
            stored=stored,
            wire=wire,
            dead=set(books.count(one.get("message") for one in dead)[0]),
            waiting=set(books.count(one.get("message") for one in waiting)[0]),
            dropped=sum(number for table in levels for number in table.values()),
            corrupt=corrupt,
            seconds=time.monotonic() - began,
        )


@contextmanager
def ended(run: Run) -> Iterator[Run]:
    """See to it that no producer outlives its row."""
    try:
        yield run
    finally:
        for program in run.producers:
            if program.poll() is None:
                program.kill()
            if program.stdout is not None:
                program.stdout.close()
            program.wait()


@dataclass(frozen=True)
class Row:
    """One row: ``work`` makes the fault and lets producers log. ``also`` says what else must be so.

    ``long``: it is not part of the suite. ``kills``: how many producers are killed.
    """

    name: str
    place: str
    work: Callable[[Run], None]
    also: Callable[[Books, Run], str] = lambda books, run: ""
    long: bool = False
    kills: int = 0

    def run(self, place: Place, folder: Path) -> tuple[Books, list[str]]:
        """Carry the row out; return its books and what is wrong with them."""
        began = time.monotonic()
        with ended(Run(place, folder)) as run:
            self.work(run)
            kept = run.balance(began)
            kept.unsure = self.kills
            wrong = kept.faults()
            complaint = self.also(kept, run)
        return kept, [*wrong, complaint] if complaint else wrong


def faulty(*faults: Fault, times: int = 1) -> Callable[[Run], None]:
    """Return the work of a row whose first deliveries meet these faults, one after the other."""

    def work(run: Run) -> None:
        for fault in faults:
            run.place.proxy.add(fault, times, where=run.place.is_write)
        run.produce()

    return work


def under_traffic(*faults: Fault, times: int = 1) -> Callable[[Run], None]:
    """Return the work of a row that meets these faults in the midst of steady traffic."""

    def work(run: Run) -> None:
        sink = {**run.place.sink(), "batch": {"max_age": 0.05}}
        program = run.start(count=2000, handler=run.handler(sinks={run.place.name: sink}))
        wait_until(lambda: len(run.place.proxy.deliveries) > 4)
        for fault in faults:
            run.place.proxy.add(fault, times, where=run.place.is_write)
        run.finish(program)

    return work


def time_out(run: Run) -> None:
    """The server commits, and its answer comes later than the sink waits."""
    run.place.proxy.add(Withhold(seconds=6), where=run.place.is_write)
    sink = {**run.place.sink(), "timeout": "2 s"}
    run.produce(handler=run.handler(sinks={run.place.name: sink}))


def used_up(kept: Books, run: Run) -> str:
    """All that was logged is stored, and every fault really happened."""
    faulted = sum(bool(one.fault) for one in run.place.proxy.deliveries)
    if not faulted:
        return "the fault did not happen"
    return "" if len(kept.stored) + len(kept.dead) == len(kept.accepted) else "not all of it is stored"


def came_again(kept: Books, run: Run) -> str:
    """The same, and records came again that the server had stored."""
    return used_up(kept, run) or ("" if kept.again else "nothing came twice on the wire")


def refused_are_dead(kept: Books, run: Run) -> str:
    """Each record that the server refused is a dead letter, and no other."""
    refused = {number for number in kept.accepted if number % 50 == 0}
    return "" if kept.dead == refused else f"dead letters: {len(kept.dead)}, refused: {len(refused)}"


def is_fiftieth(item: Any) -> bool:
    """Whether a document's number can be divided by 50."""
    number = books.read_message(json.loads(item.document).get("message"))
    return number is not None and number % 50 == 0


def refuse_every_fiftieth(run: Run) -> None:
    """The server refuses the same documents whenever they come."""
    run.place.proxy.add(RejectItems(400, is_fiftieth), None, where=run.place.is_write)
    run.produce()


def close_the_port(run: Run) -> None:
    """Nobody listens for two seconds."""
    run.place.proxy.refuse()
    program = run.start(count=1000)
    time.sleep(2)
    run.place.proxy.accept()
    run.finish(program)


def send_large_records(run: Run) -> None:
    """The batches are larger than what the real node takes (2 MB)."""
    sink = {**run.place.sink(), "batch": {"max_records": 600, "max_bytes": "8 MiB", "max_age": 2}}
    run.produce(count=600, padding=6000, pause=0, handler=run.handler(sinks={run.place.name: sink}))


def was_too_large(kept: Books, run: Run) -> str:
    """The node itself said 413, and everything is there all the same."""
    said = [one.status for one in run.place.proxy.deliveries]
    if 413 not in said:
        return f"nobody said 413, but {sorted(set(said))}"
    return "" if len(kept.stored) == len(kept.accepted) else "not all of it is stored"


def deny(run: Run) -> None:
    """The credentials are refused for some time, then they are right again."""
    proxy = run.place.proxy
    proxy.add(Status(401), None)
    program = run.start(count=300)
    wait_until(lambda: sum(one.status == 401 for one in proxy.deliveries) > 2)
    proxy.clear()
    run.finish(program)


def overflow(run: Run) -> None:
    """Three times as much as the spool may hold while nobody takes anything; then the server is back."""
    run.place.proxy.refuse()
    options = run.handler(spool={"path": str(run.spool), "max_size": "512 KiB", "segment_size": "64 KiB"})
    options["queue"] = {"max_records": 100}
    program = run.start(count=3000, padding=300, pause=0, flush=60, handler=options)
    ledger = run.folder / "ledger-0"
    wait_until(lambda: len(ledger.read_text().split()) == 3000)
    run.place.proxy.accept()
    run.finish(program)


def was_bounded(kept: Books, run: Run) -> str:
    """Much was given up, all of it was counted, and the newest or oldest of the spool arrived."""
    if not 500 < kept.dropped < 2900:
        return f"{kept.dropped} were dropped of {len(kept.accepted)}"
    return "" if kept.dropped + len(kept.stored) == len(kept.accepted) else "the count of what was dropped"


def kill_at_random(number: int) -> Callable[[Run], None]:
    """Return the work of a row that kills so many producers, each at a random moment."""

    def work(run: Run) -> None:
        moments = random.Random(number)
        for life in range(number):
            program = run.start(first=life * 1_000_000, count=0)
            time.sleep(moments.uniform(0.0, 1.5))  # the first batch is sent after a second or so
            program.send_signal(signal.SIGKILL)
            run.finish(program, -signal.SIGKILL)
        run.produce(first=number * 1_000_000, count=1, flush=90)

    return work


def kill_at(point: str, number: int) -> Callable[[Run], None]:
    """Return the work of a row in which so many producers die at a point of their work."""

    def work(run: Run) -> None:
        options = run.handler(spool={"path": str(run.spool), "segment_size": "64 KiB"})
        for life in range(number):
            program = run.start(
                first=life * 1_000_000,
                count=20_000,
                pause=0.001,
                handler=options,
                die=point,
                times=2 + life % 5,
            )
            run.finish(program, -signal.SIGKILL)
        run.produce(first=number * 1_000_000, count=1, flush=90)

    return work


def all_stored(kept: Books, run: Run) -> str:
    """All is stored that was accepted."""
    return "" if kept.accepted <= kept.stored.keys() else "not all of it is stored"


def two_shippers(run: Run) -> None:
    """Two `toolog ship` on one spool while programs write; the first one is killed."""
    config = run.folder / "ship.json"
    config.write_text(json.dumps({"sinks": {run.place.name: run.place.sink()}}), "utf-8")
    toolog = str(Path(sys.executable).with_name("toolog"))
    words = [toolog, "ship", str(run.spool), "--config", str(config)]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": ROOT}
    program = run.start(count=1500, handler=run.handler(ship="none"))
    shippers = [subprocess.Popen(words, **silent) for _ in range(2)]  # type: ignore[call-overload]
    try:
        wait_until(lambda: len(run.place.proxy.deliveries) > 3)
        shippers[0].kill()
        run.finish(program)
        wait_until(lambda: not any(True for _ in pending(run.spool, run.place.name)))
    finally:
        for shipper in shippers:
            shipper.terminate()
            shipper.wait(10)


SEARCH = [
    Row("429 for single items", "search", under_traffic(RejectItems(429, every(3))), used_up),
    Row("429 for whole requests", "search", under_traffic(Status(429)), used_up, long=True),
    Row("500, 502, 503, 504", "search", faulty(*(Status(code) for code in (500, 502, 503, 504))), used_up),
    Row("503 for single items", "search", faulty(RejectItems(503, every(4)), times=2), used_up, long=True),
    Row("400 for single documents", "search", refuse_every_fiftieth, refused_are_dead),
    Row("no answer after the commit, then 409", "search", faulty(Withhold(), times=2), came_again),
    Row("timeout after the commit", "search", time_out, came_again),
    Row("answer cut off", "search", faulty(Truncate(), Truncate(announced=False)), came_again),
    Row("items missing in the answer", "search", faulty(OmitItems(every(5)), times=2), came_again),
    Row("413 from the server itself", "search", send_large_records, was_too_large),
    Row("401 until the credentials are right", "search", deny, used_up),
    Row("connection reset", "search", faulty(Drop(), times=3), used_up, long=True),
    Row("nobody listens for 2 s", "search", close_the_port),
    Row("a line of 50 KB/s", "search", faulty(Slow(50_000), times=3), used_up, long=True),
    Row("3 times the bound of the spool", "search", overflow, was_bounded),
    Row("two shippers on one spool, one killed", "search", two_shippers),
]
S3 = [
    Row("500 InternalError", "s3", faulty(s3.INTERNAL_ERROR, times=2), used_up),
    Row("503 SlowDown", "s3", faulty(s3.SLOW_DOWN, times=3), used_up),
    Row("403 AccessDenied", "s3", faulty(s3.ACCESS_DENIED, times=2), used_up),
    Row("400 ExpiredToken", "s3", faulty(s3.EXPIRED_TOKEN), used_up),
    Row("403 RequestTimeTooSkewed", "s3", faulty(s3.SKEWED), used_up),
    Row("409 conflict", "s3", faulty(s3.CONFLICT, times=2), used_up),
    Row("no answer after the commit, then 412", "s3", faulty(Withhold(), times=2), came_again),
    Row("bytes damaged on the way", "s3", faulty(s3.Corrupt(), times=2), used_up),
    Row("connection reset", "s3", faulty(Drop(), times=3), used_up, long=True),
    Row("nobody listens for 2 s", "s3", close_the_port, long=True),
    Row("a line of 10 KB/s", "s3", faulty(Slow(10_000), times=3), used_up),
    Row("two shippers on one spool, one killed", "s3", two_shippers, long=True),
]


def kills(at_random: int, at_a_point: int, *, long: bool) -> list[Row]:
    """Return the rows with kills: so many at random moments, and so many at each point of the work.

    In the long tier each server gets half of them; in the short one each point is tried with one of the two.
    """
    found = []
    for turn, place in enumerate(("search", "s3")):
        number, each = ((at_random + 1) // 2, (at_a_point + 1) // 2) if long else (at_random, at_a_point)
        if number:
            name = f"kill -9 at random, {number} times"
            found.append(Row(name, place, kill_at_random(number), all_stored, long, number))
        for index, point in enumerate(deaths.POINTS):
            if long or index % 2 == turn:
                name = f"kill -9 {point}, {each} times"
                found.append(Row(name, place, kill_at(point, each), all_stored, long, each))
    return found


SHORT_TIER = [*(row for row in [*SEARCH, *S3] if not row.long), *kills(0, 1, long=False)]
"""What is part of the suite."""
