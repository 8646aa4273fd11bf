"""The options of search sinks: what is wrong is told at once, and no secret is ever shown."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import toolog
from toolog.errors import ConfigError
from toolog.handler import ToologHandler
from toolog.sinks import create, known_types
from toolog.sinks.search.clients import connect_search
from toolog.sinks.search.names import check_namespace, data_stream, stream_pattern, template_name
from toolog.sinks.search.options import SearchOptions

WORD = "an-invented-" + "word"
HOSTS = ["https://es.example.com:9200"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "needs hosts, for example hosts=['https://es.example.com:9200']"),
        ({"hosts": []}, "needs hosts"),
        ({"hosts": 9200}, "hosts of sink 'search' is a list of URLs, not a int"),
        ({"hosts": ["es.example.com"]}, "each one is a URL such as"),
        (
            {"hosts": ["https://es.example.com"]},
            "has no port; write it, for example https://es.example.com:9200",
        ),
        ({"hosts": ["https://es:port"]}, "each one is a URL such as"),
        ({"hosts": [f"https://ann:{WORD}@es:9200"]}, "credentials do not belong into a URL"),
        ({"hots": HOSTS}, "did you mean 'hosts'?"),
        ({"hosts": HOSTS, "apikey": WORD}, "did you mean 'api_key'?"),
        ({"hosts": HOSTS, "ssl_fingerprint": "x"}, "did you mean 'ssl_assert_fingerprint'?"),
        ({"hosts": HOSTS, "dialect": "opensaerch"}, "did you mean 'opensearch'?"),
        ({"hosts": HOSTS, "dialect": "solr"}, "one of elasticsearch, opensearch"),
        ({"hosts": HOSTS, "api_key": WORD, "basic_auth": f"a:{WORD}"}, "api_key and basic_auth"),
        ({"hosts": HOSTS, "basic_auth": WORD}, "is 'user:password', or a pair"),
        ({"hosts": HOSTS, "basic_auth": ["a", "b", WORD]}, "is a pair of user and password"),
        ({"hosts": HOSTS, "basic_auth": ["ann", 5]}, "password in basic_auth of sink 'search' is a text"),
        ({"hosts": HOSTS, "api_key": {"evn": WORD}}, "did you mean 'env'?"),
        ({"hosts": HOSTS, "leaf_bytes": 100}, "from 256 to 32000"),
        ({"hosts": HOSTS, "leaf_bytes": "33 kB"}, "from 256 to 32000"),
        ({"hosts": HOSTS, "leaf_bytes": "much"}, "is no size"),
        ({"hosts": HOSTS, "timeout": 0}, "more than 0 seconds"),
        ({"hosts": HOSTS, "namespace": "Prod"}, "is small letters"),
        ({"hosts": HOSTS, "namespace": "a-b"}, "is small letters"),
        ({"hosts": HOSTS, "namespace": ""}, "is small letters"),
        ({"hosts": HOSTS, "verify_certs": "no"}, "verify_certs of sink 'search' is true or false"),
        ({"hosts": HOSTS, "http_compress": 1}, "http_compress of sink 'search' is true or false"),
        ({"hosts": HOSTS, "ca_certs": 5}, "ca_certs of sink 'search' is a path"),
        ({"hosts": HOSTS, "ssl_assert_fingerprint": "ab:cd"}, "64 hexadecimal digits"),
        ({"hosts": ["http://es:9200"], "ca_certs": "/ca.pem"}, "is not https"),
        ({"hosts": HOSTS, "batch": {"max_recrods": 5}}, "did you mean 'max_records'?"),
    ],
)
@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch"])
def test_what_is_wrong_is_told_at_once(options: dict[str, Any], says: str, kind: str) -> None:
    """A wrong option is a ConfigError that says what, where, and what would be right; no secret stands in
    it.
    """
    with pytest.raises(ConfigError) as caught:
        create("search", {"type": kind, **options})
    assert says in str(caught.value)
    assert "search" in str(caught.value)
    assert WORD not in str(caught.value)


def test_a_host_alone() -> None:
    """One host may stand without a list."""
    assert SearchOptions.from_table({"hosts": "http://es:9200/"}, "x").hosts == ("http://es:9200",)


def test_the_type_is_the_dialect() -> None:
    """A table of a configuration says its dialect by its type; ``dialect`` goes over it."""
    for table, dialect in (
        ({"type": "opensearch"}, "opensearch"),
        ({"type": "elasticsearch"}, "elasticsearch"),
        ({"type": "elasticsearch", "dialect": "opensearch"}, "opensearch"),
        ({}, "elasticsearch"),
    ):
        assert SearchOptions.from_table({"hosts": HOSTS, **table}, "x").dialect == dialect


@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch"])
def test_a_client_from_a_table(kind: str) -> None:
    """A sink's table of a configuration is enough for a client, without a pipeline."""
    table = {"type": kind, "hosts": HOSTS, "batch": {"max_records": 5}, "basic_auth": ["ann", WORD]}
    client = connect_search(table, "sink 'search'")
    assert type(client).__name__ == {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}[kind]
    client.close()
    with pytest.raises(ConfigError, match="did you mean 'hosts'"):
        connect_search({"type": kind, "hots": HOSTS})


@pytest.mark.parametrize(
    "credentials",
    [
        {"api_key": WORD},
        {"basic_auth": ["ann", WORD]},
        {"basic_auth": f"ann:{WORD}"},
        {"bearer_auth": WORD},
        {"api_key": lambda: WORD},
    ],
)
def test_secrets_are_never_shown(credentials: dict[str, Any], tmp_path: Any) -> None:
    """No secret stands in the repr of a sink, its options, the handler, or the pipeline's options."""
    table = {"type": "elasticsearch", "hosts": HOSTS, **credentials}
    sink = create("search", table)
    handler = ToologHandler(sinks={"search": table}, spool={"path": str(tmp_path)}, ship="none")
    try:
        shown = [sink, vars(sink), handler, handler.options, handler.pipeline, vars(handler.pipeline.options)]
        for thing in shown[:-1]:
            assert WORD not in repr(thing)
        assert "***" in repr(vars(sink))
    finally:
        handler.close()


def test_the_configuration_stays_as_it_was_given() -> None:
    """``dict_config`` gives back the reference to a secret, not the secret; and a handler can be pickled."""
    table = {"type": "elasticsearch", "hosts": HOSTS, "api_key": {"env": "A_KEY_OF_TESTS"}}
    config = toolog.dict_config("prod", sinks={"search": table})
    assert config["handlers"]["toolog"]["sinks"]["search"] == table
    assert pickle.loads(pickle.dumps(config)) == config


def test_known_types() -> None:
    """Both types are known."""
    assert {"elasticsearch", "opensearch"} <= set(known_types())


@pytest.mark.parametrize(
    ("policy", "namespace", "stream"),
    [
        ("error", "prod", "toolog-error-prod"),
        ("info", "default", "toolog-info-default"),
        ("", "default", "toolog-none-default"),
        ("My Level/2", "x", "toolog-my_level_2-x"),
    ],
)
def test_names(policy: str, namespace: str, stream: str) -> None:
    """A stream is named after policy and namespace, in letters that an index name takes."""
    assert data_stream(policy, namespace) == stream
    assert stream_pattern(namespace) == f"toolog-*-{namespace}"
    assert template_name(namespace) == f"toolog-{namespace}"
    assert check_namespace(namespace, "x") == namespace
