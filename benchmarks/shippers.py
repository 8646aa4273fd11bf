"""Ways to bring records to a search cluster or into a bucket, each run by shipping.py in its own process.

A job is a JSON object: ``way``, ``url`` (of the server), ``place`` (a namespace or a bucket), ``spool`` (a
folder that the way may use up), ``records`` (a file with the same records) and ``in_process`` (whether ours
are shipped as in an application, and not as by `toolog ship`). What is imported and what is
read into memory beforehand is not counted: wall and CPU seconds begin with the first record and end with the
last acknowledgement.
"""

from __future__ import annotations

import io
import json
import logging
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

KEYS = ("tests-access-key", "tests-secret-key", "us-east-1")
WORDS = [
    "walnut", "lamp", "order", "stock", "linen", "shade", "price", "reserve", "delivery", "warehouse",
    "customer", "confirmed", "shipped", "parcel", "invoice", "colour", "brass", "floor", "table", "light",
]  # fmt: skip


def make_tool(handler: logging.Handler) -> Callable[[int], Any]:
    """Return a tool whose record is about 1 kB, with a handler that takes its records."""
    import toolog

    noise = random.Random(1)

    def look_up(order: int) -> dict[str, Any]:
        text = " ".join(noise.choices(WORDS, k=73))
        return {"order": order, "note": text, "reference": f"{noise.getrandbits(160):040x}"}

    logger = logging.getLogger("toolog.calls")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    tool: Callable[[int], Any] = toolog.tool(look_up)
    return tool


def write_records(spool: str, records: str, count: int) -> int:
    """Record ``count`` calls into a spool, write their records into a file too, as MessagePack; return the
    bytes of that.
    """
    import toolog
    from toolog.serializers.compact import unfold
    from toolog.spool import iter_frames

    handler = toolog.ToologHandler(ship="none", spool={"path": spool}, sinks={"none": {"type": "memory"}})
    tool = make_tool(handler)
    for number in range(count):
        tool(number)
    handler.close()
    size = written = 0
    with Path(records).open("wb") as file:
        for frame in iter_frames(spool):
            size += file.write(unfold(frame.payload, frame.serializer)[0])
            written += 1
    assert written == count, f"{written} records of {count} are in the spool"
    return size


def read_records(records: str) -> Iterator[dict[str, Any]]:
    """Return the records of a file."""
    import msgpack

    with Path(records).open("rb") as file:
        yield from msgpack.Unpacker(file, raw=False)


Figures = dict[str, float]


def timed(work: Callable[[], int]) -> Figures:
    """Run the part that counts; it returns how many records (or bytes) were acknowledged."""
    wall, cpu = time.perf_counter(), time.process_time()
    done = work()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "done": done}


def ship(job: dict[str, Any], sink: dict[str, Any]) -> Figures:
    """Ship the spool once the sink is connected, as `toolog ship` does it, or as a handler's threads do."""
    from toolog.all_pipelines import stats
    from toolog.pipeline import Pipeline
    from toolog.shipper.config import read_options
    from toolog.shipper.devotion import devoted

    spool = Path(job["spool"])
    waiting = spool.rename(spool.with_name("waiting"))
    config = spool.with_suffix(".json")
    table = {"sinks": {"ship": sink}, "retention": {"INFO": {"sinks": ["ship"]}}}
    config.write_text(json.dumps(table), "utf-8")
    pipeline = Pipeline(read_options(spool, config))
    pipeline.start()
    while not (pipeline.shipping.runners and pipeline.shipping.runners[0]._sink):
        time.sleep(0.01)

    def work() -> int:
        for segment in waiting.glob("*.seg"):
            segment.rename(spool / segment.name)
        assert pipeline.shipping.wait(time.monotonic() + 300, and_left=True), stats()
        return int(stats()["stored"]["ship"])

    with nullcontext() if job["in_process"] else devoted():
        figures = timed(work)
    pipeline.finish()
    return figures


def search_sink(job: dict[str, Any]) -> Figures:
    """Our sink, by either client."""
    dialect = job["way"].partition(" ")[2]
    return ship(
        job, {"type": "elasticsearch", "dialect": dialect, "hosts": [job["url"]], "namespace": job["place"]}
    )


def bulk_helper(job: dict[str, Any]) -> Figures:
    """`helpers.parallel_bulk` with its defaults, over documents that are ready in memory."""
    from toolog.sinks.search.document import to_search

    client: Any
    parallel_bulk: Any
    if job["way"].startswith("opensearch-py"):
        import opensearchpy

        client, parallel_bulk = (
            opensearchpy.OpenSearch(job["url"], timeout=60),
            opensearchpy.helpers.parallel_bulk,
        )
    else:
        import elasticsearch.helpers

        client, parallel_bulk = (
            elasticsearch.Elasticsearch(job["url"], request_timeout=60),
            elasticsearch.helpers.parallel_bulk,
        )
    head = {"_op_type": "create", "_index": f"toolog-peer-{job['place']}"}
    actions = [{**head, "_id": one["record_id"], **to_search(one)} for one in read_records(job["records"])]
    client.info()
    return timed(lambda: sum(ok for ok, _ in parallel_bulk(client, iter(actions))))


def s3_sink(job: dict[str, Any]) -> Figures:
    """Our sink into a bucket."""
    key, secret, region = KEYS
    return ship(
        job,
        {
            "type": "s3", "bucket": job["place"], "prefix": "calls", "endpoint_url": job["url"],
            "access_key_id": key, "secret_access_key": secret, "region": region,
        },
    )  # fmt: skip


def upload_fileobj(job: dict[str, Any]) -> Figures:
    """boto3's own upload of the records' bytes, uncompressed and with its defaults, as one object."""
    import boto3

    key, secret, region = KEYS
    client = boto3.client(
        "s3",
        endpoint_url=job["url"],
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name=region,
    )
    body = Path(job["records"]).read_bytes()
    count = sum(1 for _ in read_records(job["records"]))

    def work() -> int:
        client.upload_fileobj(io.BytesIO(body), job["place"], "peer")
        return count

    return timed(work)


SEARCH: dict[str, Callable[[dict[str, Any]], Figures]] = {
    "toolog elasticsearch": search_sink,
    "toolog opensearch": search_sink,
    "elasticsearch-py parallel_bulk": bulk_helper,
    "opensearch-py parallel_bulk": bulk_helper,
}
S3: dict[str, Callable[[dict[str, Any]], Figures]] = {
    "toolog s3": s3_sink,
    "boto3 upload_fileobj": upload_fileobj,
}


def main() -> None:
    """Do the job in the argument and print its figures."""
    job = json.loads(sys.argv[1])
    figures = {**SEARCH, **S3}[job["way"]](job)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
