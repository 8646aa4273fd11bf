"""The recorders that overhead.py compares: each makes a tool, waits until all is written, and proves it.

A recorder runs in a process of its own. It gets an empty folder and gives back a `Bench`: the tool as a
plain method and as an async method, `flush()` (returns when every record is written), and `check(calls)`
(raises when one of them did not arrive, or arrived unmasked or invalid).
"""

from __future__ import annotations

import functools
import json
import logging
import logging.handlers
import queue
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECRET = "hunter2" + "-of-the-bench"
NOTE = f"ring twice; password={SECRET}"
"""What stands in every hundredth input; no recorder of ours may let the secret through."""

ARTICLES: dict[str, dict[str, Any]] = {
    f"A-{number}": {"title": "walnut desk lamp", "price": 19.9, "free": 12} for number in range(1000, 1100)
}
"""What the tool looks its article up in."""

SMALL: list[dict[str, Any]] = []
LARGE = [
    {
        "id": number,
        "sku": f"A-{1000 + number}",
        "title": "A walnut desk lamp with a linen shade",
        "price": 19.9,
    }
    for number in range(44)
]
"""Further rows of the tool's answer: none, or about 4 kB of compact JSON, the shape of an SQL result."""


class Shop:
    """The tool: a small class as a third party would write it.

    It does what little a small tool does: looks something up, multiplies, and words an answer. A tool that
    does nothing at all would make every recorder look worse against the closure, by the same microseconds.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.articles = ARTICLES
        self.rows = rows

    def find(self, sku: str, amount: int = 1, note: str = "") -> dict[str, Any]:
        """Return the offer for an amount of an article."""
        return self._offer(sku, amount)

    async def afind(self, sku: str, amount: int = 1, note: str = "") -> dict[str, Any]:
        """Return the offer for an amount of an article, without blocking."""
        return self._offer(sku, amount)

    def _offer(self, sku: str, amount: int) -> dict[str, Any]:
        article = self.articles[sku]
        total = round(article["price"] * amount, 2)
        offer = {
            "sku": sku,
            "total": total,
            "enough": article["free"] >= amount,
            "text": f"{amount} x {article['title']}: {total:.2f} EUR",
        }
        if self.rows:
            offer["rows"] = self.rows
        return offer


Tool = Callable[..., dict[str, Any]]
AsyncTool = Callable[..., Awaitable[dict[str, Any]]]


@dataclass
class Bench:
    """One recorder, set up."""

    tool: Tool
    atool: AsyncTool
    flush: Callable[[], None] = lambda: None
    check: Callable[[int], None] = lambda calls: None
    close: Callable[[], None] = lambda: None


def closure(folder: Path, rows: list[dict[str, Any]]) -> Bench:
    """Return a hand-written pass-through: the unit of every ratio."""
    shop = Shop(rows)

    def wrap(tool: Tool) -> Tool:
        @functools.wraps(tool)
        def wrapper(*args: Any, **kwargs: Any) -> dict[str, Any]:
            return tool(*args, **kwargs)

        return wrapper

    def awrap(tool: AsyncTool) -> AsyncTool:
        @functools.wraps(tool)
        async def wrapper(*args: Any, **kwargs: Any) -> dict[str, Any]:
            return await tool(*args, **kwargs)

        return wrapper

    return Bench(wrap(shop.find), awrap(shop.afind))


def wrapt_alone(folder: Path, rows: list[dict[str, Any]]) -> Bench:
    """Return wrapt's own wrapper around the methods, nothing recorded."""
    import wrapt

    def pass_through(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        return wrapped(*args, **kwargs)

    wrapt.wrap_function_wrapper(Shop, "find", pass_through)
    wrapt.wrap_function_wrapper(Shop, "afind", pass_through)
    shop = Shop(rows)
    return Bench(shop.find, shop.afind)


def _toolog(folder: Path, rows: list[dict[str, Any]], durability: str) -> Bench:
    import toolog

    # One file sink with everything else on: snapshot, masking, MessagePack, spool, delivery.
    target = folder / "calls.msgpack"
    handler = toolog.configure(
        "prod",
        durability=durability,
        spool={"path": str(folder / "spool"), "max_size": "4 GiB"},
        queue={"max_records": 1_000_000, "when_full": "block"},
        sinks={"archive": {"type": "file", "path": str(target), "format": "msgpack", "max_size": "4 GiB"}},
        retention={"DEBUG": {"sinks": ["archive"], "keep": "1 day"}},
    )
    toolog.instrument(Shop)
    shop = Shop(rows)

    def flush() -> None:
        if not toolog.flush(timeout=120):
            raise RuntimeError(f"not everything was written: {toolog.stats()}")

    def check(calls: int) -> None:
        data = target.read_bytes()
        if SECRET.encode() in data:
            raise RuntimeError("an unmasked secret was written")
        import msgpack

        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=0)
        unpacker.feed(data)
        found = 0
        for number, record in enumerate(unpacker):
            if record["event"] == "tool_call_success":
                found += 1
                if number % 50 == 0:
                    toolog.validate(record)
        if found != calls:
            raise RuntimeError(f"{calls} calls, {found} records: {toolog.stats()}")

    return Bench(shop.find, shop.afind, flush, check, handler.close)


def toolog_disabled(folder: Path, rows: list[dict[str, Any]]) -> Bench:
    """Return an instrumented tool whose level is off."""
    import toolog

    bench = _toolog(folder, rows, "memory")
    toolog.set_level("CRITICAL")
    bench.check = lambda calls: None
    return bench


def toolog_memory(folder: Path, rows: list[dict[str, Any]]) -> Bench:
    """Return an instrumented tool, records queued in memory and written by the worker."""
    return _toolog(folder, rows, "memory")


def toolog_process(folder: Path, rows: list[dict[str, Any]]) -> Bench:
    """Return an instrumented tool, each record in the spool before the call returns."""
    return _toolog(folder, rows, "process")


def json_logging(folder: Path, rows: list[dict[str, Any]]) -> Bench:
    """Return a tool that logs one event through QueueHandler and python-json-logger into a file."""
    from pythonjsonlogger.json import JsonFormatter

    target = folder / "calls.jsonl"
    file = logging.FileHandler(target)
    file.setFormatter(JsonFormatter())
    records: queue.Queue[Any] = queue.Queue()
    listener = logging.handlers.QueueListener(records, file)
    listener.start()
    logger = logging.getLogger("bench.calls")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(logging.handlers.QueueHandler(records))
    shop = Shop(rows)

    def wrapper(*args: Any, **kwargs: Any) -> dict[str, Any]:
        answer = shop.find(*args, **kwargs)
        logger.info("find", extra={"tool": "Shop.find", "input": kwargs, "output": answer})
        return answer

    async def awrapper(*args: Any, **kwargs: Any) -> dict[str, Any]:
        answer = await shop.afind(*args, **kwargs)
        logger.info("find", extra={"tool": "Shop.find", "input": kwargs, "output": answer})
        return answer

    def flush() -> None:
        listener.stop()
        listener.start()

    def check(calls: int) -> None:
        with target.open() as lines:
            found = sum(1 for line in lines if json.loads(line)["tool"] == "Shop.find")
        if found != calls:
            raise RuntimeError(f"{calls} calls, {found} lines")

    return Bench(wrapper, awrapper, flush, check)


def opentelemetry(folder: Path, rows: list[dict[str, Any]]) -> Bench:
    """Return a tool inside a span with three attributes, batched and encoded as OTLP."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    sent = [0]

    class Encoder(SpanExporter):  # type: ignore[misc, unused-ignore]
        def export(self, spans: Any) -> Any:
            if encode_spans(spans).SerializeToString():
                sent[0] += len(spans)
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    processor = BatchSpanProcessor(Encoder(), max_queue_size=1_000_000, max_export_batch_size=512)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("bench")
    shop = Shop(rows)

    def wrapper(*args: Any, **kwargs: Any) -> dict[str, Any]:
        with tracer.start_as_current_span("execute_tool Shop.find") as span:
            span.set_attribute("gen_ai.tool.name", "Shop.find")
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps(kwargs))
            answer = shop.find(*args, **kwargs)
            span.set_attribute("gen_ai.tool.call.result", json.dumps(answer))
            return answer

    async def awrapper(*args: Any, **kwargs: Any) -> dict[str, Any]:
        with tracer.start_as_current_span("execute_tool Shop.find") as span:
            span.set_attribute("gen_ai.tool.name", "Shop.find")
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps(kwargs))
            answer = await shop.afind(*args, **kwargs)
            span.set_attribute("gen_ai.tool.call.result", json.dumps(answer))
            return answer

    def flush() -> None:
        processor.force_flush(120_000)

    def check(calls: int) -> None:
        if sent[0] != calls:
            raise RuntimeError(f"{calls} calls, {sent[0]} spans")

    return Bench(wrapper, awrapper, flush, check)


RECORDERS: dict[str, Callable[[Path, list[dict[str, Any]]], Bench]] = {
    "closure": closure,
    "wrapt alone": wrapt_alone,
    "toolog disabled": toolog_disabled,
    "toolog memory": toolog_memory,
    "toolog process": toolog_process,
    "json logging": json_logging,
    "opentelemetry": opentelemetry,
}
"""By the name in the table; the first is the unit."""
