"""The sink ``otlp`` keeps the contract of sinks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.services.collector import Collector, table
from tests.sinks.contract import SinkContract
from toolog.sinks import Sink, create


class TestOtlp(SinkContract):
    deduplicates = False
    reads_back = False

    @pytest.fixture(autouse=True)
    def _collector(self, collector: Collector) -> None:
        self.collector = collector

    def make(self, directory: Path) -> Sink:
        return create("otlp", {"endpoint": self.collector.endpoint})

    def check(self, directory: Path, sink: Sink, expected: list[dict[str, Any]]) -> None:
        """Every record is there, as a span or a log record (one that came twice stands there twice)."""
        found = [table(one.attributes) for _, one in [*self.collector.spans, *self.collector.logs]]
        ids = {attributes["toolog.record_id"] for attributes in found}
        assert ids == {document["record_id"] for document in expected}
