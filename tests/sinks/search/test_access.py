"""Who we are and whom we trust: each thing that can be wrong is one message that says what to do, nothing is
lost, and it goes on without a restart once it is put right.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import documents
from tests.services.access import Access, User
from tests.services.opensearch import OpenSearch
from tests.services.search_proxy import SearchProxy
from tests.sinks.contract import batch
from tests.sinks.search.cluster import Cluster
from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks.search import ElasticsearchSink

MakeSink = Callable[..., ElasticsearchSink]
MakeProxy = Callable[..., SearchProxy]
CALLS = [documents.call(number) for number in range(5)]
WORD = "an-invented-" + "pass:word"
KEY = ("key-id", "an-invented-" + "key")
TOKEN = "an-invented-" + "token"
ENCODED = "a2V5LWlkOmFuLWludmVudGVkLWtleQ=="


@pytest.fixture
def access() -> Access:
    """A server that knows one user."""
    return Access([User("ann", WORD, api_key=KEY, token=TOKEN)])


@pytest.fixture
def guarded(make_search_proxy: MakeProxy, access: Access) -> SearchProxy:
    """A proxy in front of the server that lets only that user in."""
    return make_search_proxy(access=access)


@pytest.mark.parametrize(
    "credentials",
    [
        {"basic_auth": ["ann", WORD]},
        {"basic_auth": f"ann:{WORD}"},
        {"basic_auth": ("ann", {"env": "A_WORD_OF_TESTS"})},
        {"basic_auth": {"env": "A_PAIR_OF_TESTS"}},
        {"api_key": ENCODED},
        {"api_key": list(KEY)},
        {"api_key": lambda: ENCODED},
        {"bearer_auth": TOKEN},
    ],
    ids=["pair", "text", "pair with env", "env", "encoded key", "key pair", "function", "token"],
)
def test_ways_to_say_who_we_are(
    make_sink: MakeSink,
    guarded: SearchProxy,
    streams: Cluster,
    client: str,
    credentials: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """User and password, an API key and a token are accepted in all their forms, with either client."""
    monkeypatch.setenv("A_WORD_OF_TESTS", WORD)
    monkeypatch.setenv("A_PAIR_OF_TESTS", f"ann:{WORD}\n")
    sink = make_sink(type=client, hosts=[guarded.url], **credentials)
    sink.connect()
    assert sink.write(batch(CALLS)) is None


def test_any_letters_in_a_password(
    make_search_proxy: MakeProxy, make_sink: MakeSink, streams: Cluster, client: str
) -> None:
    """A password may have letters of any script."""
    word = "pässwörd-日本"
    proxy = make_search_proxy(access=Access([User("ann", word)]))
    sink = make_sink(type=client, hosts=[proxy.url], basic_auth=["ann", word])
    sink.connect()
    assert sink.write(batch(CALLS)) is None


@pytest.mark.parametrize("option", ["api_key", "bearer_auth"])
def test_a_key_that_is_none(make_sink: MakeSink, client: str, option: str) -> None:
    """A key with letters that no header takes is told by the option's name, never quoted."""
    sink = make_sink(type=client, **{option: "schlüssel with blanks"})
    with pytest.raises(SinkDenied, match=f"{option} of sink 'search' has blanks") as caught:
        sink.connect()
    assert "schl" not in str(caught.value)


def test_a_path_in_front(make_sink: MakeSink, search_proxy: SearchProxy, client: str) -> None:
    """A server behind a path of a proxy is asked below that path."""
    sink = make_sink(type=client, hosts=[search_proxy.url + "/behind/it/"])
    with pytest.raises(SinkUnavailable):
        sink.connect()
    assert search_proxy.deliveries[0].path.startswith("/behind/it")


def test_a_wrong_path(make_sink: MakeSink, opensearch: OpenSearch) -> None:
    """A path that a server takes for an index is what is asked about, not the index."""
    with pytest.raises(SinkDenied, match=r"answered 404 when connecting.*is its path right\?"):
        make_sink(hosts=[opensearch.url + "/es"]).connect()


def test_a_wrong_password(make_sink: MakeSink, guarded: SearchProxy, streams: Cluster, client: str) -> None:
    """A wrong password denies access at connect; the message names the option and never the secret."""
    sink = make_sink(type=client, hosts=[guarded.url], basic_auth=["ann", "wrong-word"])
    with pytest.raises(SinkDenied, match=r"does not accept who we are \(401\).*check basic_auth") as caught:
        sink.connect()
    assert "wrong-word" not in str(caught.value)
    assert "wrong-word" not in repr(caught.value.__context__)


def test_nobody_said_who_we_are(make_sink: MakeSink, guarded: SearchProxy, client: str) -> None:
    """Without credentials the message says which options there are."""
    with pytest.raises(SinkDenied, match="give api_key, basic_auth or bearer_auth"):
        make_sink(type=client, hosts=[guarded.url]).connect()


def test_a_key_that_is_changed_while_it_runs(
    make_sink: MakeSink,
    guarded: SearchProxy,
    access: Access,
    streams: Cluster,
    client: str,
    tmp_path: Path,
) -> None:
    """When the key is revoked the breaker has its reason; a new one in the file is read with the next try."""
    file = tmp_path / "key"
    file.write_text(ENCODED)
    sink = make_sink(type=client, hosts=[guarded.url], api_key={"file": str(file)})
    sink.connect()
    assert sink.write(batch(CALLS[:2])) is None
    access.users[:] = [User("ann", api_key=("another", "key"))]
    for _ in range(2):
        with pytest.raises(SinkDenied, match="check api_key"):
            sink.write(batch(CALLS[2:]))
    file.write_text("YW5vdGhlcjprZXk=\n")
    assert sink.write(batch(CALLS[2:])) is None
    assert streams.ids() == [one["record_id"] for one in CALLS]


def test_a_secret_that_is_not_there_yet(
    make_sink: MakeSink, guarded: SearchProxy, streams: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable that is not set is named; once it is set, the next try works."""
    sink = make_sink(hosts=[guarded.url], api_key={"env": "A_KEY_OF_TESTS"})
    with pytest.raises(SinkDenied, match="A_KEY_OF_TESTS is not set"):
        sink.connect()
    monkeypatch.setenv("A_KEY_OF_TESTS", ENCODED)
    sink.connect()
    assert sink.write(batch(CALLS)) is None


def test_a_right_that_is_missing(
    make_search_proxy: MakeProxy, make_sink: MakeSink, streams: Cluster, client: str
) -> None:
    """Without the right to write, the message says which rights it takes; with them it goes on."""
    access = Access([User("ann", WORD, indices=("others-*",))])
    guarded = make_search_proxy(access=access)
    sink = make_sink(type=client, hosts=[guarded.url], basic_auth=["ann", WORD])
    sink.connect()
    with pytest.raises(SinkDenied, match=r"a right is missing \(403\).*create_doc and auto_configure"):
        sink.write(batch(CALLS))
    access.users[:] = [User("ann", WORD)]
    assert sink.write(batch(CALLS)) is None


def test_an_authority_that_is_not_known(
    make_search_proxy: MakeProxy, make_sink: MakeSink, streams: Cluster, client: str, tmp_path: Path
) -> None:
    """A certificate of an unknown authority is not trusted; the message says what to give; then it works."""
    proxy = make_search_proxy(tls=True)
    file = tmp_path / "ca.pem"
    with pytest.raises(SinkDenied, match=r"is not trusted.*ca_certs.*ssl_assert_fingerprint"):
        make_sink(type=client, hosts=[proxy.url]).connect()
    sink = make_sink(type=client, hosts=[proxy.url], ca_certs=str(file))
    with pytest.raises(SinkDenied, match=r"ca\.pem cannot be used: No such file"):
        sink.connect()
    file.write_text("no certificate")
    with pytest.raises(SinkDenied, match=r"ca\.pem cannot be used: it holds no certificates"):
        sink.connect()
    file.write_bytes(Path(proxy.ca_file).read_bytes())
    sink.connect()
    assert sink.write(batch(CALLS)) is None


def test_a_fingerprint(
    make_search_proxy: MakeProxy, make_sink: MakeSink, streams: Cluster, client: str
) -> None:
    """The right fingerprint is enough, with and without colons; another one is refused and told."""
    proxy = make_search_proxy(tls=True)
    pairs = [proxy.fingerprint[start : start + 2] for start in range(0, 64, 2)]
    for given in (proxy.fingerprint, ":".join(pairs).upper()):
        sink = make_sink(type=client, hosts=[proxy.url], ssl_assert_fingerprint=given)
        sink.connect()
        sink.write(batch(CALLS))
    wrong = make_sink(type=client, hosts=[proxy.url], ssl_assert_fingerprint="0" * 64)
    with pytest.raises(SinkDenied, match="has another fingerprint than ssl_assert_fingerprint"):
        wrong.connect()


def test_no_check_of_certificates(
    make_search_proxy: MakeProxy, make_sink: MakeSink, streams: Cluster, client: str
) -> None:
    """Who turns the check of certificates off gets what was asked for, and no warning from the client."""
    proxy = make_search_proxy(tls=True)
    sink = make_sink(type=client, hosts=[proxy.url], verify_certs=False)
    sink.connect()
    assert sink.write(batch(CALLS)) is None


def test_a_server_without_tls(make_sink: MakeSink, search_proxy: SearchProxy, client: str) -> None:
    """https:// in front of a server that speaks plain HTTP is told as that."""
    sink = make_sink(type=client, hosts=[search_proxy.url.replace("http:", "https:")])
    with pytest.raises(SinkDenied, match="does not speak TLS; write http://"):
        sink.connect()


def test_a_server_with_tls(make_search_proxy: MakeProxy, make_sink: MakeSink, client: str) -> None:
    """http:// in front of a server that speaks TLS ends in a hint to write https."""
    proxy = make_search_proxy(tls=True)
    sink = make_sink(type=client, hosts=[proxy.url.replace("https:", "http:")])
    with pytest.raises(SinkUnavailable, match="write https://"):
        sink.connect()


def test_an_unknown_host(make_sink: MakeSink, client: str) -> None:
    """A host name that nobody knows is told as that."""
    sink = make_sink(type=client, hosts=["http://no-such-host.invalid:9200"])
    with pytest.raises(SinkUnavailable, match=r"no-such-host\.invalid:9200 is not known to the name server"):
        sink.connect()


def test_the_other_product(make_sink: MakeSink, streams: Cluster) -> None:
    """elasticsearch-py in front of OpenSearch says which dialect to write."""
    sink = make_sink(type="elasticsearch", hosts=[streams.url])
    with pytest.raises(SinkDenied, match="write dialect='opensearch'"):
        sink.connect()


def test_the_dialect_of_the_type_elasticsearch(make_sink: MakeSink, streams: Cluster) -> None:
    """The type elasticsearch with the dialect opensearch uses opensearch-py."""
    sink = make_sink(type="elasticsearch", dialect="opensearch", hosts=[streams.url])
    sink.connect()
    assert sink.write(batch(CALLS)) is None


def test_something_else_altogether(make_sink: MakeSink, seaweedfs: Any) -> None:
    """A server that is no search server is told as that, not written to."""
    with pytest.raises(SinkDenied, match="is it a search server"):
        make_sink(hosts=[seaweedfs.endpoint_url]).connect()
