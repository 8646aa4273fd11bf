"""OpenTelemetry beside us: its active span is the parent of our calls, and our calls are its spans' parents.

Nothing of OpenTelemetry is imported here until the application has loaded it; while it is not, a call costs
nothing more. Our calls do not become OpenTelemetry spans: what its API sees as the current span while a tool
runs is a stand-in (``NonRecordingSpan``) with the call's ids.

The stand-in is made when somebody asks. OpenTelemetry's runtime context (the object behind
``context.get_current``) is put behind one that looks at our current scope: is the answer older than the call
we are in, the call's stand-in is added. So nothing has to be attached and detached around each step of a
generator, and no token can be left over in another context (docs/decisions/opentelemetry-context.md).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from toolog import context as scopes
from toolog.context import Scope, current, use_bridge
from toolog.counters import contain

MODULE = "opentelemetry.trace"
_KEY = "toolog-span"


class JoinedContext:
    """OpenTelemetry's runtime context, with the call we are in added to what `get_current` answers."""

    def __init__(self, inner: Any, trace: Any, make_context: Any) -> None:
        self.inner = inner
        self._trace = trace
        self._make_context = make_context

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def get_current(self) -> Any:
        """Return the context there; with our current call's stand-in when that call is newer."""
        held = self.inner.get_current()
        scope = current.get()
        try:
            if scope is None or scope.span is None or scope.trace is None or held.get(_KEY) == scope.span:
                return held
            trace = self._trace
            above = trace.get_current_span(held).get_span_context()
            flags = above.trace_flags if above.is_valid else trace.TraceFlags(trace.TraceFlags.SAMPLED)
            ids = trace.SpanContext(int(scope.trace, 16), int(scope.span, 16), False, flags)
            seen = trace.set_span_in_context(trace.NonRecordingSpan(ids), held)
            return self._make_context({**seen, _KEY: scope.span})
        except Exception as trouble:
            contain("opentelemetry", trouble)
            return held


class OpenTelemetryBridge:
    """What capture asks when a call begins (see ``toolog.context.bridge``)."""

    def __init__(self, joined: JoinedContext, trace: Any) -> None:
        self.joined = joined
        self._trace = trace

    def parent(self, scope: Scope | None) -> tuple[bytes, bytes] | None:
        """Return the active span there (trace, span) when nearer than ``scope``, else None. Never raises."""
        try:
            held = self.joined.inner.get_current()
            active = self._trace.get_current_span(held).get_span_context()
            if not active.is_valid:
                return None
            mark = held.get(_KEY)
            span = b"%016x" % active.span_id
            if span == mark or (scope is not None and scope.span is not None and mark != scope.span):
                return None  # our own stand-in, or a span around our own parent
            return b"%032x" % active.trace_id, span
        except Exception as trouble:
            contain("opentelemetry", trouble)
            return None


_wanted = False
_hooked = False


def install() -> None:
    """Join OpenTelemetry, now if it is loaded, else as soon as it is. Repeating it changes nothing."""
    global _hooked, _wanted
    _wanted = True
    loaded = sys.modules.get(MODULE)
    if loaded is not None:
        _join(loaded)
    elif not _hooked:
        from wrapt import register_post_import_hook

        _hooked = True
        register_post_import_hook(_join, MODULE)


def undo() -> None:
    """Part from OpenTelemetry; its runtime context is the very object that it was."""
    global _wanted
    _wanted = False
    bridge = scopes.bridge
    if isinstance(bridge, OpenTelemetryBridge):
        use_bridge(None)
        context = sys.modules.get("opentelemetry.context")
        if context is not None and vars(context).get("_RUNTIME_CONTEXT") is bridge.joined:
            context._RUNTIME_CONTEXT = bridge.joined.inner  # type: ignore[attr-defined]


def _join(trace: ModuleType) -> None:
    if not _wanted or isinstance(scopes.bridge, OpenTelemetryBridge):
        return
    try:
        from opentelemetry import context

        joined = JoinedContext(context._RUNTIME_CONTEXT, trace, context.Context)
        context._RUNTIME_CONTEXT = joined  # type: ignore[assignment]
        use_bridge(OpenTelemetryBridge(joined, trace))
    except Exception as trouble:
        contain("opentelemetry", trouble)
