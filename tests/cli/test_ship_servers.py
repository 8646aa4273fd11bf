"""`toolog ship` with a real search cluster and a real S3 server at its other end."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.shippers import (
    Ship,
    no_shipper_left,  # noqa: F401 - a fixture
    write,
)
from tests.helpers import wait_until
from tests.pipeline.programs import waiting
from tests.services.access import Access, User
from tests.services.search_proxy import SearchProxy
from tests.services.seaweedfs import SeaweedFS
from tests.sinks.search.cluster import Cluster
from toolog.readers import read_records

RIGHT = ("toolog", "the-right-secret")


def archived(seaweedfs: SeaweedFS, bucket: str, folder: Path) -> list[int]:
    """Return the numbers that are in the bucket, read from its objects by hand."""
    client = seaweedfs.client()
    found: list[int] = []
    for one in client.list_objects_v2(Bucket=bucket).get("Contents", []):
        file = folder / "object.msgpack.zst"
        file.write_bytes(client.get_object(Bucket=bucket, Key=one["Key"])["Body"].read())
        found += [int(record["message"]) for _, record in read_records(str(file))]
    return sorted(found)


def test_denied_access_keeps_everything_until_the_secret_is_right(
    tmp_path: Path,
    streams: Cluster,
    seaweedfs: SeaweedFS,
    bucket: str,
    make_search_proxy: Callable[..., SearchProxy],
) -> None:
    """A cluster that answers 401: its breaker opens and says why, the archive gets everything meanwhile; with
    the right secret in its file everything is in the cluster too, each record once, and nothing is a dead
    letter.
    """
    proxy = make_search_proxy(access=Access([User("toolog", api_key=RIGHT)]))
    key = tmp_path / "key"
    key.write_text("toolog:a-wrong-secret")
    config = {
        "sinks": {
            "search": {
                "type": "elasticsearch",
                "hosts": [proxy.url],
                "namespace": streams.namespace,
                "api_key": {"file": str(key)},
                "retry": {"max_backoff": 0.5},
            },
            "archive": {
                "type": "s3",
                "bucket": bucket,
                "endpoint_url": seaweedfs.endpoint_url,
                "region": seaweedfs.region,
                "access_key_id": {"env": "ARCHIVE_KEY"},
                "secret_access_key": {"env": "ARCHIVE_SECRET"},
                "batch": {"max_age": 0.5},
            },
        }
    }
    (tmp_path / "ship.json").write_text(json.dumps(config))
    write(tmp_path, 0, 300)
    ship = Ship(
        tmp_path,
        "--config",
        "ship.json",
        config=None,
        ARCHIVE_KEY=seaweedfs.access_key,
        ARCHIVE_SECRET=seaweedfs.secret_key,
    )
    wait_until(lambda: "it denies us access" in str(ship.events), "the breaker to open")
    wait_until(lambda: not waiting(tmp_path, "archive"), "the archive")
    assert archived(seaweedfs, bucket, tmp_path) == list(range(300))
    assert len(waiting(tmp_path, "search")) == 300
    assert "a-wrong-secret" not in str(ship.events)
    key.write_text(base64.b64encode(":".join(RIGHT).encode()).decode())
    wait_until(lambda: not waiting(tmp_path, "search"), "the cluster")
    assert ship.end() == 0
    stopped = ship.wait_for("stopped")
    assert stopped["stored"] == {"search": 300, "archive": 300}
    assert not stopped["dead_letters"]
    assert sorted(int(record["message"]) for record in streams.records()) == list(range(300))
