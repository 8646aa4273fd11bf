"""What the C library does with memory that was freed."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_BATCHES = """
import resource, sys
from toolog.sinks.heap import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def batch():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    kept = [bytes(1000 + number % 7) for number in range(6000)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
batch()
print(sum(batch() for _ in range(5)))
"""


def count_faults(how: str) -> int:
    """Return how many pages are had anew from the kernel for five batches after the first."""
    done = subprocess.run([sys.executable, "-c", _BATCHES, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries do as they like")
def test_a_batch_gets_the_memory_of_the_one_before() -> None:
    """Batches of some megabytes one after the other have the same memory, which is not had anew each time."""
    assert count_faults("keep") < count_faults("leave") / 4


_THREADS = """
import os, threading
from toolog.sinks.heap import keep_freed_memory
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
gate = threading.Barrier(8)
def connect():
    gate.wait()
    keep_freed_memory()
before = resident()
for _ in range(4):
    threads = [threading.Thread(target=connect) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print((resident() - before) >> 20)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries do as they like")
def test_many_sinks_keep_no_more_than_one() -> None:
    """Sinks that connect in threads of their own, again and again, leave no cleared blocks in their heaps."""
    done = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 16


def test_where_memory_is_short() -> None:
    """A process that may not have so much memory goes on without."""
    code = (
        "import resource; from toolog.sinks.heap import keep_freed_memory;"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), -1)); keep_freed_memory()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
