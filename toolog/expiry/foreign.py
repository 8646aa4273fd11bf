"""What a search cluster does to our records by settings that are not ours.

Somebody else's lifecycle policy on our indices, or a bound of the whole cluster, may delete sooner than a
retention policy says. Nothing of it is changed: it is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from toolog.errors import SinkRejected
from toolog.expiry.cluster import Cluster, parse_time, write_time
from toolog.expiry.engines.base import Stream
from toolog.expiry.engines.ism import IsmEngine

_AGES = ("min_index_age", "min_rollover_age")


def find_foreign(
    cluster: Cluster, dialect: str, engine: str, stream: Stream, keep: float | None
) -> Iterator[str]:
    """Yield a sentence for each setting that lets a stream's records go sooner than ``keep`` (seconds, None:
    no end), or keeps the stream's engine from its work. Raises what `Cluster.call` raises.
    """
    if not stream.indices:
        return
    promised = math.inf if keep is None else keep
    if dialect == "elasticsearch":
        yield from _elasticsearch(cluster, engine, stream, promised)
    elif engine != "ism":  # that engine compares the policies of all indices itself
        yield from _opensearch(cluster, stream, promised)


def _elasticsearch(cluster: Cluster, engine: str, stream: Stream, promised: float) -> Iterator[str]:
    answer = cluster.get(f"/_data_stream/{stream.name}") or {}
    for facts in answer.get("data_streams", ()):
        if facts.get("name") != stream.name:
            continue
        yield from _retention(engine, stream, facts.get("lifecycle") or {}, promised)
        for policy in _ilm_policies(facts) - {stream.name}:
            if engine in ("data_stream", "ilm"):
                yield (
                    f"overruled by the ILM policy {policy}, which is not ours: it manages indices of "
                    f"{stream.name} rather than {engine}"
                )
            found = (cluster.get(f"/_ilm/policy/{policy}") or {}).get(policy, {}).get("policy", {})
            delete = found.get("phases", {}).get("delete")
            if delete is not None:
                age = parse_time(delete.get("min_age", "0ms")) or 0.0
                yield from _sooner(f"the ILM policy {policy}, which is not ours,", stream, age, promised)


def _retention(engine: str, stream: Stream, lifecycle: Mapping[str, Any], promised: float) -> Iterator[str]:
    """The retention that really holds: a bound of the whole cluster may be below the stream's own."""
    age = parse_time(lifecycle.get("effective_retention"))
    own = parse_time(lifecycle.get("data_retention"))
    if engine == "data_stream" and lifecycle.get("enabled", True) and age is not None and age != own:
        by = str(lifecycle.get("retention_determined_by", "the cluster")).replace("_", " ")
        yield from _sooner(f"the retention that holds here ({by})", stream, age, promised)


def _ilm_policies(facts: Mapping[str, Any]) -> set[str]:
    """Return the ILM policies that manage a stream's indices, and will manage its next one."""
    found = {
        str(index["ilm_policy"])
        for index in facts["indices"]
        if index.get("ilm_policy") and index.get("managed_by") != "Data stream lifecycle"
    }
    if facts.get("ilm_policy") and facts.get("next_generation_managed_by") != "Data stream lifecycle":
        found.add(str(facts["ilm_policy"]))
    return found


def _opensearch(cluster: Cluster, stream: Stream, promised: float) -> Iterator[str]:
    try:
        managed = IsmEngine(cluster).policies_of(stream)
    except SinkRejected:  # this server has no such plugin
        return
    for policy in sorted({one for one in managed.values() if one is not None} - {stream.name}):
        found = (cluster.get(f"/_plugins/_ism/policies/{policy}") or {}).get("policy", {})
        age = _first_deletion(found)
        if age is not None:
            yield from _sooner(f"the ISM policy {policy}, which is not ours,", stream, age, promised)


def _first_deletion(policy: Mapping[str, Any]) -> float | None:
    """Return the least age at which an ISM policy can delete an index, None when it never does.

    Conditions of another kind (a size, a number of documents) may hold at once, so they count as none.
    """
    states = {state["name"]: state for state in policy.get("states", ())}
    reached: dict[str, float] = {}
    waiting = [(str(policy.get("default_state", "")), 0.0)]
    while waiting:
        name, age = waiting.pop()
        if name not in states or age >= reached.get(name, math.inf):
            continue
        reached[name] = age
        for step in states[name].get("transitions", ()):
            conditions = step.get("conditions") or {}
            ages = [parse_time(conditions[key]) or 0.0 for key in _AGES if key in conditions]
            waiting.append((str(step.get("state_name")), max([age, *ages])))
    deleting = [
        age
        for name, age in reached.items()
        if any("delete" in action for action in states[name].get("actions", ()))
    ]
    return min(deleting, default=None)


def _sooner(who: str, stream: Stream, age: float, promised: float) -> Iterator[str]:
    if age < promised:
        ours = "without an end" if promised == math.inf else f"for {write_time(promised)}"
        yield f"shortened by {who} to {write_time(age)}: {stream.name} is to be kept {ours}"
