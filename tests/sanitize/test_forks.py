"""A forked child masks, whatever the parent's threads were doing at that moment."""

from __future__ import annotations

import subprocess
import sys

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
        text = f"order {number}: " + os.urandom(8).hex()
        assert not default().flags(text.encode())
        assert default().sanitize(f"password={text}x")[:9] == "password="
        hidden = own.sanitize({"shelf mark": text, "a": "correct horse", "b": "B-12345 " + text})
        assert hidden["shelf mark"] != text and hidden["a"] != "correct horse", hidden
        assert "B-12345" not in hidden["b"], hidden
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, number
os._exit(0)
"""


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
from toolog.sanitize import default, forks
from toolog.sanitize.policy import base_prefilter
default().flags(b"hello")
scans = base_prefilter()
child = os.fork()
if not child:
    assert base_prefilter() is scans and not forks.inside
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
