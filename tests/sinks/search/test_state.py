"""What is wrong with the cluster and refuses every document, on a real server: nothing is given up, it is
told what to do, and all is stored when that is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import ormsgpack
import pytest

from tests import documents
from tests.services.bulk import RejectItems, every, is_bulk
from tests.services.faults import Status
from tests.services.fixtures import give_up
from tests.services.opensearch import OpenSearch
from tests.services.search_proxy import SearchProxy
from tests.services.server import Missing
from tests.sinks.contract import batch
from tests.sinks.search.cluster import Cluster
from toolog.errors import SinkDenied
from toolog.sinks.base import Answer, SinkRecord
from toolog.sinks.search import ElasticsearchSink

MakeSink = Callable[..., ElasticsearchSink]
CALLS = [
    documents.call(number, input={f"k{number}_{index}": 1 for index in range(5)}) for number in range(20)
]


def write(sink: ElasticsearchSink, records: list[SinkRecord]) -> Answer:
    """Write a batch and return what the sink answers."""
    return sink.write(records) or Answer()


class NoExplicitIndex(OpenSearch):
    """A node that takes no request with the names of indices in its body."""

    def command(self) -> list[str]:
        return [*super().command(), "rest.action.multi.allow_explicit_index=false"]


def test_no_names_of_indices_in_requests(make_sink: MakeSink) -> None:
    """A cluster that forbids the names of indices in a bulk request is told as that, after one request."""
    try:
        server = NoExplicitIndex()
        server.start()
    except Missing as error:
        give_up(error)
    with server, SearchProxy(server.url) as proxy:
        sink = make_sink(hosts=[proxy.url])
        sink.connect()
        with pytest.raises(SinkDenied, match=r"explicit index in bulk is not allowed; set rest\.action"):
            sink.write(batch(CALLS))
        assert len(proxy.bulk_deliveries()) == 1
        sink.close()


def test_a_pipeline_that_is_not_there(make_sink: MakeSink, streams: Cluster, client: str) -> None:
    """An ingest pipeline that nobody made gives no record up; once it is there, all are stored."""
    name = f"nope-{streams.namespace}"
    sink = make_sink(type=client)
    sink.connect()
    write(sink, batch(CALLS[:1]))
    index = f"/toolog-info-{streams.namespace}/_settings"
    assert streams.ask("PUT", index, {"index.final_pipeline": name})[0] == 200
    with pytest.raises(SinkDenied, match="pipeline with id"):
        sink.write(batch(CALLS))
    assert streams.ask("PUT", f"/_ingest/pipeline/{name}", {"processors": []})[0] == 200
    try:
        assert write(sink, batch(CALLS)) == Answer(again=1)
    finally:
        streams.ask("PUT", index, {"index.final_pipeline": "_none"})
        streams.ask("DELETE", f"/_ingest/pipeline/{name}")
    assert len(streams.ids()) == 20


def make_foreign(streams: Cluster, priority: int) -> str:
    """Make a template of somebody else for our streams, with open mappings; return its path."""
    path = f"/_index_template/foreign-{streams.namespace}"
    body = {
        "index_patterns": [streams.streams],
        "data_stream": {},
        "priority": priority,
        "template": {
            "mappings": {"properties": {"output": {"type": "keyword"}}},
            "settings": {"index.mapping.total_fields.limit": 30},
        },
    }
    assert streams.ask("PUT", path, body)[0] == 200
    return path


def test_a_stream_that_was_there_before(make_sink: MakeSink, streams: Cluster, client: str) -> None:
    """A data stream with another mapping is rolled over at connect, and what it holds stays; the next connect
    leaves it alone.
    """
    stream = f"toolog-info-{streams.namespace}"
    foreign = make_foreign(streams, 1)
    try:
        assert streams.ask("PUT", f"/_data_stream/{stream}")[0] == 200
        theirs = {"@timestamp": "2026-11-30T00:00:00Z", "mine": 1}
        assert streams.ask("POST", f"/{stream}/_doc/kept?op_type=create", theirs)[0] == 201
        sink = make_sink(type=client)
        sink.connect()
        assert write(sink, batch(CALLS)) == Answer()
        make_sink(type=client).connect()
    finally:
        streams.ask("DELETE", foreign)
    assert len(streams.mapping()) == 2
    newest = streams.mapping()[max(streams.mapping())]
    assert newest["properties"]["input"]["type"] == "flat_object"
    assert "k0_0" not in str(newest)
    assert set(streams.ids()) == {"kept", *(one["record_id"] for one in CALLS)}


def test_a_stream_that_may_not_be_rolled_over(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """Without the right to roll it over nothing is sent, and it is told what to do."""
    foreign = make_foreign(streams, 1)
    try:
        assert streams.ask("PUT", f"/_data_stream/toolog-info-{streams.namespace}")[0] == 200
        search_proxy.add(Status(403), times=None, where=lambda one: one.path.endswith("/_rollover"))
        sink = make_sink()
        with pytest.raises(SinkDenied, match=r"has another mapping.*no right to roll it over.*give `manage`"):
            sink.connect()
        search_proxy.clear()
        sink.connect()
    finally:
        streams.ask("DELETE", foreign)
    assert write(sink, batch(CALLS)) == Answer()


def test_a_mapping_that_changes_while_it_runs(make_sink: MakeSink, streams: Cluster, client: str) -> None:
    """When somebody's template takes a stream over while records are written, none is given up; when it is
    gone, the stream is rolled over and all are stored.
    """
    sink = make_sink(type=client)
    sink.connect()
    first = documents.call(99)
    write(sink, batch([first]))
    foreign = make_foreign(streams, 900)
    try:
        assert streams.ask("POST", f"/toolog-info-{streams.namespace}/_rollover")[0] == 200
        for _ in range(3):
            with pytest.raises(SinkDenied, match=r"another mapping|another one with a higher priority"):
                sink.write(batch(CALLS))
        assert len(streams.mapping()) == 2  # one cannot be made right by rolling over again and again
    finally:
        make_foreign(streams, 1)  # one that makes a stream cannot be deleted
        streams.ask("DELETE", foreign)
    rejected: dict[str, str] = {}
    for _ in range(3):
        try:
            rejected |= write(sink, batch(CALLS)).rejected
        except SinkDenied:
            continue
    assert rejected == {}
    assert len(streams.ids()) == 21


class Refuses(RejectItems):
    """Refuses each item with an error that no list of ours names."""

    async def answer(self, delivery: Any, pass_on: Any) -> Any:
        answer = await super().answer(delivery, pass_on)
        assert answer is not None
        told = orjson.loads(answer.body)
        for item in told["items"]:
            if "error" in item["create"]:
                item["create"]["error"] = {"type": "a_new_exception", "reason": "all of you"}
        answer.body = orjson.dumps(told)
        return answer


def test_an_unknown_refusal_of_everything(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """When everything is refused with the same error and nothing is stored, nothing is given up."""
    sink = make_sink()
    sink.connect()
    search_proxy.add(Refuses(400, every(1)), times=6, where=is_bulk)
    for _ in range(6):
        with pytest.raises(SinkDenied, match="a_new_exception: all of you"):
            sink.write(batch(CALLS))
    assert write(sink, batch(CALLS)) == Answer()
    assert len(streams.ids()) == 20


def test_a_refusal_of_every_request_costs_few(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """A 400 for any request, whatever is in it, is noticed after a few requests, not after one a record."""
    sink = make_sink()
    sink.connect()
    error = {"error": {"type": "illegal_argument_exception", "reason": "no"}, "status": 400}
    search_proxy.add(Status(400, orjson.dumps(error)), times=None, where=is_bulk)
    records = batch([documents.call(number) for number in range(3000)])
    with pytest.raises(SinkDenied, match="illegal_argument_exception: no"):
        sink.write(records)
    assert len(search_proxy.bulk_deliveries()) <= 80
    search_proxy.clear()
    assert write(sink, batch(CALLS)) == Answer()


def test_a_refusal_of_what_is_in_the_way(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """Refused records that stood first come last next time: others are stored, and then they are rejected."""
    sink = make_sink()
    sink.connect()
    sink.pace.records = 10
    bad = {one["record_id"] for one in CALLS[:10]}
    search_proxy.add(Refuses(400, lambda item: item.id in bad), times=None, where=is_bulk)
    records, rejected = batch(CALLS), dict[str, str]()
    for _ in range(20):
        try:
            answer = write(sink, records)
        except SinkDenied:
            continue
        rejected |= answer.rejected
        records = [one for one in records if one.record_id in answer.retry]
        if not records:
            break
    assert rejected.keys() == bad
    assert len(streams.ids()) == 10


# -- one stream of several -----------------------------------------------------------------------------------


def both(number: int) -> list[SinkRecord]:
    """Return records of two policies, in turn."""
    return [
        SinkRecord(ormsgpack.packb(documents.call(index)), policy=("info", "error")[index % 2])
        for index in range(number)
    ]


def test_a_stream_that_nobody_may_write(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """A block on one stream is told as a block, not as a missing right; the records of other streams in the
    batch are all stored, however many requests they take, and the client is kept.
    """
    sink = make_sink(type=client)
    sink.connect()
    write(sink, both(2))
    block = f"/toolog-info-{streams.namespace}/_settings"
    assert streams.ask("PUT", block, {"index.blocks.write": True})[0] == 200
    sink.pace.records = 10
    search_proxy.forget()
    answer = write(sink, both(60))
    assert len(answer.retry) == 30
    assert not answer.rejected
    assert "the cluster lets nothing be written now" in answer.reason
    assert "index write (api)" in answer.reason
    assert "right is missing" not in answer.reason
    assert len(streams.ids()) == 31
    assert {one.method for one in search_proxy.deliveries} == {"POST"}
    left = [one for one in both(60) if one.record_id in answer.retry]
    with pytest.raises(SinkDenied, match="take the block off"):
        sink.write(left)
    assert streams.ask("PUT", block, {"index.blocks.write": None})[0] == 200
    assert write(sink, left) == Answer(again=1)
    assert len(streams.ids()) == 60
