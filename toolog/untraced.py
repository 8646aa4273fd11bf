"""What our own threads do is no part of an application's traces.

Clients of search servers and buckets, and what instruments them or the HTTP libraries below, make a span for
each request where OpenTelemetry is set up. On a thread of ours these would be traces that nobody asked for,
one for each batch.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

_KEYS = ("_SUPPRESS_INSTRUMENTATION_KEY", "_SUPPRESS_HTTP_INSTRUMENTATION_KEY")
"""What instrumentations look for in the context before they make a span."""


def leave_no_spans() -> bool:
    """Let nothing on this thread record spans from now on; return whether OpenTelemetry is there.

    Clients that make spans themselves ask nobody, but a sampler follows the parent: here one that is not
    sampled.
    """
    context: Any = sys.modules.get("opentelemetry.context")
    trace: Any = sys.modules.get("opentelemetry.trace")
    if context is None or trace is None:
        return False
    with suppress(Exception):  # a version that does it in another way: then there are spans
        parent = trace.NonRecordingSpan(trace.SpanContext(1, 1, is_remote=False))
        found = trace.set_span_in_context(parent)
        for name in _KEYS:
            if (key := getattr(context, name, None)) is not None:
                found = context.set_value(key, True, found)
        context.attach(found)
    return True
