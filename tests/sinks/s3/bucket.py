"""A bucket that tests can look into, and sinks for it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import ormsgpack
import pytest

from tests.services.seaweedfs import SeaweedFS
from toolog import readers
from toolog.sinks import SinkRecord, create
from toolog.sinks.s3.sink import S3Sink

SEGMENT = "20261130T133000000000Z_web-1_4711_0123456789ab_000001"


@dataclass
class Archive:
    """A folder in a bucket of the real server: the options by which sinks reach it, and what is in it."""

    server: SeaweedFS
    bucket: str
    folder: str = ""

    def __post_init__(self) -> None:
        self.client = self.server.client()

    def inner(self, folder: str) -> Archive:
        """Return a folder in it, which is quicker made than a bucket."""
        return Archive(self.server, self.bucket, f"{self.folder}{folder}/")

    def options(self, **options: Any) -> dict[str, Any]:
        return {
            "type": "s3",
            "bucket": self.bucket,
            "endpoint_url": self.server.endpoint_url,
            "region": self.server.region,
            "access_key_id": self.server.access_key,
            "secret_access_key": self.server.secret_key,
            "timeout": 5,
            **options,
            "prefix": self.folder + str(options.get("prefix", "")),
        }

    def sink(self, **options: Any) -> S3Sink:
        """Return a connected sink."""
        sink = create("archive", self.options(**options))
        assert isinstance(sink, S3Sink)
        sink.connect()
        return sink

    def list_keys(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.folder)
        return [one["Key"] for page in pages for one in page.get("Contents", ())]

    def body(self, key: str) -> bytes:
        found: bytes = self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return found

    def records(self, key: str) -> list[dict[str, Any]]:
        return [record for _, record in readers.read_records(io.BytesIO(self.body(key)))]

    def ids(self) -> Counter[str]:
        """Return how often each record_id is in the bucket."""
        return Counter(record["record_id"] for key in self.list_keys() for record in self.records(key))


@pytest.fixture(autouse=True, scope="session")
def read_models_once() -> Iterator[None]:
    """Read botocore's descriptions of services once for all clients: 0.2 s for each of hundreds."""
    import botocore.session

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", cache(botocore.session.create_loader))
        yield


@pytest.fixture
def archive(seaweedfs: SeaweedFS, bucket: str) -> Archive:
    """An empty bucket."""
    return Archive(seaweedfs, bucket)


def record(seq: int, level: int = 20, policy: str = "info", segment: str = SEGMENT) -> SinkRecord:
    """Return a small record as the spool hands it over; its id is its place."""
    document = {
        "record_id": f"{segment[:21]}{segment[-6:]}-{seq}",
        "event": "log",
        "level": "INFO",
        "timestamp": f"2026-11-30T13:30:{seq % 60:02d}.000000Z",
    }
    return SinkRecord(ormsgpack.packb(document), level=level, policy=policy, segment=segment, seq=seq)


def ids_of(batch: Iterable[SinkRecord]) -> Counter[str]:
    """Return what the bucket should hold of a batch."""
    return Counter(one.record_id for one in batch)
