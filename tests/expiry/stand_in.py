"""A small HTTP server that answers as Elasticsearch's and OpenSearch's documentation says of their lifecycle
engines, which cannot run here. It keeps what it is given and writes down every request.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit


class Asked(NamedTuple):
    """One request: its method, its path with the query, its body."""

    method: str
    path: str
    body: Any


class StandIn:
    """The server's state: index templates, data streams with their indices, policies of both kinds."""

    def __init__(self, product: str) -> None:
        self.product = product
        self.asked: list[Asked] = []
        self.refuse: dict[str, int] = {}
        self.templates: dict[str, Any] = {}
        self.streams: dict[str, dict[str, Any]] = {}
        self.ilm: dict[str, Any] = {}
        self.named: dict[str, str] = {}
        self.ism: dict[str, Any] = {}
        self.managed: dict[str, str] = {}
        self._numbers = iter(range(1, 1000))

    def changes(self) -> list[Asked]:
        """Return the requests that were no questions, and forget all."""
        found = [one for one in self.asked if one.method != "GET"]
        self.asked.clear()
        return found

    def add_stream(self, name: str, indices: int = 1) -> list[str]:
        """Make a data stream and return the names of its backing indices."""
        names = [f".ds-{name}-2026.11.30-{number:06d}" for number in range(1, indices + 1)]
        self.streams[name] = {"indices": names}
        return names

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """Return status and body."""
        for pattern, status in self.refuse.items():
            if re.search(pattern, path):
                return status, {"error": {"type": "security_exception", "reason": "action is unauthorized"}}
        routes: list[tuple[str, Callable[..., tuple[int, Any]]]] = [
            (r"/", self._root),
            (r"/_index_template/([^/]+)", self._template),
            (r"/_data_stream/([^/]+)/_lifecycle", self._lifecycle),
            (r"/_data_stream/([^/]+)", self._stream),
            (r"/([^/]+)/_settings(?:/[^/]+)?", self._settings),
        ]
        if self.product == "elasticsearch":
            routes += [(r"/_ilm/policy/([^/]+)", self._ilm), (r"/([^/]+)/_ilm/remove", self._ilm_remove)]
        else:
            routes += [
                (r"/_plugins/_ism/policies/([^/]+)", self._ism),
                (r"/_plugins/_ism/(add|change_policy|remove|explain)/([^/]+)", self._ism_indices),
            ]
        for shape, handle in routes:
            if found := re.fullmatch(shape, path):
                return handle(method, *found.groups(), query=query, body=body)
        return 400, {"error": f"no handler found for uri [{path}] and method [{method}]"}

    def _root(self, method: str, **_: Any) -> tuple[int, Any]:
        version = {"number": "9.2.0" if self.product == "elasticsearch" else "3.9.0"}
        return 200, {"version": version, "tagline": "You Know, for Search"}

    def _template(self, method: str, name: str, *, body: Any, **_: Any) -> tuple[int, Any]:
        if method == "PUT":
            stored = json.loads(json.dumps(body))
            settings = stored.setdefault("template", {}).get("settings", {}).get("index", {})
            for key, value in settings.items():  # numbers and flags come back as texts
                settings[key] = value if isinstance(value, dict) else str(value)
            stored["data_stream"] = {"hidden": False, "allow_custom_routing": False}
            self.templates[name] = {"composed_of": [], **stored}
            return 200, {"acknowledged": True}
        if name not in self.templates:
            return 404, {"error": {"type": "resource_not_found_exception", "reason": f"[{name}] not found"}}
        if method == "DELETE":
            del self.templates[name]
            return 200, {"acknowledged": True}
        return 200, {"index_templates": [{"name": name, "index_template": self.templates[name]}]}

    def _stream(self, method: str, name: str, **_: Any) -> tuple[int, Any]:
        if method == "PUT":
            if not any(
                re.fullmatch(one["index_patterns"][0].replace("*", ".*"), name)
                for one in self.templates.values()
            ):
                return 400, {
                    "error": {"type": "illegal_argument_exception", "reason": "no matching index template"}
                }
            self.add_stream(name)
            return 200, {"acknowledged": True}
        shape = name.replace("*", ".*")
        found = [self._facts(stream) for stream in self.streams if re.fullmatch(shape, stream)]
        return 200, {"data_streams": found}

    def _facts(self, stream: str) -> dict[str, Any]:
        facts = self.streams[stream]
        if self.product != "elasticsearch":
            return {"name": stream, "indices": [{"index_name": index} for index in facts["indices"]]}
        by_lifecycle = "Data stream lifecycle" if "lifecycle" in facts else "Unmanaged"
        indices = []
        for index in facts["indices"]:
            one = {"index_name": index, "prefer_ilm": True, "managed_by": by_lifecycle}
            if index in self.named:
                one |= {"ilm_policy": self.named[index], "managed_by": "Index Lifecycle Management"}
            indices.append(one)
        found = {"name": stream, "indices": indices, "prefer_ilm": True,
                 "next_generation_managed_by": by_lifecycle}  # fmt: skip
        return {**found, **({"lifecycle": facts["lifecycle"]} if "lifecycle" in facts else {})}

    def _lifecycle(self, method: str, name: str, *, body: Any, **_: Any) -> tuple[int, Any]:
        stream = self.streams.get(name)
        if stream is None:
            return 404, {"error": {"type": "index_not_found_exception", "reason": f"no such index [{name}]"}}
        if method == "PUT":
            stream["lifecycle"] = {**body, "effective_retention": body["data_retention"],
                                   "retention_determined_by": "data_stream_configuration"}  # fmt: skip
            return 200, {"acknowledged": True}
        if method == "DELETE":
            stream.pop("lifecycle", None)
            return 200, {"acknowledged": True}
        one = {"name": name, **({"lifecycle": stream["lifecycle"]} if "lifecycle" in stream else {})}
        return 200, {"data_streams": [one], "global_retention": {}}

    def _ilm(self, method: str, name: str, *, body: Any, **_: Any) -> tuple[int, Any]:
        if method == "PUT":
            self.ilm[name] = {"version": next(self._numbers), "modified_date": "2026-11-30T12:00:00.000Z",
                              "policy": body["policy"], "in_use_by": {}}  # fmt: skip
            return 200, {"acknowledged": True}
        if name not in self.ilm:
            return 404, {
                "error": {"type": "resource_not_found_exception", "reason": "Lifecycle policy not found"}
            }
        if method == "DELETE":
            if name in self.named.values():
                return 400, {"error": {"type": "illegal_argument_exception", "reason": "in use by an index"}}
            del self.ilm[name]
            return 200, {"acknowledged": True}
        return 200, {name: self.ilm[name]}

    def _ilm_remove(self, method: str, name: str, **_: Any) -> tuple[int, Any]:
        for index in self.streams[name]["indices"]:
            self.named.pop(index, None)
        return 200, {"has_failures": False, "failed_indexes": []}

    def _settings(self, method: str, name: str, *, body: Any, **_: Any) -> tuple[int, Any]:
        indices = self.streams[name]["indices"] if name in self.streams else name.split(",")
        if method == "PUT":
            for index in indices:
                self.named[index] = body["index.lifecycle.name"]
            return 200, {"acknowledged": True}
        return 200, {
            index: {"settings": {"index.lifecycle.name": self.named[index]} if index in self.named else {}}
            for index in indices
        }

    def _ism(self, method: str, name: str, *, query: dict[str, str], body: Any) -> tuple[int, Any]:
        there = self.ism.get(name)
        if method == "PUT":
            numbers = None if there is None else (str(there["_seq_no"]), str(there["_primary_term"]))
            if numbers != (
                None if "if_seq_no" not in query else (query["if_seq_no"], query["if_primary_term"])
            ):
                return 409, {"error": {"type": "version_conflict_engine_exception", "reason": "conflict"}}
            policy = {"policy_id": name, "last_updated_time": 1, "schema_version": 21,
                      "error_notification": None, **json.loads(json.dumps(body["policy"]))}  # fmt: skip
            for state in policy["states"]:
                for action in state["actions"]:
                    action["retry"] = {"count": 3, "backoff": "exponential", "delay": "1m"}
            self.ism[name] = {"_id": name, "_version": 1, "_primary_term": 1, "_seq_no": next(self._numbers),
                              "policy": policy}  # fmt: skip
            return 201, self.ism[name]
        if there is None:
            return 404, {"error": {"type": "status_exception", "reason": "Policy not found"}}
        if method == "DELETE":
            del self.ism[name]
            return 200, {"_id": name, "result": "deleted"}
        return 200, there

    def _ism_indices(self, method: str, verb: str, names: str, *, body: Any, **_: Any) -> tuple[int, Any]:
        indices = names.split(",")
        if len(names.replace(",", "%2C")) > 4000:
            return 400, {"error": {"type": "too_long_frame_exception", "reason": "HTTP line is too long"}}
        known = [index for facts in self.streams.values() for index in facts["indices"]]
        for index in set(indices) - set(known):
            return 404, {"error": {"type": "index_not_found_exception", "reason": f"no such index [{index}]"}}
        if verb == "explain":
            found: dict[str, Any] = {
                index: {"index": index, "policy_id": self.managed.get(index)} for index in indices
            }
            return 200, {**found, "total_managed_indices": sum(index in self.managed for index in indices)}
        for index in indices:
            if verb == "remove":
                self.managed.pop(index, None)
            elif verb == "change_policy" or index not in self.managed:
                self.managed[index] = body["policy_id"]
        return 200, {"updated_indices": len(indices), "failures": False, "failed_indices": []}


@contextmanager
def serving(product: str) -> Iterator[tuple[StandIn, str]]:
    """Serve a stand-in; gives it and its URL."""
    stand_in = StandIn(product)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_one(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            raw = self.rfile.read(length)
            parts = urlsplit(self.path)
            body = json.loads(raw) if raw else None
            stand_in.asked.append(Asked(self.command, unquote(self.path), body))
            query = dict(parse_qsl(parts.query))
            status, answer = stand_in.answer(self.command, unquote(parts.path), query, body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            if product == "elasticsearch":
                self.send_header("X-Elastic-Product", "Elasticsearch")
            asked_for = self.headers.get("accept") or "application/json"
            self.send_header("content-type", asked_for.split(",")[0])
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stand_in, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
