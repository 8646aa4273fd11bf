"""Elasticsearch's data stream lifecycle: each stream has a retention, and the server does the rest.

It rolls over by itself and counts from there. The streams are made when they are missing: a lifecycle is a
stream's own setting, and one that only the first record makes would have none until somebody looked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolog.expiry.cluster import write_time
from toolog.expiry.engines.base import Engine, Stream, settle
from toolog.expiry.plan import DAY, Bounds, Change

_AUTOMATIC = ((14 * DAY, DAY), (90 * DAY, 7 * DAY))
"""Elasticsearch's own rollover by age (``max_age=auto``): retention up to -> an index is so old at most.
Newer servers roll over hourly where the retention is a day or less.
"""


class DataStreamEngine(Engine):
    """See the module's docstring."""

    name = "data_stream"
    needs_template = True

    def bounds(self, keep: float) -> Bounds:
        """Return how long a record lives: the age of its index comes on top of the retention."""
        rollover = next((age for limit, age in _AUTOMATIC if keep <= limit), 30 * DAY)
        return Bounds(keep, keep + rollover, "from the rollover of its index, then within minutes")

    def changes(self, stream: Stream, keep: float) -> Iterator[Change]:
        """Yield a missing stream, and a retention that is not the policy's."""
        wanted = {"data_retention": write_time(keep), "enabled": True}
        path = f"/_data_stream/{stream.name}"
        if not stream.indices:
            yield Change(
                "create", f"data stream {stream.name}", None, {}, lambda: self.cluster.call("PUT", path)
            )
        yield from settle(
            f"lifecycle of the data stream {stream.name}",
            self._lifecycle(stream),
            wanted,
            lambda: self.cluster.call("PUT", f"{path}/_lifecycle", wanted),
        )

    def withdrawal(self, stream: Stream) -> Iterator[Change]:
        """Yield a retention that the stream still has."""
        found = self._lifecycle(stream)
        if found and "data_retention" in found:
            yield Change(
                "remove",
                f"lifecycle of the data stream {stream.name}",
                found,
                None,
                lambda: self.cluster.delete(f"/_data_stream/{stream.name}/_lifecycle"),
            )

    def _lifecycle(self, stream: Stream) -> dict[str, Any] | None:
        if not stream.indices:
            return None
        answer = self.cluster.get(f"/_data_stream/{stream.name}/_lifecycle") or {}
        for one in answer.get("data_streams", ()):
            if one.get("name") == stream.name:
                found: dict[str, Any] | None = one.get("lifecycle")
                return found
        return None
