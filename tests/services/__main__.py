"""Start the tests' servers for people: ``python -m tests.services`` (or ``make services``), ended by Ctrl-C.

With ``--fetch`` nothing is started: what the servers need is fetched into the cache, and the command ends.
"""

from __future__ import annotations

import signal
import sys

from tests.services.opensearch import OpenSearch, fetch_jars
from tests.services.s3_proxy import S3Proxy
from tests.services.search_proxy import SearchProxy
from tests.services.seaweedfs import SeaweedFS, find_weed
from tests.services.server import Missing


def main(words: list[str]) -> int:
    """Start everything, say where it is, and wait."""
    try:
        print("OpenSearch's jars:", fetch_jars(), "\nSeaweedFS:", find_weed(), flush=True)
        if words == ["--fetch"]:
            return 0
        run()
    except Missing as error:
        print(f"missing: {error}", file=sys.stderr)
        return 1
    return 0


def run() -> None:
    """Start the servers and their proxies, print their addresses, and end them at the first signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    with (
        OpenSearch() as opensearch,
        SeaweedFS() as seaweedfs,
        SearchProxy(opensearch.url, keep=False) as search_proxy,
        S3Proxy(seaweedfs.endpoint_url, keep=False) as s3_proxy,
    ):
        print(
            f"\nOpenSearch             {opensearch.url}"
            f"\n  for elasticsearch-py {search_proxy.url}"
            f"\nS3                     {seaweedfs.endpoint_url}  (bucket {seaweedfs.make_bucket('toolog')})"
            f"\n  through a proxy      {s3_proxy.url}"
            f"\n\nexport AWS_ACCESS_KEY_ID={seaweedfs.access_key}"
            f" AWS_SECRET_ACCESS_KEY={seaweedfs.secret_key}"
            f" AWS_REGION={seaweedfs.region} AWS_ENDPOINT_URL={seaweedfs.endpoint_url}"
            "\n\nCtrl-C ends them; nothing of theirs stays.",
            flush=True,
        )
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
