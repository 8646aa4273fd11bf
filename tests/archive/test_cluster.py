"""A search cluster gives the answers that the local store gives, and the records that were captured."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

import toolog
from tests import documents
from tests.services.access import Access, User
from tests.services.search_proxy import SearchProxy
from tests.sinks.search.cluster import Cluster
from toolog import store
from toolog.archive import cluster
from toolog.archive.cluster import ask, read_trace
from toolog.archive.question import Question
from toolog.errors import ConfigError, SinkDenied, SinkUnavailable
from toolog.sinks import Answer, SinkRecord, create
from toolog.sinks.search.options import SearchOptions

OTHER = "1af7651916cd43dd8448eb211c80319d"
WORD = "an-invented-" + "word"


def failed(number: int, kind: str, message: str, **fields: Any) -> dict[str, Any]:
    """Return a failed call that is valid."""
    error = {"type": kind, "message": message, "stack": "Traceback ...\n  line 1\n"}
    return {**documents.failed(number), "error": error, **fields}


RECORDS: list[dict[str, Any]] = [
    documents.call(0, timestamp="1965-01-01T00:00:00.000000Z", tool_name="ancient"),
    documents.call(1, tool_name="payment.pay", session_id="order-1001", output="plain, the red shoes"),
    documents.call(2, tool_name="payment.refund", tags={"hold": "case 7", "customer": "c-7"}, output=[1, 2]),
    failed(3, "CardError", "the card was declined", tool_name="payment.pay", trace_id=OTHER),
    documents.call(4, tool_name="search", instance_id="inst-1", input={"a..b": "odd", "": 1}),
    documents.started(5, tool_name="search"),
    documents.call(5, tool_name="search"),
    documents.started(6, tool_name="stuck"),
    failed(7, "TimeoutError", "late", tool_name="s3_[old]", status="timeout"),
    failed(8, "TypeError", "wrong", event="tool_call_rejected", level="WARNING", status="validation_error"),
    documents.call(
        9, output={"text": "Läufer 日本 🥿"}, retry_count=0, unknown_field={"x": [1, {"y": None}]}
    ),
    documents.log(10, "no call", trace_id=OTHER),
]
QUESTIONS = [
    {},
    {"limit": 3},
    {"tool": "payment.*"},
    {"tool": "payment.pay"},
    {"tool": "s[a-f3]*"},
    {"tool": "*[[]old]"},
    {"tool": "payment?pay"},
    {"status": "failed"},
    {"status": "running"},
    {"status": "rejected"},
    {"status": "success", "limit": 2},
    {"session": "order-1001"},
    {"instance": "inst-1"},
    {"level": "WARNING"},
    {"level": "DEBUG"},
    {"hold": "*"},
    {"hold": "case 8"},
    {"since": "2026-11-30T12:00:07Z"},
    {"until": "2026-11-30T12:00:03Z"},
    {"until": "1966-01-01"},
    {"since": "1960-01-01", "until": "1964-01-01"},
    {"text": "declined card"},
    {"text": '"red shoes"'},
    {"text": "日本", "limit": 2},
    {"text": "declin*", "status": "failed", "since": "2026-11-30", "level": "ERROR", "tool": "pay*"},
    {"text": "nowhere"},
]


def fill(streams: Cluster, records: list[dict[str, Any]]) -> None:
    """Store records as the sink does, each in the data stream of a policy."""
    sink = create("search", {"type": "opensearch", "hosts": [streams.url], "namespace": streams.namespace})
    sink.connect()
    for policy in ("info", "error"):
        wanted = [one for one in records if (one["level"] == "ERROR") == (policy == "error")]
        if wanted:
            answer = sink.write(batch(wanted, policy=policy)) or Answer()
            assert not answer.rejected
            assert not answer.retry
    sink.close()
    streams.ask("POST", f"/{streams.streams}/_refresh")


def batch(records: list[dict[str, Any]], policy: str) -> list[SinkRecord]:
    """Return records as a sink is handed them."""
    return [SinkRecord(ormsgpack.packb(record), policy=policy) for record in records]


def options(streams: Cluster, **given: Any) -> SearchOptions:
    """Return how a command reaches the streams."""
    table = {"hosts": [streams.url], "namespace": streams.namespace, "dialect": "opensearch", **given}
    return SearchOptions.from_table(table, "sink 'search'")


def told(place: str) -> None:
    """Refuse damage: there is none."""
    raise AssertionError(place)


def test_the_same_questions_have_the_same_answers(
    streams: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked, the cluster gives what a local store with the same records gives, in that order, and
    each record is valid and equal to what was captured; however small the pages.
    """
    fill(streams, RECORDS)
    with store.open(tmp_path / "calls.db") as held:
        held.write(RECORDS)
        for size, questions in ((500, QUESTIONS), (2, QUESTIONS[::6])):
            monkeypatch.setattr(cluster, "_PAGE", size)
            for given in questions:
                question = Question(**given)  # type: ignore[arg-type]
                expected = held.calls(**asdict(question))
                found = ask(options(streams), question, told)
                assert found == expected, (size, given)
                for record in found:
                    if record["status"] != "running":
                        toolog.validate({key: record[key] for key in record if key != "unknown_field"})
        for beginning in (documents.TRACE, OTHER, OTHER[:6], OTHER[:5], "f" * 32):
            assert read_trace(options(streams), beginning, told) == held.trace(beginning)


def test_both_clients_ask(search_proxy: SearchProxy, streams: Cluster) -> None:
    """elasticsearch-py gets the same answer as opensearch-py."""
    fill(streams, RECORDS)
    found = [
        ask(options(streams, hosts=[search_proxy.url], dialect=dialect), Question(), told)
        for dialect in ("elasticsearch", "opensearch")
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 10


def test_what_a_rollover_doubled_is_there_once(streams: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that stands in two backing indices, or in the streams of two policies, is given once, also
    where a page ends between the two.
    """
    fill(streams, RECORDS)
    assert streams.ask("POST", f"/toolog-info-{streams.namespace}/_rollover")[0] == 200
    fill(streams, RECORDS)
    sink = create("search", {"type": "opensearch", "hosts": [streams.url], "namespace": streams.namespace})
    sink.connect()
    sink.write(batch(RECORDS, policy="all"))
    sink.close()
    streams.ask("POST", f"/{streams.streams}/_refresh")
    ids = streams.ids()
    assert len(ids) > 2 * len(set(ids))
    expected = sorted(one["record_id"] for one in RECORDS if one["event"] != "log")
    expected.remove("start-5")
    for size in (500, 2):
        monkeypatch.setattr(cluster, "_PAGE", size)
        assert sorted(one["record_id"] for one in ask(options(streams), Question(), told)) == expected


def test_several_traces_that_begin_alike(streams: Cluster) -> None:
    """A beginning that two traces have names both, as in the store."""
    fill(streams, [documents.call(1), documents.call(2, trace_id=documents.TRACE[:10] + "0" * 22)])
    with pytest.raises(ConfigError, match="several traces begin with"):
        read_trace(options(streams), documents.TRACE[:8], told)


def test_what_is_no_record_is_told_and_stepped_over(streams: Cluster) -> None:
    """A document of somebody else in our streams is told; the others are answered."""
    fill(streams, [documents.call(1)])
    foreign = {"@timestamp": "2026-11-30T12:00:00Z", "event": {"action": "tool_call_success"}, "host": "no"}
    path = f"/toolog-info-{streams.namespace}/_doc?refresh=true&op_type=create"
    assert streams.ask("POST", path, foreign)[0] in (201, 400)
    places: list[str] = []
    found = ask(options(streams), Question(), places.append)
    assert [one["record_id"] for one in found] == [documents.call(1)["record_id"]]


def test_nothing_was_shipped_yet(streams: Cluster) -> None:
    """Without any data stream nothing is found, and that is no error."""
    assert ask(options(streams), Question(), told) == []
    assert read_trace(options(streams), documents.TRACE, told) == []


def test_who_may_not_read_is_told_what_is_missing(make_search_proxy: Any, streams: Cluster) -> None:
    """A missing right names the right and the streams, a wrong password the option; neither says a secret."""
    fill(streams, RECORDS)
    access = Access([User("ann", password=WORD, indices=("other",))])
    proxy = make_search_proxy(access=access)
    reach = options(streams, hosts=[proxy.url], basic_auth=("ann", WORD))
    with pytest.raises(SinkDenied, match="reading needs `read` on toolog-") as raised:
        ask(reach, Question(), told)
    assert WORD not in str(raised.value)
    access.users[:] = [User("ann", password=WORD)]
    assert len(ask(reach, Question(), told)) == 10
    wrong = options(streams, hosts=[proxy.url], basic_auth=("ann", WORD + "2"))
    with pytest.raises(SinkDenied, match="check basic_auth") as raised:
        ask(wrong, Question(), told)
    assert WORD not in str(raised.value)


def test_a_server_that_is_not_there(streams: Cluster) -> None:
    """Nobody listening is said so, with the host."""
    with pytest.raises(SinkUnavailable, match=r"nothing listens at http://127\.0\.0\.1:9"):
        ask(options(streams, hosts=["http://127.0.0.1:9"]), Question(), told)
