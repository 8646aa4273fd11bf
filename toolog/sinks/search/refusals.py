"""What a server's refusal of a whole request means, and what to do about it."""

from __future__ import annotations

import re
from typing import Any

from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks.search.names import stream_pattern
from toolog.sinks.search.options import SearchOptions
from toolog.sinks.search.wire import Reply

RETRIED = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses of a whole request after which it is simply sent again later."""

STATES = frozenset(
    {
        "validation_exception",
        "index_closed_exception",
        "invalid_index_name_exception",
        "security_exception",
        "cluster_block_exception",
        "index_not_found_exception",
        "no_shard_available_action_exception",
    }
)
"""Types of errors with status 400 that are the cluster's state, not a document's: no room for another
shard, a closed index."""
_STATE_TEXTS = (
    "explicit index in bulk",
    "pipeline with id",
    "Limit of total fields",
    "Limit of mapping depth",
    "Limit of nested fields",
    "no matching index template",
    "shards, but this cluster currently has",
    "number of documents in the index cannot exceed",
    "number of documents in the shard cannot exceed",
)
"""Parts of reasons that are so, too; their type says nothing."""

NO_REASON = "no reason given"
CONNECTING = "connecting"
"""What is said to have been asked when a server is looked at for the first time."""


def refusal(reply: Reply, doing: str, options: SearchOptions) -> SinkUnavailable:
    """Return the error for a request that was refused as a whole; ``doing`` says what was asked.

    SinkDenied where somebody has to put something right, SinkUnavailable where time will do.
    """
    where, hosts = options.where, ", ".join(options.hosts)
    status, reason = reply.status, reason_of(reply.body)
    if status == 401:
        given = options.credentials
        what = f"check {given[0]}" if given else "give api_key, basic_auth or bearer_auth"
        return SinkDenied(f"{where}: {hosts} does not accept who we are (401) when {doing}; {what}")
    if type_of(reply.body) == "cluster_block_exception":
        return SinkDenied(
            f"{where}: the cluster lets nothing be written now ({status}) when {doing}: {reason}; rights are "
            "not the matter: take the block off, or give it room if its disks are full"
        )
    if status == 403 and reason != NO_REASON:
        return SinkDenied(
            f"{where}: a right is missing (403) when {doing}: {reason}; writing needs create_doc and "
            f"auto_configure (or the data streams made before) on {stream_pattern(options.namespace)}"
        )
    if status in RETRIED or status > 504:
        return SinkUnavailable(f"{where}: {hosts} cannot take it now ({status}) when {doing}", tells=True)
    if reason == NO_REASON or doing == CONNECTING:
        hint = "is it a search server, and is its path right?"
    elif "index_not_found" in reason:
        hint = "make the data stream, or let the cluster make it (action.auto_create_index)"
    elif "explicit index in bulk" in reason:
        hint = "set rest.action.multi.allow_explicit_index to true in the cluster"
    else:
        hint = "the records wait until that is put right in the cluster"
    return SinkDenied(f"{where}: {hosts} answered {status} when {doing}: {reason}; {hint}")


def reason_of(body: Any) -> str:
    """Return type and reason of an error in an answer, causes included, in one line."""
    error = body.get("error", body) if isinstance(body, dict) else body
    parts: list[str] = []
    while isinstance(error, dict) and len(parts) < 8:
        kind, reason = error.get("type"), error.get("reason")
        if kind or reason:
            parts.append(f"{kind}: {reason}" if kind and reason else str(kind or reason))
        error = error.get("caused_by")
    if not parts and isinstance(error, str):
        parts.append(error)
    return "; caused by ".join(parts) or NO_REASON


def unquoted(reason: str) -> str:
    """Return what a server says of a document up to where it begins to quote, which may be a user's data."""
    return re.split("['\"`]", reason, maxsplit=1)[0][:200].rstrip()


def type_of(body: Any) -> str:
    """Return the type of an error in an answer, or ""."""
    error = body.get("error") if isinstance(body, dict) else None
    kind = error.get("type") if isinstance(error, dict) else None
    return kind if isinstance(kind, str) else ""


def is_state(body: Any) -> bool:
    """Whether an error in an answer speaks of the cluster's state: no document is at fault."""
    reason = reason_of(body)
    return type_of(body) in STATES or any(text in reason for text in _STATE_TEXTS)
