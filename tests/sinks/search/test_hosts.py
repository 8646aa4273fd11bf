"""Several hosts, of which some never answer: whatever they do, records reach the one that works."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests import documents
from tests.services.bulk import is_bulk
from tests.services.faults import Drop
from tests.services.search_proxy import SearchProxy
from tests.sinks.contract import batch
from tests.sinks.search.cluster import Cluster
from tests.sinks.search.silence import MakeSilent, make_silent
from toolog.errors import SinkUnavailable
from toolog.sinks.search import ElasticsearchSink
from toolog.sinks.search.clients import most_tries

__all__ = ["make_silent"]

MakeSink = Callable[..., ElasticsearchSink]
CALLS = [documents.call(number) for number in range(30)]


def write_each(sink: ElasticsearchSink, start: int, stop: int) -> float:
    """Write records one by one, each of which must be stored at once; return the seconds that it took."""
    began = time.monotonic()
    for one in CALLS[start:stop]:
        answer = sink.write(batch([one]))
        assert answer is None or answer.again == 1  # the one whose answer was lost
    return time.monotonic() - began


@pytest.mark.parametrize("accepts", [True, False])
def test_a_host_that_never_answers(
    make_sink: MakeSink,
    make_silent: MakeSilent,
    search_proxy: SearchProxy,
    streams: Cluster,
    client: str,
    accepts: bool,
) -> None:
    """One host that hangs, or takes no connection, costs one timeout; then all goes to the other one."""
    sink = make_sink(type=client, hosts=[make_silent(accepts=accepts), search_proxy.url], timeout=2)
    sink.connect()
    assert write_each(sink, 0, 3) < 10
    assert write_each(sink, 3, 12) < 5
    assert len(streams.ids()) == 12


def test_a_host_that_begins_to_hang(
    make_search_proxy: Callable[..., SearchProxy], make_sink: MakeSink, streams: Cluster, client: str
) -> None:
    """A host that worked and then answers nothing costs one timeout, and nothing is stored twice."""
    sick, well = make_search_proxy(), make_search_proxy()
    sink = make_sink(type=client, hosts=[sick.url, well.url], timeout=2)
    sink.connect()
    write_each(sink, 0, 4)
    sick.add(Drop(seconds=30), times=None, where=is_bulk)
    assert write_each(sink, 4, 7) < 10
    assert write_each(sink, 7, 12) < 5
    assert streams.ids() == sorted(one["record_id"] for one in CALLS[:12])


def test_more_hosts_hang_than_one_request_asks(
    make_sink: MakeSink, make_silent: MakeSilent, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """Where more hosts hang than one request is sent to, the next one goes to the others."""
    ready = make_sink()
    ready.connect()
    write_each(ready, 5, 6)  # template and stream are there: what follows is quick
    hosts = [make_silent() for _ in range(5)]
    sink = make_sink(type=client, hosts=[*hosts, search_proxy.url], timeout=2)
    assert most_tries(sink.options) < len(hosts)
    sink.connect()
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
    assert time.monotonic() - began < 20


def test_without_another_host_nothing_is_repeated(
    make_sink: MakeSink, search_proxy: SearchProxy, client: str
) -> None:
    """With one host a request that is not answered is not sent again at once: that is the shipper's."""
    sink = make_sink(type=client, timeout=1)
    sink.connect()
    search_proxy.add(Drop(seconds=5), times=None, where=is_bulk)
    with pytest.raises(SinkUnavailable, match="no answer"):
        sink.write(batch(CALLS))
    assert len(search_proxy.bulk_deliveries()) == 1
