"""Context as text: what is sent along to another thread, process or machine, and taken up again there.

The text leaves this process, perhaps for somebody else's server, so session and tags are masked in it like in
a record. What arrives comes from elsewhere and may be anything: what is malformed is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

import orjson
import ormsgpack

from toolog.context import HOLD_TAG, NOWHERE, Bag, Binding, Scope, current
from toolog.counters import contain
from toolog.sanitize import inuse
from toolog.settings import capture

# Version ff is forbidden, and only versions after 00 may have more to say.
_TRACEPARENT = re.compile(
    r"(?:00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}"
    r"|(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?)"
)
_DEPTH = "toolog.depth"
_SESSION = "toolog.session"
_TAG = "toolog.tag."
MOST_CHARACTERS = 8192
MOST_ITEMS = 64
"""What W3C has everybody pass on of a baggage: no more is sent, and of others' no more is read."""


def carrier() -> dict[str, str]:
    """Return the current context as plain text, to send along to another thread, process or machine.

    The keys are W3C ones: ``traceparent`` (https://www.w3.org/TR/trace-context/) and, for session, tags and
    depth, ``baggage`` (https://www.w3.org/TR/baggage/). Session and tags are masked as they are in records;
    tags beyond 64 items or 8,192 characters, which others need not pass on, are left out. Empty outside any
    context. See `attach`. Since 0.1.
    """
    return describe(current.get(), bounded=True)


def describe(scope: Scope | None, *, bounded: bool = False) -> dict[str, str]:
    """Return a scope as `carrier` does the current one; all of its tags, unless ``bounded``."""
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
    told = [f"{_quote(key)}={_quote(value)}" for key, value in items.items()]
    if bounded:
        told = _fitting(told)
    if told:
        sent["baggage"] = ",".join(told)
    return sent


def _fitting(items: list[str]) -> list[str]:
    """Return those items of a baggage that have room in it."""
    fitting: list[str] = []
    room = MOST_CHARACTERS + 1  # no comma before the first
    for item in items:
        if len(item) < room and len(fitting) < MOST_ITEMS:
            fitting.append(item)
            room -= len(item) + 1
    return fitting


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


def attach(carrier: Mapping[str, str] | None, /, *, trusted: bool = False) -> Binding:
    """Continue a context that `carrier` described: ``with toolog.attach(message["toolog"]): ...``.

    Takes any mapping with ``traceparent`` and ``baggage`` (HTTP headers, MCP's ``_meta``); what is missing or
    malformed is left out, as W3C asks. Whoever sends it decides nothing here: a session and tags that are
    bound here already stay, the tag ``hold`` is not taken, the depth only as far as a call that comes next is
    within ``max_depth``, and of the baggage no more than 64 items in 8,192 characters. ``trusted``: it comes
    from a process of your own, and all of it holds. Returns a context manager. Since 0.1.
    """

    def make() -> Scope:
        scope = Scope(current.get())
        parent = _TRACEPARENT.fullmatch(_header(carrier, "traceparent").strip())
        trace, span = (parent[1] or parent[3], parent[2] or parent[4]) if parent else ("", "")
        if trace.strip("0") and span.strip("0"):
            scope.trace, scope.span = trace.encode(), span.encode()
            scope.depth = max(scope.depth, 0)
            scope.plan = NOWHERE
        session_id: str | None = None
        tags: dict[str, Any] = {}
        for key, value in _items(_header(carrier, "baggage"), bounded=not trusted):
            if key == _DEPTH and value.isascii() and value.isdigit():
                scope.depth = _depth(int(value[:6]), scope.depth, trusted)
            elif key == _SESSION:
                session_id = value
            elif key.startswith(_TAG):
                tags[key[len(_TAG) :]] = value
        scope.bag = _joined(scope.bag, session_id, tags, trusted)
        return scope

    return Binding(make)


def _header(carrier: Any, wanted: str) -> str:
    """Return a header's text, by its name in any case; "" when there is none, or something else."""
    found = ""
    try:
        for key, value in carrier.items() if isinstance(carrier, Mapping) else ():
            if isinstance(key, str) and isinstance(value, str) and key.lower() == wanted:
                found = value
    except Exception as error:
        contain("carrier", error)
    return found


def _items(baggage: str, *, bounded: bool) -> Iterator[tuple[str, str]]:
    """Give the keys and values in a baggage; ``bounded``: of a very long one only the first."""
    items = baggage.split(",")
    if bounded:
        whole = len(baggage) <= MOST_CHARACTERS
        items = baggage[:MOST_CHARACTERS].split(",", MOST_ITEMS)
        items = items[: MOST_ITEMS if whole else min(MOST_ITEMS, len(items) - 1)]  # the last one may be cut
    for item in items:
        key, _, value = item.partition(";")[0].partition("=")
        yield unquote(key.strip()), unquote(value.strip())


def _depth(told: int, here: int, trusted: bool) -> int:
    """Return the depth to go on from."""
    return told if trusted else max(here, min(told, capture.max_depth - 1))


def _joined(here: Bag, session_id: str | None, tags: dict[str, Any], trusted: bool) -> Bag:
    """Return session and tags of a scope that a carrier is attached to."""
    if trusted:
        return Bag(here.session_id if session_id is None else session_id, {**here.tags, **tags})
    tags.pop(HOLD_TAG, None)
    return Bag(session_id if here.session_id is None else here.session_id, {**tags, **here.tags})
