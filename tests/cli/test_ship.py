"""`toolog ship`: real processes that are killed, stopped, doubled and configured again."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.shippers import (
    CONFIG,
    IN_TIME,
    Ship,
    no_shipper_left,  # noqa: F401 - a fixture
    start_writing,
    stop_writing,
    stored,
    write,
)
from tests.helpers import wait_until
from tests.pipeline.programs import arrived, ledger, start, waiting

HANG = """
import os, time
from toolog.sinks.base import BatchLimits
class Hanging:
    batch = BatchLimits(max_records=100, max_age=0.01)
    def __init__(self, *, name, seconds=3600.0):
        self.name, self.seconds = name, seconds
    def connect(self): pass
    def write(self, batch):
        open("hangs", "w").close()
        time.sleep(self.seconds)
    def close(self): pass
"""
MOODY = """
import os
from toolog.errors import SinkUnavailable
from toolog.sinks.file import FileSink
class Moody(FileSink):
    max_backoff = 0.2
    def write(self, batch):
        if os.path.exists("down"):
            raise SinkUnavailable("the place is closed", tells=True)
        return super().write(batch)
"""


def test_everything_is_shipped_once_and_then_it_ends(tmp_path: Path) -> None:
    """With --once every record is in every sink once, the spool is empty, and the exit code is 0."""
    write(tmp_path, 0, 2000)
    ship = Ship(tmp_path, "--once")
    assert ship.result() == 0
    assert arrived(tmp_path) == stored(tmp_path) == dict.fromkeys(range(2000), 1)
    assert not waiting(tmp_path)
    assert not waiting(tmp_path, "store")
    assert ship.events[-1]["stored"] == {"out": 2000, "store": 2000}
    assert not list((tmp_path / "spool").glob("*.seg"))


@pytest.mark.slow
def test_killed_shippers_lose_nothing_and_store_nothing_twice(tmp_path: Path) -> None:
    """Shippers that are killed in the middle are replaced by those that wait: what programs had written is in
    the file and in the store, each record once.
    """
    moments = random.Random(3)
    writers = [start_writing(tmp_path, first) for first in (0, 10_000_000)]
    ships = [Ship(tmp_path), Ship(tmp_path)]
    for _ in range(4):
        wait_until(lambda: any(ship.count("shipping") for ship in ships), "one of the shippers to begin")
        shipping = [ship for ship in ships if ship.count("shipping")]
        assert len(shipping) == 1
        time.sleep(moments.uniform(0.05, 0.4))
        shipping[0].end(signal.SIGKILL)
        ships.remove(shipping[0])
        ships.append(Ship(tmp_path))
    stop_writing(tmp_path, *writers)
    for ship in ships:
        ship.wait_for("started")
    assert {ship.end() for ship in ships} == {0}
    assert Ship(tmp_path, "--once").result() == 0
    accepted = dict.fromkeys(ledger(tmp_path), 1)
    assert len(accepted) > 500
    assert arrived(tmp_path) == stored(tmp_path) == accepted


def test_second_shipper_waits_says_so_once_and_takes_over(tmp_path: Path) -> None:
    """Two shippers on one spool: the second does nothing until the first ends, and goes on where that was."""
    first = Ship(tmp_path)
    first.wait_for("shipping")
    second = Ship(tmp_path)
    assert second.wait_for("waiting")["process"] == first.process.pid
    write(tmp_path, 0, 300)
    wait_until(lambda: len(arrived(tmp_path)) == 300 == len(stored(tmp_path)), "300 records")
    time.sleep(1.2)
    assert second.count("waiting") == 1
    assert second.count("shipping") == 0
    assert first.end() == 0
    second.wait_for("shipping")
    write(tmp_path, 300, 600)
    wait_until(lambda: len(arrived(tmp_path)) == 600 == len(stored(tmp_path)), "600 records")
    assert second.end() == 0
    assert second.events[-1]["stored"] == {"out": 300, "store": 300}
    assert arrived(tmp_path) == stored(tmp_path) == dict.fromkeys(range(600), 1)


def test_application_that_ships_itself_is_waited_for(tmp_path: Path) -> None:
    """A shipper beside an application with ship = "background" ships nothing of it as long as that lives."""
    program = start(
        """
        log = attach(handler())
        log.info("0")
        assert flush(20)
        print("go", flush=True)
        while not os.path.exists("stop"):
            time.sleep(0.02)
        """,
        tmp_path,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "go\n"
    config = '[sinks.out]\ntype = "file"\npath = "out.jsonl"\n'
    ship = Ship(tmp_path, config=config)
    assert ship.wait_for("waiting")["process"] == program.pid
    stop_writing(tmp_path, program)
    ship.wait_for("shipping")
    assert ship.end() == 0
    assert arrived(tmp_path) == {0: 1}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_under_load_ends_it_in_time_with_nothing_lost(tmp_path: Path, number: signal.Signals) -> None:
    """While records pour in, a signal ends the shipper within 5 seconds, and the next one has the rest."""
    writer = start_writing(tmp_path)
    ship = Ship(tmp_path)
    ship.wait_for("shipping")
    wait_until(lambda: len(arrived(tmp_path)) > 100, "the first records")
    began = time.monotonic()
    assert ship.end(number) == 0
    assert time.monotonic() - began < IN_TIME
    stop_writing(tmp_path, writer)
    assert ship.wait_for("stopped")["stored"]["out"] == len(arrived(tmp_path))
    assert Ship(tmp_path, "--once").result() == 0
    assert arrived(tmp_path) == stored(tmp_path) == dict.fromkeys(ledger(tmp_path), 1)


def test_hung_sink_is_told_and_holds_up_nobody(tmp_path: Path) -> None:
    """A write that never returns: the other sink has everything, the hang is told and counted, SIGTERM ends
    the process in time all the same, and the records of the hung sink are still in the spool.
    """
    (tmp_path / "hang.py").write_text(HANG)
    config = CONFIG + '[sinks.stuck]\ntype = "hang:Hanging"\ntimeout = 0.3\n'
    config = config.replace('"store"] }', '"store", "stuck"] }')
    write(tmp_path, 0, 50)
    ship = Ship(tmp_path, "--metrics", "0", config=config)
    url = ship.wait_for("metrics")["url"]
    wait_until(lambda: "has not returned" in str(ship.events), "the hang to be told")
    write(tmp_path, 50, 100)
    wait_until(lambda: len(stored(tmp_path)) == len(arrived(tmp_path)) == 100, "the other sinks")
    figures = scrape(url)
    assert figures['toolog_timeouts_total{sink="stuck"}'] == 1
    assert figures['toolog_breaker_open{sink="stuck"}'] == 1
    assert figures['toolog_breaker_open{sink="out"}'] == 0
    assert figures['toolog_in_spool{sink="stuck"}'] == 100
    began = time.monotonic()
    assert ship.end() == 0
    assert time.monotonic() - began < IN_TIME
    assert len(waiting(tmp_path, "stuck")) == 100


def test_breaker_opens_keeps_everything_and_closes(tmp_path: Path) -> None:
    """A sink that is down: the breaker opens and says so, nothing is lost, and when it is back everything
    arrives once and that is said too.
    """
    (tmp_path / "moody.py").write_text(MOODY)
    (tmp_path / "down").touch()
    config = CONFIG.replace('type = "file"', 'type = "moody:Moody"')
    write(tmp_path, 0, 200)
    ship = Ship(tmp_path, "--metrics", "0", config=config)
    url = ship.wait_for("metrics")["url"]
    wait_until(lambda: "left in peace" in str(ship.events), "the breaker to open")
    assert "the place is closed" in str(ship.events)
    wait_until(lambda: len(stored(tmp_path)) == 200, "the other sink")
    figures = scrape(url)
    assert figures['toolog_breaker_open{sink="out"}'] == 1
    assert figures['toolog_in_spool{sink="out"}'] == 200
    assert figures['toolog_retries_total{sink="out"}'] >= 4
    (tmp_path / "down").unlink()
    wait_until(lambda: len(arrived(tmp_path)) == 200, "everything")
    wait_until(lambda: "answers again" in str(ship.events), "the breaker to close")
    assert scrape(url)['toolog_breaker_open{sink="out"}'] == 0
    assert ship.end() == 0
    assert arrived(tmp_path) == dict.fromkeys(range(200), 1)


def test_metrics_are_what_was_done(tmp_path: Path) -> None:
    """What Prometheus is given is what became of the records."""
    ship = Ship(tmp_path, "--metrics", "127.0.0.1:0")
    url = ship.wait_for("metrics")["url"]
    assert url.startswith("http://127.0.0.1:")
    write(tmp_path, 0, 150)
    wait_until(lambda: len(arrived(tmp_path)) == len(stored(tmp_path)) == 150, "150 records")
    wait_until(lambda: scrape(url)['toolog_in_spool{sink="out"}'] == 0, "the last acknowledgement")
    figures = scrape(url)
    for sink in ("out", "store"):
        assert figures[f'toolog_read_total{{sink="{sink}"}}'] == 150
        assert figures[f'toolog_stored_total{{sink="{sink}"}}'] == 150
        assert figures[f'toolog_dead_letters_total{{sink="{sink}"}}'] == 0
        writes = figures[f'toolog_batch_seconds_count{{sink="{sink}"}}']
        assert writes >= 1
        assert figures[f'toolog_batch_seconds_bucket{{le="+Inf",sink="{sink}"}}'] == writes
        assert abs(figures[f'toolog_last_success_timestamp_seconds{{sink="{sink}"}}'] - time.time()) < 60
    assert figures["toolog_shipping"] == 1
    assert figures["process_open_fds"] > 0
    assert ship.end() == 0


def scrape(url: str) -> dict[str, float]:
    """Return the samples that Prometheus would read."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    samples = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(number) for name, _, number in samples}


def test_hangup_reads_the_configuration_again(tmp_path: Path) -> None:
    """SIGHUP: new sinks are served from then on; a file that cannot be used changes nothing and is told."""
    ship = Ship(tmp_path, config='[sinks.out]\ntype = "file"\npath = "out.jsonl"\n')
    ship.wait_for("shipping")
    write(tmp_path, 0, 100)
    wait_until(lambda: len(arrived(tmp_path)) == 100, "100 records")
    (tmp_path / "ship.toml").write_text('[sinks.out]\ntype = "file"\npaht = "out.jsonl"\n')
    ship.process.send_signal(signal.SIGHUP)
    assert "'paht'" in ship.wait_for("reload_refused")["error"]
    (tmp_path / "ship.toml").write_text("[sinks\n")
    ship.process.send_signal(signal.SIGHUP)
    ship.wait_for("reload_refused", 2)
    write(tmp_path, 100, 200)
    wait_until(lambda: len(arrived(tmp_path)) == 200, "200 records by the old configuration")
    (tmp_path / "ship.toml").write_text(CONFIG.replace("out.jsonl", "new.jsonl"))
    ship.process.send_signal(signal.SIGHUP)
    ship.wait_for("reloaded")
    ship.wait_for("shipping", 2)
    write(tmp_path, 200, 300)
    wait_until(lambda: len(arrived(tmp_path, "new.jsonl")) == 100 == len(stored(tmp_path)), "the new sinks")
    assert ship.end() == 0
    assert arrived(tmp_path) == dict.fromkeys(range(200), 1)
    assert arrived(tmp_path, "new.jsonl") == stored(tmp_path) == dict.fromkeys(range(200, 300), 1)


def test_sinks_come_from_pyproject_and_the_environment(tmp_path: Path) -> None:
    """Without --config the [tool.toolog] of the working directory counts, and TOOLOG_SINKS above it."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.toolog]\nship = "none"\nsinks = { out = { type = "file", path = "out.jsonl" } }\n'
    )
    write(tmp_path, 0, 10)
    assert Ship(tmp_path, "--once", config=None).result() == 0
    assert len(arrived(tmp_path)) == 10
    write(tmp_path, 10, 20)
    sinks = '{"out": {"type": "file", "path": "other.jsonl"}}'
    assert Ship(tmp_path, "--once", config=None, TOOLOG_SINKS=sinks).result() == 0
    assert sorted(arrived(tmp_path, "other.jsonl")) == list(range(10, 20))


def test_json_configuration_and_a_profile(tmp_path: Path) -> None:
    """A JSON file does as well; a profile that it names brings its policies."""
    write(tmp_path, 0, 10)
    config = '{"profile": "prod", "sinks": {"search": {"type": "file", "path": "out.jsonl"}}}'
    (tmp_path / "ship.json").write_text(config)
    assert Ship(tmp_path, "--once", "--config", "ship.json", config=None).result() == 0
    assert len(arrived(tmp_path)) == 10


@pytest.mark.parametrize(
    ("words", "config", "told"),
    [
        ((), "", "names no sinks"),
        ((), '[sinks.out]\ntype = "flie"\n', "did you mean 'file'"),
        ((), "sinks = 3\n", "sinks in ship.toml"),
        ((), "[sinks\n", "not readable as TOML"),
        (("--metrics", "nine"), CONFIG, "PORT or HOST:PORT"),
        (("--timeout", "1 s"), CONFIG, "--timeout belongs to --once"),
        (("--once", "--timeout", "soon"), CONFIG, "--timeout"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_code_2(
    tmp_path: Path, words: tuple[str, ...], config: str, told: str
) -> None:
    """A wrong option, file or sink is told at once, with exit code 2, and nothing is shipped."""
    write(tmp_path, 0, 5)
    ship = Ship(tmp_path, *words, config=config)
    assert ship.result() == 2
    assert told in ship.complaints
    assert len(list((tmp_path / "spool").glob("*.seg"))) == 1


def test_no_spool_to_empty_is_an_error(bare_shell: Shell) -> None:
    """--once on a directory that is not there names it."""
    done = bare_shell("ship", "nowhere", "--once")
    assert done.code == 2
    assert "no spool at nowhere" in done.err


def test_metrics_port_that_is_taken_is_named(tmp_path: Path) -> None:
    """A port that somebody has is one clear line and exit code 2."""
    first = Ship(tmp_path, "--metrics", "0")
    port = first.wait_for("metrics")["url"].rpartition(":")[2].partition("/")[0]
    second = Ship(tmp_path, "--metrics", port)
    assert second.result() == 2
    assert f"127.0.0.1:{port}" in second.complaints
    assert first.end() == 0


def test_once_ends_in_time_when_a_sink_is_down(tmp_path: Path) -> None:
    """With --timeout it ends with exit code 1 and says what is left; the next run has it."""
    (tmp_path / "moody.py").write_text(MOODY)
    (tmp_path / "down").touch()
    write(tmp_path, 0, 20)
    config = '[sinks.out]\ntype = "moody:Moody"\npath = "out.jsonl"\n'
    ship = Ship(tmp_path, "--once", "--timeout", "1 s", config=config)
    assert ship.result() == 1
    assert ship.events[-1]["in_spool"] == {"out": 20}
    (tmp_path / "down").unlink()
    assert Ship(tmp_path, "--once", config=config).result() == 0
    assert arrived(tmp_path) == dict.fromkeys(range(20), 1)


def test_lines_for_people(tmp_path: Path) -> None:
    """Without --json there is one line for each event, and none for nothing."""
    write(tmp_path, 0, 20)
    (tmp_path / "ship.toml").write_text(CONFIG)
    done = Shell(tmp_path)("ship", "spool", "--config", "ship.toml", "--once")
    assert done.code == 0, done.err
    words = [line.partition(" ")[2] for line in done.out.splitlines()]
    assert words[0].startswith("shipping ")
    assert words[0].endswith("/spool to out, store")
    assert words[-1] == "stored: 20 for out, 20 for store; left in the spool: nothing"
    assert len(words) == 3
    assert not done.err


def test_status_tells_what_is_left_and_who_ships(tmp_path: Path) -> None:
    """--status counts for each sink what its policies give it, and changes nothing; the exit code is 1 while
    nobody ships what is there.
    """
    write(tmp_path, 0, 20)
    (tmp_path / "ship.toml").write_text(CONFIG)
    shell = Shell(tmp_path)
    words = ("ship", "spool", "--config", "ship.toml", "--status")
    done = shell(*words, "--json")
    assert done.code == 1
    (found,) = done.rows
    assert found["shipper"] is None
    assert found["in_spool"] == {"out": 20, "store": 20}
    assert found["dead_letters"] == {"out": 0, "store": 0}
    assert (found["segments"], found["bytes"] > 2000) == (1, True)
    assert len(waiting(tmp_path)) == 20
    ship = Ship(tmp_path)
    wait_until(lambda: not waiting(tmp_path) and not waiting(tmp_path, "store"), "everything to be shipped")
    done = shell(*words)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].endswith(f"process {ship.process.pid} ships it")
    assert done.out.splitlines()[1:] == [
        "out: 0 records to ship, 0 dead letters",
        "store: 0 records to ship, 0 dead letters",
    ]
    assert shell(*words, "--once").code == 2
    assert ship.end() == 0


def test_a_large_backlog_has_a_bar_on_a_terminal_and_a_line_elsewhere(tmp_path: Path) -> None:
    """More than ten thousand records: a progress bar where stderr is a terminal, an event where it is not."""
    write(tmp_path, 0, 12_000)
    ship = Ship(tmp_path, "--once")
    assert ship.result() == 0
    assert ship.wait_for("backlog")["in_spool"]["store"] > 10_000
    assert ship.count("progress") == 0
    write(tmp_path, 12_000, 24_000)
    ours, theirs = os.openpty()
    try:
        program = subprocess.Popen(
            [Path(sys.executable).with_name("toolog"), "ship", "spool", "--config", "ship.toml", "--once"],
            cwd=tmp_path,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
        )
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal's other end is closed
            while piece := os.read(ours, 65536):
                shown += piece
        printed, _ = program.communicate(timeout=60)
    finally:
        os.close(ours)
    assert program.returncode == 0
    assert b"/12000" in shown
    assert "stored: 12000 for out, 12000 for store; left in the spool: nothing" in printed
    assert stored(tmp_path) == dict.fromkeys(range(24_000), 1)
