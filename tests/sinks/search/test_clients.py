"""The clients: missing, too old, or the oldest that is supported."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolog
from tests.services.search_proxy import SearchProxy
from tests.sinks.search.cluster import Cluster
from toolog.errors import ConfigError
from toolog.sinks import create
from toolog.sinks.search.clients import connect_search

HOSTS = ["https://es.example.com:9200"]


@pytest.mark.parametrize(
    ("kind", "module"), [("elasticsearch", "elasticsearch"), ("opensearch", "opensearchpy")]
)
def test_a_client_that_is_not_installed(kind: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink whose client is missing is refused at once, naming the extra that brings it."""
    monkeypatch.setitem(sys.modules, module, None)  # as if it could not be found
    with pytest.raises(ConfigError, match=rf"pip install 'toolog\[{kind}\]'"):
        create("search", {"type": kind, "hosts": HOSTS})


def test_the_production_profile_without_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """``configure("prod")`` fails at once and says what to install."""
    monkeypatch.setitem(sys.modules, "elasticsearch", None)
    with pytest.raises(ConfigError, match=r"pip install 'toolog\[elasticsearch\]'"):
        toolog.configure("prod")


def test_the_production_profile_without_hosts() -> None:
    """With the client there, ``configure("prod")`` asks for the hosts: none are guessed."""
    with pytest.raises(ConfigError, match="sink 'search' needs hosts"):
        toolog.configure("prod")


@pytest.mark.parametrize(
    ("kind", "module", "version"),
    [("elasticsearch", "elasticsearch", (7, 17, 0)), ("opensearch", "opensearchpy", "1.1.0")],
)
def test_a_client_that_is_too_old(
    kind: str, module: str, version: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client of a version that is not supported is named, with what to install."""
    monkeypatch.setattr(f"{module}.__version__", version)
    sink = create("search", {"type": kind, "hosts": HOSTS})
    with pytest.raises(ConfigError, match=r"or newer, and \d+\.\d+ is installed: pip install -U"):
        sink.connect()


def test_nothing_is_imported_before_it_connects() -> None:
    """Making a sink imports no client: that is 0.3 s, and the user may never connect."""
    code = (
        "import sys; from toolog.sinks import create\n"
        "for kind in ('elasticsearch', 'opensearch'):\n"
        f"    create('search', {{'type': kind, 'hosts': {HOSTS!r}}})\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'elasticsearch', 'opensearchpy', 'elastic_transport', 'urllib3', 'certifi'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


ELASTICSEARCH_8 = """
import sys
sys.path.insert(0, sys.argv[3])
import elasticsearch
assert elasticsearch.__version__[0] == 8, elasticsearch.__version__
from tests import documents
from tests.sinks.contract import batch
from toolog.sinks import create
from toolog.sinks.search.clients import connect_search
sink = create("search", {"type": "elasticsearch", "hosts": [sys.argv[1]], "namespace": sys.argv[2]})
sink.connect()
calls = [documents.call(number) for number in range(5)]
assert sink.write(batch(calls)) is None
assert sink.write(batch(calls)).again == 5
assert sink.write(batch([documents.call(9, tool_name={})])).rejected
sink.close()
print("stored")
"""


def test_the_older_client(search_proxy: SearchProxy, streams: Cluster) -> None:
    """elasticsearch-py 8 writes as 9 does; it lies in a folder that TOOLOG_ELASTICSEARCH_8 names."""
    folder = os.environ.get("TOOLOG_ELASTICSEARCH_8")
    if not folder:
        pytest.skip("no elasticsearch-py 8: pip install -t DIR 'elasticsearch<9', TOOLOG_ELASTICSEARCH_8=DIR")
    done = subprocess.run(
        [sys.executable, "-c", ELASTICSEARCH_8, search_proxy.url, streams.namespace, folder],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[3],
    )
    assert (done.stdout.strip(), done.stderr) == ("stored", "")
    assert len(streams.ids()) == 5


def test_elasticsearch_sends_lines_as_they_are() -> None:
    """The lines of a bulk request reach the connection as the very bytes that the sink made, uncopied."""
    client = connect_search({"hosts": HOSTS})
    lines = b'{"create":{}}\n{}\n'
    for kind in ("application/x-ndjson", "application/vnd.elasticsearch+x-ndjson"):
        assert client.transport.serializers.dumps(lines, kind) is lines
        assert client.transport.serializers.dumps([{"create": {}}, {}], kind) == lines
    client.close()


@pytest.mark.parametrize(
    ("kind", "module"), [("elasticsearch", "elastic_transport"), ("opensearch", "opensearchpy")]
)
def test_answers_are_read_as_the_client_reads_them(kind: str, module: str) -> None:
    """What only the client's own reader takes for JSON is an answer still, and what is none is its error."""
    client = connect_search({"hosts": HOSTS, "dialect": kind})

    def read(text: str) -> Any:
        if kind == "elasticsearch":
            return client.transport.serializers.loads(text.encode(), "application/json")
        return client.transport.deserializer.loads(text, "application/json")

    assert read('{"items":[{"create":{"_id":"a"}}]}') == {"items": [{"create": {"_id": "a"}}]}
    assert read('{"reason":"\\ud83d"}') == {"reason": "\ud83d"}
    with pytest.raises(importlib.import_module(module).SerializationError):
        read('{"items":')
    client.close()
