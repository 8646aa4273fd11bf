"""OpenTelemetry beside us: its active span is our calls' parent, and our calls are its spans' parents."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from watching import Records, run, tool, watch

import toolog
from toolog import context as scopes
from toolog.instrumentation import otel
from toolog.instrumentation.threads import instrument_threads

pytest.importorskip("opentelemetry.sdk.trace")

from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

EXPORTER = InMemorySpanExporter()
PROVIDER = TracerProvider()
PROVIDER.add_span_processor(SimpleSpanProcessor(EXPORTER))
TRACER = PROVIDER.get_tracer("test")


@pytest.fixture(autouse=True)
def records() -> Iterator[Records]:
    """Return the records that the test makes, with OpenTelemetry joined."""
    EXPORTER.clear()
    otel.install()
    with watch() as found:
        yield found
    otel.undo()


def span_ids(span: Any) -> tuple[str, str]:
    """Return trace and span id of a span as text."""
    context = span.get_span_context()
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def finished(name: str) -> ReadableSpan:
    """Return the one finished span of a name."""
    (found,) = [span for span in EXPORTER.get_finished_spans() if span.name == name]
    return found


def parent_of(span: ReadableSpan) -> str | None:
    """Return the id of a span's parent as text."""
    return None if span.parent is None else f"{span.parent.span_id:016x}"


@tool
def work() -> None:
    """Stand for a tool that makes a span of its own."""
    with TRACER.start_as_current_span("inside"):
        leaf()


@tool
def leaf() -> None:
    """Stand for a tool that is called inside of a span."""


def test_an_active_span_is_the_parent(records: Records) -> None:
    """A call inside of a span is its child in the same trace, at depth 0: it is the first tool."""
    with TRACER.start_as_current_span("agent") as span:
        leaf()
        trace_id, span_id = span_ids(span)
    record = records.of("leaf")
    assert (record["trace_id"], record["parent_id"], record["depth"]) == (trace_id, span_id, 0)


def test_spans_inside_a_call_are_its_children(records: Records) -> None:
    """Calls and spans alternate in one chain: agent, work, inside, leaf."""
    with TRACER.start_as_current_span("agent") as span:
        work()
        assert trace.get_current_span() is span
    chain = [parent_of(finished("inside")), records.of("leaf")["parent_id"], records.of("work")["parent_id"]]
    assert chain == [records.of("work")["span_id"], span_ids(finished("inside"))[1], span_ids(span)[1]]
    assert {record["trace_id"] for record in records} == {span_ids(span)[0]}


def test_without_an_outer_span_the_call_is_the_root(records: Records) -> None:
    """A span begun inside a root call is in the call's trace, sampled; afterwards no span is current."""
    work()
    record = records.of("work")
    inside = finished("inside")
    assert (record["parent_id"], parent_of(inside)) == (None, record["span_id"])
    assert span_ids(inside)[0] == record["trace_id"]
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_nested_calls_without_spans_between(records: Records) -> None:
    """A call inside a call is its child, though OpenTelemetry shows the outer one as current span."""

    def outer() -> str:
        leaf()
        with TRACER.start_as_current_span("late"):
            pass
        return span_ids(trace.get_current_span())[1]

    with TRACER.start_as_current_span("agent"):
        seen = tool(outer)()
    record = records.of("outer")
    assert records.of("leaf")["parent_id"] == record["span_id"] == seen == parent_of(finished("late"))


def test_baggage_set_inside_keeps_the_parents(records: Records) -> None:
    """A context that a tool attaches itself (baggage) changes no parent, and is detached without a word."""

    def outer() -> Any:
        token = otel_context.attach(baggage.set_baggage("user", "u"))
        leaf()
        with TRACER.start_as_current_span("late"):
            leaf()
        otel_context.detach(token)

    tool(outer)()
    record = records.of("outer")
    first, second = records.all("leaf")
    assert first["parent_id"] == parent_of(finished("late")) == record["span_id"]
    assert second["parent_id"] == span_ids(finished("late"))[1]


async def test_streams(records: Records) -> None:
    """Between the items of a stream no stand-in is current; spans inside it are its children."""

    async def numbers() -> AsyncIterator[int]:
        for number in range(2):
            with TRACER.start_as_current_span(f"item {number}"):
                await asyncio.sleep(0)
            yield number

    async for _ in tool(numbers)():
        assert trace.get_current_span() is trace.INVALID_SPAN
    span = records.of("numbers")["span_id"]
    assert [parent_of(finished(f"item {number}")) for number in range(2)] == [span, span]


def test_threads(records: Records) -> None:
    """With threads instrumented, spans in a tool's thread are children of its call."""

    def spawn() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with instrument_threads():
        tool(spawn)()
    assert records.of("work")["parent_id"] == records.of("spawn")["span_id"]
    assert parent_of(finished("inside")) == records.of("work")["span_id"]


def test_attached_carrier_is_nearer(records: Records) -> None:
    """A context that was attached by name inside of a span is the parent, not that span."""
    with (
        TRACER.start_as_current_span("agent"),
        toolog.attach({"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}),
    ):
        leaf()
    record = records.of("leaf")
    assert (record["trace_id"], record["parent_id"]) == ("a" * 32, "b" * 16)


def test_session_inside_a_span(records: Records) -> None:
    """A session is no parent: the span around it is."""
    with TRACER.start_as_current_span("agent") as span, toolog.session("order-1"):
        leaf()
    record = records.of("leaf")
    assert (record["session_id"], record["parent_id"]) == ("order-1", span_ids(span)[1])


def test_undo_is_exact() -> None:
    """After undo OpenTelemetry's runtime context is the very object it was, and no bridge is left."""
    otel.undo()
    held = otel_context._RUNTIME_CONTEXT
    otel.install()
    otel.install()
    assert otel_context._RUNTIME_CONTEXT is not held
    otel.undo()
    otel.undo()
    assert otel_context._RUNTIME_CONTEXT is held
    assert scopes.bridge is None


def test_it_is_joined_when_it_is_imported() -> None:
    """Nothing of OpenTelemetry is imported by us; it is joined as soon as the application imports it."""
    out = run("""
        import sys
        from toolog import context
        from toolog.instrumentation import otel
        from watching import tool, watch
        otel.install()
        assert not [name for name in sys.modules if name.startswith("opentelemetry")]
        assert context.bridge is None

        @tool
        def leaf():
            from opentelemetry import trace
            return f"{trace.get_current_span().get_span_context().span_id:016x}"

        with watch() as records:
            seen = leaf()
            assert context.bridge is not None
            assert seen == records[0]["span_id"]
        print("joined")
    """)
    assert out == "joined\n"
