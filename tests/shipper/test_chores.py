"""What a shipper does beside shipping, by the callables it is given."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tests.helpers import wait_until
from toolog import counters
from toolog.pipeline import Options
from toolog.retention import Policies
from toolog.shipper import CHORES, Chore, Event, Shipper
from toolog.sinks.memory import MemorySink
from toolog.spool import ShipperLock


def often(options: Options) -> float:
    """Return no pause at all."""
    return 0.0


def ship(tmp_path: Path, *chores: Chore) -> tuple[Shipper, list[Event], threading.Thread]:
    """Start a shipper with these chores on a thread of its own."""
    events: list[Event] = []
    sink = MemorySink(name="out")

    def load() -> Options:
        return Options(
            tmp_path, {"out": sink}, Policies.from_config({}, ["out"]), shutdown_timeout=0.5, purge_every=60.0
        )

    shipper = Shipper(load, events.append, chores=chores)
    thread = threading.Thread(target=shipper.run)
    thread.start()
    return shipper, events, thread


def test_a_chore_runs_again_and_again_and_what_it_says_is_told(tmp_path: Path) -> None:
    """Each is called with the options at its own pace; one that raises is counted and tried again."""
    counters.reset()
    seen: list[Path] = []
    tries: list[int] = []

    def look(options: Options) -> str | None:
        seen.append(options.directory)
        return "3 indices deleted" if len(seen) == 1 else None

    def break_down(options: Options) -> str | None:
        tries.append(1)
        raise ValueError("no")

    shipper, events, thread = ship(
        tmp_path,
        Chore("look", often, look),
        Chore("rare", lambda options: options.purge_every, lambda options: None),
        Chore("bad", often, break_down),
    )
    wait_until(lambda: len(seen) >= 3 <= len(tries))
    shipper.stop()
    thread.join(30)
    assert not thread.is_alive()
    assert len(seen) >= 3 <= len(tries)
    assert set(seen) == {tmp_path}
    assert [event.text for event in events if event.name == "chore"] == ["look: 3 indices deleted"]
    assert counters.value("internal", reason="chore bad") == len(tries)
    assert counters.value("chores", chore="rare") == 1


def test_chores_are_the_shippers_alone(tmp_path: Path) -> None:
    """While another process ships the spool, none is run; a chore that hangs delays no end."""
    lock = ShipperLock(tmp_path)
    assert lock.try_acquire()
    calls: list[float] = []
    hanging = threading.Event()

    def hang(options: Options) -> str | None:
        calls.append(time.monotonic())
        hanging.wait(60)
        return None

    shipper, events, thread = ship(tmp_path, Chore("hang", often, hang))
    wait_until(lambda: any(event.name == "waiting" for event in events))
    time.sleep(0.5)
    assert not calls
    lock.release()
    wait_until(lambda: calls)
    began = time.monotonic()
    shipper.stop()
    thread.join(30)
    assert time.monotonic() - began < 20  # and not the minute of the chore
    hanging.set()


def test_chores_of_toolog_have_names_and_a_pace(tmp_path: Path) -> None:
    """What is in the list of every shipper can be told apart, and does not run all the time."""
    names = [chore.name for chore in CHORES]
    assert names == ["retention"]
    options = Options(tmp_path, {}, Policies.from_config({}, []))
    assert all(chore.every(options) >= 1 for chore in CHORES)
