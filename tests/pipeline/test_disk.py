"""Disks that are full, read-only or bounded: degrade to memory, count, recover by itself; never raise."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.pipeline.programs import HEAD, run, start

GATED = '''
from toolog.errors import SinkUnavailable
from toolog.sinks.base import BatchLimits
from toolog.sinks.memory import MemorySink

class Gated(MemorySink):
    """Takes nothing before its gate is open."""
    batch = BatchLimits(max_records=500, max_age=0.01)
    max_backoff = 0.05
    open = False
    def write(self, batch):
        if not self.open:
            raise SinkUnavailable("closed")
        return super().write(batch)

def account(sink, expected):
    """Check that what was accepted is stored or dropped, each once; return the figures."""
    def dropped():
        return sum(sum(by_level.values()) for by_level in stats()["dropped"].values())
    # A record that tells of losses may come after a flush.
    wait(lambda: stats()["accepted"] == len(sink.rows) + dropped())
    figures = stats()
    assert figures["accepted"] >= expected, figures
    return figures
'''

FILE_LIMIT = (
    GATED
    + """
import resource
sink = Gated()
sink.open = True
made = handler(sys.argv[1], sinks={"memory": sink}, queue={"max_records": 400})
log = attach(made)
for number in range(100):
    log.info("%d", number)
assert flush(20), stats()
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
sink.open = False
resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # from here on every write to a file fails
for number in range(100, 1000):
    (log.error if number % 10 == 0 else log.debug)("%d", number)
    if number % 100 == 0:
        time.sleep(0.03)
wait(lambda: made.pipeline.outlet.degraded)
sink.open = True
assert flush(20), stats()  # sinks are served from memory meanwhile
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
wait(lambda: not made.pipeline.outlet.degraded)
for number in range(1000, 1100):
    log.info("%d", number)
assert flush(20), stats()
figures = account(sink, 1100)
numbers = {int(row["message"]) for row in sink.records if row["event"] == "log"}
assert {*range(100), *range(1000, 1100)} <= numbers
assert {number for number in range(100, 1000) if number % 10 == 0} <= numbers, "an ERROR went before a DEBUG"
assert set(figures["dropped"]["queue_full"]) == {"DEBUG"}, figures
made.close()
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["memory", "process"])
def test_disk_that_refuses_every_write(mode: str, tmp_path: Path) -> None:
    """While no byte can be written, records are held and shipped from memory, DEBUG goes before ERROR, one
    warning is printed; when the disk is well again the spool is used again.
    """
    program = start(FILE_LIMIT, tmp_path, mode)
    printed, complaints = program.communicate(timeout=90)
    assert program.returncode == 0, printed + complaints
    assert complaints.count("kept in memory") == 1


FULL_DISK = (
    GATED
    + """
ballast = open("spool/ballast", "wb")
ballast.write(b"x" * 600_000)
ballast.close()
sink = Gated()
made = handler(sys.argv[1], sinks={"memory": sink}, queue={"max_records": 300})
log = attach(made)
for number in range(6000):
    log.info("%d %s", number, "x" * 100)
    if number % 100 == 0:
        time.sleep(0.02)
assert made.pipeline.outlet.degraded, "the disk is not full"
assert stats()["dropped"], stats()
os.unlink("spool/ballast")
wait(lambda: not made.pipeline.outlet.degraded)
log.info("%d %s", 6000, "back")
sink.open = True
assert flush(40), stats()
account(sink, 6001)
assert any(str(row.get("message")) == "6000 back" for row in sink.records)
made.close()
"""
)

OWN_SPOOL_FILLS_IT = """
made = handler(sys.argv[1], sinks={"file": {"type": "file", "path": "out.jsonl"}}, queue={"max_records": 200})
log = attach(made)
number = 0
while not made.pipeline.outlet.degraded or number < 1000:
    log.info("%d %s", number, "x" * 2000)
    number += 1
full = {name for name in os.listdir("spool") if name.endswith(".seg")}
assert flush(20), stats()
wait(lambda: not full & set(os.listdir("spool")))  # what is shipped no longer fills the disk
log.info("%d %s", number, "back")
assert flush(20), stats()
def dropped():
    return sum(sum(by_level.values()) for by_level in stats()["dropped"].values())
# A record that tells of losses may come after a flush.
wait(lambda: stats()["accepted"] == len(open("out.jsonl").readlines()) + dropped())
assert any(" back" in line for line in open("out.jsonl"))
made.close()
"""

READ_ONLY = (
    GATED
    + """
import subprocess
sink = Gated()
sink.open = True
made = handler(sys.argv[1], sinks={"memory": sink}, queue={"max_records": 500})
log = attach(made)
for number in range(100):
    log.info("%d", number)
assert made.pipeline.outlet.degraded
assert flush(20), stats()
subprocess.run(["mount", "-o", "remount,rw", "spool"], check=True)
deadline = time.monotonic() + 40
while made.pipeline.outlet.degraded and time.monotonic() < deadline:
    log.info("%d", 100)
    time.sleep(0.05)
assert not made.pipeline.outlet.degraded
log.info("%d", 100)  # what was logged before may all have been shipped from memory
assert any(name.endswith(".seg") for name in os.listdir("spool"))
assert flush(20), stats()
account(sink, 101)
assert not stats()["dropped"]
made.close()
"""
)


def run_on_small_disk(script: str, folder: Path, mode: str, first: str = "true", size: str = "1m") -> None:
    """Run a program whose spool is a small file system of its own; skips where that cannot be
    made.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare command")
    (folder / "spool").mkdir()
    (folder / "program.py").write_text(HEAD + script, "utf-8")
    mounted = f"mount -t tmpfs -o size={size},mode=0700 tmpfs spool"
    probe = [unshare, "--user", "--map-root-user", "--mount", "sh", "-c", mounted]
    if subprocess.run(probe, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody mount a file system of their own")
    done = subprocess.run(
        [*probe[:-1], f"{mounted} && {first} && exec {sys.executable} program.py {mode}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("kept in memory") == 1


@pytest.mark.parametrize("mode", ["memory", "process"])
def test_full_disk(mode: str, tmp_path: Path) -> None:
    """On a disk that is really full nothing raises, losses are counted, and the spool recovers with the
    space.
    """
    run_on_small_disk(FULL_DISK, tmp_path, mode)


@pytest.mark.parametrize("mode", ["memory", "process"])
def test_disk_that_the_spool_itself_has_filled(mode: str, tmp_path: Path) -> None:
    """When the spool is all that fills a disk, what is shipped is deleted, and the spool goes on: the cursor,
    without which nothing may be deleted, has room of its own.
    """
    run_on_small_disk(OWN_SPOOL_FILLS_IT, tmp_path, mode, size="300k")


def test_flush_waits_for_a_disk_that_gets_well(tmp_path: Path) -> None:
    """Where another process ships, flush gives a full disk its whole time before it says no, and says yes as
    soon as the records are on it.
    """
    run(
        """
        import resource
        made = handler(ship="none")
        log = attach(made)
        log.info("before")
        assert flush(20)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        log.info("while it fails")
        assert not flush(0.1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert flush(60), stats()
        assert stats()["in_spool"] == {"out": 2}
        """,
        tmp_path,
    )


def test_read_only_disk(tmp_path: Path) -> None:
    """On a read-only file system records are shipped from memory, and the spool is used once it can be
    written.
    """
    run_on_small_disk(READ_ONLY, tmp_path, "process", "mount -o remount,ro spool")


@pytest.mark.parametrize("when_full", ["drop_newest", "drop_oldest"])
def test_spool_at_its_bound(when_full: str, tmp_path: Path) -> None:
    """Three times as much as the spool and memory hold: bounded, all counted, and ERRORs outlive DEBUGs."""
    printed = run(
        GATED
        + """
sink = Gated()
made = handler("process", sinks={"memory": sink}, queue={"max_records": 100, "when_full": sys.argv[1]},
               spool={"path": "spool", "max_size": "256 KiB", "segment_size": "32 KiB"})
log = attach(made)
wait(lambda: made.pipeline.shipping.is_shipper)
padding = "x" * 200
for number in range(2500):
    (log.error if number % 50 == 0 else log.debug)("%d %s", number, padding)
    if number % 50 == 0:
        time.sleep(0.03)
segments = [os.path.join("spool", name) for name in os.listdir("spool") if name.endswith(".seg")]
size = sum(map(os.path.getsize, segments))
assert size <= 256 * 1024 + 4096, size  # a batch may end behind the bound by a frame or two
sink.open = True
assert flush(40), stats()
figures = account(sink, 2500)
made.close()
print(json.dumps([row["level"] for row in sink.records if row["event"] == "log"]))
print(json.dumps(figures["dropped"]))
""",
        tmp_path,
        when_full,
    )
    import json

    levels, dropped = map(json.loads, printed.splitlines())
    assert Counter(levels)["ERROR"] == 50, dropped
    assert {level for by_level in dropped.values() for level in by_level} == {"DEBUG"}


DELETED = (
    GATED
    + """
import shutil
def take_away():
    if sys.argv[2] == "deleted":
        shutil.rmtree("spool")
    else:
        os.rename("spool", f"spool-{time.monotonic_ns()}")

sink = Gated()
sink.open = True
made = handler(sys.argv[1], sinks={"memory": sink})
log = attach(made)
for number in range(300):
    log.info("%d", number)
assert flush(20), stats()
take_away()
for number in range(300, 600):
    log.info("%d", number)
assert flush(20), stats()
take_away()
for number in range(600, 3000):
    log.info("%d %s", number, "x" * 400)  # more than one look at the directory
assert flush(30), stats()
wait(lambda: os.path.exists("spool/shipper.lock"))  # it is taken again when the house is kept next
account(sink, 3000)
assert not stats()["dropped"], stats()
numbers = [int(row["message"].split()[0]) for row in sink.records]
assert sorted(numbers) == list(range(3000)), (len(numbers), len(set(numbers)))
made.close()
"""
)


@pytest.mark.parametrize(
    ("mode", "how"), [("memory", "deleted"), ("process", "deleted"), ("process", "moved")]
)
def test_directory_that_is_taken_away_while_it_is_used(mode: str, how: str, tmp_path: Path) -> None:
    """What was written into files that somebody deletes or moves is written again, and arrives once."""
    program = start(DELETED, tmp_path, mode, how)
    printed, complaints = program.communicate(timeout=90)
    assert program.returncode == 0, printed + complaints
