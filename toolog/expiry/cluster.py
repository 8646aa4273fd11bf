"""Requests to a search cluster, through the sink's own client, with answers and errors in our terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolog.errors import SinkRejected, SinkUnavailable

_CLIENTS = ("elasticsearch", "elastic_transport", "opensearchpy")
_JSON = {"accept": "application/json", "content-type": "application/json"}


class Cluster:
    """One cluster. ``place`` names it in errors, ``client`` is elasticsearch-py's or opensearch-py's."""

    def __init__(self, client: Any, place: str) -> None:
        self.place = place
        own = getattr(client, "perform_request", None)
        self._perform = own if own is not None else client.transport.perform_request
        self._closing = client.close

    def get(self, path: str) -> Any:
        """Return what stands at a path; None when nothing does (404)."""
        return self._call("GET", path, None, missing=True)

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, missing: bool = False
    ) -> Any:
        """Send a request and return the answer's JSON; with ``missing`` a 404 is None.

        Raises SinkUnavailable (no answer, access denied, the server is in trouble) or SinkRejected (it does
        not know such a request, or does not take it).
        """
        return self._call(method, path, body, missing=missing)

    def delete(self, path: str) -> bool:
        """Delete what stands at a path; False when it was gone already."""
        return self._call("DELETE", path, None, missing=True) is not None

    def close(self) -> None:
        """Close the client's connections."""
        self._closing()

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None, *, missing: bool = False) -> Any:
        try:
            answer = self._perform(method, path, headers=_JSON, body=body)
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in _CLIENTS:
                raise
            status = getattr(error, "status_code", None)
            if status == 404 and missing:
                return None
            raise self._explain(f"{method} {path}", status, error) from error
        return getattr(answer, "body", answer)

    def _explain(self, request: str, status: object, error: Exception) -> SinkUnavailable | SinkRejected:
        if not isinstance(status, int):
            return SinkUnavailable(f"{self.place} does not answer: {_reason(error)}")
        if status in (401, 403):
            return SinkUnavailable(
                f"{self.place} refuses access ({status}) to {request}: {_reason(error)}; "
                "docs/how-to/retention.md names the rights that retention needs"
            )
        if 400 <= status < 500 and status != 429:
            return SinkRejected(f"{self.place} does not take {request} ({status}): {_reason(error)}")
        return SinkUnavailable(f"{self.place} cannot do {request} now ({status}): {_reason(error)}")


def _reason(error: Exception) -> str:
    """Return the server's own reason, else what the client says."""
    body: Any = getattr(error, "body", None) or getattr(error, "info", None)
    found = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(found, Mapping):
        found = found.get("reason") or found.get("type")
    return str(found or error)[:300]


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
