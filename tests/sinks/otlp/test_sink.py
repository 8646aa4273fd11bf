"""The sink ``otlp`` against a collector that answers in every way that the protocol knows."""

from __future__ import annotations

import ssl
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests import documents
from tests.services.collector import Answer, Collector, table
from tests.sinks.contract import batch
from tests.sinks.otlp.conftest import Make
from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks import create
from toolog.sinks.otlp import OtlpSink


def ids(things: list[tuple[Any, Any]]) -> list[str]:
    """Return the record ids of what a collector took."""
    return [table(one.attributes)["toolog.record_id"] for _, one in things]


def calls(number: int) -> list[dict[str, Any]]:
    """Return so many documents of calls."""
    return [documents.call(one) for one in range(number)]


def test_calls_are_spans_and_everything_else_is_logs(make: Make, collector: Collector) -> None:
    """One request for each signal; each message stands under the resource that its record names."""
    service = {"name": "agent", "version": "2", "environment": "prod", "team": "shop"}
    found = [
        documents.call(1, service=service, host="web-1", process={"pid": 7}),
        documents.call(2, service=service, host="web-2", process={"pid": 7}),
        documents.log(3, "a line"),
        documents.failed(4),
    ]
    assert make().write(batch(found)) is None
    assert [path for path, _, _ in collector.requests] == ["/v1/traces", "/v1/logs"]
    assert ids(collector.spans) == [found[0]["record_id"], found[1]["record_id"], found[3]["record_id"]]
    assert ids(collector.logs) == ["log-3"]
    assert [table(resource.attributes) for resource, _ in collector.spans] == [
        {
            "service.name": "agent", "service.version": "2", "deployment.environment.name": "prod",
            "toolog.service.team": "shop", "host.name": host, "process.pid": 7,
        }
        for host in ("web-1", "web-2")
    ] + [{"service.name": "unknown_service"}]  # fmt: skip


@pytest.mark.parametrize(("signals", "spans", "logs"), [("logs", 0, 2), ("traces", 1, 0), ("all", 1, 1)])
def test_a_backend_may_take_one_signal_only(
    make: Make, collector: Collector, signals: str, spans: int, logs: int
) -> None:
    """With ``logs`` calls are log records too; with ``traces`` what is no call is not exported."""
    assert make(signals=signals).write(batch([documents.call(1), documents.log(2, "x")])) is None
    assert (len(collector.spans), len(collector.logs)) == (spans, logs)


def test_requests_are_compressed_and_carry_the_headers(make: Make, collector: Collector) -> None:
    """The body is gzip unless that is off; headers go with each request, and ``~/.netrc`` changes none."""
    sink = make(headers={"Authorization": "Basic abc", "x-team": {"env": "TOOLOG_TEST_TEAM"}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOOLOG_TEST_TEAM", "shop")
        sink.write(batch(calls(50)))
    make(compression="none").write(batch(calls(50)))
    (_, first, small), (_, second, large) = collector.requests
    assert (first["Authorization"], first["x-team"]) == ("Basic abc", "shop")
    assert (first["content-type"], first["content-encoding"]) == ("application/x-protobuf", "gzip")
    assert "content-encoding" not in second
    assert small < large / 3


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_collector_that_is_busy_is_tried_again_when_it_says_so(
    make: Make, collector: Collector, status: int
) -> None:
    """Statuses that pass keep the whole batch; ``Retry-After`` is heeded in seconds and as a date."""
    sink = make()
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    for said, least, most in (("7", 7, 7), (then, 90, 100), ("soon", None, None), ("-1", 0, 0)):
        collector.answers.append(Answer(status, headers={"retry-after": said}))
        with pytest.raises(SinkUnavailable, match=str(status)) as caught:
            sink.write(batch(calls(3)))
        assert not isinstance(caught.value, SinkDenied)
        after = caught.value.retry_after
        assert after is None if least is None else least <= (after or 0) <= most
    assert sink.write(batch(calls(3))) is None
    assert len(collector.spans) == 3


def test_one_signal_that_is_not_taken_does_not_hold_up_the_other(make: Make, collector: Collector) -> None:
    """What was taken is stored; only the records of the other request are to come again."""
    collector.answers += [Answer(), Answer(503)]
    answer = make().write(batch([documents.call(1), documents.log(2, "x")]))
    assert answer is not None
    assert (answer.retry, answer.rejected) == ({"log-2"}, {})
    assert "503" in answer.reason


def test_a_record_that_is_refused_goes_to_the_dead_letters_alone(make: Make, collector: Collector) -> None:
    """A 400 is narrowed down to the record that it is for, with the collector's words; the rest is stored."""
    bad = calls(40)[13]["record_id"]
    collector.judge = lambda one: (
        Answer(400, "bad span") if table(one.attributes)["toolog.record_id"] == bad else None
    )
    answer = make().write(batch(calls(40)))
    assert answer is not None
    assert answer.rejected == {bad: "400: bad span"}
    assert not answer.retry
    assert sorted(ids(collector.spans)) == sorted({one["record_id"] for one in calls(40)} - {bad})


def test_a_place_that_refuses_everything_keeps_everything(make: Make, collector: Collector) -> None:
    """Where nothing was ever taken, a 400 is the place's doing: no record is given up, and few are asked."""
    collector.judge = lambda one: Answer(400, "what is this")
    sink = make()
    for _ in range(3):
        with pytest.raises(SinkDenied, match=r"refuses everything .*what is this"):
            sink.write(batch(calls(500)))
    assert len(collector.requests) < 60
    with pytest.raises(SinkDenied):
        sink.write(batch(calls(1)))


def test_a_collector_that_fails_on_one_record_gives_it_up_in_the_end(
    make: Make, collector: Collector
) -> None:
    """A 500 keeps its record, five times while others are taken; then it is a dead letter."""
    bad = calls(20)[7]["record_id"]
    collector.judge = lambda one: (
        Answer(500, "oh") if table(one.attributes)["toolog.record_id"] == bad else None
    )
    sink, given_up = make(), []
    for start in range(20):
        fresh = [documents.call(1000 + start * 20 + number) for number in range(20)]
        try:
            answer = sink.write(batch([documents.call(7), *fresh]))
        except SinkUnavailable:
            continue
        assert answer is not None
        given_up.append(dict(answer.rejected))
        if answer.rejected:
            break
        assert answer.retry >= {bad}
    assert given_up[-1] == {bad: "the collector failed on it 5 times: 500: oh"}
    assert not any(given_up[:-1])


def test_a_collector_that_always_fails_gives_up_nothing(make: Make, collector: Collector) -> None:
    """While nothing is taken, a 500 is no record's fault, however often it comes."""
    sink = make()
    sink.write(batch(calls(1)))
    collector.judge = lambda one: Answer(500)
    before = len(collector.requests)
    for _ in range(20):
        with pytest.raises(SinkUnavailable, match="500"):
            sink.write(batch(calls(100)))
    assert len(collector.requests) - before < 20 * 20
    collector.judge = lambda one: None
    assert sink.write(batch(calls(100))) is None


def test_what_a_collector_took_but_in_part_is_not_sent_again(make: Make, collector: Collector) -> None:
    """A partial success may not be repeated and does not say which were meant: all are dead letters."""
    sink = make()
    collector.answers.append(Answer(refused=2, message="too old"))
    answer = sink.write(batch(calls(5)))
    assert answer is not None
    assert set(answer.rejected) == {one["record_id"] for one in calls(5)}
    assert set(answer.rejected.values()) == {"the collector refused 2 of these 5: too old"}
    collector.answers.append(Answer(refused=1))
    answer = sink.write(batch([documents.log(1, "x")]))
    assert answer is not None
    assert answer.rejected == {"log-1": "no reason given"}


def test_a_request_that_is_too_large_is_split(make: Make, collector: Collector) -> None:
    """A 413 halves the request; a record that is too large alone is a dead letter."""
    large = documents.call(50, output="x" * 5000)
    counted: list[int] = []

    def judge(path: str, body: bytes) -> Answer:
        counted.append(len(body))
        return Answer(413) if len(body) > 4000 else take(path, body)

    take = collector.take
    collector.take = judge  # type: ignore[method-assign]
    answer = make(compression="none").write(batch([*calls(20), large]))
    assert answer is not None
    assert answer.rejected == {large["record_id"]: "413: it is too large for the collector"}
    assert len(collector.spans) == 20
    assert counted[0] > 4000


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (401, "check Authorization in headers"),
        (403, "check Authorization in headers"),
        (404, "signals = 'logs'"),
        (405, "signals = 'logs'"),
        (415, "protobuf"),
        (301, "check endpoint"),
    ],
)
def test_what_somebody_must_put_right_is_said(
    make: Make, collector: Collector, status: int, hint: str
) -> None:
    """Statuses that do not pass by themselves keep everything and say what to do, and quote no header."""
    sink = make(headers={"Authorization": "Bearer abcdefgh"})
    collector.answers.append(Answer(status, headers={"location": "http://127.0.0.1:1/"}))
    with pytest.raises(SinkDenied, match=hint) as caught:
        sink.write(batch(calls(2)))
    assert "abcdefgh" not in str(caught.value)
    assert str(status) in str(caught.value)
    assert sink.write(batch(calls(2))) is None


def test_a_header_is_read_again_after_a_refusal(make: Make, collector: Collector, tmp_path: Path) -> None:
    """A new token in its file needs no restart."""
    file = tmp_path / "token"
    file.write_text("old\n")
    sink = make(headers={"api-key": {"file": str(file)}})
    sink.write(batch(calls(1)))
    file.write_text("new\n")
    sink.write(batch(calls(1)))
    collector.answers.append(Answer(401))
    with pytest.raises(SinkDenied):
        sink.write(batch(calls(1)))
    sink.write(batch(calls(1)))
    assert [headers["api-key"] for _, headers, _ in collector.requests] == ["old", "old", "old", "new"]


def test_an_answer_that_is_none_still_means_that_it_was_taken(make: Make, collector: Collector) -> None:
    """A gateway that answers 200 with a page of its own has taken the request."""
    collector.answers.append(Answer(body=b"<html>\xff</html>"))
    assert make().write(batch(calls(2))) is None


def test_no_answer_in_time_keeps_everything(make: Make, collector: Collector) -> None:
    """A collector that hangs, cuts the line or is gone: all is kept, and the text says which."""
    late = threading.Event()
    sink = make(timeout="0.2 s")
    collector.answers += [Answer(wait=late), Answer(cut=True)]
    with pytest.raises(SinkUnavailable, match=r"no answer within 0\.2 s"):
        sink.write(batch(calls(1)))
    late.set()
    with pytest.raises(SinkUnavailable, match="cannot be reached"):
        sink.write(batch(calls(1)))
    gone = create("otlp", {"endpoint": "http://127.0.0.1:9"})
    gone.connect()
    with pytest.raises(SinkUnavailable, match="nobody listens there"):
        gone.write(batch(calls(1)))
    unknown = create("otlp", {"endpoint": "http://collector.invalid:4318"})
    unknown.connect()
    with pytest.raises(SinkUnavailable, match="name server"):
        unknown.write(batch(calls(1)))


def test_certificates_are_checked(tmp_path: Path) -> None:
    """A private authority is trusted when it is named, else the text says so; plain HTTP is told apart."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(pem)
    with Collector(context) as collector:
        trusted = create("otlp", {"endpoint": collector.endpoint, "ca_certs": str(pem)})
        trusted.connect()
        assert trusted.write(batch(calls(1))) is None
        trusted.close()
        doubting = create("otlp", {"endpoint": collector.endpoint})
        doubting.connect()
        with pytest.raises(SinkDenied, match=r"unknown authority.*ca_certs"):
            doubting.write(batch(calls(1)))
        doubting.close()
    with Collector() as collector:
        wrong = create("otlp", {"endpoint": collector.endpoint.replace("http:", "https:")})
        wrong.connect()
        with pytest.raises(SinkDenied, match="does not speak TLS"):
            wrong.write(batch(calls(1)))
        wrong.close()
    nowhere = create("otlp", {"endpoint": "https://localhost:1", "ca_certs": str(tmp_path / "none.pem")})
    with pytest.raises(SinkDenied, match=r"none\.pem"):
        nowhere.connect()


@pytest.mark.filterwarnings("error")
def test_closing_lets_go_of_the_connection(make: Make, collector: Collector) -> None:
    """No socket is left behind, whatever became of the last request."""
    sink = make()
    sink.write(batch(calls(1)))
    collector.answers.append(Answer(500))
    with pytest.raises(SinkUnavailable):
        sink.write(batch(calls(1)))
    sink.close()
    assert isinstance(sink, OtlpSink)
    sink.connect()
    assert sink.write(batch(calls(1))) is None
