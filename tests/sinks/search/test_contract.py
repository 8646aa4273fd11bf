"""The search sinks keep the contract of sinks, with either client, against a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.services.opensearch import OpenSearch
from tests.services.search_proxy import SearchProxy
from tests.sinks.contract import SinkContract
from tests.sinks.search.cluster import Cluster
from toolog.sinks import Sink, create


class TestOpenSearch(SinkContract):
    kind = "opensearch"

    @pytest.fixture(autouse=True)
    def _find_server(self, streams: Cluster, opensearch: OpenSearch) -> None:
        self.streams = streams
        self.url = opensearch.url

    def make(self, directory: Path) -> Sink:
        options = {"type": self.kind, "hosts": [self.url], "namespace": self.streams.namespace}
        return create("search", options)

    def stored(self, directory: Path, sink: Sink) -> list[dict[str, Any]]:
        return self.streams.records()


class TestElasticsearchClient(TestOpenSearch):
    kind = "elasticsearch"

    @pytest.fixture(autouse=True)
    def _find_server(self, streams: Cluster, search_proxy: SearchProxy) -> None:
        self.streams = streams
        self.url = search_proxy.url
