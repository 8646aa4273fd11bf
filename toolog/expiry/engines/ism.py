"""OpenSearch's index state management plugin: a policy of the plugin's for each of ours.

A policy takes new indices of its stream by itself (by its ``ism_template``, which names the stream); those
that are there already are added. Indices go on with the version of the policy that they were given, so after
a change they are given the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from toolog.expiry.cluster import write_time
from toolog.expiry.engines.base import Engine, Stream, settle, settle_index, span
from toolog.expiry.plan import Change

_PRIORITY = 300
_ROOM = 2000
"""Characters of index names in one request: its line may have 4096, and a comma takes three."""
_DESCRIPTION = "Kept by toolog's retention policy; written by toolog retention apply."


class IsmEngine(Engine):
    """See the module's docstring."""

    name = "ism"

    def changes(self, stream: Stream, keep: float) -> Iterator[Change]:
        """Yield the policy and the indices that are not as they should be."""
        name, wanted = stream.name, _policy(stream.name, keep)
        found = self.cluster.get(f"/_plugins/_ism/policies/{name}")
        there = None if found is None else found.get("policy")
        managed = self.policies_of(stream)
        mine = [index for index, policy in managed.items() if policy == name]
        yield from settle(f"ISM policy {name}", there, wanted, lambda: self._write(name, wanted, found, mine))
        for index, policy in managed.items():
            yield from settle_index("ISM", index, policy, name, self._adder(name, policy))

    def _adder(self, name: str, before: str | None) -> Callable[[str], object]:
        """Return what puts an index under a policy that was under another one before, or under none."""
        verb = "add" if before is None else "change_policy"
        return lambda index: self.cluster.call("POST", f"/_plugins/_ism/{verb}/{index}", {"policy_id": name})

    def _write(
        self, name: str, policy: dict[str, Any], found: dict[str, Any] | None, managed: list[str]
    ) -> None:
        path = f"/_plugins/_ism/policies/{name}"
        if found is not None:
            path += f"?if_seq_no={found['_seq_no']}&if_primary_term={found['_primary_term']}"
        self.cluster.call("PUT", path, {"policy": policy})
        self._send("POST", "change_policy", managed, {"policy_id": name})

    def withdrawal(self, stream: Stream) -> Iterator[Change]:
        """Yield indices and policy that are still ours."""
        name = stream.name
        managed = [index for index, policy in self.policies_of(stream).items() if policy == name]
        if managed:
            yield Change(
                "remove",
                f"ISM policy of the data stream {name}",
                name,
                None,
                lambda: self._send("POST", "remove", managed),
            )
        found = self.cluster.get(f"/_plugins/_ism/policies/{name}")
        if found is not None and found.get("policy", {}).get("description") == _DESCRIPTION:
            path = f"/_plugins/_ism/policies/{name}"
            yield Change(
                "remove", f"ISM policy {name}", found["policy"], None, lambda: self.cluster.delete(path)
            )

    def policies_of(self, stream: Stream) -> dict[str, str | None]:
        """Return for each backing index the policy that it goes by."""
        return {
            index: facts.get("policy_id")
            for answer in self._send("GET", "explain", stream.indices)
            for index, facts in answer.items()
            if index in stream.indices
        }

    def _send(
        self, method: str, verb: str, indices: Sequence[str], body: dict[str, Any] | None = None
    ) -> list[Any]:
        """Send a request about indices, in as many parts as it takes, and return the answers.

        One index that is gone meanwhile is an error for all of its part; so that is halved until the one is
        left out.
        """
        if not indices:
            return []
        middle = len(indices) // 2
        if not middle or sum(len(index) + 3 for index in indices) <= _ROOM:
            path = f"/_plugins/_ism/{verb}/{','.join(indices)}"
            answer = self.cluster.call(method, path, body, missing=True)
            if answer is not None or not middle:
                return [] if answer is None else [answer]
        parts = (indices[:middle], indices[middle:])
        return [answer for part in parts for answer in self._send(method, verb, part, body)]


def _policy(stream: str, keep: float) -> dict[str, Any]:
    return {
        "description": _DESCRIPTION,
        "default_state": "written",
        "states": [
            {
                "name": "written",
                "actions": [{"rollover": {"min_index_age": write_time(span(keep))}}],
                "transitions": [
                    {"state_name": "deleted", "conditions": {"min_rollover_age": write_time(keep)}}
                ],
            },
            {"name": "deleted", "actions": [{"delete": {}}], "transitions": []},
        ],
        "ism_template": [{"index_patterns": [stream], "priority": _PRIORITY}],
    }
