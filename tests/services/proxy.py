"""A pass-through HTTP proxy on 127.0.0.1 that keeps every delivery and makes the faults it is told to.

It runs in a thread of its own. What it passes on has the client's own bytes and its own `Host`, so that
signatures over either stay valid. Faults wait in a list; each request is given to the first that wants it.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, Self

import aiohttp
import trustme
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

# What belongs to one connection and is made anew for the other, RFC 9110 7.6.1; and the two that say how long
# the body is, which is whole in memory here.
NOT_PASSED_ON = ("connection", "keep-alive", "transfer-encoding", "expect", "content-length", "te", "upgrade")


@dataclass
class Answer:
    """What is sent back. ``cut`` ends the connection behind ``body``, however long the headers say it is."""

    status: int
    headers: CIMultiDict[str] = field(default_factory=CIMultiDict)
    body: bytes = b""
    cut: bool = False


@dataclass
class Delivery:
    """One request as it came on the wire, and what became of it.

    ``upstream`` is the server's own status (0: it has not seen the request), ``status`` what the client was
    told (0: nothing). ``body`` holds the bytes that the client sent, compressed or not.
    """

    method: str
    path: str
    query: str
    headers: CIMultiDict[str]
    at: float = field(default_factory=time.time)
    body: bytes = b""
    fault: str = ""
    upstream: int = 0
    status: int = 0


class PassOn(Protocol):
    """Asks the server: with the client's body or another one; ``plain`` when nothing shall be compressed."""

    async def __call__(
        self, delivery: Delivery, body: bytes | None = None, plain: bool = False
    ) -> Answer: ...


class Fault(Protocol):
    """One way to go wrong: answers a request, with or without passing it on.

    With a ``rate`` the request is read at so many bytes a second.
    """

    rate: float | None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        """Return what is sent back; None closes the connection without a word."""
        ...


@dataclass
class _Armed:
    fault: Fault
    times: int | None
    where: Callable[[Delivery], bool]


class Proxy:
    """Stands in front of ``upstream`` (a URL). A context manager; all methods may be called from any thread.

    ``tls`` makes it speak HTTPS with a certificate for 127.0.0.1 and localhost of an authority of its own:
    ``ca_file`` is that authority's certificate, ``fingerprint`` the SHA-256 of the server's. With ``keep``
    False it keeps no deliveries.
    """

    def __init__(self, upstream: str, *, tls: bool = False, keep: bool = True, port: int = 0) -> None:
        self.upstream = upstream
        self.keep = keep
        self.deliveries: list[Delivery] = []
        self.port = port
        self._tls = tls
        self._armed: list[_Armed] = []
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._folder = TemporaryDirectory(prefix="toolog-proxy-")
        self._context = self._make_certificate() if tls else None

    # What tests do with it.

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def add(
        self,
        fault: Fault,
        times: int | None = 1,
        where: Callable[[Delivery], bool] = lambda delivery: True,
    ) -> None:
        """Do this to the next ``times`` requests (None: to all, until `clear`) for which ``where`` holds.

        ``where`` sees method, path, query and headers, not the body, which has not been read yet.
        """
        with self._lock:
            self._armed.append(_Armed(fault, times, where))

    def clear(self) -> None:
        """Forget all faults that were not used up."""
        with self._lock:
            self._armed.clear()

    def forget(self) -> None:
        """Forget all deliveries so far."""
        self.deliveries = []

    def refuse(self) -> None:
        """Close the port and every connection: nobody can connect until `accept`."""
        self._run(self._close_port())

    def accept(self) -> None:
        """Open the port again after `refuse`; the same one."""
        self._run(self._open_port())

    def start(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        self._run(self._open())
        return self

    def close(self) -> None:
        """End it; a second call does nothing."""
        if self._loop.is_closed():
            return
        if self._thread.is_alive():
            self._run(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # What a subclass may change.

    async def pass_on(self, delivery: Delivery, body: bytes | None = None, plain: bool = False) -> Answer:
        """Ask the server, see `PassOn`."""
        headers = CIMultiDict(
            (name, value) for name, value in delivery.headers.items() if name.lower() not in NOT_PASSED_ON
        )
        if plain:
            headers.popall("Accept-Encoding", None)
            headers.popall("Content-Encoding", None)
        self.change_request(headers)
        target = self.upstream + delivery.path + (f"?{delivery.query}" if delivery.query else "")
        try:
            async with self._session.request(
                delivery.method,
                URL(target, encoded=True),
                headers=headers,
                data=io.BytesIO(delivery.body if body is None else body),  # bytes above 1 MB make it warn
                allow_redirects=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            ) as answer:
                got = await answer.read()
        except aiohttp.ClientConnectionError as error:
            return Answer(
                502, CIMultiDict({"Content-Type": "text/plain"}), f"no server behind: {error}".encode()
            )
        delivery.upstream = answer.status
        headers = CIMultiDict(
            (name, value) for name, value in answer.headers.items() if name.lower() not in NOT_PASSED_ON
        )
        if delivery.method == "HEAD" and "Content-Length" in answer.headers:
            headers["Content-Length"] = answer.headers["Content-Length"]
        self.change_answer(headers)
        return Answer(answer.status, headers, got)

    def change_request(self, headers: CIMultiDict[str]) -> None:
        """Change the headers that go to the server; the base leaves them."""

    def change_answer(self, headers: CIMultiDict[str]) -> None:
        """Change the headers that go back to the client; the base leaves them."""

    # How it is done.

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def _make_certificate(self) -> ssl.SSLContext:
        authority = trustme.CA()
        certificate = authority.issue_cert("127.0.0.1", "localhost")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        self.ca_file = str(Path(self._folder.name) / "ca.pem")
        authority.cert_pem.write_to_path(self.ca_file)
        raw = ssl.PEM_cert_to_DER_cert(certificate.cert_chain_pems[0].bytes().decode())
        self.fingerprint = hashlib.sha256(raw).hexdigest()
        return context

    async def _open(self) -> None:
        self._session = aiohttp.ClientSession(
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            connector=aiohttp.TCPConnector(limit=0),
        )
        await self._open_port()

    async def _open_port(self) -> None:
        server = web.Server(self._serve, auto_decompress=False, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._context)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _close_port(self) -> None:
        await self._runner.cleanup()

    async def _close(self) -> None:
        await self._close_port()
        await self._session.close()
        rest = asyncio.all_tasks() - {asyncio.current_task()}  # requests that a fault still holds
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def _choose(self, delivery: Delivery) -> Fault | None:
        with self._lock:
            for armed in self._armed:
                if armed.where(delivery):
                    if armed.times is not None:
                        armed.times -= 1
                        if not armed.times:
                            self._armed.remove(armed)
                    return armed.fault
        return None

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        delivery = Delivery(request.method, path, query, CIMultiDict(request.headers))
        if self.keep:
            self.deliveries.append(delivery)
        fault = self._choose(delivery)
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        delivery.body = await _read(request, fault.rate if fault else None)

        answer: Answer | None
        if fault is None:
            answer = await self.pass_on(delivery)
        else:
            delivery.fault = type(fault).__name__
            answer = await fault.answer(delivery, self.pass_on)
        if answer is None:
            return _hang_up(request)
        delivery.status = answer.status
        return await _send(request, answer)


async def _read(request: web.BaseRequest, rate: float | None) -> bytes:
    if rate is None:
        return await request.content.read()
    began, body = time.monotonic(), bytearray()
    step = max(1, int(rate / 10))
    while piece := await request.content.read(step):
        body += piece
        await asyncio.sleep(max(0.0, began + len(body) / rate - time.monotonic()))
    return bytes(body)


async def _send(request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    if not answer.cut:
        return web.Response(status=answer.status, headers=answer.headers, body=answer.body or None)
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    await response.prepare(request)
    await response.write(answer.body)
    if request.transport is not None:
        request.transport.close()
    return response


def _hang_up(request: web.BaseRequest) -> web.StreamResponse:
    """End the connection with a reset; the answer returned here goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
