"""A search cluster as the tests look at it: over HTTP by hand, with none of the clients that are tested."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from tests.services.server import Server
from toolog.sinks.search.document import from_search


class Cluster:
    """The data streams of one namespace on a server."""

    def __init__(self, url: str, namespace: str) -> None:
        self.url = url
        self.namespace = namespace
        self.streams = f"toolog-*-{namespace}"

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send one request and return status and decoded answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        request.method = method
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"{}")

    def search(self, **body: Any) -> dict[str, Any]:
        """Return the server's answer to a search in all streams of the namespace."""
        self.ask("POST", f"/{self.streams}/_refresh")
        status, answer = self.ask(
            "POST", f"/{self.streams}/_search?allow_no_indices=true", {"size": 100, **body}
        )
        assert status == 200, answer
        found: dict[str, Any] = answer
        return found

    def hits(self, query: dict[str, Any] | None = None, size: int = 10_000) -> list[dict[str, Any]]:
        """Return the hits of a query (all documents without one)."""
        found: list[dict[str, Any]] = self.search(query=query or {"match_all": {}}, size=size)["hits"]["hits"]
        return found

    def ids(self, query: dict[str, Any] | None = None) -> list[str]:
        """Return the record ids of what a query finds, sorted."""
        return sorted(hit["_id"] for hit in self.hits(query))

    def records(self) -> list[dict[str, Any]]:
        """Return all records that are stored."""
        return [from_search(hit["_source"]) for hit in self.hits()]

    def mapping(self) -> dict[str, Any]:
        """Return the mapping of each backing index."""
        _, answer = self.ask("GET", f"/{self.streams}/_mapping")
        return {name: one["mappings"] for name, one in answer.items()}


def cluster(server: Server, namespace: str) -> Cluster:
    """Return a namespace's streams on a running server."""
    url: str = getattr(server, "url")  # noqa: B009
    return Cluster(url, namespace)
