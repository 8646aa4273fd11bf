"""Shipping leaves no spans in an application's traces."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.services.collector import Collector
from toolog import ToologHandler
from toolog.context import mute
from toolog.untraced import leave_no_spans


def on_a_thread(work: Any) -> None:
    """Run something on a thread of its own, to its end."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_thread_of_ours_is_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a muted thread a span of anybody is not sampled, and instrumentations see that they shall make none;
    elsewhere nothing changes.
    """
    from opentelemetry import context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("client")
    seen: list[Any] = []

    def work(muted: bool) -> None:
        if muted:
            mute()
        seen.append(context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY))
        with tracer.start_as_current_span("muted" if muted else "free"):
            pass

    for muted in (True, False):
        on_a_thread(lambda muted=muted: work(muted))
    assert seen == [True, None]
    assert [span.name for span in exporter.get_finished_spans()] == ["free"]
    provider.shutdown()


def test_without_opentelemetry_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the application has no OpenTelemetry, or one of another make, threads begin as before."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    assert not leave_no_spans()
    assert "opentelemetry.trace" not in sys.modules
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", threading)
    import opentelemetry.context  # noqa: F401

    assert leave_no_spans()


def test_shipping_makes_no_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that makes a span for each request, as some do, makes none for those of a sink."""
    import requests
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("requests")
    post = requests.Session.post
    posts: list[bool] = []

    def traced(self: Any, *args: Any, **options: Any) -> Any:
        with tracer.start_as_current_span("POST") as span:
            posts.append(span.is_recording())
            return post(self, *args, **options)

    monkeypatch.setattr(requests.Session, "post", traced)
    assert trace is not None
    with Collector() as collector:
        handler = ToologHandler(
            spool={"path": str(tmp_path / "spool")},
            sinks={"spans": {"type": "otlp", "endpoint": collector.endpoint}},
            retention={"INFO": {"sinks": ["spans"]}},
        )
        try:
            handler.handle(logging.makeLogRecord({"levelno": 20, "levelname": "INFO", "msg": "a line"}))
            assert handler.flush(30)
        finally:
            handler.close()
        assert len(collector.logs) == 1
    assert posts
    assert not any(posts)
    assert not exporter.get_finished_spans()
    provider.shutdown()
