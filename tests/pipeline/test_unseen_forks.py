"""Children that were forked in C, as a server that embeds Python may do, without a word to Python.

The interpreter itself may hang in such a child if another thread of its parent was waiting for the
interpreter's lock. So they are forked here by a process that has one thread: by a child of ``os.fork``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.pipeline.programs import documents, run, waiting

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux wipes a page in a child")

FORK = """
import ctypes, traceback
libc = ctypes.PyDLL(None)

def fork(make, work):
    child = make()
    if not child:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child

def end(child):
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("durability", ["memory", "process"])
def test_children_that_python_did_not_make(durability: str, tmp_path: Path) -> None:
    """Each child's records have ids and a process id of their own, and none is taken for a repetition."""
    run(
        FORK
        + f"""
from toolog.events import make_record

@toolog.tool
def work(number):
    return number

made = handler({durability!r})
log = attach(made)
attach(made, "toolog.calls")
log.info("begun")
assert flush(20), stats()

def in_child():
    assert stats()["accepted"] == 0, stats()
    for number in range(10):
        log.info("%d", number)
        work(number)
    assert flush(20), stats()
    assert stats()["accepted"] == 30, stats()
    print(os.getpid(), flush=True)

def in_between():
    make_record("log", 20)  # what is known of this process and thread is kept from here on
    for _ in range(3):
        end(fork(libc.fork, in_child))

end(fork(os.fork, in_between))
wait(lambda: sum(1 for _ in open("out.jsonl")) == 91)
made.close()
""",
        tmp_path,
    )
    found = documents(tmp_path)
    assert len({one["record_id"] for one in found}) == len(found) == 91
    calls = [one for one in found if one["event"] == "tool_call_success"]
    assert len({one["span_id"] for one in calls}) == len(calls) == 30
    assert len({one["trace_id"] for one in calls}) == 30
    by_process = Counter(json.dumps(one["process"]) for one in found)
    assert sorted(by_process.values()) == [1, 30, 30, 30]
    assert not waiting(tmp_path)


def test_hooks_run_in_order_once_whatever_breaks(tmp_path: Path) -> None:
    """A hook that raises keeps no other from its turn, and a second look in the same child does nothing."""
    run(
        FORK
        + """
from toolog import forks
ran = []
forks.after_in_child(lambda: ran.append(1))
forks.after_in_child(lambda: 1 / 0)
forks.after_in_child(lambda: ran.append(2))

def unseen():
    assert not forks.here[0]
    forks.look()
    forks.look()
    assert ran == [1, 2], ran
    assert forks.here[0]

def seen():
    assert ran == [1, 2], ran
    assert forks.here[0]

end(fork(libc.fork, unseen))
assert forks.here[0] and not ran
end(fork(os.fork, seen))
assert forks.here[0] and not ran
""",
        tmp_path,
    )
