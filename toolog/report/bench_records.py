"""Records to measure with: made up, alike on every machine, and shaped like what agents' tools give."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

WORDS = (
    "order", "stock", "warehouse", "article", "delivery", "invoice", "customer", "price", "north",
    "south", "delayed", "confirmed", "open", "closed", "walnut", "lamp", "desk", "shade", "return",
    "refund", "carrier", "parcel", "weight", "route", "driver", "window", "morning", "evening",
    "订单", "仓库", "发货", "客户", "Straße", "Größe",
)  # fmt: skip


def make_records(number: int = 300, seed: int = 7) -> list[dict[str, Any]]:
    """Return records of tool calls: table rows, a page's text, nested answers of an API, and short ones.

    Their mean is about 4,000 bytes of compact JSON. The same ``number`` and ``seed`` give the same records.
    """
    chance = random.Random(seed)
    return [_record(chance, index) for index in range(number)]


def _record(chance: random.Random, index: int) -> dict[str, Any]:
    tool, output = chance.choice(_KINDS)
    failed = chance.random() < 0.1
    started = f"2026-11-29T{index // 60 % 24:02d}:{index % 60:02d}:07.{chance.randrange(10**6):06d}Z"
    record: dict[str, Any] = {
        "schema_version": "1.0",
        "record_id": f"{chance.getrandbits(128):032x}",
        "event": "tool_call_failed" if failed else "tool_call_success",
        "level": "ERROR" if failed else "INFO",
        "timestamp": started,
        "trace_id": f"{chance.getrandbits(128):032x}",
        "span_id": f"{chance.getrandbits(64):016x}",
        "parent_id": f"{chance.getrandbits(64):016x}" if chance.random() < 0.5 else None,
        "depth": chance.randrange(3),
        "tool_name": tool,
        "tool": {
            "module": "shop.tools",
            "qualname": tool,
            "package": "shop",
            "version": "1.9",
            "type": "function",
        },
        "status": "execution_error" if failed else "success",
        "input": {
            "query": _text(chance, 6),
            "limit": chance.randrange(1, 50),
            "exact": chance.random() < 0.5,
        },
        "duration_ms": round(chance.expovariate(1 / 40), 3),
        "session_id": f"order-{chance.randrange(1000, 9999)}",
        "tags": {"customer": f"c-{chance.randrange(500)}", "stage": chance.choice(("search", "payment"))},
        "service": {"name": "shop-agent", "version": "2.4.1", "environment": "production"},
        "process": {"pid": 4711, "thread": "MainThread", "task": f"Task-{index}"},
        "host": "agents-3",
    }
    if failed:
        frames = [
            f'File "shop/tools.py", line {chance.randrange(900)}, in step{level}' for level in range(12)
        ]
        message = f"the warehouse answered {chance.randrange(500, 504)}"
        record["error"] = {"type": "shop.Unavailable", "message": message, "stack": "\n".join(frames)}
        record["stderr"] = _text(chance, 320)
    else:
        record["output"] = output(chance)
    return record


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def _rows(chance: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "id": chance.randrange(10**6),
            "sku": f"A-{chance.randrange(10**4):04d}",
            "title": _text(chance, 4),
            "price": round(chance.random() * 200, 2),
            "free": chance.randrange(40),
            "active": chance.random() < 0.8,
            "note": None,
        }
        for _ in range(chance.randrange(18, 46))
    ]


def _page(chance: random.Random) -> dict[str, Any]:
    return {
        "url": "https://shop.example/articles",
        "status": 200,
        "text": _text(chance, chance.randrange(380, 900)),
    }


def _answer(chance: random.Random) -> dict[str, Any]:
    def step(depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {
            "score": chance.random(),
            "label": _text(chance, 3),
            "at": chance.randrange(2**40),
        }
        if depth:
            found["parts"] = [step(depth - 1) for _ in range(3)]
        return found

    return {"answer": step(3), "vector": [round(chance.gauss(0, 1), 6) for _ in range(64)]}


def _short(chance: random.Random) -> dict[str, Any]:
    return {"sku": f"A-{chance.randrange(10**4):04d}", "free": chance.randrange(40), "ok": True}


_KINDS = (
    ("Stock.search", _rows), ("Stock.search", _rows), ("Browser.fetch", _page), ("Browser.fetch", _page),
    ("Planner.plan", _answer), ("Stock.find", _short),
)  # fmt: skip


def sizes(records: list[dict[str, Any]]) -> Iterator[int]:
    """Yield the bytes of each record as compact JSON."""
    import json

    for record in records:
        yield len(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode())
