"""The fixtures of these tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.services.collector import Collector
from toolog.sinks import create
from toolog.sinks.otlp import OtlpSink

Make = Callable[..., OtlpSink]


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector that takes everything, until it is told otherwise."""
    with Collector() as running:
        yield running


@pytest.fixture
def make(collector: Collector) -> Iterator[Make]:
    """Makes a connected sink that exports to the collector."""
    made: list[OtlpSink] = []

    def make_sink(**options: Any) -> OtlpSink:
        sink = create("otlp", {"type": "otlp", "endpoint": collector.endpoint, **options})
        assert isinstance(sink, OtlpSink)
        made.append(sink)
        sink.connect()
        return sink

    yield make_sink
    for sink in made:
        sink.close()
