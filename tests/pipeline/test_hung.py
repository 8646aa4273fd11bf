"""Sinks whose write does not return: noticed, counted, told, and waited for by nobody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.pipeline.programs import arrived, complain, run, waiting

HANGS = """
from toolog.sinks.memory import MemorySink
class Hanging(MemorySink):
    def write(self, batch):
        print("hangs", file=open("hangs", "w"))
        while not os.path.exists("return"):
            time.sleep(0.01)
        return super().write(batch)
def hanging(**options):
    made = handler(sinks={
        "out": {"type": "file", "path": "out.jsonl", "batch": {"max_age": 0.01}},
        "stuck": {"type": "__main__:Hanging", "timeout": 0.2}}, **options)
    return made, attach(made)
"""


def test_a_hang_is_counted_once_and_told_and_ends_with_the_write(tmp_path: Path) -> None:
    """Past its timeout a write opens the breaker; when it returns after all, its records are stored, each
    once, and the breaker is closed.
    """
    printed = run(
        HANGS
        + """
made, log = hanging()
for number in range(20):
    log.info("%d", number)
wait(lambda: stats()["timeouts"])
first = stats()
time.sleep(1)
second = stats()
open("return", "w").close()
assert flush(20), stats()
third = stats()
names = ("timeouts", "breaker", "breaker_open", "stored", "in_spool")
print(json.dumps([{name: one[name] for name in names} for one in (first, second, third)]))
""",
        tmp_path,
    )
    figures: list[dict[str, Any]] = json.loads(printed)
    assert figures[1]["timeouts"] == {"stuck": 1}
    assert figures[0]["breaker"] == figures[1]["breaker"] == {"out": "closed", "stuck": "open"}
    assert figures[1]["breaker_open"] == ["stuck"]
    assert figures[1]["stored"] == {"out": 20}
    assert figures[1]["in_spool"] == {"out": 0, "stuck": 20}
    assert figures[2]["breaker"] == {"out": "closed", "stuck": "closed"}
    assert figures[2]["stored"] == {"out": 20, "stuck": 20}
    assert figures[2]["timeouts"] == {"stuck": 1}


def test_what_is_told_of_a_hang_says_what_to_do(tmp_path: Path) -> None:
    """One line on stderr names the sink, how long, and what to do."""
    complaints = complain(
        HANGS
        + """
made, log = hanging(shutdown_timeout=0.1)
log.info("1")
wait(lambda: stats()["timeouts"])
log.info("2")
time.sleep(0.5)
""",
        tmp_path,
    )
    assert complaints.count("sink stuck: a write has not returned for") == 1
    assert "its timeout is 0.2 s" in complaints
    assert "restart the process" in complaints


def test_forks_and_the_end_do_not_wait_for_a_hung_sink(tmp_path: Path) -> None:
    """A sink that is known to hang costs a fork nothing, and the end of the process no more than the time
    for the others; what it did not store is still in the spool.
    """
    run(
        HANGS
        + """
from toolog.pipeline import life
life.FORK_PATIENCE = 10.0  # ten forks that waited would take longer than any machine is busy
made, log = hanging(shutdown_timeout=45)
log.info("1")
wait(lambda: stats()["timeouts"])
began = time.monotonic()
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
assert time.monotonic() - began < 30, time.monotonic() - began
made.pipeline.hasty = True
began = time.monotonic()
made.close()
assert time.monotonic() - began < 30, time.monotonic() - began
""",
        tmp_path,
    )
    assert arrived(tmp_path) == {1: 1}
    assert waiting(tmp_path, "stuck") == {1: 1}


def test_a_connect_that_hangs_is_noticed_too(tmp_path: Path) -> None:
    """It need not be a write: a connect that does not return is told in the same way."""
    complaints = complain(
        """
        from toolog.sinks.memory import MemorySink
        class Hanging(MemorySink):
            def connect(self):
                time.sleep(3600)
        made = handler(sinks={"stuck": {"type": "__main__:Hanging", "timeout": 0.1}}, shutdown_timeout=0.1)
        attach(made).info("1")
        wait(lambda: stats()["timeouts"])
        assert stats()["timeouts"] == {"stuck": 1}
        """,
        tmp_path,
    )
    assert "sink stuck: a connect has not returned" in complaints


BEATS = """
from toolog.sinks import Pulse
from toolog.sinks.memory import MemorySink
class Long(MemorySink):
    def __init__(self, name="long"):
        super().__init__(name=name)
        self.pulse = Pulse()
    def work(self):
        for _ in range(25):
            self.pulse.beat()
            time.sleep(0.05)
    def connect(self):
        self.work()
        super().connect()
    def write(self, batch):
        self.work()
        return super().write(batch)
"""


def test_a_long_call_that_gets_on_does_not_hang(tmp_path: Path) -> None:
    """A connect and a write of many requests, each within the timeout, are no hang, however long they take
    together.
    """
    run(
        BEATS
        + """
made = handler(sinks={"long": {"type": "__main__:Long", "timeout": 1.0}})
log = attach(made)
log.info("1")
assert flush(40)
assert stats()["timeouts"] == {}, stats()
assert stats()["stored"] == {"long": 1}
""",
        tmp_path,
    )


def test_a_call_that_stops_getting_on_hangs_until_the_next_sign(tmp_path: Path) -> None:
    """The time counts from the last sign of life, by the timeout given with it; the next ends the hang."""
    run(
        BEATS
        + """
class Stops(Long):
    def connect(self):
        MemorySink.connect(self)
    def work(self):
        self.pulse.beat(60.0)
        time.sleep(0.8)
        seen.append(stats()["timeouts"])
        self.pulse.beat()
        wait(lambda: stats()["timeouts"])
        seen.append(stats()["breaker"])
        self.pulse.beat(60.0)
        wait(lambda: stats()["breaker"] == {"long": "closed"})
        seen.append(stats()["timeouts"])
seen = []
made = handler(sinks={"long": {"type": "__main__:Stops", "timeout": 0.5}})
log = attach(made)
log.info("1")
assert flush(40)
assert seen == [{}, {"long": "open"}, {"long": 1}], seen
""",
        tmp_path,
    )
