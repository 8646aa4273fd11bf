"""The S3 sink behind a handler, in processes of its own: killed, ended, full of other people's log lines."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.pipeline.programs import ledger, run, start
from tests.sinks.s3.bucket import Archive
from toolog.sinks.s3 import names

KILLS = int(os.environ.get("TOOLOG_KILLS", "3"))

PROGRAM = """
SINK = {{"archive": {options!r}}}
POLICIES = {{"DEBUG": {{"sinks": ["archive"]}}, "ERROR": {{"sinks": ["archive"]}}}}
def ship(**options):
    return handler(sinks=SINK, retention=POLICIES, **options)
"""
EMIT_FOR_EVER = """
log = attach(ship(spool={"path": "spool", "segment_size": 200_000}))
note = open_ledger()
print("go", flush=True)
number = int(sys.argv[1]) * 1_000_000
while True:
    (log.error if number % 7 == 0 else log.info)("%d", number)
    note(number)
    number += 1
    time.sleep(0.0002)
"""


def program(archive: Archive, **batch: object) -> str:
    """Return the head of a program whose only sink is the archive."""
    return PROGRAM.format(options=archive.options(batch={"max_age": 0.02, **batch}))


def numbers(archive: Archive) -> Counter[int]:
    """Return how often each logged number is in the bucket."""
    found = [one for key in archive.list_keys() for one in archive.records(key)]
    return Counter(int(one["message"]) for one in found if str(one.get("message")).isdigit())


@pytest.mark.slow
def test_killed_programs_lose_nothing_and_store_nothing_twice(archive: Archive, tmp_path: Path) -> None:
    """After kill -9 at random moments, each record that was accepted is in exactly one object."""
    moments = random.Random(3)
    for life in range(KILLS):
        script = program(archive, max_records=[50, 500, 7, 5000][life % 4]) + EMIT_FOR_EVER
        running = start(script, tmp_path, str(life))
        assert running.stdout is not None
        assert running.stdout.readline() == "go\n"
        try:
            running.communicate(timeout=0.6 + moments.uniform(0.0, 0.4))
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
        running.communicate()
        assert running.returncode == -signal.SIGKILL
    run(program(archive) + "ship(); assert flush(40), stats()", tmp_path)
    accepted, found = set(ledger(tmp_path)), numbers(archive)
    assert len(accepted) > 100
    assert accepted <= set(found)
    assert set(found.values()) == {1}
    assert len(set(found) - accepted) <= KILLS  # killed between the record and its line in the ledger


def test_a_short_program_stores_its_records(archive: Archive, tmp_path: Path) -> None:
    """What a program logs just before its end is stored, although a batch may wait five minutes."""
    script = PROGRAM.format(options=archive.options())
    run(script + "log = attach(ship()); [log.info('%d', n) for n in range(100)]", tmp_path)
    assert numbers(archive) == Counter(range(100))
    (key,) = archive.list_keys()
    found = names.parse(key)
    assert found is not None
    (segment,) = [found.segment]
    assert found.policy == "debug"
    assert segment.endswith("_000001")


def test_the_clients_own_log_lines_are_not_recorded(archive: Archive, tmp_path: Path) -> None:
    """One record at the root logger stays one, whatever botocore and urllib3 have to say at DEBUG."""
    script = program(archive) + (
        "root = logging.getLogger(); root.setLevel(1); root.addHandler(ship())\n"
        "root.info('7'); assert flush(20), stats(); assert stats()['accepted'] == 1, stats()\n"
    )
    run(script, tmp_path)
    assert numbers(archive) == Counter([7])
    assert sum(archive.ids().values()) == 1


def test_a_disk_that_fails(archive: Archive, tmp_path: Path) -> None:
    """Where no spool can be made, records go from memory into objects, soon, under a segment of number 0."""
    script = PROGRAM.format(options=archive.options())
    (tmp_path / "spool").write_text("in the way")
    run(
        script + "log = attach(ship()); [log.info('%d', n) for n in range(50)]\n"
        "deadline = time.monotonic() + 40\n"
        "while not stats()['stored'] and time.monotonic() < deadline: time.sleep(0.05)\n"
        "assert stats()['stored'] == {'archive': 50}, stats()\n",
        tmp_path,
    )
    assert numbers(archive) == Counter(range(50))
    assert all("_000000-" in key for key in archive.list_keys())


def test_memory_stays_bounded(archive: Archive, tmp_path: Path) -> None:
    """A backlog of 24,000 records of 2 KB is shipped in objects of up to 16 MB with little more memory."""
    script = PROGRAM.format(options=archive.options()) + (
        "import resource, random\n"
        "from toolog.spool import Spool\n"
        "import ormsgpack, secrets\n"
        "writer = Spool('spool').writer(); noise = random.Random(1)\n"
        "for n in range(0, 24_000, 100):\n"
        "    writer.append_many([(20, 1, ormsgpack.packb({'record_id': str(m), 'message': str(m),\n"
        "        'text': noise.randbytes(1000).hex()})) for m in range(n, n + 100)])\n"
        "writer.close()\n"
        "import botocore.session, zstandard; botocore.session.Session().create_client('s3', 'us-east-1')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "ship(); assert flush(50), stats()\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    assert int(run(script, tmp_path)) < 64
    assert 3 <= len(archive.list_keys()) <= 6  # an object is of one segment, a batch may be of two
    assert sum(numbers(archive).values()) == 24_000
