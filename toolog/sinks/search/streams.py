"""Data streams that are there already, or are about to come: whether they have our mapping.

A template holds for indices that are made after it. A stream that somebody else made, or that is older than
the template, keeps its mapping until it is rolled over: there every argument of a tool would become a field,
and what does not fit the fields would be refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolog.counters import tell
from toolog.errors import SinkDenied
from toolog.sinks.search.names import template_name
from toolog.sinks.search.options import SearchOptions
from toolog.sinks.search.refusals import RETRIED, reason_of, refusal
from toolog.sinks.search.template import is_ours
from toolog.sinks.search.wire import Reply, Wire

_SHAPE = "*.mappings.dynamic,*.mappings.properties.input.type"
_NO_RIGHT = (401, 403)


def check_streams(wire: Wire, options: SearchOptions, pattern: str, *, roll: bool = True) -> None:
    """Roll over those of our streams that write with another mapping; ``pattern``: which ones to look at.

    Without the right to look there is nothing to be known. Raises SinkDenied when one cannot be rolled over
    (or shall not: ``roll``), or has another mapping even then, and SinkUnavailable when the server cannot
    answer now.
    """
    ours = template_name(options.namespace)
    odd = _odd_streams(wire, options, pattern)
    for stream, template in odd.items() if roll else ():
        if template not in (None, ours, stream):  # each try would add an index like the last one
            raise SinkDenied(
                f"{options.where}: the data stream {stream} has another mapping, because the index template "
                f"{template} makes its indices, not {ours}: let that one cover it no more, then toolog rolls "
                "it over"
            )
        reply = wire.request("POST", f"/{stream}/_rollover")
        if reply.status in _NO_RIGHT:
            raise SinkDenied(
                f"{options.where}: the data stream {stream} has another mapping than the index template "
                f"{ours}, and there is no right to roll it over: give `manage` on it, or send POST "
                f"/{stream}/_rollover once"
            )
        if reply.status != 200:
            raise refusal(reply, f"rolling over {stream}, which has another mapping", options)
        tell(
            f"{options.where}: {stream} rolled over",
            f"{options.where}: the data stream {stream} had another mapping than ours, and was rolled over; "
            "what it holds stays",
        )
    if odd and (left := list(_odd_streams(wire, options, pattern))):
        raise SinkDenied(
            f"{options.where}: the data stream {left[0]} has another mapping than the index template {ours}; "
            "roll it over, and see that no other template makes it"
        )


def make_stream(wire: Wire, stream: str, options: SearchOptions) -> None:
    """Make a data stream before the first record, where nothing is known of the template: only a server can
    say that none covers the name, and of a record it would make an index with open mappings.

    Raises SinkDenied when no template makes a data stream of that name, or not one with our mapping.
    """
    reply = wire.request("PUT", f"/_data_stream/{stream}")
    if reply.status == 400 and "already exists" not in reason_of(reply.body):
        raise SinkDenied(
            f"{options.where}: {stream} cannot be made a data stream ({reason_of(reply.body)}); the index "
            f"template {template_name(options.namespace)} is needed first: let somebody with "
            "manage_index_templates run toolog once"
        )
    check_streams(wire, options, stream, roll=False)


def find_occupied(wire: Wire, options: SearchOptions, pattern: str) -> dict[str, str]:
    """Return which names, of those that ``pattern`` stands for, are no data streams, and what each is: "an
    index", "an alias". What is written to one of them would go where our mapping does not hold.

    Empty without the right to look. Raises SinkUnavailable when the server cannot answer now.
    """
    found = _ask(wire, f"/_resolve/index/{pattern}", options)
    return {
        str(one["name"]): what
        for kind, what in (("indices", "an index"), ("aliases", "an alias"))
        for one in found.get(kind) or ()
        if isinstance(one, Mapping) and "name" in one and "data_stream" not in one
    }


def in_the_way(stream: str, what: str, options: SearchOptions) -> SinkDenied:
    """Return the error for a stream whose name is ``what`` already."""
    return SinkDenied(
        f"{options.where}: {stream} is {what}, not a data stream; it was there before the index template: "
        "move or delete it"
    )


def _odd_streams(wire: Wire, options: SearchOptions, pattern: str) -> dict[str, str | None]:
    """Return the streams whose newest index has another mapping than ours, and which index template makes
    their indices (None: the server does not say).
    """
    streams = _ask(wire, f"/_data_stream/{pattern}", options).get("data_streams")
    newest: dict[str, str] = {}
    templates: dict[str, str | None] = {}
    for one in streams if isinstance(streams, list) else ():
        indices = one.get("indices")
        if isinstance(indices, list) and indices and isinstance(indices[-1], Mapping):
            newest[str(one.get("name"))] = str(indices[-1].get("index_name"))
            templates[str(one.get("name"))] = one.get("template")
    if not newest:
        return {}
    # An index without any of what is asked for is left out of the answer; where nothing is answered, as
    # without the right to look, nothing is known.
    reply = wire.request("GET", f"/{pattern}/_mapping", params={"filter_path": _SHAPE})
    _refuse_later(reply, pattern, options)
    if reply.status != 200:
        return {}
    return {
        stream: templates[stream] for stream, index in newest.items() if not is_ours(reply.body.get(index))
    }


def _ask(wire: Wire, path: str, options: SearchOptions) -> dict[str, Any]:
    reply = wire.request("GET", path)
    _refuse_later(reply, path, options)
    return reply.body if reply.status == 200 else {}


def _refuse_later(reply: Reply, what: str, options: SearchOptions) -> None:
    if reply.status in RETRIED:
        raise refusal(reply, f"looking at {what}", options)
