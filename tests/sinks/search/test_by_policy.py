"""Data streams of one server that fail apart: what one of them does not take holds up no other's records."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.access import Access, User
from tests.services.search_proxy import SearchProxy
from tests.sinks.search.cluster import Cluster
from toolog import counters
from toolog.all_pipelines import stats
from toolog.handler import ToologHandler
from toolog.sinks.search import ElasticsearchSink

MakeHandler = Callable[..., ToologHandler]
RETENTION = {"INFO": {"sinks": ["search"], "keep": "7 days"}, "ERROR": {"sinks": ["search"]}}
WORD = "an-invented-" + "word"


@pytest.fixture
def make_handler(tmp_path: Path, streams: Cluster, search_proxy: SearchProxy) -> Iterator[MakeHandler]:
    """Makes a handler with two policies that ships to the test's streams, and closes it."""
    made: list[ToologHandler] = []
    counters.reset()

    def make(**sink: Any) -> ToologHandler:
        options = {
            "type": "opensearch",
            "hosts": [search_proxy.url],
            "namespace": streams.namespace,
            "batch": {"max_age": 0.05},
            "retry": {"max_backoff": 0.3},
            **sink,
        }
        spool = {"path": str(tmp_path / "spool")}
        handler = ToologHandler(
            sinks={"search": options}, spool=spool, retention=RETENTION, shutdown_timeout=1
        )
        made.append(handler)
        return handler

    yield make
    for handler in made:
        handler.close()


def log_both(handler: ToologHandler, first: int, last: int) -> None:
    """Log numbers; the odd ones are errors."""
    log = logging.getLogger("tests.search.by_policy")
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.DEBUG)
    for number in range(first, last):
        (log.error if number % 2 else log.info)("%d", number)


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, stats()
        time.sleep(0.02)


def numbers(streams: Cluster) -> Counter[int]:
    """Return how often each number is stored."""
    return Counter(int(record["message"]) for record in streams.records())


def test_a_blocked_stream(make_handler: MakeHandler, streams: Cluster, client: str) -> None:
    """While one stream is blocked for writing, all of the other policy's records land, also those of later
    batches; when the block is off, what waited lands too, each record once, and none is a dead letter.
    """
    handler = make_handler(type=client)
    log_both(handler, 0, 2)
    assert handler.flush(30)
    block = f"/toolog-error-{streams.namespace}/_settings"
    assert streams.ask("PUT", block, {"index.blocks.write": True})[0] == 200
    for first in (2, 100, 200):
        there = stats()["stored"]["search"] + 49
        log_both(handler, first, first + 98)
        wait_for(lambda there=there: stats()["stored"]["search"] == there)  # type: ignore[misc]
    wait_for(lambda: stats()["breaker"] == {"search": "open"})
    assert sorted(numbers(streams)) == sorted(
        {1, *range(0, 100, 2), *range(100, 198, 2), *range(200, 298, 2)}
    )
    assert streams.ask("PUT", block, {"index.blocks.write": None})[0] == 200
    assert handler.flush(30), stats()
    assert numbers(streams) == Counter([*range(100), *range(100, 198), *range(200, 298)])
    assert stats()["dead_letters"] == {}
    assert stats()["in_spool"] == {"search": 0}


def test_a_stream_for_which_the_right_is_missing(
    make_handler: MakeHandler, make_search_proxy: Callable[..., SearchProxy], streams: Cluster
) -> None:
    """Without the right to one data stream the other one is shipped to, as long as that lasts and from the
    first record on; with the right everything is stored once.
    """
    patterns = (f"toolog-info-{streams.namespace}", "*template*", "_*")
    access = Access([User("ann", token=WORD, indices=patterns)])
    proxy = make_search_proxy(access=access)
    handler = make_handler(hosts=[proxy.url], bearer_auth=WORD)
    for first in (0, 100):
        log_both(handler, first, first + 100)
        wait_for(lambda last=first: stats()["stored"].get("search") == last // 2 + 50)  # type: ignore[misc]
    assert numbers(streams) == Counter(range(0, 200, 2))
    access.users[:] = [User("ann", token=WORD)]
    assert handler.flush(30), stats()
    assert numbers(streams) == Counter(range(200))
    assert stats()["dead_letters"] == {}


def test_a_stream_with_another_mapping(make_handler: MakeHandler, streams: Cluster) -> None:
    """A stream that cannot be brought to our mapping keeps only its own policy's records waiting."""
    foreign = {"index_patterns": [f"toolog-error-{streams.namespace}"], "data_stream": {}, "priority": 900}
    assert streams.ask("PUT", f"/_index_template/foreign-{streams.namespace}", foreign)[0] == 200
    assert streams.ask("PUT", f"/_data_stream/toolog-error-{streams.namespace}")[0] == 200
    try:
        handler = make_handler()
        log_both(handler, 0, 100)
        wait_for(lambda: stats()["stored"].get("search") == 50)
        assert numbers(streams) == Counter(range(0, 100, 2))
    finally:
        streams.ask("DELETE", f"/_data_stream/toolog-error-{streams.namespace}")
        streams.ask("DELETE", f"/_index_template/foreign-{streams.namespace}")
    assert handler.flush(30), stats()
    assert numbers(streams) == Counter(range(100))


def test_a_sink_for_one_policy_has_all_options(streams: Cluster) -> None:
    """What a sink gives for a policy is told the same as the sink itself, secrets included."""
    sink = ElasticsearchSink(
        name="mine",
        hosts=["https://127.0.0.1:1"],
        basic_auth=("ann", WORD),
        timeout=3,
        namespace=streams.namespace,
        dialect="opensearch",
        leaf_bytes=999,
    )
    made = sink.for_policy("error")
    assert type(made) is ElasticsearchSink
    assert made is not sink
    assert made.name == "mine"
    assert made.options.read_user() == ("ann", WORD)
    assert (made.options.leaf_bytes, made.options.timeout, made.options.dialect) == (999, 3, "opensearch")
    assert WORD not in repr(made)
