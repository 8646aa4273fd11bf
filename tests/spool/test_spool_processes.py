"""Processes: killed, forked, side by side. What was accepted is in the spool, once, and somebody ships it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import wait_until
from toolog.spool import Frame, Spool, SpoolReader, SpoolWriter, iter_frames

KILLS = int(os.environ.get("TOOLOG_KILLS", "20"))
Child = Callable[..., "subprocess.Popen[str]"]
Drain = Callable[[SpoolReader], list[Frame]]

PRODUCER = """
import os, sys, threading
from toolog.spool import SpoolWriter

directory, ledger, start = sys.argv[1:]
writer = SpoolWriter(directory, segment_size=30_000)
ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
print("ready", flush=True)

def produce(lane):
    number = 0
    while True:
        if number % 50 == 49:
            batch = [b"%s-%d-%d" % (start.encode(), lane, number + more) for more in range(5)]
            done = writer.append_many([(20, 1, payload) for payload in batch])
            accepted, number = batch[:done], number + 5
        else:
            payload = b"%s-%d-%d" % (start.encode(), lane, number)
            writer.append(20, 1, payload + b"." * (number % 700))
            accepted, number = [payload], number + 1
        os.write(ledger, b"".join(b" %s;" % payload for payload in accepted))

for lane in range(2):
    threading.Thread(target=produce, args=(lane,), daemon=True).start()
threading.Event().wait()
"""


@pytest.mark.slow
def test_killed_processes_lose_nothing_that_was_accepted(
    directory: Path, tmp_path: Path, child: Child, drain: Drain
) -> None:
    """After many SIGKILLs at random moments each accepted record is stored, and none is stored twice."""
    randomness = random.Random(11)
    ledger = tmp_path / "ledger"
    spool = Spool(directory)
    reader = spool.reader("s")
    stored: list[Frame] = []
    for kill in range(KILLS):
        process = child(PRODUCER, directory, ledger, kill)
        assert process.stdout is not None
        process.stdout.readline()
        before = ledger.stat().st_size
        wait_until(lambda before=before: ledger.stat().st_size > before)
        time.sleep(randomness.uniform(0, 0.02))
        process.kill()
        process.wait()
        stored += drain(reader)
        spool.retire([reader])
    stored += drain(reader)
    # The kernel may cut a write short in a killed process, here too: an entry without its end was not made.
    accepted = [entry[:-1] for entry in ledger.read_bytes().split() if entry.endswith(b";")]
    found = Counter(frame.payload.rstrip(b".") for frame in stored)
    assert not [payload for payload in accepted if payload not in found]
    assert not [payload for payload, times in found.items() if times > 1]
    assert len(accepted) > 10 * KILLS
    assert len(found) - len(accepted) <= KILLS * 2 * 5, "more than what was in flight"
    assert reader.damaged <= KILLS * 2, "more than what was in flight"
    assert spool.retire([reader]) >= 0
    assert spool.size() == 0


def test_an_immediate_exit_keeps_what_was_appended(directory: Path, child: Child) -> None:
    """os._exit right after append loses nothing: there is no buffer."""
    process = child(
        "import os, sys\n"
        "from toolog.spool import SpoolWriter\n"
        "writer = SpoolWriter(sys.argv[1])\n"
        "for number in range(100): writer.append(20, 0, b'%d' % number)\n"
        "os._exit(3)\n",
        directory,
    )
    assert process.wait() == 3
    assert [frame.payload for frame in iter_frames(directory)] == [b"%d" % number for number in range(100)]


def test_two_processes_write_side_by_side_and_a_third_follows(
    directory: Path, tmp_path: Path, child: Child
) -> None:
    """A reader in this process gets all records of two live writers, each writer's in its order."""
    code = (
        "import sys\n"
        "from toolog.spool import SpoolWriter\n"
        "writer = SpoolWriter(sys.argv[1], segment_size=20_000)\n"
        "for number in range(1500): writer.append(20, 0, b'%s %d' % (sys.argv[2].encode(), number))\n"
        "print('done', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    processes = [child(code, directory, name) for name in "ab"]
    spool = Spool(directory)
    reader = spool.reader("s")
    found: list[Frame] = []

    def all_there() -> bool:
        batch = reader.read()
        found.extend(batch)
        if batch:
            reader.ack(batch[-1])
        spool.retire([reader])
        return len(found) >= 3000

    wait_until(all_there)
    for name in ("a", "b"):
        mine = [int(f.payload.split()[1]) for f in found if f.payload.startswith(name.encode())]
        assert mine == list(range(1500))
    assert sorted(segment.live for segment in spool.segments()) == [True, True]
    for process in processes:
        process.communicate("\n")
    spool.retire([reader])
    assert spool.segments() == []


def test_only_one_of_two_shippers_ships_and_the_other_takes_over(
    directory: Path, tmp_path: Path, child: Child
) -> None:
    """The second shipper waits for the first one's death, and goes on behind its last acknowledgement."""
    code = (
        "import os, sys, time\n"
        "from toolog.spool import Spool\n"
        "spool = Spool(sys.argv[1])\n"
        "lock = spool.shipper_lock()\n"
        "print('started', flush=True)\n"
        "while not lock.try_acquire(): time.sleep(0.005)\n"
        "reader = spool.reader('s')\n"
        "out = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "while True:\n"
        "    for frame in reader.read(max_records=10, max_wait=0.01):\n"
        "        os.write(out, b'%d %s\\n' % (os.getpid(), frame.payload))\n"
        "        reader.ack(frame)\n"
    )
    out = tmp_path / "shipped"
    out.touch()
    writer = SpoolWriter(directory)
    processes = [child(code, directory, out) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for number in range(200):
        writer.append(20, 0, b"%d" % number)
    wait_until(lambda: len(out.read_bytes().split(b"\n")) == 201)
    first = {int(line.split()[0]) for line in out.read_bytes().splitlines()}
    assert len(first) == 1
    holder = next(process for process in processes if process.pid in first)
    holder.kill()
    holder.wait()
    for number in range(200, 400):
        writer.append(20, 0, b"%d" % number)
    wait_until(lambda: b" 399\n" in out.read_bytes())
    lines = [tuple(map(int, line.split())) for line in out.read_bytes().splitlines()]
    assert [number for _, number in lines] == list(range(400))
    assert {pid for pid, _ in lines} == {process.pid for process in processes}


# -- fork


def in_child(work: Callable[[], object]) -> int:
    """Run something in a forked child; return its exit code (0 when it returned, 1 when it raised)."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            signal.alarm(20)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_parent_and_child_write_to_segments_of_their_own(directory: Path) -> None:
    """After a fork both writers go on, with numbers of their own, and every record is stored once."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"before")

    def work() -> None:
        writer.after_fork_in_child()  # a second call does no harm
        assert writer.append(20, 0, b"child") == 1
        writer.after_fork_in_child()
        assert writer.append(20, 0, b"child again") == 2
        writer.sync()

    assert in_child(work) == 0
    assert writer.append(20, 0, b"parent") == 2
    frames = list(iter_frames(directory))
    assert [frame.payload for frame in frames] == [b"before", b"parent", b"child", b"child again"]
    assert len({frame.record_key for frame in frames}) == 4
    pids = {segment.facts.pid for segment in Spool(directory).segments()}
    assert os.getpid() in pids
    assert len(pids) == 2


def test_a_child_does_not_keep_its_parents_segment_alive(directory: Path, child: Child, drain: Drain) -> None:
    """The segments of a killed parent are complete and can be deleted while its forked child lives on."""
    process = child(
        "import os, sys, threading\n"
        "from toolog.spool import SpoolWriter, Spool\n"
        "spool = Spool(sys.argv[1])\n"
        "lock = spool.shipper_lock()\n"
        "assert lock.try_acquire()\n"
        "writer = spool.writer()\n"
        "writer.append(20, 0, b'parent')\n"
        "pid = os.fork()\n"
        "if pid: print(pid, flush=True)\n"
        "threading.Event().wait(60)\n",
        directory,
    )
    assert process.stdout is not None
    grandchild = int(process.stdout.readline())
    try:
        spool = Spool(directory)
        wait_until(lambda: len(os.listdir(f"/proc/{grandchild}/fd")) > 0)
        assert [segment.live for segment in spool.segments()] == [True]
        process.send_signal(signal.SIGKILL)
        process.wait()
        lock = spool.shipper_lock()
        wait_until(lock.try_acquire)
        wait_until(lambda: [segment.live for segment in spool.segments()] == [False])
        reader = spool.reader("s")
        assert [frame.payload for frame in drain(reader)] == [b"parent"]
        assert spool.retire([reader]) == 1
        os.kill(grandchild, 0)
    finally:
        os.kill(grandchild, signal.SIGKILL)


def test_a_child_does_not_unlock_what_its_parent_holds(directory: Path) -> None:
    """The end of a child changes neither the parent's live segment nor its right to ship."""
    spool = Spool(directory)
    writer, lock = spool.writer(), spool.shipper_lock()
    writer.append(20, 0, b"x")
    assert lock.try_acquire()

    def work() -> None:
        assert not lock.held
        assert not lock.try_acquire()
        lock.release()
        writer.close()

    assert in_child(work) == 0
    assert lock.held
    assert not spool.shipper_lock().try_acquire()
    assert [segment.live for segment in spool.segments()] == [True]


def test_a_frame_that_the_fork_copied_half_way_is_written_by_the_parent_only(directory: Path) -> None:
    """A write that a child finds itself in after the fork goes nowhere, and not into another file."""
    writer = SpoolWriter(directory)
    writer.append(20, 0, b"x")
    inside = writer._segment
    assert inside is not None
    size = inside.path.stat().st_size

    def work() -> None:
        writer.append(20, 0, b"child")
        assert os.readlink(f"/proc/self/fd/{inside.fd}") == os.devnull
        os.write(inside.fd, b"the rest of the parent's frame")

    assert in_child(work) == 0
    assert inside.path.stat().st_size == size


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_forks_in_the_middle_of_other_threads_writes(directory: Path) -> None:
    """Many forks while threads append and rotate: no child hangs, and each record is stored once."""
    writer = SpoolWriter(directory, segment_size=5000)
    stop = threading.Event()
    counts = [0, 0, 0]

    def produce(lane: int) -> None:
        while not stop.is_set():
            writer.append(20, 0, b"thread %d %d" % (lane, counts[lane]))
            counts[lane] += 1

    threads = [threading.Thread(target=produce, args=(lane,)) for lane in range(3)]
    for thread in threads:
        thread.start()
    try:
        codes = [
            in_child(lambda number=number: writer.append(20, 0, b"child %d" % number)) for number in range(25)
        ]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 25
    found = Counter(frame.payload for frame in iter_frames(directory))
    expected = [b"thread %d %d" % (lane, number) for lane in range(3) for number in range(counts[lane])]
    expected += [b"child %d" % number for number in range(25)]
    assert found == Counter(expected)
    writer.close()
    assert not any(segment.live for segment in Spool(directory).segments())


def test_a_child_may_log_from_its_fork_hook(directory: Path) -> None:
    """Appending in another library's after-fork hook works, whichever of the two hooks runs first."""
    writer: SpoolWriter | None = SpoolWriter(directory)
    assert writer is not None
    writer.append(20, 0, b"parent")
    enabled = [True]

    def hook() -> None:
        if enabled and writer is not None:
            writer.append(20, 0, b"hook")

    os.register_at_fork(after_in_child=hook)
    try:
        assert in_child(lambda: writer.append(20, 0, b"child")) == 0
    finally:
        enabled.clear()
    assert sorted(frame.payload for frame in iter_frames(directory)) == [b"child", b"hook", b"parent"]
