"""The engine `toolog` against a real cluster: records have the times that a test gives them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.services.faults import Drop, Status, Truncate, Withhold
from tests.services.opensearch import OpenSearch
from tests.services.proxy import Delivery
from tests.services.search_proxy import SearchProxy
from toolog import expiry
from toolog.expiry import Piece, SinkPlan, Target
from toolog.expiry.cluster import Cluster
from toolog.expiry.engines.base import Stream
from toolog.expiry.engines.rollover import RolloverEngine
from toolog.retention import Policies
from toolog.sinks.search.names import data_stream, template_name
from toolog.sinks.search.options import SearchOptions
from toolog.sinks.search.template import make_template

DAY = 86_400.0
TABLE = {"INFO": {"keep": "7 days"}, "ERROR": {"keep": "30 days"}}


class Field:
    """One namespace of the cluster: records are put into it, and its indices are looked at."""

    def __init__(self, url: str, namespace: str) -> None:
        self.options = {"type": "opensearch", "hosts": [url], "namespace": namespace}
        self.namespace = namespace
        self.cluster = Cluster(SearchOptions.from_table(self.options, "the test"))
        template = make_template("opensearch", namespace)
        self.cluster.call("PUT", f"/_index_template/{template_name(namespace)}", template)
        self._number = 0

    def put(self, policy: str, age: float, **fields: Any) -> None:
        """Store a record of that age in seconds."""
        self._number += 1
        moment = datetime.fromtimestamp(time.time() - age, UTC).isoformat()
        document = {"@timestamp": moment, "record_id": f"r{self._number}", **fields}
        stream = data_stream(policy, self.namespace)
        self.cluster.call("PUT", f"/{stream}/_create/r{self._number}?refresh=true", document)

    def roll(self, policy: str) -> None:
        """Begin a new index."""
        self.cluster.call("POST", f"/{data_stream(policy, self.namespace)}/_rollover")

    def indices(self, policy: str) -> list[str]:
        """Return the backing indices."""
        found = self.cluster.get(f"/_data_stream/{data_stream(policy, self.namespace)}")
        return [index["index_name"] for index in found["data_streams"][0]["indices"]]

    def records(self, policy: str) -> set[str]:
        """Return the ids of the records that are there."""
        stream = data_stream(policy, self.namespace)
        self.cluster.call("POST", f"/{stream}/_refresh")
        answer = self.cluster.call("POST", f"/{stream}/_search", {"size": 1000})
        return {hit["_id"] for hit in answer["hits"]["hits"]}

    def remove(self) -> None:
        """Delete what is in it."""
        self.cluster.delete(f"/_data_stream/toolog-*-{self.namespace}")
        self.cluster.delete(f"/_index_template/{template_name(self.namespace)}")
        self.cluster.close()

    def target(self, table: dict[str, Any] | None = None, **options: Any) -> Target:
        """Return what retention makes of the sink."""
        policies = Policies.from_config(TABLE if table is None else table, ["search"])
        return expiry.make_target("search", {**self.options, **options}, policies)


@pytest.fixture
def field(opensearch: OpenSearch, namespace: str) -> Iterator[Field]:
    """Return a namespace of the shared cluster, and delete what is in it."""
    made = Field(opensearch.url, namespace)
    yield made
    made.remove()


def look(target: Target, later: float = 0.0) -> SinkPlan:
    """Return the plan as it is, or will be so many seconds later."""
    plan = expiry.look(target, time.time() + later)
    assert plan.trouble == ""
    return plan


def purge(target: Target, later: float = 0.0) -> tuple[int | None, list[str]]:
    """Purge, and return how many records went, and what was told."""
    told: list[str] = []
    now = time.time() + later
    plan = expiry.look(target, now)
    gone = expiry.enforce(target, plan, told.append, purge=True, now=now)
    assert plan.trouble == ""
    return gone, told


def short(plan: SinkPlan) -> list[tuple[str, str]]:
    """Return what a purge would do, and with which index (its number)."""
    return [(piece.action, piece.what[-6:]) for piece in plan.pieces]


def test_an_index_goes_when_its_newest_record_is_past_its_age(field: Field) -> None:
    """Whole indices go, by their policy's keep; one with a single younger record stays, and so does the one
    being written.
    """
    field.put("info", 9 * DAY)
    field.put("info", 8 * DAY)
    field.roll("info")
    field.put("info", 9 * DAY)
    field.put("info", 6 * DAY)
    field.roll("info")
    field.put("info", 3600)
    field.put("error", 29 * DAY)
    field.roll("error")
    target = field.target()
    assert short(look(target)) == [("delete", "000001")]
    gone, told = purge(target)
    assert gone == 2
    assert len(told) == 1
    assert field.records("info") == {"r3", "r4", "r5"}
    assert field.records("error") == {"r6"}
    assert purge(target) == (0, [])


def test_a_second_purge_finds_nothing_to_do(field: Field) -> None:
    """Plan and purge after a purge are empty: nothing is done twice."""
    field.put("info", 9 * DAY)
    field.roll("info")
    field.put("info", 60)
    assert purge(field.target())[0] == 1
    assert look(field.target()).pieces == []
    assert purge(field.target()) == (0, [])


def test_the_index_being_written_is_rolled_over_daily(field: Field) -> None:
    """An index that was begun a day ago is rolled over, and nothing of it deleted; an empty one is not."""
    field.put("info", 60)
    target = field.target()
    assert look(target, 0.9 * DAY).pieces == []
    assert short(look(target, 1.1 * DAY)) == [("roll over", "000001")]
    gone, told = purge(target, 1.1 * DAY)
    assert gone == 0
    assert told == [f"rolled over {field.indices('info')[0]}"]
    assert [index[-6:] for index in field.indices("info")] == ["000001", "000002"]
    assert purge(target, 1.4 * DAY) == (0, [])


def test_a_stream_that_fell_silent_is_emptied(field: Field) -> None:
    """When all records of the index being written are past their age, it is rolled over and then deleted."""
    field.put("error", 40 * DAY)
    field.put("error", 31 * DAY)
    target = field.target()
    assert short(look(target)) == [("roll over", "000001")]
    assert purge(target)[0] == 2
    assert field.records("error") == set()
    assert [index[-6:] for index in field.indices("error")] == ["000002"]


def test_an_empty_index_goes_by_its_creation(field: Field) -> None:
    """An index without records is as old as its creation; it goes once it is not written to any more."""
    field.put("info", 60)
    first = field.indices("info")[0]
    field.cluster.call("DELETE", f"/{first}/_doc/r1?refresh=true")
    field.roll("info")
    assert look(field.target(), 6 * DAY).pieces == []
    assert short(look(field.target(), 8 * DAY)) == [("delete", "000001")]


def test_an_index_with_a_record_on_hold_stays_and_is_named(field: Field) -> None:
    """One held record keeps its whole index, whatever its age; the plan says which and how many."""
    field.put("error", 50 * DAY)
    field.put("error", 49 * DAY, tags={"order": "1", "hold": "case 4711"})
    field.put("error", 49 * DAY, tags={"hold": None})
    field.roll("error")
    field.put("error", 48 * DAY, tags={"order": "hold"})
    field.roll("error")
    target = field.target()
    [held, free] = look(target).pieces
    assert (held.action, held.what[-6:], held.records, held.held) == ("hold", "000001", 3, 1)
    assert (free.action, free.what[-6:], free.records, free.held) == ("delete", "000002", 1, 0)
    assert purge(target)[0] == 1
    assert field.records("error") == {"r1", "r2", "r3"}
    assert look(target).drift == []


def test_a_held_index_can_be_written_and_read_after_a_purge(field: Field) -> None:
    """A purge that leaves an index leaves it as it was: a lifted hold lets the next purge delete it."""
    field.put("error", 50 * DAY, tags={"hold": "case 4711"})
    purge(field.target())
    purge(field.target())
    index = field.indices("error")[0]
    lifted = {"doc": {"tags": {"hold": None}}}
    done = field.cluster.call("POST", f"/{index}/_update/r1?refresh=true", lifted)
    assert done["result"] == "updated"
    assert purge(field.target())[0] == 1


def test_a_policy_that_was_removed_leaves_its_data(field: Field) -> None:
    """A stream without a policy is named and left alone, whatever its age; so is one whose keep went."""
    field.put("debug", 90 * DAY)
    field.roll("debug")
    field.put("info", 90 * DAY)
    field.roll("info")
    target = field.target({"INFO": {}, "ERROR": {"keep": "30 days"}})
    plan = look(target)
    assert plan.pieces == []
    assert [note for note in plan.notes if "'debug'" in note and "left alone" in note]
    assert purge(target) == (0, [])
    assert field.records("debug") | field.records("info") == {"r1", "r2"}


def test_other_namespaces_are_not_touched(field: Field, opensearch: OpenSearch) -> None:
    """What ends like ours but is another namespace's stays, also in the notes."""
    other = Field(opensearch.url, f"eu_{field.namespace}")
    other.put("info", 90 * DAY)
    other.roll("info")
    assert purge(field.target()) == (0, [])
    assert look(field.target()).notes == []
    assert other.records("info") == {"r1"}
    other.remove()


def test_a_record_of_the_future_is_named(field: Field) -> None:
    """A clock that was wrong keeps an index; the plan says why it stays."""
    field.put("info", -400 * DAY)
    field.put("info", 90 * DAY)
    field.roll("info")
    [piece] = look(field.target()).pieces
    assert piece.action == "stay"
    assert "clock" in piece.why
    assert purge(field.target()) == (0, [])


def test_what_should_have_been_purged_is_drift(field: Field) -> None:
    """A purge that is late by less than a day and a half is none; later it is drift."""
    field.put("info", 7 * DAY + 60)
    field.roll("info")
    assert look(field.target()).drift == []
    [sentence] = look(field.target(), 2 * DAY).drift
    assert "overdue" in sentence
    assert field.indices("info")[0] in sentence


def test_a_mapping_that_hides_holds_keeps_everything(field: Field) -> None:
    """Where `tags` is not indexed a hold could not be seen: nothing is deleted, and it is said why."""
    template = make_template("opensearch", field.namespace)
    del template["template"]["mappings"]["properties"]["tags"]
    field.cluster.call("PUT", f"/_index_template/{template_name(field.namespace)}", template)
    field.put("info", 90 * DAY, tags={"hold": "case 4711"})
    field.roll("info")
    target = field.target()
    plan = expiry.look(target, time.time())
    assert "hold could not be seen" in plan.trouble
    assert field.records("info") == {"r1"}


def test_two_purges_at_once_do_no_harm(field: Field) -> None:
    """Another process that was quicker is no error: what is gone is gone once, and writing goes on."""
    field.put("info", 90 * DAY)
    field.roll("info")
    field.put("info", 80 * DAY)
    first, second = field.target(), field.target()
    plans = [expiry.look(target, time.time()) for target in (first, second)]
    pieces: list[Piece] = [piece for plan in plans for piece in plan.pieces]
    assert len(pieces) == 4
    assert purge(first)[0] == 2
    assert purge(second)[0] == 0
    field.put("info", 1)
    assert field.records("info") == {"r3"}


def test_a_record_that_arrives_during_a_purge_is_kept(field: Field) -> None:
    """What is written between the look and the deletion keeps the index: it is looked at again, with writing
    blocked.
    """
    field.put("info", 90 * DAY)
    target = field.target()
    engine_saw = look(target)
    assert short(engine_saw) == [("roll over", "000001")]
    field.put("info", 1)
    now = time.time()
    told: list[str] = []
    expiry.enforce(target, engine_saw, told.append, purge=True, now=now)
    assert field.records("info") == {"r1", "r2"}


def test_elasticsearchs_client_does_the_same(field: Field, search_proxy: SearchProxy) -> None:
    """The engine needs nothing that only one of the two clients has."""
    field.put("info", 90 * DAY)
    field.roll("info")
    field.put("info", 90 * DAY, tags={"hold": "case 4711"})
    target = field.target(type="elasticsearch", lifecycle="toolog", hosts=[search_proxy.url])
    assert look(target).drift != []
    assert purge(target)[0] == 1
    assert field.records("info") == {"r2"}
    assert [piece.action for piece in look(target).pieces] == ["hold"]


# -- troubles on the way


def is_delete(delivery: Delivery) -> bool:
    """Whether a request deletes an index."""
    return delivery.method == "DELETE"


def is_search(delivery: Delivery) -> bool:
    """Whether a request looks into an index."""
    return delivery.path.endswith("/_search")


def is_blocked(field: Field, index: str) -> bool:
    """Whether nobody can write to an index."""
    answer = field.cluster.get(f"/{index}/_settings/index.blocks.write?flat_settings=true")
    return answer.get(index, {}).get("settings", {}).get("index.blocks.write") == "true"


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        (Status(503), is_delete),
        (Status(403), is_delete),
        (Status(503), lambda delivery: is_search(delivery) and ".ds-" in delivery.path),
        (Truncate(), is_search),
        (Drop(), lambda delivery: delivery.path.endswith("/_block/write")),
        (Withhold(), lambda delivery: delivery.path.endswith("/_block/write")),
        (Status(200, b'{"_shards": {"total": 2, "successful": 1, "failed": 1}}'), is_search),
        (
            Status(200, b'{"_shards": {"total": 1, "successful": 1, "failed": 0}, "timed_out": true}'),
            is_search,
        ),
    ],
)
def test_a_trouble_on_the_way_deletes_nothing(
    field: Field, search_proxy: SearchProxy, fault: Any, where: Any
) -> None:
    """Whatever request fails, the records are there and can be written beside; the next purge does it all."""
    field.put("info", 90 * DAY)
    field.roll("info")
    index = field.indices("info")[0]
    target = field.target(hosts=[search_proxy.url])
    plan = look(target)
    search_proxy.add(fault, where=where)
    told: list[str] = []
    assert expiry.enforce(target, plan, told.append, purge=True, now=time.time()) is None
    assert plan.trouble
    assert field.records("info") == {"r1"}
    search_proxy.clear()
    assert not is_blocked(field, index)
    assert purge(target)[0] == 1


def test_a_deletion_whose_answer_is_lost_is_no_loss(field: Field, search_proxy: SearchProxy) -> None:
    """The index is gone, the trouble is told, and the next purge goes on."""
    field.put("info", 90 * DAY)
    field.roll("info")
    field.put("info", 60)
    target = field.target(hosts=[search_proxy.url])
    plan = look(target)
    search_proxy.add(Withhold(), where=is_delete)
    assert expiry.enforce(target, plan, lambda _: None, purge=True, now=time.time()) is None
    assert search_proxy.url in plan.trouble
    assert field.records("info") == {"r2"}
    assert purge(target) == (0, [])


def test_a_policy_of_another_sink_is_left_to_it(field: Field) -> None:
    """Two sinks may share a cluster: what the other's policy holds is neither deleted nor called gone."""
    field.put("error", 90 * DAY)
    field.roll("error")
    policies = Policies.from_config(
        {"INFO": {"sinks": ["search"], "keep": "7 days"}, "ERROR": {"sinks": ["other"], "keep": "7 days"}},
        ["search", "other"],
    )
    target = expiry.make_target("search", field.options, policies)
    [note] = look(target).notes
    assert "does not name this sink" in note
    assert purge(target) == (0, [])
    other = expiry.make_target("other", field.options, policies)
    assert purge(other)[0] == 1


def test_a_stream_with_more_indices_than_a_request_can_name_is_purged(opensearch: OpenSearch) -> None:
    """However many indices a stream has, all are looked at, and those past their age go: the names of these
    would be too long for the line of a request.
    """
    crowd = Field(opensearch.url, "n" * 90)
    crowd.put("info", 90 * DAY)
    for _ in range(39):
        crowd.roll("info")
    crowd.put("info", 60)
    assert len(",".join(crowd.indices("info"))) > 4096
    target = crowd.target()
    try:
        assert short(look(target)) == [("delete", "000001")]
        assert purge(target)[0] == 1
        assert len(crowd.indices("info")) == 39
    finally:
        crowd.remove()


def test_an_index_that_somebody_else_deletes_meanwhile_is_no_trouble(field: Field) -> None:
    """What is gone when the indices are looked at is left out; the others are judged as ever."""
    for _ in range(3):
        field.put("info", 90 * DAY)
        field.roll("info")
    field.put("info", 60)
    names = tuple(field.indices("info"))
    stream = Stream(data_stream("info", field.namespace), "info", field.namespace, names)
    field.cluster.delete(f"/{names[1]}")
    engine = RolloverEngine(field.cluster)
    found = [piece.what for piece in engine.pieces(stream, 7 * DAY, time.time())]
    assert found == [names[0], names[2]]


def test_a_clock_that_runs_ahead_deletes_nothing(field: Field) -> None:
    """The cluster's clock has a say: records that are minutes old by it stay, whatever this host's says, and
    the purge tells both times.
    """
    field.put("info", 60)
    field.roll("info")
    field.put("info", 60)
    target, later = field.target(), time.time() + 40 * DAY
    plan = look(target, 40 * DAY)
    assert {piece.action for piece in plan.pieces} == {"stay", "roll over"}
    assert "by the cluster's clock" in plan.pieces[0].why
    told: list[str] = []
    assert expiry.enforce(target, plan, told.append, purge=True, now=later) is None
    assert told == []
    assert "this host's clock says" in plan.trouble
    assert field.records("info") == {"r1", "r2"}


def test_a_clock_that_runs_somewhat_ahead_deletes_nothing_too_early(field: Field) -> None:
    """A clock that is wrong by a day shortens nothing: both clocks must find a record past its age."""
    field.put("info", 6.5 * DAY)
    field.roll("info")
    assert short(look(field.target(), DAY)) == [("stay", "000001")]
    assert purge(field.target(), DAY)[0] == 0
    assert field.records("info") == {"r1"}


def test_a_keep_of_a_hundred_years(field: Field) -> None:
    """The longest keep there is can be planned and purged: nothing goes, and the server can count so far."""
    field.put("info", 300 * DAY)
    field.roll("info")
    field.put("info", 0)
    target = field.target({"INFO": {"keep": "36500 days"}})
    plan = look(target)
    assert plan.trouble == ""
    assert plan.drift == []
    assert purge(target) == (0, [])
    assert len(field.records("info")) == 2
