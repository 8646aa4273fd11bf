"""The proxy in front of OpenSearch: clients work through it, and each fault happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import elastic_transport
import elasticsearch
import opensearchpy
import pytest
from elasticsearch import Elasticsearch, helpers

from tests.services.access import Access, User
from tests.services.bulk import OmitItems, RejectItems, delivered_ids, every, is_bulk
from tests.services.faults import Delay, Drop, Slow, Status, Truncate, Withhold
from tests.services.opensearch import OpenSearch
from tests.services.search_proxy import SearchProxy


def connect(proxy: SearchProxy, **options: Any) -> Elasticsearch:
    """Return a client that does not retry by itself."""
    return Elasticsearch(proxy.url, **{"max_retries": 0, "retry_on_timeout": False, **options})


def send(client: Any, index: str, count: int = 10, **options: Any) -> list[int]:
    """Send numbered documents by one bulk request and return the items' statuses."""
    lines: list[Any] = []
    for number in range(count):
        lines += [{"create": {"_index": index, "_id": f"n{number}"}}, {"n": number}]
    return [
        item["create"]["status"] for item in client.bulk(operations=lines, refresh=True, **options)["items"]
    ]


def test_both_clients_work(search_proxy: SearchProxy, namespace: str) -> None:
    """elasticsearch-py 9 and opensearch-py both store through the proxy, and what came is known by id."""
    with connect(search_proxy, http_compress=True) as client:
        documents = [{"_op_type": "create", "_index": namespace, "_id": f"e{n}", "n": n} for n in range(5)]
        assert helpers.bulk(client, documents) == (5, [])
    theirs = opensearchpy.OpenSearch(search_proxy.url)
    lines = [{"create": {"_index": namespace, "_id": "o1"}}, {"n": 6}]
    assert not theirs.bulk(body=lines, params={"refresh": "true"})["errors"]
    assert theirs.count(index=namespace)["count"] == 6
    theirs.close()
    assert delivered_ids(search_proxy.deliveries) == ["e0", "e1", "e2", "e3", "e4", "o1"]
    assert [one.upstream for one in search_proxy.bulk_deliveries()] == [200, 200]


def test_status_is_answered_without_the_server(search_proxy: SearchProxy, namespace: str) -> None:
    """The next two requests are answered with 503 and never reach the server; the third does."""
    search_proxy.add(Status(503, headers={"Retry-After": "7"}), times=2)
    with connect(search_proxy) as client:
        for _ in range(2):
            with pytest.raises(elasticsearch.ApiError) as raised:
                send(client, namespace)
            assert raised.value.status_code == 503
            assert raised.value.meta.headers["retry-after"] == "7"
        assert not client.indices.exists(index=namespace)
        assert send(client, namespace) == [201] * 10


def test_items_are_rejected_alone(search_proxy: SearchProxy, opensearch: OpenSearch, namespace: str) -> None:
    """Every third item is answered with 429 and is not stored; the others are."""
    search_proxy.add(RejectItems(429, every(3)), where=is_bulk)
    with connect(search_proxy) as client:
        assert send(client, namespace, 7) == [429, 201, 201, 429, 201, 201, 429]
        assert client.count(index=namespace)["count"] == 4
        assert send(client, namespace, 7) == [201, 409, 409, 201, 409, 409, 201]


def test_items_are_missing(search_proxy: SearchProxy, namespace: str) -> None:
    """The answer lacks an item in the middle though the server has stored it."""
    search_proxy.add(OmitItems(lambda item: item.position == 3), where=is_bulk)
    with connect(search_proxy, http_compress=True) as client:
        assert send(client, namespace) == [201] * 9
        assert client.count(index=namespace)["count"] == 10


def test_answer_is_cut(search_proxy: SearchProxy, namespace: str) -> None:
    """An answer ends in its middle, as a broken connection or as broken JSON; the server has stored."""
    with connect(search_proxy) as client:
        search_proxy.add(Truncate())
        with pytest.raises(elastic_transport.ConnectionError):
            send(client, namespace)
        search_proxy.add(Truncate(announced=False))
        with pytest.raises(elasticsearch.SerializationError):
            send(client, namespace)
        assert client.count(index=namespace)["count"] == 10
    assert [one.upstream for one in search_proxy.bulk_deliveries()] == [200, 200]


def test_answer_is_withheld(search_proxy: SearchProxy, namespace: str) -> None:
    """The server commits and the client is told nothing: a timeout, or a reset."""
    with connect(search_proxy) as client:
        search_proxy.add(Withhold(seconds=5))
        with pytest.raises(elastic_transport.ConnectionTimeout):
            send(client.options(request_timeout=0.5), namespace)
        search_proxy.add(Withhold())
        with pytest.raises(elastic_transport.ConnectionError):
            send(client, namespace)
        assert send(client, namespace) == [409] * 10


def test_requests_are_lost_slow_and_late(search_proxy: SearchProxy, namespace: str) -> None:
    """A dropped request stores nothing, a slow line takes its bytes' time, a late one its delay."""
    with connect(search_proxy) as client:
        search_proxy.add(Drop())
        with pytest.raises(elastic_transport.ConnectionError):
            send(client, namespace)
        assert not client.indices.exists(index=namespace)
        for fault in (Slow(1000), Delay(1.0)):  # about 600 bytes
            search_proxy.add(fault, where=is_bulk)
            with pytest.raises(elastic_transport.ConnectionTimeout):
                send(client.options(request_timeout=0.3), namespace)


def test_port_is_closed_and_opened(search_proxy: SearchProxy) -> None:
    """Connections are refused, and later accepted at the same address."""
    with connect(search_proxy) as client:
        client.info()
        search_proxy.refuse()
        with pytest.raises(elastic_transport.ConnectionError):
            client.info()
        search_proxy.accept()
        assert client.info()["version"]["distribution"] == "opensearch"


def test_users_have_rights(make_search_proxy: Callable[..., SearchProxy], namespace: str) -> None:
    """A password, an API key and a bearer token open the door; without it is 401, a foreign index 403."""
    user = User("writer", password="pw", api_key=("id", "key"), token="tok", indices=(f"{namespace}-*",))
    proxy = make_search_proxy(access=Access([user]))
    for options in ({"basic_auth": ("writer", "pw")}, {"api_key": ("id", "key")}, {"bearer_auth": "tok"}):
        with connect(proxy, **options) as client:
            client.info()
    with (
        connect(proxy, basic_auth=("writer", "old")) as client,
        pytest.raises(elasticsearch.AuthenticationException),
    ):
        client.info()
    with connect(proxy, bearer_auth="tok") as client:
        lines = [{"create": {"_index": f"{namespace}-a", "_id": "1"}}, {"n": 1}]
        lines += [{"create": {"_index": "foreign", "_id": "2"}}, {"n": 2}]
        answer = client.bulk(operations=lines)
        assert [item["create"]["status"] for item in answer["items"]] == [201, 403]
        with pytest.raises(elasticsearch.AuthorizationException):
            client.index(index="foreign", document={})
        assert proxy.access is not None
        proxy.access.users.clear()
        with pytest.raises(elasticsearch.AuthenticationException):
            client.info()


def test_certificate_is_checked(make_search_proxy: Callable[..., SearchProxy]) -> None:
    """HTTPS works with the authority's file and with the fingerprint, and fails without either."""
    proxy = make_search_proxy(tls=True)
    with connect(proxy, ca_certs=proxy.ca_file) as client:
        client.info()
    with connect(proxy, ssl_assert_fingerprint=proxy.fingerprint) as client:
        client.info()
    with connect(proxy) as client, pytest.raises(elastic_transport.TlsError):
        client.info()
