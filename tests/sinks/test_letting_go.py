"""A sink that fails lets go of what it could not send, without waiting for the garbage collector."""

from __future__ import annotations

import gc
import logging
import socket
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import ormsgpack
import pytest

from tests import documents
from toolog.errors import SinkUnavailable
from toolog.sinks import SinkRecord, create
from toolog.sinks.search.bulk import Bulk
from toolog.sinks.search.clients import connect_search
from toolog.sinks.search.sink import ElasticsearchSink
from toolog.sinks.search.wire import Wire

SEGMENT = "20261130T133000000000Z_host_12_0123456789ab_000001"


class Watched(SinkRecord):
    """A record whose end can be seen."""

    __slots__ = ("__weakref__",)


@pytest.fixture
def rude_server() -> Iterator[str]:
    """The address of a server that ends every connection on the first bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1 << 16)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def make(kind: str, url: str) -> Any:
    """Return a sink that believes that it reached its server."""
    if kind == "s3":
        keys = {"access_key_id": "an-access-key", "secret_access_key": "a-secret-key", "region": "us-east-1"}
        sink = create("sink", {"type": "s3", "bucket": "bucket", "endpoint_url": url, "timeout": 5, **keys})
        sink.connect()
        return sink
    sink = create("sink", {"type": kind, "hosts": [url], "timeout": 5})
    assert isinstance(sink, ElasticsearchSink)
    sink._open = True
    sink._wire = Wire(connect_search(sink.options), sink.options, sink.pulse)
    sink._bulk = Bulk(sink._wire, sink.options, sink.pace)
    return sink


@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch", "s3"])
def test_records_that_could_not_be_sent_are_let_go_of(
    kind: str, rude_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error, with its traceback, holds the records of a write that failed once the next one was made."""
    # pytest keeps all that is logged, and opensearch-py logs the error.
    monkeypatch.setattr(logging.getLogger("opensearch"), "disabled", True)
    sink = make(kind, rude_server)
    alive: weakref.WeakSet[Watched] = weakref.WeakSet()
    number = 0
    gc.disable()
    try:
        for _ in range(4):
            records = []
            for _ in range(20):
                number += 1
                data = ormsgpack.packb(documents.call(number))
                records.append(Watched(data, policy="info", segment=SEGMENT, seq=number))
            alive.update(records)
            with pytest.raises(SinkUnavailable) as caught:
                sink.write(records)
            del caught
        del records
        assert len(alive) <= 20  # the S3 sink knows its last batch, which is to come again
    finally:
        gc.enable()
        sink.close()
