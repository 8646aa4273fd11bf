"""The messages of OTLP: the official classes, imported when a sink connects."""

from __future__ import annotations

from typing import Any, NamedTuple

from toolog.sinks.extras import load, require

MODULES = ("opentelemetry.proto", "requests")
"""What the extra ``otlp`` installs."""


class Messages(NamedTuple):
    """The classes of protobuf that a request is made of."""

    AnyValue: Any
    ArrayValue: Any
    KeyValue: Any
    KeyValueList: Any
    Scope: Any
    Resource: Any
    Span: Any
    Status: Any
    ScopeSpans: Any
    ResourceSpans: Any
    Spans: Any
    SpansAnswer: Any
    LogRecord: Any
    ScopeLogs: Any
    ResourceLogs: Any
    Logs: Any
    LogsAnswer: Any


def check_client(where: str) -> None:
    """Raise NotInstalled, which says what to install, when the messages or the client are not there."""
    for module in MODULES:
        require(module, "otlp", where)


def load_messages() -> Messages:
    """Return the classes; they take a tenth of a second to import."""
    common = load("opentelemetry.proto.common.v1.common_pb2")
    trace = load("opentelemetry.proto.trace.v1.trace_pb2")
    logs = load("opentelemetry.proto.logs.v1.logs_pb2")
    spans_service = load("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    logs_service = load("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
    return Messages(
        common.AnyValue, common.ArrayValue, common.KeyValue, common.KeyValueList,
        common.InstrumentationScope, load("opentelemetry.proto.resource.v1.resource_pb2").Resource,
        trace.Span, trace.Status, trace.ScopeSpans, trace.ResourceSpans,
        spans_service.ExportTraceServiceRequest, spans_service.ExportTraceServiceResponse,
        logs.LogRecord, logs.ScopeLogs, logs.ResourceLogs,
        logs_service.ExportLogsServiceRequest, logs_service.ExportLogsServiceResponse,
    )  # fmt: skip
