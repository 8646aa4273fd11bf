"""Spans and log records of one batch, put together by where they come from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolog.sinks.otlp.fields import Document
from toolog.sinks.otlp.messages import Messages
from toolog.sinks.otlp.values import Values

UNKNOWN = "unknown_service"
"""What the conventions call a service that has no name."""
_SERVICE = {
    "name": "service.name",
    "version": "service.version",
    "environment": "deployment.environment.name",
}

Source = tuple[tuple[str, Any], ...]


def source_of(document: Document) -> Source:
    """Return the attributes of the resource that a record comes from: its service, host and process."""
    found: dict[str, Any] = {"service.name": UNKNOWN}
    service = document.get("service")
    for field, value in service.items() if type(service) is dict else ():
        if type(value) is str and value:
            found[_SERVICE.get(field, f"toolog.service.{field}")] = value
    if type(host := document.get("host")) is str:
        found["host.name"] = host
    process = document.get("process")
    if type(process) is dict and type(pid := process.get("pid")) is int:
        found["process.pid"] = pid
    return tuple(found.items())


def make_request(
    signal: str, things: Iterable[tuple[Source, Any]], messages: Messages, values: Values
) -> Any:
    """Return the request that exports spans ("traces") or log records ("logs")."""
    grouped: dict[Source, list[Any]] = {}
    for source, thing in things:
        grouped.setdefault(source, []).append(thing)
    scope = messages.Scope(name="toolog")
    from_each = [
        (messages.Resource(attributes=values.pairs(source)), some) for source, some in grouped.items()
    ]
    if signal == "traces":
        spans = [
            messages.ResourceSpans(
                resource=resource, scope_spans=[messages.ScopeSpans(scope=scope, spans=some)]
            )
            for resource, some in from_each
        ]
        return messages.Spans(resource_spans=spans)
    logs = [
        messages.ResourceLogs(
            resource=resource, scope_logs=[messages.ScopeLogs(scope=scope, log_records=some)]
        )
        for resource, some in from_each
    ]
    return messages.Logs(resource_logs=logs)
