"""A collector for OTLP over HTTP on 127.0.0.1 that keeps all it is sent, and refuses what it is told to.

The messages are read by OpenTelemetry's own classes. Of the list of answers each request takes the
next; without one it takes everything.
"""

from __future__ import annotations

import gzip
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass
class Answer:
    """What one request is told. ``refused``: so many of what it took it did not take after all."""

    status: int = 200
    message: str = ""
    refused: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    wait: threading.Event | None = None
    cut: bool = False


Judge = Callable[[Any], Answer | None]


class Collector:
    """The server; use it as a context manager. ``spans`` and ``logs`` are what it took: pairs of the resource
    and the message. ``judge`` is asked about each span and log record that comes; what it answers is the
    answer to the whole request.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.spans: list[tuple[Any, Any]] = []
        self.logs: list[tuple[Any, Any]] = []
        self.requests: list[tuple[str, dict[str, str], int]] = []
        self.answers: list[Answer] = []
        self.judge: Judge = lambda thing: None
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "https" if tls is not None else "http"
        self.endpoint = f"{scheme}://localhost:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, path: str, body: bytes) -> Answer:
        """Read one request and decide about it."""
        with self._lock:
            if path == "/v1/traces":
                spans = ExportTraceServiceRequest.FromString(body).resource_spans
                found = [(r.resource, one) for r in spans for s in r.scope_spans for one in s.spans]
                kept = self.spans
            elif path == "/v1/logs":
                logs = ExportLogsServiceRequest.FromString(body).resource_logs
                found = [(r.resource, one) for r in logs for s in r.scope_logs for one in s.log_records]
                kept = self.logs
            else:
                return Answer(404)
            answer = self.answers.pop(0) if self.answers else None
            for _, thing in found:
                answer = answer or self.judge(thing)
            answer = answer or Answer()
            if answer.status == 200:
                kept += found[answer.refused :]
            return answer

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                size = len(body)
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.requests.append((self.path, dict(self.headers), size))
                answer = collector.take(self.path, body)
                if answer.wait is not None:
                    answer.wait.wait(30)
                if answer.cut:
                    self.close_connection = True
                    return
                said = answer.body if answer.body is not None else _said(self.path, answer)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: Any) -> None:
                return None

        return Handler


def _said(path: str, answer: Answer) -> bytes:
    if answer.status != 200:
        return bytes(Status(message=answer.message).SerializeToString())
    if path == "/v1/traces":
        spans = ExportTraceServiceResponse()
        if answer.refused:
            spans.partial_success.rejected_spans = answer.refused
            spans.partial_success.error_message = answer.message
        return bytes(spans.SerializeToString())
    logs = ExportLogsServiceResponse()
    if answer.refused:
        logs.partial_success.rejected_log_records = answer.refused
        logs.partial_success.error_message = answer.message
    return bytes(logs.SerializeToString())


def plain(value: Any) -> Any:
    """Return an OTLP value as plain data."""
    kind = value.WhichOneof("value")
    if kind == "kvlist_value":
        return table(value.kvlist_value.values)
    if kind == "array_value":
        return [plain(one) for one in value.array_value.values]
    return None if kind is None else getattr(value, kind)


def table(attributes: Any) -> dict[str, Any]:
    """Return attributes as a dict; each name stands there once."""
    found = {pair.key: plain(pair.value) for pair in attributes}
    assert len(found) == len(attributes)
    return found
