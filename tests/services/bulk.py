"""The `_bulk` request of Elasticsearch and OpenSearch, taken apart and put together by `json` alone."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from multidict import CIMultiDict

from tests.services.proxy import Answer, Delivery, PassOn

# What a server says of an item with this status.
REASONS = {
    400: ("document_parsing_exception", "failed to parse field [injected]"),
    403: ("security_exception", "action [indices:data/write/bulk] is unauthorized"),
    404: ("index_not_found_exception", "no such index [injected]"),
    409: ("version_conflict_engine_exception", "version conflict, document already exists (injected)"),
    429: ("es_rejected_execution_exception", "rejected execution of primary operation (injected)"),
    500: ("exception", "injected"),
    503: ("unavailable_shards_exception", "primary shard is not active (injected)"),
}


@dataclass
class Item:
    """One action of a bulk request: what to do with which document. ``raw`` is its lines as sent."""

    position: int
    action: str
    index: str
    id: str
    document: bytes
    raw: bytes

    def answer(self, status: int) -> dict[str, Any]:
        """Return the item of the answer that refuses it."""
        kind, reason = REASONS[status]
        told = {
            "_index": self.index,
            "_id": self.id,
            "status": status,
            "error": {"type": kind, "reason": reason},
        }
        return {self.action: told}


Pick = Callable[[Item], bool]


def is_bulk(delivery: Delivery) -> bool:
    """Whether a request is a bulk delivery."""
    return delivery.path.endswith("/_bulk") and delivery.method in ("POST", "PUT")


def read_body(delivery: Delivery) -> bytes:
    """Return the body without its compression."""
    packed = delivery.headers.get("Content-Encoding") == "gzip"
    return gzip.decompress(delivery.body) if packed else delivery.body


def read_items(delivery: Delivery) -> list[Item]:
    """Return the actions of a bulk delivery."""
    outer = delivery.path.removesuffix("/_bulk").strip("/")
    found: list[Item] = []
    lines = iter(line for line in read_body(delivery).split(b"\n") if line)
    for line in lines:
        [(action, meta)] = json.loads(line).items()
        document = b"" if action == "delete" else next(lines)
        raw = line + b"\n" + (document + b"\n" if document else b"")
        found.append(Item(len(found), action, meta.get("_index", outer), meta.get("_id", ""), document, raw))
    return found


async def answer_without(
    refused: dict[int, dict[str, Any]], items: list[Item], delivery: Delivery, pass_on: PassOn
) -> Answer:
    """Pass on all items but the refused ones, and put these into the answer at their places."""
    passed = [one for one in items if one.position not in refused]
    answer = Answer(200, CIMultiDict({"Content-Type": "application/json"}))
    told: dict[str, Any] = {"took": 0, "errors": False, "items": []}
    if passed:
        answer = await pass_on(delivery, b"".join(one.raw for one in passed), plain=True)
        if answer.status != 200:
            return answer
        told = json.loads(answer.body)
    rest = iter(told["items"])
    told["items"] = [refused.get(one.position) or next(rest) for one in items]
    told["errors"] = bool(told["errors"] or refused)
    answer.body = json.dumps(told).encode()
    return answer


@dataclass
class RejectItems:
    """Refuses the items that are picked, each with ``status``; the server sees only the others."""

    status: int
    pick: Pick
    rate: float | None = None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        items = read_items(delivery)
        refused = {one.position: one.answer(self.status) for one in items if self.pick(one)}
        return await answer_without(refused, items, delivery, pass_on)


@dataclass
class OmitItems:
    """Lets the server take everything and leaves the picked items out of its answer."""

    pick: Pick
    rate: float | None = None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        items = read_items(delivery)
        answer = await pass_on(delivery, read_body(delivery), plain=True)
        if answer.status == 200:
            told = json.loads(answer.body)
            kept = zip(items, told["items"], strict=True)
            told["items"] = [theirs for one, theirs in kept if not self.pick(one)]
            answer.body = json.dumps(told).encode()
        return answer


def every(number: int) -> Pick:
    """Pick every n-th item of a request, beginning with the first."""
    return lambda item: item.position % number == 0


def delivered_ids(deliveries: Iterable[Delivery]) -> list[str]:
    """Return the `_id` of every item in these deliveries, as often as it came."""
    return [one.id for delivery in deliveries if is_bulk(delivery) for one in read_items(delivery)]
