"""Small web servers on this machine, for tests whose tools need one at the other end."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Answers(BaseHTTPRequestHandler):
    """Answers every GET with the same JSON, and prints nothing."""

    def do_GET(self) -> None:
        self.answer(b'{"answer": 42}')

    def answer(self, body: bytes, kind: str = "application/json", status: int = 200) -> None:
        """Send one whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def serving(
    answers: type[socketserver.BaseRequestHandler] = Answers,
    kind: type[socketserver.TCPServer] = ThreadingHTTPServer,
) -> Iterator[int]:
    """Run a server on a free port of this machine; gives the port."""
    server = kind(("127.0.0.1", 0), answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
