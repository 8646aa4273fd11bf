"""The servers' own engines: which requests are made. They were not run against a server that has them; what
is compared is the documented interface and the clients' typed methods.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.expiry.stand_in import Asked, StandIn, serving
from toolog import expiry
from toolog.errors import ConfigError
from toolog.expiry import SinkPlan
from toolog.expiry.cluster import Cluster
from toolog.expiry.engines.base import Stream
from toolog.expiry.engines.ism import IsmEngine
from toolog.expiry.foreign import find_foreign
from toolog.retention import Policies
from toolog.sinks.search.options import SearchOptions
from toolog.sinks.search.template import make_template

DAY = 86_400.0
TABLE = {"INFO": {"keep": "7 days"}, "ERROR": {"keep": "30 days"}}
ENGINES = [("elasticsearch", "data_stream"), ("elasticsearch", "ilm"), ("opensearch", "ism")]


class Server:
    """A stand-in and the sink that writes there."""

    def __init__(self, stand_in: StandIn, url: str, product: str) -> None:
        self.stand_in = stand_in
        self.url = url
        self.options: dict[str, Any] = {"type": product, "hosts": [url], "namespace": "prod"}

    def look(self, table: dict[str, Any] | None = None, **options: Any) -> SinkPlan:
        """Return the plan of a table of policies."""
        return expiry.look(self._target(table, options), time.time())

    def apply(self, table: dict[str, Any] | None = None, **options: Any) -> list[Asked]:
        """Apply a table of policies; returns the requests that changed something."""
        self.stand_in.changes()
        target = self._target(table, options)
        plan = expiry.look(target, time.time())
        assert expiry.enforce(target, plan, lambda _: None, purge=True, now=time.time()) == 0, plan.trouble
        return self.stand_in.changes()

    def _target(self, table: dict[str, Any] | None, options: dict[str, Any]) -> expiry.Target:
        policies = Policies.from_config(TABLE if table is None else table, ["search"])
        return expiry.make_target("search", {**self.options, **options}, policies)


@pytest.fixture
def elasticsearch() -> Iterator[Server]:
    """Return a stand-in for Elasticsearch."""
    with serving("elasticsearch") as (stand_in, url):
        yield Server(stand_in, url, "elasticsearch")


@pytest.fixture
def opensearch_ism() -> Iterator[Server]:
    """Return a stand-in for OpenSearch with its plugin."""
    with serving("opensearch") as (stand_in, url):
        yield Server(stand_in, url, "opensearch")


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Return the stand-in of a pair of ENGINES, with that engine chosen."""
    product, engine = request.param
    with serving(product) as (stand_in, url):
        made = Server(stand_in, url, product)
        made.options["lifecycle"] = engine
        yield made


all_engines = pytest.mark.parametrize("server", ENGINES, indirect=True, ids=[name for _, name in ENGINES])


# -- what holds for each of them


@all_engines
def test_applied_twice_changes_nothing(server: Server) -> None:
    """What the first time wrote is found the second time, in the form that the server gives it back."""
    server.stand_in.add_stream("toolog-error-prod", 3)
    assert server.look().drift != []
    assert server.apply() != []
    assert server.look().drift == []
    assert server.apply() == []


@all_engines
def test_a_changed_keep_is_drift(server: Server) -> None:
    """A server that keeps for another time than the policy says is told and put right."""
    server.stand_in.add_stream("toolog-error-prod")
    server.apply()
    longer = {**TABLE, "ERROR": {"keep": "45 days"}}
    [sentence] = server.look(longer).drift
    assert sentence.startswith("different: ")
    assert "toolog-error-prod" in sentence
    assert len(server.apply(longer)) >= 1
    assert server.look(longer).drift == []


@all_engines
def test_a_policy_that_was_removed_is_withdrawn(server: Server) -> None:
    """What would go on deleting the records of a policy that is gone is taken away, and its data are
    named.
    """
    server.stand_in.add_stream("toolog-error-prod", 2)
    server.stand_in.add_stream("toolog-info-prod", 2)
    server.apply()
    less = {"ERROR": {"keep": "30 days"}}
    plan = server.look(less)
    assert plan.drift
    assert all(
        sentence.startswith("left over: ") and "toolog-info-prod" in sentence for sentence in plan.drift
    )
    assert any("left alone" in note and "toolog-info-prod" in note for note in plan.notes)
    server.apply(less)
    assert server.look(less).drift == []
    assert "toolog-info-prod" in server.stand_in.streams
    assert server.look().drift != []


@all_engines
def test_a_policy_without_an_end_gets_none(server: Server) -> None:
    """Where `keep` is left out nothing deletes, also where something did before."""
    server.stand_in.add_stream("toolog-info-prod")
    server.apply()
    endless = {"INFO": {}, "ERROR": {"keep": "30 days"}}
    server.apply(endless)
    assert server.look(endless).drift == []
    bounds = {term.policy: term.bounds.latest for term in server.look(endless).terms}
    assert bounds["info"] is None
    state = server.stand_in
    left = [state.ilm, state.ism, {name for name, one in state.streams.items() if "lifecycle" in one}]
    assert not any("toolog-info-prod" in one for one in left)


@pytest.mark.parametrize(
    ("server", "other"),
    list(zip(ENGINES, ("ilm", "data_stream", "toolog"), strict=True)),
    indirect=["server"],
)
def test_another_engine_is_withdrawn(server: Server, other: str) -> None:
    """Two engines would delete by two rules: what the former one left is taken away when another is
    chosen.
    """
    server.stand_in.add_stream("toolog-error-prod")
    server.apply()
    table = TABLE if other != "toolog" else {"INFO": {}, "ERROR": {}}
    left = [one for one in server.look(table, lifecycle=other).drift if one.startswith("left over")]
    assert left
    server.apply(table, lifecycle=other)
    assert server.look(table, lifecycle=other).drift == []
    assert server.look().drift != []


@all_engines
def test_bounds_add_the_age_of_an_index(server: Server) -> None:
    """The server counts from rollover, so the oldest record of an index lives longer than its keep."""
    for term in server.look().terms:
        assert term.keep is not None
        assert term.bounds.earliest == term.keep
        assert term.bounds.latest is not None
        assert term.bounds.latest >= term.keep + 86_400
        assert "rollover" in term.bounds.counted


# -- the requests of each


def test_data_stream_requests(elasticsearch: Server) -> None:
    """Template and streams are made when they are missing, then each stream has its retention; the requests
    are those of the client's own methods.
    """
    asked = elasticsearch.apply()
    from elasticsearch import Elasticsearch

    with Elasticsearch(elasticsearch.url) as client:
        elasticsearch.stand_in.changes()
        client.indices.put_index_template(
            name="toolog-prod", **_keywords(make_template("elasticsearch", "prod"))
        )
        for policy, keep in (("info", "7d"), ("error", "30d")):
            name = f"toolog-{policy}-prod"
            client.indices.create_data_stream(name=name)
            client.indices.put_data_lifecycle(name=name, data_retention=keep, enabled=True)
        assert asked == elasticsearch.stand_in.changes()
        elasticsearch.stand_in.streams["toolog-info-prod"]["lifecycle"] = {"data_retention": "7d"}
        asked = elasticsearch.apply({"ERROR": {"keep": "30 days"}})
        client.indices.delete_data_lifecycle(name="toolog-info-prod")
        assert asked == elasticsearch.stand_in.changes()


def test_ilm_requests(elasticsearch: Server) -> None:
    """Policy, a template of the stream's own with its name, and the indices that are there; the requests are
    those of the client's own methods.
    """
    [index] = elasticsearch.stand_in.add_stream("toolog-error-prod")
    elasticsearch.stand_in.answer(
        "PUT", "/_index_template/toolog-prod", {}, make_template("elasticsearch", "prod")
    )
    table = {"ERROR": {"keep": "36 hours"}}
    asked = elasticsearch.apply(table, lifecycle="ilm")
    assert [(one.method, one.path) for one in asked] == [
        ("PUT", "/_ilm/policy/toolog-error-prod"),
        ("PUT", "/_index_template/toolog-error-prod"),
        ("PUT", f"/{index}/_settings"),
    ]
    policy, template, setting = (one.body for one in asked)
    phases = policy["policy"]["phases"]
    assert phases["hot"]["actions"]["rollover"]["max_age"] == "1d"
    assert phases["delete"] == {
        "min_age": "36h",
        "actions": {"delete": {"delete_searchable_snapshot": True}},
    }
    base = make_template("elasticsearch", "prod")
    assert template["index_patterns"] == ["toolog-error-prod"]
    assert template["priority"] == base["priority"] + 1
    assert template["template"]["mappings"] == base["template"]["mappings"]
    assert template["template"]["settings"] == {"index": {"lifecycle": {"name": "toolog-error-prod"}}}
    assert setting == {"index.lifecycle.name": "toolog-error-prod"}
    from elasticsearch import Elasticsearch

    with Elasticsearch(elasticsearch.url) as client:
        client.ilm.put_lifecycle(name="toolog-error-prod", policy=policy["policy"])
        client.indices.put_index_template(name="toolog-error-prod", **_keywords(template))
        client.indices.put_settings(index=index, settings=setting)
        assert asked == elasticsearch.stand_in.changes()
        asked = elasticsearch.apply({"ERROR": {}}, lifecycle="ilm")
        assert elasticsearch.stand_in.ilm == {}
        elasticsearch.stand_in.changes()
        client.options(ignore_status=404).indices.delete_index_template(name="toolog-error-prod")
        client.ilm.remove_policy(index="toolog-error-prod")
        client.options(ignore_status=404).ilm.delete_lifecycle(name="toolog-error-prod")
        assert asked == elasticsearch.stand_in.changes()


def test_ilm_template_follows_the_one_it_copies(elasticsearch: Server) -> None:
    """When the namespace's template changes, the copies are drift until retention is applied again."""
    put = elasticsearch.stand_in.answer
    base = make_template("elasticsearch", "prod")
    put("PUT", "/_index_template/toolog-prod", {}, base)
    elasticsearch.apply(lifecycle="ilm")
    base["template"]["mappings"]["properties"]["new_field"] = {"type": "keyword"}
    base["template"]["settings"] = {"index": {"number_of_shards": 2}}
    put("PUT", "/_index_template/toolog-prod", {}, base)
    assert elasticsearch.look(lifecycle="ilm").drift == [
        "different: index template toolog-info-prod",
        "different: index template toolog-error-prod",
    ]
    elasticsearch.apply(lifecycle="ilm")
    assert elasticsearch.look(lifecycle="ilm").drift == []
    copy = elasticsearch.stand_in.templates["toolog-error-prod"]["template"]
    assert "new_field" in copy["mappings"]["properties"]
    assert copy["settings"]["index"]["number_of_shards"] == "2"


def test_ism_requests(opensearch_ism: Server) -> None:
    """A policy that takes new indices of its stream, and is given to those that are there; a change goes to
    the managed ones too; the requests are those of the client's own methods.
    """
    server = opensearch_ism
    old, new = server.stand_in.add_stream("toolog-error-prod", 2)
    server.stand_in.managed[old] = "somebody_elses"
    asked = server.apply({"ERROR": {"keep": "30 days"}}, lifecycle="ism")
    policy = asked[0].body
    assert policy["policy"]["ism_template"] == [{"index_patterns": ["toolog-error-prod"], "priority": 300}]
    [written, deleted] = policy["policy"]["states"]
    assert written["actions"] == [{"rollover": {"min_index_age": "1d"}}]
    assert written["transitions"] == [
        {"state_name": deleted["name"], "conditions": {"min_rollover_age": "30d"}}
    ]
    assert deleted["actions"] == [{"delete": {}}]
    changed = server.apply({"ERROR": {"keep": "31 days"}}, lifecycle="ism")
    gone = server.apply({"ERROR": {}}, lifecycle="ism")
    from opensearchpy import OpenSearch

    server.stand_in.ism.clear()
    client = OpenSearch(server.url)
    ism = client.plugins.index_management
    ism.put_policy("toolog-error-prod", body=policy)
    ism.change_policy(old, body={"policy_id": "toolog-error-prod"})
    ism.add_policy(new, body={"policy_id": "toolog-error-prod"})
    assert asked == server.stand_in.changes()
    assert [one.path.partition("?")[0] for one in changed] == [
        "/_plugins/_ism/policies/toolog-error-prod",
        f"/_plugins/_ism/change_policy/{old},{new}",
    ]
    assert set(changed[0].path.partition("?")[2].split("&")) == {"if_seq_no=1", "if_primary_term=1"}
    ism.remove_policy_from_index(f"{old},{new}")
    ism.delete_policy("toolog-error-prod")
    assert gone == server.stand_in.changes()
    client.close()


def test_ism_takes_as_many_requests_as_the_names_need(opensearch_ism: Server) -> None:
    """Two hundred indices are looked at, given a new version of their policy, and taken off it again; one
    that goes meanwhile is left out.
    """
    server = opensearch_ism
    indices = server.stand_in.add_stream("toolog-error-prod", 200)
    server.apply({"ERROR": {"keep": "30 days"}}, lifecycle="ism")
    assert set(server.stand_in.managed) == set(indices)
    assert server.look({"ERROR": {"keep": "30 days"}}, lifecycle="ism").drift == []
    changed = server.apply({"ERROR": {"keep": "31 days"}}, lifecycle="ism")
    named = [name for one in changed[1:] for name in one.path.rpartition("/")[2].split(",")]
    assert named == indices
    stream = Stream("toolog-error-prod", "error", "prod", ("gone-000001", *indices, "gone-000002"))
    cluster = Cluster(SearchOptions.from_table(server.options, "the test"))
    assert list(IsmEngine(cluster).policies_of(stream)) == indices
    cluster.close()
    server.apply({"ERROR": {}}, lifecycle="ism")
    assert server.stand_in.managed == {}


# -- settings of others


def test_an_ilm_policy_of_others_is_drift(elasticsearch: Server) -> None:
    """One that manages our indices overrules the lifecycle of their stream; when it deletes sooner than our
    policy says, that is told as well, and `apply` leaves it alone.
    """
    server = elasticsearch
    [index] = server.stand_in.add_stream("toolog-error-prod")
    table = {"ERROR": {"keep": "30 days"}}
    server.apply(table)
    assert server.look(table).drift == []
    server.stand_in.named[index] = "thirty-days-default"
    phases = {"hot": {"min_age": "0ms"}, "delete": {"min_age": "3d", "actions": {"delete": {}}}}
    server.stand_in.ilm["thirty-days-default"] = {"policy": {"phases": phases}}
    overruled, shortened = server.look(table).drift
    assert "overruled by the ILM policy thirty-days-default" in overruled
    assert "shortened by the ILM policy thirty-days-default, which is not ours, to 3d" in shortened
    assert "30d" in shortened
    assert server.apply(table) == []
    cluster = Cluster(SearchOptions.from_table(server.options, "the test"))
    stream = Stream("toolog-error-prod", "error", "prod", (index,))

    def found(keep: float | None) -> list[str]:
        return list(find_foreign(cluster, "elasticsearch", "toolog", stream, keep))

    assert len(found(30 * DAY)) == 1
    phases["delete"]["min_age"] = "90d"
    assert found(30 * DAY) == []
    assert "without an end" in found(None)[0]
    cluster.close()


def test_a_bound_of_the_whole_cluster_is_drift(elasticsearch: Server) -> None:
    """The retention that really holds is compared, not only the one that was written."""
    server = elasticsearch
    server.stand_in.add_stream("toolog-error-prod")
    table = {"ERROR": {"keep": "30 days"}}
    server.apply(table)
    server.stand_in.streams["toolog-error-prod"]["lifecycle"] |= {
        "effective_retention": "7d",
        "retention_determined_by": "max_global_retention",
    }
    [sentence] = server.look(table).drift
    assert "max global retention" in sentence
    assert "to 7d" in sentence


def test_an_ism_policy_of_others_is_drift(opensearch_ism: Server) -> None:
    """With the engine `toolog`, a policy of the plugin's that deletes our indices sooner is named; one that
    deletes later, or never, is not.
    """
    server = opensearch_ism
    [index] = server.stand_in.add_stream("toolog-error-prod")
    stream = Stream("toolog-error-prod", "error", "prod", (index,))
    cluster = Cluster(SearchOptions.from_table(server.options, "the test"))

    def found() -> list[str]:
        return list(find_foreign(cluster, "opensearch", "toolog", stream, 30 * DAY))

    def policy(*conditions: dict[str, str]) -> None:
        steps = [{"state_name": "gone", "conditions": one} for one in conditions]
        states = [
            {
                "name": "hot",
                "actions": [],
                "transitions": [{"state_name": "cold", "conditions": {"min_size": "1gb"}}],
            },
            {"name": "cold", "actions": [], "transitions": steps},
            {"name": "gone", "actions": [{"delete": {}}], "transitions": []},
        ]
        server.stand_in.ism["cleanup"] = {"policy": {"default_state": "hot", "states": states}}

    assert found() == []
    server.stand_in.managed[index] = "cleanup"
    policy()
    assert found() == []
    policy({"min_index_age": "40d"})
    assert found() == []
    policy({"min_index_age": "40d"}, {"min_rollover_age": "3d"})
    [sentence] = found()
    assert "shortened by the ISM policy cleanup, which is not ours, to 3d" in sentence
    cluster.close()


# -- troubles


def test_without_a_right_it_is_said_which_request_was_refused(elasticsearch: Server) -> None:
    """A 403 names the request and where the rights stand; nothing else is tried."""
    elasticsearch.stand_in.refuse["_lifecycle"] = 403
    elasticsearch.stand_in.add_stream("toolog-error-prod")
    plan = elasticsearch.look()
    assert "403" in plan.trouble
    assert "_lifecycle" in plan.trouble
    assert elasticsearch.stand_in.changes() == []


def test_an_engine_that_may_not_be_asked_is_a_note(elasticsearch: Server) -> None:
    """Whether another engine is at work too may be unknown: the plan says so and goes on."""
    elasticsearch.stand_in.refuse["_ilm"] = 403
    plan = elasticsearch.look()
    assert plan.trouble == ""
    assert any("whether ilm deletes here too" in note for note in plan.notes)


def test_a_server_without_the_plugin_says_so(elasticsearch: Server) -> None:
    """An engine that the server does not know is refused with the server's words."""
    with serving("elasticsearch") as (_, url):
        policies = Policies.from_config(TABLE, ["search"])
        options = {"type": "opensearch", "hosts": [url], "lifecycle": "ism"}
        plan = expiry.look(expiry.make_target("search", options, policies), time.time())
    assert "no handler found" in plan.trouble


@pytest.mark.parametrize(
    ("product", "lifecycle", "words"),
    [
        ("elasticsearch", "ism", ["elasticsearch does not have", "data_stream"]),
        ("opensearch", "ilm", ["opensearch does not have", "toolog, ism"]),
        ("opensearch", "tolog", ["did you mean 'toolog'"]),
        ("elasticsearch", "datastream", ["did you mean 'data_stream'"]),
        ("elasticsearch", 5, ["data_stream, ilm, toolog"]),
    ],
)
def test_a_wrong_engine_is_told(product: str, lifecycle: Any, words: list[str]) -> None:
    """An engine that nobody knows, or that such a server does not have, is a ConfigError at once."""
    options = {"type": product, "hosts": ["http://127.0.0.1:9"], "lifecycle": lifecycle}
    with pytest.raises(ConfigError) as caught:
        expiry.make_target("search", options, Policies.from_config(TABLE, ["search"]))
    for word in words:
        assert word in str(caught.value)


def test_defaults_of_the_dialects() -> None:
    """Elasticsearch deletes by its data streams' lifecycle, OpenSearch is purged by us."""
    for product, engine in (("elasticsearch", "data_stream"), ("opensearch", "toolog")):
        options = {"type": product, "hosts": ["http://127.0.0.1:9"]}
        target = expiry.make_target("search", options, Policies.from_config(TABLE, ["search"]))
        assert target.blank().engine == engine


def test_an_unreachable_server_is_trouble() -> None:
    """Nobody answers: the plan says where it was tried, and nothing of what would change."""
    options = {"type": "elasticsearch", "hosts": ["http://127.0.0.1:9"]}
    target = expiry.make_target("search", options, Policies.from_config(TABLE, ["search"]))
    plan = expiry.look(target, time.time())
    assert "http://127.0.0.1:9" in plan.trouble
    assert plan.drift == []
    assert expiry.enforce(target, plan, lambda _: None, purge=True, now=time.time()) is None


def _keywords(template: dict[str, Any]) -> dict[str, Any]:
    """Return a template's body as the client's arguments."""
    return {("meta" if name == "_meta" else name): value for name, value in template.items()}
