"""Where records are shipped to in the fault matrix: what the server has, and what came on the wire.

Nothing of toolog is used to find out: plain HTTP and JSON, boto3, zstandard and msgpack.
"""

from __future__ import annotations

import io
import json
import urllib.request
from collections.abc import Iterator
from typing import Any, Protocol

import msgpack
import zstandard

from tests.services.bulk import is_bulk, read_items
from tests.services.opensearch import OpenSearch
from tests.services.proxy import Delivery, Proxy
from tests.services.s3_proxy import S3Proxy
from tests.services.search_proxy import SearchProxy
from tests.services.seaweedfs import SeaweedFS, make_client

PAGE = 1000


class Place(Protocol):
    """A server behind a proxy: ``sink`` are the options of a sink that writes there."""

    name: str
    proxy: Proxy

    def sink(self) -> dict[str, Any]:
        """Return the sink's options."""

    def is_write(self, delivery: Delivery) -> bool:
        """Whether a request brings records."""

    def stored(self) -> Iterator[object]:
        """Yield the message of each record that the server has."""

    def wire(self) -> Iterator[object]:
        """Yield the message of each record that came, as often as it came."""


class SearchPlace:
    """A namespace of an OpenSearch node."""

    name = "search"

    def __init__(self, server: OpenSearch, proxy: SearchProxy, namespace: str, **options: Any) -> None:
        self.proxy = proxy
        self._url = server.url
        self._namespace = namespace
        self._options = options

    def sink(self) -> dict[str, Any]:
        return {
            "type": "elasticsearch",
            "hosts": [self.proxy.url],
            "namespace": self._namespace,
            "batch": {"max_records": 100, "max_age": 0.05},
            "retry": {"max_backoff": "0.3 s"},
            "timeout": "10 s",
            **self._options,
        }

    def is_write(self, delivery: Delivery) -> bool:
        return is_bulk(delivery)

    def stored(self) -> Iterator[object]:
        streams = f"{self._url}/toolog-*-{self._namespace}"
        self._call("POST", f"{streams}/_refresh")
        query: Any = {"size": PAGE, "sort": ["_doc"], "_source": ["message", "event"]}
        page = self._call("POST", f"{streams}/_search?scroll=1m", query)
        while page["hits"]["hits"]:
            for hit in page["hits"]["hits"]:
                if hit["_source"]["event"]["action"] == "log":  # what toolog itself tells is not counted
                    yield hit["_source"].get("message")
            scroll = {"scroll": "1m", "scroll_id": page["_scroll_id"]}
            page = self._call("POST", f"{self._url}/_search/scroll", scroll)

    def wire(self) -> Iterator[object]:
        for delivery in self.proxy.deliveries:
            if is_bulk(delivery):
                for item in read_items(delivery):
                    document = json.loads(item.document)
                    if document["event"]["action"] == "log":
                        yield document.get("message")

    def _call(self, method: str, url: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())


class S3Place:
    """A bucket of an S3 server."""

    name = "s3"

    def __init__(self, server: SeaweedFS, proxy: S3Proxy, bucket: str, **options: Any) -> None:
        self.proxy = proxy
        self._server = server
        self._bucket = bucket
        self._options = options

    def sink(self) -> dict[str, Any]:
        return {
            "type": "s3",
            "bucket": self._bucket,
            "prefix": "calls",
            "endpoint_url": self.proxy.url,
            "access_key_id": self._server.access_key,
            "secret_access_key": self._server.secret_key,
            "region": self._server.region,
            "batch": {"max_records": 100, "max_age": 0.05},
            "retry": {"max_backoff": "0.3 s"},
            "timeout": "10 s",
            **self._options,
        }

    def is_write(self, delivery: Delivery) -> bool:
        return delivery.method == "PUT"

    def stored(self) -> Iterator[object]:
        client = make_client(self._server.endpoint_url)
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket):
            for one in page.get("Contents", []):
                body = client.get_object(Bucket=self._bucket, Key=one["Key"])["Body"].read()
                yield from _messages(body)

    def wire(self) -> Iterator[object]:
        for delivery in self.proxy.deliveries:
            if delivery.method == "PUT":
                yield from _messages(delivery.body)


def _messages(packed: bytes) -> Iterator[object]:
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)) as stream:
        for record in msgpack.Unpacker(stream, raw=False):
            if record["event"] == "log":
                yield record.get("message")
