"""The demo's application: an agent that works on three orders at once, in asyncio and in threads.

Nothing here is made for toolog but the lines that name it: `instrument` for four packages from PyPI, one
`tool` for the agent's own step, and one `session` for each order. The packages are used as they are.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import toolog

PACKAGES = ("sqlite_utils", "requests", "httpx", "dateutil.parser")


@dataclass(frozen=True)
class Order:
    """One order; the customers and their numbers are invented."""

    number: int
    customer: str
    sku: str
    slot: str


ORDERS = (
    Order(1001, "Ada", "lamp-7", "2026-12-03 18:30"),
    Order(1002, "Lin", "desk-2", "ring 13812345678 first"),
    Order(1003, "Sam", "chair-5", "4 December 2026, 9 am"),
)


def look_up_stock(path: Path, sku: str) -> dict[str, Any]:
    """Read an article with sqlite-utils, which prints the statements that its tracer is asked to show."""
    import sqlite_utils

    def trace(sql: str, values: Any) -> None:
        if sql.startswith("select *"):
            print(f"SQL> {sql} {values}\n", end="")  # in one piece: three threads print at once

    database = sqlite_utils.Database(path, tracer=trace)
    try:
        stock: Any = database["stock"]
        found: dict[str, Any] = stock.get(sku)
        return found
    finally:
        database.conn.close()


def charge(service: str, order: Order, amount: float) -> dict[str, Any]:
    """Take the money with requests; its connection pool logs at DEBUG."""
    import requests

    sent = {"order": order.number, "amount": amount, "card_number": "4111 1111 1111 1111"}
    answer: dict[str, Any] = json.loads(requests.post(f"{service}/charges", json=sent, timeout=5).content)
    return answer


async def book_parcel(service: str, order: Order) -> dict[str, Any]:
    """Ask the carrier with httpx, which logs at INFO in a style of its own."""
    import httpx

    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{service}/parcels/{order.number}")
    found: dict[str, Any] = json.loads(answer.content)
    return found


def read_slot(text: str) -> str:
    """Understand when the customer is at home, with dateutil."""
    import dateutil.parser

    return str(dateutil.parser.parse(text))


async def fulfil(order: Order, service: str, stock: Path) -> dict[str, Any]:
    """Do what one order needs; the tools of one order overlap, and so do the orders."""
    article = await asyncio.to_thread(look_up_stock, stock, order.sku)
    payment, parcel = await asyncio.gather(
        asyncio.to_thread(charge, service, order, article["price"]), book_parcel(service, order)
    )
    slot = await asyncio.to_thread(read_slot, order.slot)
    return {"order": order.number, "payment": payment["charge"], "parcel": parcel["parcel"], "slot": slot}


async def fulfil_all(service: str, stock: Path) -> dict[int, Any]:
    """Work on all orders at once; returns what became of each, the exception where one failed."""
    agent_step = toolog.tool(name="fulfil_order")(fulfil)

    async def work(order: Order) -> Any:
        with toolog.session(f"order-{order.number}", customer=order.customer):
            return await agent_step(order, service, stock)

    done = await asyncio.gather(*(work(order) for order in ORDERS), return_exceptions=True)
    for order, answer in zip(ORDERS, done, strict=True):
        if isinstance(answer, BaseException):
            print(f"!! order {order.number}: {type(answer).__name__}: {answer}")
    return {order.number: answer for order, answer in zip(ORDERS, done, strict=True)}


def run(service: str, stock: Path) -> dict[int, Any]:
    """Instrument the packages, let them log as they like, and work on the orders."""
    for package in PACKAGES:
        toolog.instrument(package)
    lines = logging.StreamHandler()
    lines.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
    for name, level in (("urllib3.connectionpool", logging.DEBUG), ("httpx", logging.INFO)):
        logging.getLogger(name).setLevel(level)
        logging.getLogger(name).addHandler(lines)
    return asyncio.run(fulfil_all(service, stock))
