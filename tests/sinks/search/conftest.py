"""What the tests of search sinks share: the two clients, each with the server that it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.services.search_proxy import SearchProxy
from tests.sinks.search.cluster import Cluster
from toolog.sinks import create
from toolog.sinks.search import ElasticsearchSink

MakeSink = Callable[..., ElasticsearchSink]
CLIENTS = ("opensearch", "elasticsearch")


@pytest.fixture
def make_sink(search_proxy: SearchProxy, streams: Cluster) -> Iterator[MakeSink]:
    """Makes sinks that write through the test's proxy, with opensearch-py unless ``type`` says otherwise."""
    made: list[ElasticsearchSink] = []

    def make(**options: Any) -> ElasticsearchSink:
        given = {"type": "opensearch", "hosts": [search_proxy.url], "namespace": streams.namespace, **options}
        sink = create("search", given)
        assert isinstance(sink, ElasticsearchSink)
        made.append(sink)
        return sink

    yield make
    for sink in made:
        sink.close()


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    """The type of the sink: each client once."""
    name: str = request.param
    return name
