# ruff: noqa: E501, SIM905

"""Realistic records of tools without a secret in them, made from a fixed seed."""

from __future__ import annotations

import random
from typing import Any

_WORDS = (
    "weather forecast for the coming week in the northern region partly cloudy light wind report order customer shipment"
    " delivered invoice status pending total amount euro discount product blue chair table wooden garden lamp search results"
    " page summary of the meeting about quarterly planning budget review team agreed next steps schedule training model"
    " accuracy loss epoch batch learning rate dataset image label python function returns list of values index range error"
    " handling retry timeout connection server response header body parse json yaml config file path directory read write"
    " update install package version release notes fixed bug feature request author maintainer license open source community"
    " customer asked about the delivery time and the phone was answered quickly database query row column table join select"
    " password policy documentation token usage tokens generated keyboard shortcut secretary of state cookie recipe"
).split()
_CITIES = ["Berlin", "上海", "Paris", "Tokyo", "São Paulo", "北京", "Zürich", "New York"]
_CHINESE = [
    "今天天气很好，适合出门散步。",
    "订单已发货，预计三天内送达。",
    "会议改到下午三点，请准时参加。",
    "该商品库存不足，请稍后再试。",
]


def _sentence(rng: random.Random, least: int = 4, most: int = 24) -> str:
    words = [rng.choice(_WORDS) for _ in range(rng.randint(least, most))]
    return " ".join(words).capitalize() + "."


def _hex(rng: random.Random, size: int) -> str:
    return f"{rng.getrandbits(size * 4):0{size}x}"


def _record(rng: random.Random) -> dict[str, Any]:
    kind = rng.randrange(6)
    if kind == 0:
        return {
            "input": {"query": _sentence(rng, 3, 8), "limit": rng.randint(1, 50), "lang": rng.choice(["en", "de", "zh"])},
            "output": {"results": [
                {"title": _sentence(rng, 3, 7), "url": f"https://site{rng.randint(1, 99)}.example/a/{_hex(rng, 8)}?page={rng.randint(1, 9)}",
                 "snippet": _sentence(rng, 10, 40), "score": rng.random()} for _ in range(rng.randint(1, 6))]},
        }  # fmt: skip
    if kind == 1:
        return {
            "input": {"sql": f"SELECT id, name, amount FROM orders WHERE id = {rng.randint(1, 10**6)}"},
            "output": {"rows": [{"id": rng.randint(1, 10**7), "name": _sentence(rng, 1, 3), "amount": round(rng.random() * 1000, 2),
                                 "created_at": f"2026-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}T10:{rng.randint(10, 59)}:00Z",
                                 "uuid": f"{_hex(rng, 8)}-{_hex(rng, 4)}-4{_hex(rng, 3)}-a{_hex(rng, 3)}-{_hex(rng, 12)}"}
                                for _ in range(rng.randint(1, 12))]},
        }  # fmt: skip
    if kind == 2:
        return {
            "input": {"model": "chat-large", "max_tokens": 1024, "temperature": 0.2, "messages": [{"role": "user", "content": _sentence(rng, 8, 40)}]},
            "output": {"content": _sentence(rng, 20, 80), "finish_reason": "stop",
                       "usage": {"prompt_tokens": rng.randint(1, 999), "completion_tokens": rng.randint(1, 999), "total_tokens": 5}},
        }  # fmt: skip
    if kind == 3:
        return {
            "input": {"path": f"/srv/app/{_hex(rng, 6)}/main.py", "encoding": "utf-8"},
            "output": {"text": "\n".join(f"{n}: {_sentence(rng, 3, 9)}" for n in range(rng.randint(3, 20))), "size": rng.randint(100, 10**5),
                       "sha256": _hex(rng, 64), "mtime": 1.7e9 + rng.random() * 1e7},
        }  # fmt: skip
    if kind == 4:
        return {
            "input": {"city": rng.choice(_CITIES), "units": "metric", "days": rng.randint(1, 7)},
            "output": {"forecast": [{"day": n, "min": rng.randint(-5, 10), "max": rng.randint(11, 30), "text": rng.choice(_CHINESE)}
                                    for n in range(rng.randint(1, 7))], "lat": 31.2304, "lon": 121.4737, "ts": 1748503543012},
        }  # fmt: skip
    return {
        "error": {"type": "ValueError", "message": _sentence(rng, 4, 12), "stack": [{"file": "a.py", "line": rng.randint(1, 500), "name": "run"}]},
        "input": {"args": [rng.randint(1, 9), _sentence(rng, 2, 5)], "flags": {"dry_run": True, "verbose": False}},
        "message": _sentence(rng), "session_id": _hex(rng, 16),
    }  # fmt: skip


def records(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """Answer so many records; the same for the same seed."""
    rng = random.Random(seed)
    return [_record(rng) for _ in range(count)]
