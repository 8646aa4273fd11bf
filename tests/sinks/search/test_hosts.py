"""Several hosts, of which some never answer: whatever they do, records reach the one that works."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from urllib3.util import connection

from tests import documents
from tests.services.bulk import is_bulk
from tests.services.faults import Drop
from tests.services.search_proxy import SearchProxy
from tests.sinks.contract import batch
from tests.sinks.search.cluster import Cluster
from tests.sinks.search.persistence import persist
from tests.sinks.search.silence import MakeSilent, make_silent
from toolog.errors import SinkUnavailable
from toolog.sinks.search import ElasticsearchSink
from toolog.sinks.search.clients import most_tries

__all__ = ["make_silent"]

MakeSink = Callable[..., ElasticsearchSink]
CALLS = [documents.call(number) for number in range(30)]


def write_each(sink: ElasticsearchSink, start: int, stop: int) -> None:
    """Write records one by one until each is stored."""
    for one in CALLS[start:stop]:
        answer = persist(lambda one=one: sink.write(batch([one])))  # type: ignore[misc]
        assert answer is None or answer.again == 1  # the one whose answer was lost


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a connection to each URL was begun."""
    found: Counter[str] = Counter()
    create = connection.create_connection

    def count(address: tuple[str, int], *rest: Any, **options: Any) -> socket.socket:
        found[f"http://{address[0]}:{address[1]}"] += 1
        return create(address, *rest, **options)

    monkeypatch.setattr(connection, "create_connection", count)
    return found


@pytest.mark.parametrize("accepts", [True, False])
def test_a_host_that_never_answers(
    make_sink: MakeSink,
    make_silent: MakeSilent,
    search_proxy: SearchProxy,
    streams: Cluster,
    client: str,
    asked: Counter[str],
    accepts: bool,
) -> None:
    """One host that hangs, or takes no connection, costs one timeout; then all goes to the other one."""
    silent = make_silent(accepts=accepts)
    sink = make_sink(type=client, hosts=[silent, search_proxy.url], timeout=2)
    persist(sink.connect)
    write_each(sink, 0, 3)
    before = asked[silent]
    assert before
    write_each(sink, 3, 12)
    assert asked[silent] <= before + 1  # once more after a while, which a busy machine may make of it
    assert len(streams.ids()) == 12


def test_a_host_that_begins_to_hang(
    make_search_proxy: Callable[..., SearchProxy], make_sink: MakeSink, streams: Cluster, client: str
) -> None:
    """A host that worked and then answers nothing costs one timeout, and nothing is stored twice."""
    sick, well = make_search_proxy(), make_search_proxy()
    sink = make_sink(type=client, hosts=[sick.url, well.url], timeout=2)
    persist(sink.connect)
    write_each(sink, 0, 4)
    sick.add(Drop(seconds=60), times=None, where=is_bulk)
    write_each(sink, 4, 7)
    before = len(sick.bulk_deliveries())
    write_each(sink, 7, 12)
    assert len(sick.bulk_deliveries()) <= before + 1
    assert streams.ids() == sorted(one["record_id"] for one in CALLS[:12])


def test_more_hosts_hang_than_one_request_asks(
    make_sink: MakeSink, make_silent: MakeSilent, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """Where more hosts hang than one request is sent to, the next one goes to the others."""
    ready = make_sink()
    ready.connect()
    write_each(ready, 5, 6)  # template and stream are there: what follows is quick
    hosts = [make_silent() for _ in range(5)]
    sink = make_sink(type=client, hosts=[*hosts, search_proxy.url], timeout=1)
    assert most_tries(sink.options) < len(hosts)
    persist(sink.connect)
    write_each(sink, 0, 5)
    assert len(streams.ids()) == 6


def test_a_host_that_takes_no_connection_is_left_soon(
    make_sink: MakeSink, make_silent: MakeSilent, search_proxy: SearchProxy, client: str
) -> None:
    """With a long timeout, a host that does not even accept a connection is left after 5 seconds."""
    sink = make_sink(type=client, hosts=[make_silent(accepts=False), search_proxy.url], timeout=60)
    began = time.monotonic()
    sink.connect()
    write_each(sink, 0, 2)
    assert time.monotonic() - began < 50  # and not 60 for each try


def test_without_another_host_nothing_is_repeated(
    make_sink: MakeSink, search_proxy: SearchProxy, client: str
) -> None:
    """With one host a request that is not answered is not sent again at once: that is the shipper's."""
    sink = make_sink(type=client, timeout=1)
    persist(sink.connect)
    search_proxy.add(Drop(seconds=5), times=None, where=is_bulk)
    with pytest.raises(SinkUnavailable, match="no answer"):
        sink.write(batch(CALLS))
    assert len(search_proxy.bulk_deliveries()) == 1
