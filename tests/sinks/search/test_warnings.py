"""Warnings of the clients: none stands in the way of an answer, and those of the application stay its own."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import urllib3

from tests import documents
from tests.services.search_proxy import SearchProxy
from tests.sinks.contract import batch
from tests.sinks.search.cluster import Cluster
from toolog.sinks.search import ElasticsearchSink

MakeSink = Callable[..., ElasticsearchSink]
CALLS = [documents.call(number) for number in range(5)]


class Notes:
    """Gives every answer a deprecation note."""

    rate: float | None = None

    async def answer(self, delivery: Any, pass_on: Any) -> Any:
        answer = await pass_on(delivery)
        answer.headers["Warning"] = '299 Elasticsearch-9.0.0 "this is going away"'
        return answer


def categories() -> list[type[Warning]]:
    """Return what an application could have made errors of."""
    from elasticsearch import ElasticsearchWarning
    from opensearchpy.exceptions import OpenSearchWarning

    return [DeprecationWarning, UserWarning, ElasticsearchWarning, OpenSearchWarning]


def test_errors_that_the_application_makes_of_warnings_stay(
    make_sink: MakeSink, search_proxy: SearchProxy, streams: Cluster, client: str
) -> None:
    """After a server's notes were passed over, a warning of the same kind from elsewhere is an error."""
    search_proxy.add(Notes(), times=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sink = make_sink(type=client)
        sink.connect()
        assert sink.write(batch(CALLS)) is None
        for category in categories():
            with pytest.raises(category):
                warnings.warn("the application's own", category, stacklevel=1)
    assert len(streams.ids()) == 5


def test_filters_do_not_grow(make_sink: MakeSink, search_proxy: SearchProxy, client: str) -> None:
    """However many notes come, the list of filters stays short, and each request is sent once."""
    search_proxy.add(Notes(), times=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sink = make_sink(type=client)
        sink.connect()
        before = len(warnings.filters)
        for one in CALLS:
            sink.write(batch([one]))
        assert len(warnings.filters) == before
    assert len(search_proxy.bulk_deliveries()) == 5


def test_unchecked_certificates_of_others_are_still_told(
    make_search_proxy: Callable[..., SearchProxy], make_sink: MakeSink, client: str
) -> None:
    """Who turns the check of certificates off for toolog's hosts still hears of it for all others."""
    proxy = make_search_proxy(tls=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sink = make_sink(type=client, hosts=[proxy.url], verify_certs=False)
        sink.connect()
        text = "Unverified HTTPS request is being made to host 'elsewhere.example.com'."
        with pytest.raises(urllib3.exceptions.InsecureRequestWarning):
            warnings.warn(text, urllib3.exceptions.InsecureRequestWarning, stacklevel=1)
    assert "urllib3" in sys.modules
