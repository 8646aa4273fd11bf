"""Search sinks behind the handler, all the way: what clients log, what a server that refuses us costs, and
how fast it is asked when it says that it is too much.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.access import Access, User
from tests.services.bulk import RejectItems, is_bulk
from tests.services.faults import Status
from tests.services.search_proxy import SearchProxy
from tests.sinks.search.cluster import Cluster
from toolog import counters
from toolog.all_pipelines import stats
from toolog.handler import ToologHandler
from toolog.sinks.search import suspects
from toolog.sinks.search.outcome import Cause
from toolog.sinks.search.suspects import Patience

MakeHandler = Callable[..., ToologHandler]
WORD = "an-invented-" + "word"


@pytest.fixture
def make_handler(tmp_path: Path, streams: Cluster, search_proxy: SearchProxy) -> Iterator[MakeHandler]:
    """Makes a handler that ships to the test's streams, and closes it."""
    made: list[ToologHandler] = []
    counters.reset()

    def make(**sink: Any) -> ToologHandler:
        options = {
            "type": "opensearch",
            "hosts": [search_proxy.url],
            "namespace": streams.namespace,
            "batch": {"max_age": 0.05},
            **sink,
        }
        handler = ToologHandler(
            sinks={"search": options}, spool={"path": str(tmp_path / "spool")}, shutdown_timeout=1
        )
        made.append(handler)
        return handler

    yield make
    for handler in made:
        handler.close()


def logger(handler: ToologHandler) -> logging.Logger:
    """Return a logger that writes to the handler alone."""
    log = logging.getLogger("tests.search.shipping")
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.DEBUG)
    return log


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [1, 2500])
def test_what_the_clients_log_is_not_shipped(
    make_handler: MakeHandler, streams: Cluster, client: str, number: int
) -> None:
    """With the handler on the root logger and all clients at DEBUG, exactly the records are stored.

    2,500 of them go out in several requests at once, in threads of the sink's own.
    """
    handler = make_handler(type=client)
    names = ("opensearch", "elastic_transport", "elastic_transport.transport", "elasticsearch", "urllib3")
    root = logging.getLogger()
    before = [root.level, *(logging.getLogger(name).level for name in names)]
    root.addHandler(handler)
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.DEBUG)
        root.setLevel(logging.DEBUG)
        for index in range(number):
            logging.getLogger("shop").info("line %s", index)
        assert handler.flush(60)
        time.sleep(0.2)
        assert handler.flush(60)
    finally:
        root.removeHandler(handler)
        for name, level in zip(("", *names), before, strict=True):
            logging.getLogger(name or None).setLevel(level)
    found = [record["message"] for record in streams.records() if record["logger"] == "shop"]
    assert sorted(found) == sorted(f"line {index}" for index in range(number))
    assert {record["logger"] for record in streams.records()} <= {"shop", "asyncio", "aiohttp.server"}
    assert stats()["own_records"] > 0


PROGRAM = """
import logging, sys
from toolog.handler import ToologHandler

handler = ToologHandler(
    sinks={"search": {"type": sys.argv[1], "hosts": [sys.argv[2]], "namespace": sys.argv[3]}},
    spool={"path": sys.argv[4]}, durability="memory", shutdown_timeout=60,
)
log = logging.getLogger("short")
log.addHandler(handler)
log.setLevel("INFO")
for number in range(1500):
    log.info("line %s", number)
"""


def test_a_short_program(search_proxy: SearchProxy, streams: Cluster, client: str, tmp_path: Path) -> None:
    """What a program logged is stored when it ends at once, client, threads and all."""
    arguments = [client, search_proxy.url, streams.namespace, str(tmp_path / "spool")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(streams.ids()) == 1500


def test_a_refused_key_and_a_new_one(
    make_handler: MakeHandler,
    make_search_proxy: Callable[..., SearchProxy],
    streams: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """When the key is refused the breaker opens at once, one line says what to do, and all is kept; with a
    new key in its place everything is stored once, without a restart.
    """
    access = Access([User("ann", token=WORD)])
    proxy = make_search_proxy(access=access)
    monkeypatch.setenv("A_TOKEN_OF_TESTS", WORD)
    internal = logging.getLogger("toolog.internal")
    internal.addHandler(caplog.handler)
    try:
        handler = make_handler(
            hosts=[proxy.url], bearer_auth={"env": "A_TOKEN_OF_TESTS"}, retry={"max_backoff": 0.3}
        )
        log = logger(handler)
        log.info("before")
        assert handler.flush(60)
        access.users[:] = [User("ann", token=WORD + "2")]
        for number in range(200):
            log.info("line %s", number)
        wait_for(lambda: stats()["breaker_open"] == ["search"])
        time.sleep(0.5)
        assert stats()["stored"] == {"search": 1}
        assert stats()["dead_letters"] == {}
        assert not handler.flush(0.5)
        monkeypatch.setenv("A_TOKEN_OF_TESTS", WORD + "2")
        assert handler.flush(60)
    finally:
        internal.removeHandler(caplog.handler)
    assert stats()["stored"] == {"search": 201}
    assert stats()["in_spool"] == {"search": 0}
    assert len(streams.ids()) == 201
    told = [one.getMessage() for one in caplog.records if "does not accept who we are" in one.getMessage()]
    assert len(told) == 1
    assert "check bearer_auth" in told[0]
    assert WORD not in caplog.text


def test_a_record_that_the_server_breaks_on(
    make_handler: MakeHandler, search_proxy: SearchProxy, streams: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record on which the server breaks, alone in its batch, does not hold up what comes after it for ever:
    it ends as a dead letter, and the others are stored.
    """
    monkeypatch.setitem(suspects.PATIENCE, Cause.ITEM, Patience(5, 0.0, 1.0, 1.0))
    handler = make_handler(retry={"max_backoff": 0.2})
    log = logger(handler)
    search_proxy.add(RejectItems(500, lambda item: b"poison" in item.document), times=None, where=is_bulk)
    log.info("poison")
    wait_for(lambda: bool(search_proxy.bulk_deliveries()))
    for number in range(5):
        log.info("line %s", number)
    wait_for(lambda: stats()["stored"].get("search") == 5)
    assert stats()["dead_letters"] == {"search": 1}
    assert stats()["dropped"] == {}
    assert len(streams.ids()) == 5


def test_too_many_requests(make_handler: MakeHandler, search_proxy: SearchProxy, streams: Cluster) -> None:
    """On 429 the requests fall to a tenth or less within a second; then the rate rises step by step again,
    and every record is stored once.
    """
    handler = make_handler(batch={"max_age": 0.01, "max_records": 5}, retry={"max_backoff": 0.2})
    log = logger(handler)

    def produce(seconds: float, least: int = 0) -> int:
        """Log for so long, and until so many requests have come."""
        number, end = 0, time.monotonic() + seconds
        while time.monotonic() < end or len(search_proxy.bulk_deliveries()) < least:
            assert time.monotonic() < end + 40
            log.info("line")
            number += 1
            time.sleep(0.002)
        return number

    total = produce(0.2, 1)  # until the stream is there
    handler.flush(60)
    search_proxy.forget()
    total += produce(1.5)
    before = len(search_proxy.bulk_deliveries()) / 1.5
    search_proxy.forget()
    search_proxy.add(Status(429), times=2, where=is_bulk)
    total += produce(0.1, 2)
    search_proxy.forget()
    total += produce(1.0)
    assert len(search_proxy.bulk_deliveries()) <= max(1, before / 10)
    rates: list[int] = []
    while not rates or rates[-1] < 2 * max(rates[0], 1):
        assert len(rates) < 30, rates
        search_proxy.forget()
        total += produce(1.0)
        rates.append(len(search_proxy.bulk_deliveries()))
    assert handler.flush(60)
    assert stats()["stored"] == {"search": total}
    assert streams.search(size=0, track_total_hits=True)["hits"]["total"]["value"] == total
