"""The commands that read from a search cluster, `query` and `show`, as a user calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from tests.cli.conftest import Shell
from tests.services.access import Access, User
from tests.services.opensearch import OpenSearch
from tests.sinks.search.cluster import Cluster
from toolog.sinks import SinkRecord, create

WORD = "an-invented-" + "word"


@pytest.fixture
def streams(opensearch: OpenSearch, namespace: str, recorded: list[dict[str, Any]]) -> Iterator[Cluster]:
    """Data streams with the records, ERROR in one of their own, gone after the test."""
    found = Cluster(opensearch.url, namespace)
    sink = create("search", {"type": "opensearch", "hosts": [opensearch.url], "namespace": namespace})
    sink.connect()
    for policy in ("info", "error"):
        wanted = [one for one in recorded if (one["level"] == "ERROR") == (policy == "error")]
        assert sink.write([SinkRecord(ormsgpack.packb(one), policy=policy) for one in wanted]) is None
    sink.close()
    found.ask("POST", f"/{found.streams}/_refresh")
    yield found
    found.ask("DELETE", f"/_data_stream/{found.streams}")
    found.ask("DELETE", f"/_index_template/toolog-{namespace}")


def test_query_and_show_ask_the_configured_cluster(
    shell: Shell, streams: Cluster, make_search_proxy: Any, recorded: list[dict[str, Any]]
) -> None:
    """By the hosts, the namespace and the secret of the configured sink, and with the answers of the store:
    the same lines for people, and the records as they were captured.
    """
    proxy = make_search_proxy(access=Access([User("ann", token=WORD)]))
    (shell.folder / "toolog.toml").write_text(
        f"""
        [sinks.search]
        type = "elasticsearch"
        hosts = ["{proxy.url}"]
        namespace = "{streams.namespace}"
        bearer_auth = {{ env = "A_TOKEN_OF_TESTS" }}
        """
    )
    given = {"TOOLOG_CONFIG": "toolog.toml", "A_TOKEN_OF_TESTS": WORD}
    trace = next(one["trace_id"] for one in recorded if one["event"] == "tool_call_failed")
    for words in (
        ["query"],
        ["query", "declined", "--status", "failed", "--json"],
        ["show", trace, "--all"],
        ["tail", "--tree"],
        ["tail", "--tree", "-n", "2"],
        ["instances", "--json"],
    ):
        there, here = shell(*words, "--from", "search", **given), shell(*words)
        assert (there.code, there.err) == (0, ""), there
        if "--json" in words:
            key = "instance_id" if words[0] == "instances" else "record_id"
            assert sorted(there.rows, key=lambda row: row[key]) == sorted(here.rows, key=lambda row: row[key])
        else:  # the store goes by the arrival of calls, the cluster by their start
            assert sorted(there.out.splitlines()) == sorted(here.out.splitlines())
    there, here = shell("stats", "--from", "search", "--json", **given), shell("stats", "--json")
    assert (there.code, there.err) == (0, "")
    for name in ("calls", "success_rate", "statuses", "errors", "first", "last", "running"):
        assert there.rows[0][name] == here.rows[0][name]
    nothing = shell("query", "nowhere", "--from", "search", **given)
    assert (nothing.code, nothing.err) == (1, "nothing was found\n")
    refused = shell("query", "--from", "search", **{**given, "A_TOKEN_OF_TESTS": "another"})
    assert refused.code == 3
    assert "check bearer_auth" in refused.err
    assert "another" not in refused.err


def test_a_cluster_that_is_not_configured(bare_shell: Shell, streams: Cluster) -> None:
    """--hosts, --namespace and --dialect say all that is needed, and go over what is configured."""
    words = ("--hosts", streams.url, "--namespace", streams.namespace, "--dialect", "opensearch", "--json")
    assert len(bare_shell("query", *words).rows) == 6
    table = {"search": {"type": "opensearch", "hosts": ["http://127.0.0.1:9"], "namespace": "other"}}
    configured = {"TOOLOG_SINKS": json.dumps(table)}
    done = bare_shell("query", "--from", "search", *words[:4], "--json", **configured)
    assert len(done.rows) == 6, done
    silent = bare_shell("query", "--from", "search", **configured)
    assert silent.code == 3
    assert "nothing listens at http://127.0.0.1:9" in silent.err


SINKS = {
    "search": {"type": "opensearch", "hosts": ["http://127.0.0.1:9"]},
    "other": {"type": "elasticsearch", "hosts": ["http://127.0.0.1:9"]},
    "archive": {"type": "s3"},
    "console": {},
}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["query", "--from", "serch"], "did you mean 'search'?"),
        (["query", "--from", "console"], "there is no such place"),
        (["query", "--from", "search"], None),
        (["query", "--from", "archive"], "bucket"),
        (["query", "--from", "store", "--hosts", "http://127.0.0.1:9"], "are about a search cluster"),
        (["query", "--from", "search", "--store", "x.db"], "give one of them"),
        (["query", "--from", "search", "--s3", "s3://x"], "give one of them"),
        (["query", "--from", "search", "--sql", "select 1"], "--sql asks the store"),
        (["query", "--from", "search", "--dialect", "elastic"], "did you mean 'elasticsearch'?"),
        (["query", "--from", "search", "--namespace", "A-B"], "small letters"),
        (["show", "abcdef", "--from", "search", "--store", "x.db"], "give one of them"),
        (["show", "abcdef", "--from", "archive"], "an archive is asked by `toolog query`"),
        (["tail", "--from", "archive"], "an archive is asked by `toolog query`"),
        (["tail", "--from", "search", "--follow"], "follows a local store"),
    ],
)
def test_a_place_that_makes_no_sense_is_said(bare_shell: Shell, words: list[str], said: str | None) -> None:
    """Each mistake is one line that says what is right, and the exit code is 2; a sink may be called by its
    own name, also where that is the kind's.
    """
    done = bare_shell(*words, TOOLOG_SINKS=json.dumps(SINKS))
    assert done.out == ""
    if said is None:
        assert done.code == 3
        assert "nothing listens" in done.err
    else:
        assert done.code == 2, done
        assert said in done.err


def test_several_clusters_are_told_apart_by_their_sinks(bare_shell: Shell, tmp_path: Path) -> None:
    """Where two sinks would do, both are named; where none is configured, that is said."""
    two = {"mine": SINKS["search"], "yours": SINKS["other"]}
    done = bare_shell("query", "--from", "search", TOOLOG_SINKS=json.dumps(two))
    assert done.code == 2
    assert "there are several (mine, yours); name one of them" in done.err
    done = bare_shell("query", "--from", "search")
    assert done.code == 2
    assert "no sink of the type elasticsearch or opensearch is configured" in done.err
