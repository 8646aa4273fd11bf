"""Requests to a search cluster, through the sink's own client, with answers and errors in our terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolog.errors import SinkDenied, SinkRejected, SinkUnavailable
from toolog.sinks.search.clients import connect_search
from toolog.sinks.search.options import SearchOptions
from toolog.sinks.search.refusals import RETRIED, reason_of
from toolog.sinks.search.wire import Reply, Wire


class Cluster:
    """One cluster, reached as a sink's options say."""

    def __init__(self, options: SearchOptions) -> None:
        self.place = f"{options.where}: {', '.join(options.hosts)}"
        self._options = options
        self._wire = Wire(connect_search(options, options.where), options)

    def get(self, path: str) -> Any:
        """Return what stands at a path; None when nothing does (404)."""
        return self.call("GET", path, missing=True)

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, missing: bool = False
    ) -> Any:
        """Send a request and return the answer's JSON; with ``missing`` a 404 is None.

        Raises SinkUnavailable (no answer, no right, the server is in trouble) or SinkRejected (it does not
        know such a request, or does not take it).
        """
        path, _, query = path.partition("?")
        params = dict(pair.split("=", 1) for pair in query.split("&") if pair)
        reply = self._wire.request(method, path, body=body, params=params)
        if reply.status < 300:
            return reply.body
        if reply.status == 404 and missing:
            return None
        raise self._refusal(f"{method} {path}", reply)

    def delete(self, path: str) -> bool:
        """Delete what stands at a path; False when it was gone already."""
        return self.call("DELETE", path, missing=True) is not None

    def close(self) -> None:
        """Close the client's connections."""
        self._wire.close()

    def _refusal(self, request: str, reply: Reply) -> SinkUnavailable | SinkRejected:
        reason = reason_of(reply.body)[:400]
        if reply.status == 401:
            given = self._options.credentials
            what = f"check {given[0]}" if given else "give api_key, basic_auth or bearer_auth"
            return SinkDenied(f"{self.place} does not accept who we are (401); {what}")
        if reply.status == 403:
            return SinkDenied(
                f"{self.place}: a right is missing (403) for {request}: {reason}; docs/how-to/retention.md "
                "lists the rights that retention needs"
            )
        if reply.status in RETRIED or reply.status > 504:
            return SinkUnavailable(f"{self.place} cannot do {request} now ({reply.status}): {reason}")
        return SinkRejected(f"{self.place} does not take {request} ({reply.status}): {reason}")


def is_as_wanted(wanted: Any, found: Any) -> bool:
    """Whether everything in ``wanted`` stands in ``found``; servers add fields of their own, and may write a
    time or a number in another way.
    """
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            name in found and is_as_wanted(value, found[name]) for name, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return (
            isinstance(found, Sequence)
            and not isinstance(found, str)
            and len(found) == len(wanted)
            and all(is_as_wanted(one, other) for one, other in zip(wanted, found, strict=True))
        )
    if wanted == found or str(wanted).lower() == str(found).lower():
        return True
    seconds = parse_time(wanted)
    return seconds is not None and seconds == parse_time(found)


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def write_time(seconds: float) -> str:
    """Return a duration as these servers write it, in the largest unit that says it exactly: ``7d``."""
    milliseconds = round(seconds * 1000)
    for unit in ("d", "h", "m", "s"):
        size = round(_UNITS[unit] * 1000)
        if milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"


def parse_time(text: object) -> float | None:
    """Return the seconds of a duration as these servers write it, None for anything else."""
    if isinstance(text, str):
        number = text.rstrip("dhms")
        unit = text[len(number) :]
        if unit in _UNITS and number.replace(".", "", 1).isdigit():
            return float(number) * _UNITS[unit]
    return None
