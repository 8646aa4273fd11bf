"""Context as text: what is sent along to another thread, process or machine, and taken up again there.

The text leaves this process, perhaps for somebody else's server, so session and tags are masked in it like in
a record. What arrives comes from elsewhere and may be anything: what is malformed is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

import orjson
import ormsgpack

from toolog.context import NOWHERE, Bag, Binding, Scope, current
from toolog.sanitize import inuse

# Version ff is forbidden, and only versions after 00 may have more to say.
_TRACEPARENT = re.compile(
    r"(?:00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}"
    r"|(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?)"
)
_DEPTH = "toolog.depth"
_SESSION = "toolog.session"
_TAG = "toolog.tag."


def carrier() -> dict[str, str]:
    """Return the current context as plain text, to send along to another thread, process or machine.

    The keys are W3C ones: ``traceparent`` (https://www.w3.org/TR/trace-context/) and, for session, tags and
    depth, ``baggage`` (https://www.w3.org/TR/baggage/). Session and tags are masked as they are in records.
    Empty outside any context. See `attach`. Since 0.1.
    """
    scope = current.get()
    if scope is None:
        return {}
    sent: dict[str, str] = {}
    if scope.trace is not None and scope.span is not None:
        sent["traceparent"] = f"00-{scope.trace_id}-{scope.span_id}-01"
    items = {}
    if scope.depth >= 0:
        items[_DEPTH] = str(scope.depth)
    if scope.bag.count:
        items.update(_shown(scope.bag, scope.tool_name))
    if items:
        sent["baggage"] = ",".join(f"{_quote(key)}={_quote(value)}" for key, value in items.items())
    return sent


def _quote(text: str) -> str:
    return quote(text, errors="backslashreplace")


def _shown(bag: Bag, tool: str | None) -> dict[str, str]:
    """Return session and tags as the text that may be sent: of their snapshots, masked."""
    content: dict[str, Any] = ormsgpack.unpackb(bytes([0x80 + bag.count]) + bag.packed)
    shown: dict[str, str] = {}
    if (session_id := content.get("session_id")) is not None:
        shown[_SESSION] = str(inuse.mask_content(session_id, "session_id", tool))
    given = content.get("tags", {})
    tags = inuse.mask_content(given, "tags", tool)
    if not isinstance(tags, dict):  # all of it is one mask
        tags = dict.fromkeys(given, tags)
    for key, value in tags.items():
        if (
            given.get(key, value) is not None
        ):  # as text it would be one: a hold that was lifted would be on again
            text = orjson.dumps(value).decode() if isinstance(value, dict | list) else str(value)
            shown[f"{_TAG}{key}"] = text
    return shown


def attach(carrier: Mapping[str, str] | None, /) -> Binding:
    """Continue a context that `carrier` described: ``with toolog.attach(message["toolog"]): ...``.

    Takes any mapping with ``traceparent`` and ``baggage`` (HTTP headers, MCP's ``_meta``); what is missing or
    malformed is left out, as W3C asks. Returns a context manager. Since 0.1.
    """

    def make() -> Scope:
        scope = Scope(current.get())
        given = carrier.items() if isinstance(carrier, Mapping) else ()  # from outside: it may be anything
        found = {str(key).lower(): str(value) for key, value in given}
        parent = _TRACEPARENT.fullmatch(found.get("traceparent", "").strip())
        trace, span = (parent[1] or parent[3], parent[2] or parent[4]) if parent else ("", "")
        if trace.strip("0") and span.strip("0"):
            scope.trace, scope.span = trace.encode(), span.encode()
            scope.depth = max(scope.depth, 0)
            scope.plan = NOWHERE
        session_id, tags = scope.bag.session_id, dict(scope.bag.tags)
        for item in found.get("baggage", "").split(","):
            key, _, value = item.partition(";")[0].partition("=")
            key, value = unquote(key.strip()), unquote(value.strip())
            if key == _DEPTH and value.isascii() and value.isdigit():
                scope.depth = int(value[:6])
            elif key == _SESSION:
                session_id = value
            elif key.startswith(_TAG):
                tags[key[len(_TAG) :]] = value
        scope.bag = Bag(session_id, tags)
        return scope

    return Binding(make)
