"""Records on which a server or something before it fails: others overtake them, and they end as rejected; a
server that fails on everything gets nothing rejected.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests import documents
from tests.services.bulk import RejectItems, every, is_bulk, read_items
from tests.services.faults import Drop, Status
from tests.services.search_proxy import SearchProxy
from tests.sinks.contract import batch
from tests.sinks.search.cluster import Cluster
from toolog.errors import SinkUnavailable
from toolog.sinks.base import Answer, SinkRecord
from toolog.sinks.search import ElasticsearchSink, suspects
from toolog.sinks.search.outcome import Cause
from toolog.sinks.search.suspects import Patience

MakeSink = Callable[..., ElasticsearchSink]
CALLS = [documents.call(number) for number in range(30)]
PAGE = b"<html>Request blocked</html>"
BREAKING = orjson.dumps({"error": {"type": "circuit_breaking_exception", "reason": "[parent] too large"}})
FAULTS = {
    "reset": Drop(),
    "page": Status(403, PAGE, {"Content-Type": "text/html"}),
    "bad request": Status(400, PAGE, {"Content-Type": "text/html"}),
    "gateway": Status(502, PAGE, {"Content-Type": "text/html"}),
    "breaking": Status(429, BREAKING),
    "error": Status(500),
}


class Fussy:
    """Does what ``fault`` does to each request that holds one of these records."""

    rate: float | None = None

    def __init__(self, fault: Any, ids: set[str]) -> None:
        self.fault = fault
        self.ids = ids

    async def answer(self, delivery: Any, pass_on: Any) -> Any:
        if any(item.id in self.ids for item in read_items(delivery)):
            return await self.fault.answer(delivery, pass_on)
        return await pass_on(delivery)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No record needs long to be given up when others were stored meanwhile."""
    hasty = {cause: Patience(4, 0.0, 600.0, 600.0) for cause in Cause}
    monkeypatch.setattr(suspects, "PATIENCE", hasty)


def write(sink: ElasticsearchSink, records: list[SinkRecord]) -> Answer:
    """Write a batch and return what the sink answers; nothing stored is an answer like any other here."""
    try:
        return sink.write(records) or Answer()
    except SinkUnavailable:
        return Answer(retry=frozenset(record.record_id for record in records))


def settle(sink: ElasticsearchSink, records: list[SinkRecord], tries: int = 60) -> dict[str, str]:
    """Write until nothing is left to be tried again, as the shipper does; return what was rejected."""
    rejected: dict[str, str] = {}
    for _ in range(tries):
        answer = write(sink, records)
        rejected |= answer.rejected
        records = [record for record in records if record.record_id in answer.retry]
        if not records:
            return rejected
    raise AssertionError(f"{len(records)} records are still not settled")


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_request_that_fails_for_one_record(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, fault: str
) -> None:
    """Whatever a whole request fails with because of one record: all others are stored, and that one is
    rejected, after it failed alone for a while.
    """
    sink = make_sink()
    sink.connect()
    bad = CALLS[7]["record_id"]
    search_proxy.add(Fussy(FAULTS[fault], {bad}), times=None, where=is_bulk)
    assert list(settle(sink, batch(CALLS))) == [bad]
    assert len(streams.ids()) == 29
    alone = [one for one in search_proxy.bulk_deliveries() if [item.id for item in read_items(one)] == [bad]]
    assert len(alone) >= 4


@pytest.mark.usefixtures("hurried")
def test_several_such_records(make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster) -> None:
    """Records next to one another and far apart are all found, and nothing else is rejected."""
    sink = make_sink(type="elasticsearch")
    sink.connect()
    bad = {CALLS[number]["record_id"] for number in (0, 1, 2, 15, 29)}
    search_proxy.add(Fussy(Drop(), bad), times=None, where=is_bulk)
    assert settle(sink, batch(CALLS)).keys() == bad
    assert len(streams.ids()) == 25


def test_others_overtake_it(make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster) -> None:
    """Long before such a record is given up, all others of its batch are stored."""
    sink = make_sink()
    sink.connect()
    bad = CALLS[0]["record_id"]
    search_proxy.add(Fussy(Drop(), {bad}), times=None, where=is_bulk)
    with pytest.raises(AssertionError, match="1 records are still not settled"):
        settle(sink, batch(CALLS), tries=8)
    assert len(streams.ids()) == 29


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_fails_on_everything(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, fault: str
) -> None:
    """However often every request fails, nothing is rejected, and few requests are made for each write."""
    sink = make_sink()
    sink.connect()
    search_proxy.add(FAULTS[fault], times=None, where=is_bulk)
    for _ in range(20):
        assert not write(sink, batch(CALLS)).rejected
    assert len(search_proxy.bulk_deliveries()) <= 60
    search_proxy.clear()
    assert settle(sink, batch(CALLS)) == {}
    assert len(streams.ids()) == 30


@pytest.mark.usefixtures("hurried")
def test_an_outage_after_a_failure(make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster) -> None:
    """What failed while everything did does not count when the server is back."""
    sink = make_sink()
    sink.connect()
    search_proxy.add(RejectItems(500, every(1)), times=30, where=is_bulk)
    for _ in range(30):
        assert len(write(sink, batch(CALLS)).retry) == 30
    search_proxy.add(RejectItems(500, every(30)), where=is_bulk)
    answer = write(sink, batch(CALLS))
    assert not answer.rejected
    assert settle(sink, [one for one in batch(CALLS) if one.record_id in answer.retry]) == {}


def test_others_were_stored_by_another_request(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """A record on which the server breaks alone counts as such when others were stored in other requests."""
    sink = make_sink()
    sink.connect()
    sink.pace.records = 1
    bad = CALLS[0]["record_id"]
    search_proxy.add(RejectItems(500, lambda item: item.id == bad), times=None, where=is_bulk)
    assert settle(sink, batch(CALLS[:9])) == {bad: "500 exception: injected"}
    assert len(streams.ids()) == 8


def test_alone_in_its_batch(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record with nothing behind it that the server breaks on for long, while it answers everything else,
    is given up; the next one not so soon, as long as nothing is stored.
    """
    monkeypatch.setattr(suspects, "PATIENCE", {cause: Patience(4, 0.0, 5.0, 5.0) for cause in Cause})
    sink = make_sink()
    sink.connect()
    seconds = itertools.count()
    monkeypatch.setattr(sink._suspects, "_clock", lambda: float(next(seconds)))
    search_proxy.add(RejectItems(500, every(1)), times=None, where=is_bulk)
    given_up = []
    for one in CALLS[:3]:
        tries = 0
        while not write(sink, batch([one])).rejected:
            tries += 1
        given_up.append(tries)
    assert given_up == [5, 10, 20]


def test_alone_in_its_policy(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that is alone in its policy is given up sooner when the sink of another policy stores records
    in the same cluster meanwhile.
    """
    patience = {cause: Patience(4, 0.0, 0.2, 600.0) for cause in Cause}
    monkeypatch.setattr(suspects, "PATIENCE", patience)
    alone, busy = (make_sink().for_policy(policy) for policy in ("error", "info"))
    bad = documents.call(99)["record_id"]
    search_proxy.add(Fussy(Drop(), {bad}), times=None, where=is_bulk)
    for sink in (alone, busy):
        sink.connect()
    for _ in range(10):
        assert not write(alone, batch([documents.call(99)])).rejected
    rejected: dict[str, str] = {}
    for one in CALLS:
        assert not settle(busy, batch([one]))
        rejected |= write(alone, batch([documents.call(99)])).rejected
        if rejected:
            break
        time.sleep(0.05)
    assert list(rejected) == [bad]
    assert streams.ids()
