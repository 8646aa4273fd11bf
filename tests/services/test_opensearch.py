"""The OpenSearch node that tests get."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.services.opensearch import OpenSearch
from tests.services.server import fetch


def call(method: str, url: str, body: Any = None, timeout: float = 10.0) -> tuple[int, Any]:
    """Send JSON (or raw bytes); return the status and the decoded answer."""
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def test_create_with_an_id_stores_once(opensearch: OpenSearch, namespace: str) -> None:
    """A data stream takes an id by `create` once: 201, then 409."""
    stream = f"toolog-check-{namespace}"
    template = {"index_patterns": [stream], "data_stream": {}, "priority": 300}
    assert call("PUT", f"{opensearch.url}/_index_template/{stream}", template)[0] == 200
    document = {"@timestamp": "2026-01-01T00:00:00Z", "message": "one"}
    assert [call("PUT", f"{opensearch.url}/{stream}/_create/a", document)[0] for _ in range(2)] == [201, 409]
    call("DELETE", f"{opensearch.url}/_data_stream/{stream}")
    call("DELETE", f"{opensearch.url}/_index_template/{stream}")


def test_too_large_a_request_is_413(opensearch: OpenSearch, namespace: str) -> None:
    """A request above the node's largest is refused as a real server does."""
    line = json.dumps({"index": {"_index": namespace}}).encode() + b"\n"
    lines = line + b'{"text": "' + b"x" * (3 << 20) + b'"}\n'
    try:
        assert call("POST", f"{opensearch.url}/_bulk", lines)[0] == 413
    except (ConnectionError, urllib.error.URLError):
        pass  # the node may close the connection while the client is still sending


def test_shared_node_is_not_to_be_disturbed(opensearch: OpenSearch) -> None:
    """What would hit the other tests of the run raises, and says what to use instead."""
    with pytest.raises(RuntimeError, match="own_opensearch"):
        opensearch.hang()


def test_own_node_hangs_crashes_and_comes_back(own_opensearch: OpenSearch, namespace: str) -> None:
    """A private node hangs while its port stays open, dies by SIGKILL, and has its documents afterwards."""
    document = f"{own_opensearch.url}/{namespace}/_doc/1"
    assert call("PUT", f"{document}?refresh=true", {"n": 1})[0] == 201
    own_opensearch.hang()
    socket.create_connection(("127.0.0.1", own_opensearch.ports[0]), timeout=30).close()
    with pytest.raises(TimeoutError):
        fetch(document, timeout=0.5)
    own_opensearch.resume()
    assert json.loads(fetch(document, timeout=60))["_source"] == {"n": 1}
    url, pid = own_opensearch.url, own_opensearch.pid
    own_opensearch.kill()
    with pytest.raises(urllib.error.URLError):
        fetch(document)
    own_opensearch.restart()
    assert own_opensearch.url == url
    assert own_opensearch.pid != pid
    assert json.loads(fetch(document))["_source"] == {"n": 1}
    own_opensearch.stop()
    assert not Path(f"/proc/{pid}").exists()
