"""Production on real servers: ten thousand calls, to both ends, by the dictConfig of the documentation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import toolog
from tests.services.opensearch import OpenSearch
from tests.services.seaweedfs import SeaweedFS
from tests.sinks.s3.bucket import Archive
from tests.sinks.search.cluster import Cluster
from toolog.sinks.search.document import from_search

pytestmark = pytest.mark.journey
CALLS = 10_000
SECRETS = ("hunter2-" + "invented", "dana.invented" + "@" + "example.com", "1381234" + "5678")
PROGRAM = """
import logging.config, sys
import toolog

SECRETS = {secrets!r}

class Shop:
    def __init__(self, region, api_key):
        self.region, self.api_key = region, api_key

    def find(self, sku, amount, password=None):
        if amount % 10 == 3:
            raise LookupError(f"no {{sku}}: ask {{SECRETS[1]}} or ring {{SECRETS[2]}}")
        rows = [{{"id": n, "title": "walnut lamp"}} for n in range(3)]
        return {{"sku": sku, "rows": rows, "mail": SECRETS[1]}}

logging.config.dictConfig({{
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {{"ship": {{
        "class": "toolog.ToologHandler", "level": "INFO", "serializer": "msgpack", "durability": "process",
        "queue": {{"max_records": 10000, "when_full": "drop_newest"}},
        "spool": {{"path": "spool", "max_size": "1 GiB"}},
        "sinks": {{"search": {search!r}, "archive": {archive!r}}},
        "retention": {{"INFO": {{"sinks": ["search"], "keep": "7 days"}},
                       "ERROR": {{"sinks": ["search", "archive"], "keep": "30 days"}}}},
    }}}},
    "loggers": {{"toolog.calls": {{"handlers": ["ship"], "level": "INFO", "propagate": False}}}},
}})
toolog.instrument(Shop)
shop = Shop("eu", SECRETS[0])
for number in range({calls}):
    try:
        shop.find("A-1001", number, password=SECRETS[0])
    except LookupError:
        pass
assert toolog.flush(120), toolog.stats()
import json
print(json.dumps(toolog.stats()))
"""


def _all_hits(streams: Cluster, stream: str) -> list[dict[str, Any]]:
    """Return all hits in a data stream, page by page: there are more than a search answers."""
    streams.ask("POST", f"/{stream}/_refresh")
    hits: list[dict[str, Any]] = []
    after: list[Any] = []
    while True:
        body: dict[str, Any] = {"size": 5000, "sort": [{"@timestamp": "asc"}, {"record_id": "asc"}]}
        if after:
            body["search_after"] = after
        status, answer = streams.ask("POST", f"/{stream}/_search", body)
        assert status == 200, answer
        page = answer["hits"]["hits"]
        if not page:
            return hits
        hits += page
        after = page[-1]["sort"]


def test_ten_thousand_calls_arrive_once_by_policy_masked_and_valid(
    tmp_path: Path, opensearch: OpenSearch, seaweedfs: SeaweedFS, bucket: str, namespace: str
) -> None:
    """Each call is in the search cluster once, each failure in the bucket too, and nothing in clear."""
    archive = Archive(seaweedfs, bucket, "calls/")
    streams = Cluster(opensearch.url, namespace)
    program = PROGRAM.format(
        secrets=SECRETS,
        search={"type": "opensearch", "hosts": [opensearch.url], "namespace": namespace},
        archive={key: value for key, value in archive.options().items() if key != "batch"},
        calls=CALLS,
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TOOLOG_")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    figures = json.loads(done.stdout)
    failures = CALLS // 10
    instance = 1
    assert figures["accepted"] == CALLS + instance
    assert figures["stored"] == {"search": CALLS + instance, "archive": failures}
    assert figures["dropped"] == figures["dead_letters"] == {}

    found = [
        from_search(hit["_source"])
        for policy in ("info", "error")
        for hit in _all_hits(streams, f"toolog-{policy}-{namespace}")
    ]
    by_event = Counter(record["event"] for record in found)
    assert by_event == {
        "tool_call_success": CALLS - failures, "tool_call_failed": failures, "tool_instance": instance,
    }  # fmt: skip
    assert max(Counter(record["record_id"] for record in found).values()) == 1
    archived = {record["record_id"]: record for key in archive.list_keys() for record in archive.records(key)}
    assert max(archive.ids().values()) == 1
    assert all(key.startswith("calls/policy=error/date=") for key in archive.list_keys())
    assert {r["record_id"] for r in found if r["event"] == "tool_call_failed"} == set(archived)
    for record in found:
        toolog.validate(record)
        if record["record_id"] in archived:
            assert record == archived[record["record_id"]]
    everything = json.dumps(found) + json.dumps(list(archived.values()))
    everything += "".join(str(path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file())
    assert [secret for secret in SECRETS if secret in everything] == []
    assert {record["input"]["password"] for record in archived.values()} == {"[MASKED:password]"}
