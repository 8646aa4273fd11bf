"""What a search server can do to a batch, one fault at a time: nothing is lost, nothing stored twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import orjson
import ormsgpack
import pytest

from tests import documents
from tests.services.bulk import OmitItems, RejectItems, every, is_bulk, read_items
from tests.services.faults import Drop, Status, Truncate, Withhold
from tests.services.opensearch import OpenSearch
from tests.services.search_proxy import SearchProxy
from tests.sinks.contract import batch
from tests.sinks.search.cluster import Cluster
from tests.sinks.search.persistence import persist
from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks.base import Answer, SinkRecord
from toolog.sinks.search import ElasticsearchSink

MakeSink = Callable[..., ElasticsearchSink]
CALLS = [documents.call(number) for number in range(30)]


def write(sink: ElasticsearchSink, records: list[SinkRecord]) -> Answer:
    """Write a batch and return what the sink answers; an answer that all is stored has nothing in it."""
    return sink.write(records) or Answer()


def settle(sink: ElasticsearchSink, records: list[SinkRecord], tries: int = 10) -> dict[str, str]:
    """Write until nothing is left to be tried again, as the shipper does; return what was rejected."""
    rejected: dict[str, str] = {}
    for _ in range(tries):
        try:
            answer = write(sink, records)
        except SinkUnavailable:
            continue
        rejected |= answer.rejected
        records = [record for record in records if record.record_id in answer.retry]
        if not records:
            return rejected
    raise AssertionError(f"{len(records)} records are still not settled")


# -- single items --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
def test_refused_items_are_tried_again_alone(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str, status: int
) -> None:
    """Items that the server cannot take now are named, and only they come again."""
    sink = make_sink(type=client)
    sink.connect()
    search_proxy.add(RejectItems(status, every(3)), where=is_bulk)
    records = batch(CALLS)
    answer = write(sink, records)
    assert answer.retry == {one["record_id"] for one in CALLS[::3]}
    assert not answer.rejected
    assert answer.again == 0
    search_proxy.forget()
    assert settle(sink, [record for record in records if record.record_id in answer.retry]) == {}
    assert len(search_proxy.bulk_items()) == 10
    assert streams.ids() == sorted(one["record_id"] for one in CALLS)


def test_missing_items_are_tried_again(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """An answer that lacks items in its middle is read by ids: those that it does not name come again."""
    sink = make_sink(type=client)
    sink.connect()
    search_proxy.add(OmitItems(lambda item: item.position in (3, 11)), where=is_bulk)
    answer = write(sink, batch(CALLS))
    assert answer.retry == {CALLS[3]["record_id"], CALLS[11]["record_id"]}
    again = write(sink, batch([CALLS[3], CALLS[11]]))
    assert again == Answer(again=2)  # the server had stored them
    assert len(streams.ids()) == 30


def test_an_answer_in_another_order(make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster) -> None:
    """Items are settled by their id, whatever their order, and items of others are not ours."""
    sink = make_sink()
    sink.connect()

    class Shuffle(OmitItems):
        async def answer(self, delivery: Any, pass_on: Any) -> Any:
            answer = await pass_on(delivery, plain=True)
            told = orjson.loads(answer.body)
            told["items"].reverse()
            told["items"][0]["create"] |= {"status": 400, "error": {"type": "x", "reason": "y"}}
            told["items"].insert(5, {"create": {"_id": "a stranger", "status": 400}})
            told["items"].insert(6, {"index": {"_id": CALLS[0]["record_id"], "status": 400}})
            told["items"].insert(7, "no item at all")
            answer.body = orjson.dumps(told)
            return answer

    search_proxy.add(Shuffle(lambda item: False), where=is_bulk)
    assert write(sink, batch(CALLS)) == Answer({CALLS[-1]["record_id"]: "400 x: y"})


def test_a_poison_document_goes_alone(make_sink: MakeSink, streams: Cluster, client: str) -> None:
    """A document that the server refuses is rejected with the server's reason; the others are stored."""
    sink = make_sink(type=client)
    sink.connect()
    poison = documents.call(99, tool_name={"an": "object"})
    answer = write(sink, batch([*CALLS[:10], poison, *CALLS[10:]]))
    assert list(answer.rejected) == [poison["record_id"]]
    assert answer.rejected[poison["record_id"]].startswith("400 ")
    assert "tool_name" in answer.rejected[poison["record_id"]]
    assert not answer.retry
    assert len(streams.ids()) == 30


def test_known_records_are_stored(make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster) -> None:
    """A conflict means that the record is there: it is stored, and counted as delivered again."""
    sink = make_sink()
    sink.connect()
    search_proxy.add(RejectItems(409, every(1)), where=is_bulk)
    assert write(sink, batch(CALLS)) == Answer(again=30)


def test_one_id_twice_in_a_batch(make_sink: MakeSink, streams: Cluster) -> None:
    """A record that stands in a batch twice is stored once, and known the second time."""
    sink = make_sink()
    sink.connect()
    assert write(sink, batch([CALLS[0], CALLS[1], CALLS[0]])) == Answer(again=1)
    assert len(streams.ids()) == 2


def test_all_at_once(make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str) -> None:
    """400, 409 and 503 in one answer are each what they are."""
    sink = make_sink(type=client)
    sink.connect()
    write(sink, batch([CALLS[5]]))
    search_proxy.add(RejectItems(503, lambda item: item.position in (1, 2)), where=is_bulk)
    answer = write(sink, batch([*CALLS, documents.call(99, tool_name={})]))
    assert answer.retry == {CALLS[1]["record_id"], CALLS[2]["record_id"]}
    assert list(answer.rejected) == [documents.call(99)["record_id"]]
    assert answer.again == 1


def test_a_record_on_which_the_server_breaks(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """A server error for one record while others are stored is not tried for ever: it ends as rejected."""
    sink = make_sink()
    sink.connect()
    bad = CALLS[7]["record_id"]
    search_proxy.add(RejectItems(500, lambda item: item.id == bad), times=None, where=is_bulk)
    assert settle(sink, batch(CALLS)) == {bad: "500 exception: injected"}
    assert len(streams.ids()) == 29


def test_a_server_that_breaks_on_everything_is_waited_for(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """Server errors for every record are the server's: however long they last, nothing is given up."""
    sink = make_sink()
    sink.connect()
    search_proxy.add(RejectItems(500, every(1)), times=20, where=is_bulk)
    for _ in range(20):
        with pytest.raises(SinkUnavailable, match=r"took none of 30 records \(500 exception: injected"):
            sink.write(batch(CALLS))
    assert settle(sink, batch(CALLS)) == {}


@pytest.mark.parametrize("kind", ["validation_exception", "index_closed_exception"])
def test_a_400_that_is_the_clusters_state(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, kind: str
) -> None:
    """A 400 that says that the cluster has no room for a shard, or a closed index, gives no record up."""
    sink = make_sink()
    sink.connect()

    class Full(RejectItems):
        async def answer(self, delivery: Any, pass_on: Any) -> Any:
            answer = await super().answer(delivery, pass_on)
            assert answer is not None
            told = orjson.loads(answer.body)
            for item in told["items"]:
                item["create"]["error"] = {"type": kind, "reason": "maximum normal shards open"}
            answer.body = orjson.dumps(told)
            return answer

    search_proxy.add(Full(400, every(1)), where=is_bulk)
    with pytest.raises(SinkDenied, match="maximum normal shards open"):
        sink.write(batch(CALLS))
    assert settle(sink, batch(CALLS)) == {}


# -- whole requests ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_refused_request_is_tried_again(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str, status: int
) -> None:
    """A request that the server cannot take now is tried again as a whole, and stored once."""
    sink = make_sink(type=client)
    sink.connect()
    search_proxy.add(Status(status), where=is_bulk)
    with pytest.raises(SinkUnavailable, match=str(status)) as caught:
        sink.write(batch(CALLS))
    assert caught.value.tells
    assert settle(sink, batch(CALLS)) == {}
    assert len(search_proxy.bulk_deliveries()) == 2
    assert len(streams.ids()) == 30


def test_no_answer_after_the_server_committed(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """When the time is up after the server has stored everything, the repetition stores nothing twice."""
    ready = make_sink(type=client)
    ready.connect()
    write(ready, batch([documents.call(99)]))  # the stream is there: what follows is quick
    sink = make_sink(type=client, timeout=3)
    persist(sink.connect)
    search_proxy.add(Withhold(seconds=6), where=is_bulk)
    with pytest.raises(SinkUnavailable, match=r"no answer from http://127\.0\.0\.1:\d+ within 3 s"):
        sink.write(batch(CALLS))
    assert persist(lambda: write(sink, batch(CALLS))) == Answer(again=30)
    assert len(streams.ids()) == 31


@pytest.mark.parametrize("announced", [True, False])
def test_half_an_answer(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str, announced: bool
) -> None:
    """An answer that ends in its middle is none: everything comes again, and is known."""
    sink = make_sink(type=client)
    sink.connect()
    search_proxy.add(Truncate(0.5, announced), where=is_bulk)
    with pytest.raises(SinkUnavailable) as caught:
        sink.write(batch(CALLS))
    assert caught.value.tells
    assert write(sink, batch(CALLS)) == Answer(again=30)


def test_a_broken_connection(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """A connection that breaks before the server saw the request costs another try."""
    sink = make_sink(type=client)
    sink.connect()
    search_proxy.add(Drop(), where=is_bulk)
    with pytest.raises(SinkUnavailable, match="broke"):
        sink.write(batch(CALLS))
    assert settle(sink, batch(CALLS)) == {}


def test_part_of_a_batch_has_no_answer(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """Of a batch in several requests, what has its answer is settled; only the rest comes again."""
    sink = make_sink()
    sink.connect()
    sink.pace.records = 10
    # The second request: what goes side by side with it, and came first, is stored in any case.
    search_proxy.add(Status(503), where=lambda delivery: is_bulk(delivery) and len(seen(delivery)) == 2)
    passed: list[Any] = []

    def seen(delivery: Any) -> list[Any]:
        passed.append(delivery)
        return passed

    answer = write(sink, batch(CALLS))
    assert answer.retry
    assert len(streams.ids()) == 30 - len(answer.retry)


def test_an_error_page_of_a_proxy(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """A 400 or 404 that is no search server's answer gives nothing up: the breaker opens, all is kept."""
    sink = make_sink(type=client)
    sink.connect()
    page = b"<html>The plain HTTP request was sent to HTTPS port</html>"
    search_proxy.add(Status(400, page, {"Content-Type": "text/html"}), where=is_bulk)
    with pytest.raises(SinkUnavailable):
        sink.write(batch(CALLS))
    search_proxy.add(Status(404, b"{}"), where=is_bulk)
    with pytest.raises(SinkDenied, match="is it a search server"):
        sink.write(batch(CALLS))
    assert settle(sink, batch(CALLS)) == {}


def test_a_request_refused_for_one_document(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """A server that refuses the whole request for one document gets it in halves, until that one is alone."""
    sink = make_sink()
    sink.connect()
    bad = CALLS[17]["record_id"]

    class Fussy(RejectItems):
        async def answer(self, delivery: Any, pass_on: Any) -> Any:
            if all(item.id != bad for item in read_items(delivery)):
                return await pass_on(delivery)
            error = {"type": "illegal_argument_exception", "reason": "Malformed action/metadata line"}
            return await Status(400, orjson.dumps({"error": error, "status": 400})).answer(delivery, pass_on)

    search_proxy.add(Fussy(400, every(1)), times=None, where=is_bulk)
    answer = write(sink, batch(CALLS))
    assert answer == Answer({bad: "400 illegal_argument_exception: Malformed action/metadata line"})
    assert len(streams.ids()) == 29


# -- size ----------------------------------------------------------------------------------------------------


def big(number: int, size: int) -> dict[str, Any]:
    """Return a call whose result has about ``size`` bytes in leaves that are not cut each."""
    return documents.call(number, output=["x" * 2000] * (size // 2000))


def test_too_large_requests_are_split(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """The server takes 2 MB: what is more goes in parts, and later requests are small enough at once."""
    sink = make_sink(type=client)
    sink.connect()
    calls = [big(number, 300_000) for number in range(20)]
    assert settle(sink, batch(calls)) == {}
    assert len(streams.ids()) == 20
    search_proxy.forget()
    assert settle(sink, batch([big(number, 300_000) for number in range(20, 30)])) == {}
    assert {one.upstream for one in search_proxy.bulk_deliveries()} == {200}


def test_a_document_too_large_for_the_server(make_sink: MakeSink, streams: Cluster, client: str) -> None:
    """One document above the limit among 99 small ones: all are stored, that one cut and told."""
    sink = make_sink(type=client)
    sink.connect()
    calls = [documents.call(number) for number in range(99)]
    whole = big(99, 3_000_000)
    assert settle(sink, batch([*calls[:50], whole, *calls[50:]])) == {}
    found = {record["record_id"]: record for record in streams.records()}
    assert len(found) == 100
    kept = found[whole["record_id"]]
    assert kept["truncated"] == {"output": {"size": 1500, "unit": "items", "kept": 1000}}
    assert kept["output"] == whole["output"][:1000]
    assert {name: kept[name] for name in ("input", "tool_name", "duration_ms")} == {
        name: whole[name] for name in ("input", "tool_name", "duration_ms")
    }


def test_a_document_that_stays_too_large(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """A document that the server takes in no size is rejected, and says so."""
    sink = make_sink()
    sink.connect()
    search_proxy.add(Status(413), times=None, where=is_bulk)
    answer = write(sink, batch([big(1, 100_000)]))
    [reason] = answer.rejected.values()
    assert reason.startswith("413 too large for the server, even when cut to ")


def test_many_policies_in_one_batch(make_sink: MakeSink, streams: Cluster) -> None:
    """Records of several policies go in one request, each into its policy's data stream."""
    sink = make_sink()
    sink.connect()
    records = [
        SinkRecord(ormsgpack.packb(one), policy=("info", "error", "my Level!")[number % 3])
        for number, one in enumerate(CALLS)
    ]
    assert write(sink, records) == Answer()
    _, answer = streams.ask("GET", f"/_data_stream/{streams.streams}")
    names = {one["name"] for one in answer["data_streams"]}
    space = streams.namespace
    assert names == {f"toolog-info-{space}", f"toolog-error-{space}", f"toolog-my_level_-{space}"}


# -- the server goes and comes -------------------------------------------------------------------------------


def test_a_server_that_is_down(make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster) -> None:
    """While nobody listens the sink says so; it goes on with the same connection object afterwards."""
    sink = make_sink()
    sink.connect()
    search_proxy.refuse()
    with pytest.raises(SinkUnavailable, match="nothing listens at http://127"):
        sink.write(batch(CALLS))
    search_proxy.accept()
    assert settle(sink, batch(CALLS)) == {}
    assert len(streams.ids()) == 30


@pytest.mark.parametrize("first", [True, False])
def test_several_hosts_with_one_down(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str, first: bool
) -> None:
    """With several hosts, one that is down costs nothing but a moment: every write succeeds."""
    dead = "http://127.0.0.1:9"
    hosts = [dead, search_proxy.url] if first else [search_proxy.url, dead]
    sink = make_sink(type=client, hosts=hosts)
    sink.connect()
    for one in CALLS[:6]:
        assert write(sink, batch([one])) == Answer()
    assert len(streams.ids()) == 6


def test_a_hung_server(own_opensearch: OpenSearch, make_sink: MakeSink) -> None:
    """A server that hangs is given up after the timeout, and nothing is stored twice when it goes on."""
    with SearchProxy(own_opensearch.url) as proxy:
        sink = make_sink(hosts=[proxy.url], timeout=5)
        persist(sink.connect)
        settle(sink, batch([documents.call(99)]), tries=30)
        own_opensearch.hang()
        began = time.monotonic()
        with pytest.raises(SinkUnavailable, match="no answer"):
            sink.write(batch(CALLS))
        assert 5 <= time.monotonic() - began < 30
        own_opensearch.resume()
        settle(sink, batch(CALLS), tries=30)
        sink.close()
        found = Cluster(own_opensearch.url, sink.options.namespace)
        assert len(found.ids()) == 31


# -- what comes with an answer -------------------------------------------------------------------------------


def test_a_rollover_between_two_tries(make_sink: MakeSink, streams: Cluster) -> None:
    """A server knows an id inside one backing index only: after a rollover a repetition is stored again."""
    sink = make_sink()
    sink.connect()
    assert write(sink, batch(CALLS[:2])) == Answer()
    assert streams.ask("POST", f"/toolog-info-{streams.namespace}/_rollover")[0] == 200
    assert write(sink, batch(CALLS[:3])) == Answer()
    assert write(sink, batch(CALLS[:3])) == Answer(again=3)
    assert streams.ids() == sorted(one["record_id"] for one in [*CALLS[:2], *CALLS[:3]])


def test_notes_of_the_server_are_not_errors(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """A server's deprecation notes become warnings of the client; where warnings are errors, as in these
    tests, records are stored all the same.
    """
    sink = make_sink(type=client)

    class Notes(RejectItems):
        async def answer(self, delivery: Any, pass_on: Any) -> Any:
            answer = await pass_on(delivery)
            answer.headers["Warning"] = '299 Elasticsearch-9.0.0 "this is going away"'
            return answer

    search_proxy.add(Notes(400, every(1)), times=None)
    sink.connect()
    assert settle(sink, batch(CALLS)) == {}
    assert len(streams.ids()) == 30


def test_compressed_requests(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """With ``http_compress`` the requests are smaller, and everything is stored."""
    sink = make_sink(type=client, http_compress=True)
    sink.connect()
    assert write(sink, batch(CALLS)) == Answer()
    [delivery] = search_proxy.bulk_deliveries()
    assert delivery.headers["Content-Encoding"] == "gzip"
    assert len(read_items(delivery)) == 30
