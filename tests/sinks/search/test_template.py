"""The index template: there before the first record, kept in step, and closed to new fields."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests import documents
from tests.services.access import Access, User
from tests.services.faults import Status
from tests.services.search_proxy import SearchProxy
from tests.sinks.contract import batch
from tests.sinks.search.cluster import Cluster
from toolog import counters
from toolog.errors import SinkDenied
from toolog.sinks.search import ElasticsearchSink
from toolog.sinks.search.shapes import FIELDS
from toolog.sinks.search.template import ALIASES, VERSION, make_mapping, make_template, merge_template

MakeSink = Callable[..., ElasticsearchSink]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    """What toolog says of its own troubles."""
    counters.reset()
    logger = logging.getLogger("toolog.internal")
    logger.addHandler(caplog.handler)
    yield lambda: [record.getMessage() for record in caplog.records if record.name == "toolog.internal"]
    logger.removeHandler(caplog.handler)


def template(streams: Cluster) -> dict[str, Any]:
    """Return the index template as the server has it."""
    status, answer = streams.ask("GET", f"/_index_template/toolog-{streams.namespace}")
    assert status == 200, answer
    found: dict[str, Any] = answer["index_templates"][0]["index_template"]
    return found


def test_installed_at_connect(make_sink: MakeSink, streams: Cluster, client: str) -> None:
    """The template is there after connect: its own name and pattern, above 200, for data streams, closed."""
    make_sink(type=client).connect()
    found = template(streams)
    assert found["index_patterns"] == [f"toolog-*-{streams.namespace}"]
    assert found["priority"] > 200
    assert found["data_stream"].keys() >= {"timestamp_field"} or found["data_stream"] == {}
    assert found["_meta"]["toolog"]["version"] == VERSION
    mapping = found["template"]["mappings"]
    assert mapping["dynamic"] in (False, "false")
    assert mapping["date_detection"] is False
    assert mapping["properties"]["input"]["type"] == "flat_object"


def test_left_alone_when_it_is_right(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster
) -> None:
    """A second start writes no template."""
    make_sink().connect()
    search_proxy.forget()
    make_sink().connect()
    assert [one.method for one in search_proxy.deliveries] == ["GET", "GET", "POST", "GET", "GET"]


def test_updated_when_it_is_older(make_sink: MakeSink, streams: Cluster) -> None:
    """An older template gets our mapping; what others put beside it stays."""
    make_sink().connect()
    found = template(streams)
    found["_meta"]["toolog"] = {"version": 0, "content": "older"}
    found["_meta"]["owner"] = "search team"
    found["template"]["mappings"] = {"properties": {"@timestamp": {"type": "date"}}}
    found["template"]["settings"] = {"index": {"number_of_shards": "2"}}
    found["priority"] = 333
    path = f"/_index_template/toolog-{streams.namespace}"
    assert streams.ask("PUT", path, {**found, "data_stream": {}})[0] == 200
    make_sink().connect()
    after = template(streams)
    assert after["_meta"]["toolog"]["version"] == VERSION
    assert after["_meta"]["owner"] == "search team"
    assert after["template"]["settings"] == {"index": {"number_of_shards": "2"}}
    assert after["template"]["mappings"]["properties"]["input"]["type"] == "flat_object"
    assert after["priority"] == 333


def test_a_newer_one_stays() -> None:
    """The template of a newer toolog is not replaced by an older one."""
    wanted = make_template("elasticsearch", "x")
    newer = {**wanted, "_meta": {"toolog": {"version": VERSION + 1, "content": "z"}}}
    assert merge_template(newer, wanted) is None
    assert merge_template(wanted, wanted) is None
    assert merge_template(None, wanted) == wanted
    changed = merge_template({**wanted, "_meta": {"toolog": {"version": VERSION, "content": "z"}}}, wanted)
    assert changed is not None
    assert changed["_meta"] == wanted["_meta"]


def test_without_the_right_it_goes_on(
    make_search_proxy: Callable[..., SearchProxy],
    make_sink: MakeSink,
    streams: Cluster,
    told: Callable[[], list[str]],
) -> None:
    """Without the right to see the template one line says so, and records are stored where it is in place."""
    make_sink().connect()  # somebody who may
    proxy = make_search_proxy()
    forbidden = b'{"error":{"type":"security_exception","reason":"no permissions"},"status":403}'
    proxy.add(Status(403, forbidden), times=None, where=lambda one: one.path.startswith("/_index_template"))
    sink = make_sink(hosts=[proxy.url])
    sink.connect()
    assert sink.write(batch([documents.call(1)])) is None
    [line] = told()
    assert "no right to look at the index template" in line
    assert "manage_index_templates" in line


def test_no_template_and_no_right_to_install_it(
    make_search_proxy: Callable[..., SearchProxy], make_sink: MakeSink, streams: Cluster
) -> None:
    """Where nobody installed it and we may not, nothing is written: a cluster would make open mappings."""
    proxy = make_search_proxy()
    proxy.add(Status(403), times=None, where=lambda one: one.method == "PUT")
    sink = make_sink(hosts=[proxy.url])
    with pytest.raises(SinkDenied, match=r"is not in effect for toolog-.*: it is not there"):
        sink.connect()
    proxy.clear()
    sink.connect()
    assert sink.write(batch([documents.call(1)])) is None


def test_another_template_with_a_higher_priority(make_sink: MakeSink, streams: Cluster) -> None:
    """A template of others that covers our streams with open mappings is noticed before a record is sent."""
    name = f"/_index_template/greedy-{streams.namespace}"
    body = {"index_patterns": [f"toolog-*-{streams.namespace}"], "priority": 900, "data_stream": {}}
    assert streams.ask("PUT", name, body)[0] == 200
    try:
        sink = make_sink()
        with pytest.raises(SinkDenied, match="another one with a higher priority"):
            sink.connect()
    finally:
        streams.ask("DELETE", name)
    sink.connect()


def opened(streams: Cluster) -> dict[str, Any]:
    """Let our template take any new field; return it as it was."""
    before = template(streams)
    mappings = {**before["template"]["mappings"], "dynamic": True}
    body = {**before, "template": {**before["template"], "mappings": mappings}}
    assert streams.ask("PUT", f"/_index_template/toolog-{streams.namespace}", body)[0] == 200
    return before


def test_a_mapping_that_somebody_opened(make_sink: MakeSink, streams: Cluster) -> None:
    """It is closed again at the next connect, and a stream that was made by it is rolled over once."""
    sink = make_sink()
    sink.connect()
    before = opened(streams)
    assert streams.ask("PUT", f"/_data_stream/toolog-info-{streams.namespace}")[0] == 200
    for number in range(1, 4):
        again = make_sink()
        again.connect()
        assert again.write(batch([documents.call(number)])) is None
    assert template(streams) == before
    mappings = streams.mapping()
    assert len(mappings) == 2
    assert [one for one in mappings.values() if one["dynamic"] == "false"] == [mappings[max(mappings)]]


def test_a_template_of_others_for_one_stream(make_sink: MakeSink, streams: Cluster) -> None:
    """Where it makes the stream's indices nothing is rolled over in vain, and it is named; when it is gone
    the stream is rolled over.
    """
    sink, name = make_sink(), f"toolog-info-{streams.namespace}"
    theirs = f"/_index_template/theirs-{streams.namespace}"
    sink.connect()
    body = {"index_patterns": [name], "priority": 900, "data_stream": {}}
    assert streams.ask("PUT", theirs, body)[0] == 200
    assert streams.ask("PUT", f"/_data_stream/{name}")[0] == 200
    for _ in range(3):
        with pytest.raises(SinkDenied, match=f"{name} has another mapping.*theirs-{streams.namespace}"):
            make_sink().connect()
    assert len(streams.mapping()) == 1
    assert streams.ask("PUT", theirs, {**body, "index_patterns": [f"{name}x"]})[0] == 200
    try:
        make_sink().connect()
        assert len(streams.mapping()) == 2
    finally:
        streams.ask("DELETE", f"/_data_stream/{name}")
        streams.ask("DELETE", theirs)


@pytest.mark.parametrize("is_alias", [False, True])
def test_something_else_in_the_way(make_sink: MakeSink, streams: Cluster, is_alias: bool) -> None:
    """An index or alias that has a stream's name gets no record, however often they are sent; when it is gone
    all are stored in a stream.
    """
    name = f"toolog-info-{streams.namespace}"  # there before the template
    there = f"plain-{streams.namespace}" if is_alias else name
    body = {"aliases": {name: {}}} if is_alias else {}
    assert streams.ask("PUT", f"/{there}", body)[0] == 200
    sink = make_sink()
    for _ in range(3):
        sink.connect()
        with pytest.raises(SinkDenied, match=f"is an {'alias' if is_alias else 'index'}, not a data stream"):
            sink.write(batch([documents.call(1)]))
    assert streams.ask("POST", f"/{there}/_refresh")[0] == 200
    assert streams.ask("GET", f"/{there}/_count")[1]["count"] == 0
    assert streams.ask("DELETE", f"/{there}")[0] == 200
    assert sink.write(batch([documents.call(1)])) is None
    assert streams.ids() == [documents.call(1)["record_id"]]


@pytest.mark.parametrize("is_there", [False, True])
def test_an_index_that_comes_in_the_way_later(make_sink: MakeSink, streams: Cluster, is_there: bool) -> None:
    """One that is made after the sink connected is known by its answer, also by that to a repetition, which
    says that the record is there already.
    """
    name, call = f"toolog-info-{streams.namespace}", documents.call(1)
    sink = make_sink()
    sink.connect()
    assert streams.ask("DELETE", f"/_index_template/toolog-{streams.namespace}")[0] == 200
    assert streams.ask("PUT", f"/{name}")[0] == 200
    if is_there:
        assert streams.ask("PUT", f"/{name}/_create/{call['record_id']}", {"a": 1})[0] == 201
    with pytest.raises(SinkDenied, match="is an index, not a data stream"):
        sink.write(batch([call]))
    assert streams.ask("DELETE", f"/{name}")[0] == 200


def test_any_number_of_arguments_adds_no_field(make_sink: MakeSink, streams: Cluster) -> None:
    """20,000 different names of arguments leave the mapping as it was, and each can be searched."""
    sink = make_sink()
    sink.connect()
    sink.write(batch([documents.call(1)]))
    before = streams.mapping()
    calls = [
        documents.call(number, input={f"argument_{number}_{index}": index for index in range(100)})
        for number in range(2, 202)
    ]
    assert sink.write(batch(calls)) is None
    assert streams.mapping() == before
    assert streams.ids({"term": {"input.argument_77_5": "5"}}) == [calls[75]["record_id"]]


@pytest.mark.parametrize(
    "values",
    [
        [
            {"output": "ok"},
            {"output": {"a": 1}},
            {"output": [1]},
            {"output": {"a": {"b": 2}}},
            {"output": None},
        ],
        [{"input": {"day": "2020-06-09"}}, {"input": {"day": "-"}}],
        [{"input": {"": 1, " ": 2, ".": 3, "a..b": 4, "a": 5, "a.b": 6, "x\x00y": 7}}],
        [{"input": {"a": 1, "a.b": 2}}, {"input": {"a": {"b": 1}}}],
        [{"input": {"a": "€" * 8192, "b": "a" * 33_000, "k" * 33_000: 1}}],
        [{"input": {f"k{number}": number for number in range(1001)}}],
    ],
    ids=["shapes", "dates", "odd keys", "dots", "long leaves", "1001 keys"],
)
def test_what_other_mappings_refuse(
    make_sink: MakeSink, streams: Cluster, values: list[dict[str, Any]]
) -> None:
    """Values that conflict in a mapping of fields are all stored."""
    sink = make_sink()
    sink.connect()
    calls = [documents.call(number, **fields) for number, fields in enumerate(values)]
    assert sink.write(batch(calls)) is None
    assert len(streams.ids()) == len(calls)


def test_every_field_and_alias_is_mapped() -> None:
    """Each field of a record has its place in the mapping, and each alias points at one."""
    properties = make_mapping("elasticsearch")["properties"]

    def at(path: str) -> dict[str, Any]:
        held: dict[str, Any] = {"properties": properties}
        for name in path.split("."):
            held = held["properties"][name]
        return held

    places = {"timestamp": "@timestamp", "event": "event.action", "host": "host.name"}
    for name in FIELDS:
        assert at(places.get(name, name))
    for alias, path in ALIASES.items():
        assert at(alias) == {"type": "alias", "path": path}
        assert at(path)["type"] in ("keyword", "text")
    assert at("input") == {"type": "flattened", "ignore_above": 8191, "depth_limit": 250}
    assert at("error.stack_trace")["type"] == "text"
    assert "stack" not in properties["error"]["properties"]


def test_who_may_not_look(
    make_search_proxy: Callable[..., SearchProxy], make_sink: MakeSink, streams: Cluster
) -> None:
    """A user with rights on our streams alone writes, where the cluster tells it nothing else."""
    make_sink().connect()
    access = Access([User("writer", "pw", indices=[f"toolog-*-{streams.namespace}"])])
    proxy = make_search_proxy(access=access)
    sink = make_sink(hosts=[proxy.url], basic_auth=["writer", "pw"])
    sink.connect()
    assert sink.write(batch([documents.call(1)])) is None


def deny(proxy: SearchProxy, *paths: str) -> None:
    """Give nobody the right to what lies below these paths."""
    forbidden = b'{"error":{"type":"security_exception","reason":"no permissions"},"status":403}'
    proxy.add(Status(403, forbidden), times=None, where=lambda one: one.path.startswith(paths))


def test_no_template_and_no_right_to_look(
    make_search_proxy: Callable[..., SearchProxy], make_sink: MakeSink, streams: Cluster, client: str
) -> None:
    """Who may not even look at templates writes nothing where there is none, and no index is made; when
    somebody has installed it, records are stored in a stream.
    """
    proxy = make_search_proxy()
    deny(proxy, "/_index_template")
    sink = make_sink(type=client, hosts=[proxy.url])
    sink.connect()
    name = f"toolog-info-{streams.namespace}"
    for _ in range(2):
        with pytest.raises(SinkDenied, match=r"no matching index template.*is needed first"):
            sink.write(batch([documents.call(1)]))
    assert streams.ask("GET", f"/{name}")[0] == 404
    make_sink().connect()
    assert sink.write(batch([documents.call(1)])) is None
    assert streams.ask("GET", f"/_data_stream/{name}")[0] == 200


def test_a_template_of_others_and_no_right_to_look(
    make_search_proxy: Callable[..., SearchProxy], make_sink: MakeSink, streams: Cluster
) -> None:
    """Who may not look at templates writes nothing into a stream that another one makes open."""
    name = f"/_index_template/greedy-{streams.namespace}"
    body = {"index_patterns": [f"toolog-*-{streams.namespace}"], "priority": 900, "data_stream": {}}
    assert streams.ask("PUT", name, body)[0] == 200
    proxy = make_search_proxy()
    deny(proxy, "/_index_template")
    sink = make_sink(hosts=[proxy.url])
    sink.connect()
    try:
        for _ in range(2):
            with pytest.raises(SinkDenied, match="another mapping than the index template"):
                sink.write(batch([documents.call(1)]))
        assert len(streams.mapping()) == 1
        assert streams.hits() == []
    finally:
        streams.ask("DELETE", f"/_data_stream/{streams.streams}")
        streams.ask("DELETE", name)


def test_a_version_that_may_not_be_asked(
    make_search_proxy: Callable[..., SearchProxy], make_sink: MakeSink, streams: Cluster
) -> None:
    """Without the right to ask for the version, the client of Elasticsearch asks for a data stream; a server
    that does not know that parameter gets everything without it.
    """
    proxy = make_search_proxy()
    forbidden = b'{"error":{"type":"security_exception","reason":"no permissions"},"status":403}'
    proxy.add(Status(403, forbidden), times=None, where=lambda one: one.path == "/")
    deny(proxy, "/_index_template")
    make_sink().connect()
    sink = make_sink(type="elasticsearch", hosts=[proxy.url])
    sink.connect()
    assert sink.write(batch([documents.call(1)])) is None
    assert sink.write(batch([documents.call(2)])) is None
    asked = ["require_data_stream=true" in one.query for one in proxy.bulk_deliveries()]
    assert asked == [True, False, False]
    assert len(streams.ids()) == 2
