"""The S3 sink keeps the contract of sinks, in both forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sinks.contract import SinkContract
from tests.sinks.s3.bucket import Archive
from toolog.sinks import Sink, create
from toolog.sinks.base import MSGPACK


class TestMessagePack(SinkContract):
    # A batch becomes objects, and those are recognized; not single records of a batch with other bounds.
    deduplicates = False
    form = "msgpack"

    @pytest.fixture(autouse=True)
    def _archive(self, archive: Archive) -> None:
        self.archive = archive

    def make(self, directory: Path) -> Sink:
        return create("archive", self.archive.options(format=self.form))

    def stored(self, directory: Path, sink: Sink) -> list[dict[str, Any]]:
        return [record for key in self.archive.list_keys() for record in self.archive.records(key)]


class TestJsonLines(TestMessagePack):
    form = "jsonl"
    spoilt = (b"\xc1", MSGPACK)
