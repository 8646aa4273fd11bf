"""Scans, forks and the end of the interpreter: no child hangs, no process aborts, nothing goes unmasked."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, threading
from toolog.sanitize import Sanitizer, default
own = Sanitizer(known_secrets=["correct horse"], rules_add={"badge": "B-[0-9]{5}"}, keys_add=["shelf mark"])
for sanitizer in (default(), own):
    assert not sanitizer.flags(b"hello")

def scan():
    while True:
        for sanitizer in (default(), own):
            sanitizer.flags(os.urandom(200))  # each new byte has the scan change its own tables, under a lock

threading.Thread(target=scan, daemon=True).start()
for number in range(6):
    child = os.fork()
    if not child:
        signal.alarm(40)  # a child that hangs dies by it
        # (letters alone: digits at random are a telephone number once in a while)
        text = f"order {number}: " + "".join(chr(97 + byte % 26) for byte in os.urandom(8))
        assert not default().flags(text.encode())
        assert default().sanitize(f"password={text}x")[:9] == "password="
        hidden = own.sanitize({"shelf mark": text, "a": "correct horse", "b": "B-12345 " + text})
        assert hidden["shelf mark"] != text and hidden["a"] != "correct horse", hidden
        assert "B-12345" not in hidden["b"], hidden
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, number
os._exit(0)
"""


@pytest.mark.slow
def test_a_child_that_is_forked_in_the_middle_of_a_scan_masks() -> None:
    """re2 holds locks while it scans without the interpreter's lock; a child must not wait for them."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_child_that_was_forked_in_peace_keeps_its_scans() -> None:
    """Making scans anew costs time; where no thread was inside of one, nothing is made again."""
    program = """
import os
from toolog.sanitize import default, scans as running
from toolog.sanitize.policy import base_prefilter
default().flags(b"hello")
scans = base_prefilter()
child = os.fork()
if not child:
    assert base_prefilter() is scans and not running.inside
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


ENDING = """
import atexit, os, threading, time
from toolog.sanitize import default
seen = []

@atexit.register
def main_thread_still_masks():
    assert default().flags(b"password=abcdefgh12345678")

def scan():
    while True:
        seen.append(default().flags(os.urandom(400)))

for _ in range(3):
    threading.Thread(target=scan, daemon=True).start()
while len(seen) < 20:
    time.sleep(0.001)
"""


@pytest.mark.parametrize("round_", range(3))
def test_threads_that_scan_when_the_interpreter_ends_do_not_abort_it(round_: int) -> None:
    """A daemon thread that the end catches inside re2 would abort the process with signal 6."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "terminate" not in done.stderr


def test_at_the_end_other_threads_are_refused_and_their_content_is_withheld() -> None:
    """What a daemon thread records after the last flush is masked as a whole, and its logger told nothing."""
    program = """
import atexit, threading
from toolog.sanitize import default, scans as running
running.ending = True
got = []
def look():
    got.append(default().sanitize_at({"note": "meet at the quiet corner", "password": "abcdefgh1234"})[0])
    try:
        default().flags(b"hello")
    except running.Ending:
        got.append("refused")
thread = threading.Thread(target=look)
thread.start()
thread.join()
assert "quiet" not in str(got[0]) and "abcdefgh" not in str(got[0]), got
assert got[1] == "refused"
assert not running.inside
assert default().flags(b"hello") is False
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
