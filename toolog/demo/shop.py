"""The world around the demo: a stock database, and a payment and shipping service on a free local port."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

STOCK = (
    {"sku": "lamp-7", "title": "Walnut desk lamp", "price": 39.0, "free": 12},
    {"sku": "desk-2", "title": "Standing desk", "price": 420.0, "free": 3},
    {"sku": "chair-5", "title": "Reading chair", "price": 180.0, "free": 7},
)


class _Service(BaseHTTPRequestHandler):
    """Takes payments (POST /charges) and tells about parcels (GET /parcels/ORDER), each after a moment."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(0.08)
        self._answer({"charge": f"ch-{sent['order']}", "amount": sent["amount"], "paid": True})

    def do_GET(self) -> None:
        time.sleep(0.05)
        self._answer(
            {"parcel": f"pc-{self.path.rpartition('/')[2]}", "carrier": "Northwind", "state": "packed"}
        )

    def _answer(self, document: dict[str, object]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: only the tools' own output belongs on the screen."""


@contextlib.contextmanager
def serve() -> Iterator[str]:
    """Run the service on a free port of 127.0.0.1; gives its URL, and stops it at the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="demo-shop", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def fill_stock(path: Path) -> None:
    """Make the stock database, or make it again when an earlier run left one."""
    import sqlite_utils

    database = sqlite_utils.Database(path)
    try:
        stock: Any = database["stock"]
        stock.upsert_all(STOCK, pk="sku")
    finally:
        database.close()
