"""The faults that any HTTP server, or the way to it, can have. Those of one protocol stand with its proxy."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

from multidict import CIMultiDict

from tests.services.proxy import Answer, Delivery, PassOn


@dataclass
class Status:
    """Answers with a status, a body and headers of its own; the server never sees the request."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    rate: float | None = None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        body = self.body or json.dumps({"error": f"injected {self.status}", "status": self.status}).encode()
        headers = CIMultiDict({"Content-Type": "application/json", **self.headers})
        return Answer(self.status, headers, b"" if delivery.method == "HEAD" else body)


@dataclass
class Withhold:
    """Lets the server do its work and never tells the client: after ``seconds`` the connection is reset."""

    seconds: float = 0.0
    rate: float | None = None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        await pass_on(delivery)
        await asyncio.sleep(self.seconds)
        return None


@dataclass
class Drop:
    """Resets the connection after ``seconds``; the server never sees the request."""

    seconds: float = 0.0
    rate: float | None = None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        await asyncio.sleep(self.seconds)
        return None


@dataclass
class Truncate:
    """Sends the first ``share`` of the server's answer.

    As ``announced``, the headers promise the whole and the connection ends too early: a client notices.
    Otherwise they promise what is sent: only a reader of the body notices.
    """

    share: float = 0.5
    announced: bool = True
    rate: float | None = None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        whole = await pass_on(delivery, plain="Content-Encoding" not in delivery.headers)
        part = whole.body[: int(len(whole.body) * self.share)]
        if not self.announced:
            return Answer(whole.status, whole.headers, part)
        whole.headers["Content-Length"] = str(len(whole.body))
        return Answer(whole.status, whole.headers, part, cut=True)


@dataclass
class Delay:
    """Passes the request on after ``seconds``."""

    seconds: float
    rate: float | None = None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        await asyncio.sleep(self.seconds)
        return await pass_on(delivery)


@dataclass
class Slow:
    """A line that carries ``rate`` bytes of the request a second."""

    rate: float | None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        return await pass_on(delivery)
