"""What a sink does when it has reached a server: which product it is, and whether the index template is
there and holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from toolog.counters import contain
from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks.search.names import PREFIX, stream_pattern, template_name
from toolog.sinks.search.options import Dialect, SearchOptions
from toolog.sinks.search.refusals import CONNECTING, reason_of, refusal
from toolog.sinks.search.template import is_ours, make_template, merge_template
from toolog.sinks.search.wire import Wire

_NO_RIGHT = (401, 403)


class Server(NamedTuple):
    """The product that answers, and its version ((0, 0) when it may not be asked)."""

    kind: Dialect
    version: tuple[int, int]


def look_at(wire: Wire, options: SearchOptions) -> Server:
    """Return what the server says it is; without the right to ask, what the dialect says.

    Raises SinkUnavailable or SinkDenied when it is not there, or does not accept who we are.
    """
    reply = wire.request("GET", "/")
    if reply.status == 403 and reply.body:  # one may write without `monitor`
        return Server(options.dialect, (0, 0))
    if reply.status != 200:
        raise refusal(reply, CONNECTING, options)
    version = reply.body.get("version")
    if not isinstance(version, dict):
        raise SinkDenied(f"{options.where}: {', '.join(options.hosts)} does not answer like a search server")
    kind: Dialect = "opensearch" if version.get("distribution") == "opensearch" else "elasticsearch"
    numbers = [part for part in str(version.get("number")).split(".")[:2] if part.isdigit()]
    return Server(kind, (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else (0, 0))


def is_answered(wire: Wire) -> bool:
    """Whether the server answers now, so that what goes wrong is not that it is away."""
    try:
        reply = wire.request("GET", "/")
    except SinkUnavailable:
        return False
    return reply.status == 200 or (reply.status == 403 and bool(reply.body))


def install_template(wire: Wire, server: Server, options: SearchOptions) -> bool:
    """Put the index template there when it is missing or older; see ``template.merge_template``. Return
    whether it is known to be in effect.

    Without the right to install it one line is told, and the sink goes on with what there is: where a
    template does not fit, it raises SinkDenied, because a cluster would make open mappings for what is
    written.
    """
    name = template_name(options.namespace)
    reply = wire.request("GET", f"/_index_template/{name}")
    if reply.status in _NO_RIGHT:
        _tell_no_right(options, reply.body, "look at")
        return _is_in_effect(wire, options, name, there=False)
    if reply.status not in (200, 404):
        raise refusal(reply, f"looking at the index template {name}", options)
    there = _present(reply.body)
    wanted = merge_template(there, make_template(server.kind, options.namespace))
    if wanted is not None:
        written = wire.request("PUT", f"/_index_template/{name}", body=wanted)
        if written.status in _NO_RIGHT:
            _tell_no_right(options, written.body, "install")
        elif written.status != 200:
            raise refusal(written, f"installing the index template {name}", options)
    return _is_in_effect(wire, options, name, there=there is not None)


def _present(body: dict[str, Any]) -> dict[str, Any] | None:
    found = body.get("index_templates")
    if not isinstance(found, list) or not found:
        return None
    template = found[0].get("index_template")
    return template if isinstance(template, dict) else None


def _is_in_effect(wire: Wire, options: SearchOptions, name: str, *, there: bool) -> bool:
    """Return whether a new data stream is known to get our mapping; raise SinkDenied when it would not.
    ``there``: the template stands on the server.
    """
    reply = wire.request("POST", f"/_index_template/_simulate_index/{PREFIX}-_check-{options.namespace}")
    if reply.status != 200:  # no right to ask; or a server that cannot be asked
        return False
    if is_ours(reply.body.get("template")):
        return True
    others = [one.get("name") for one in reply.body.get("overlapping") or () if isinstance(one, dict)]
    if name in others:
        why = "another one with a higher priority covers its data streams"
    elif there:
        why = "somebody changed it, or a newer toolog wrote it"
    else:
        why = "it is not there"
    pattern = stream_pattern(options.namespace)
    raise SinkDenied(
        f"{options.where}: the index template {name} is not in effect for {pattern}: {why}; "
        "without it every argument of a tool would become a field"
    )


def _tell_no_right(options: SearchOptions, body: dict[str, Any], doing: str) -> None:
    text = (
        f"{options.where}: no right to {doing} the index template {template_name(options.namespace)} "
        f"({reason_of(body)}); give manage_index_templates, or let somebody install it who may"
    )
    contain(f"{options.where}: template", SinkUnavailable(text), told=text)
