"""Figures of the calls in a search cluster: counted there, in the shape in which the store gives them.

No call's record is fetched. Percentiles are of nearest rank, as the store's, and exact to three digits. A
call whose record was doubled by a rollover counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolog.archive.cluster import ENDS, START, Cluster, Tell, conditions_of, reach
from toolog.archive.question import Question
from toolog.sinks.search.document import from_search
from toolog.sinks.search.options import SearchOptions
from toolog.store.filters import GROUPS

_MOST = 10_000
"""How many tools, types of errors and instances are told apart."""
_AT_ONCE = 5_000
"""How many calls that began are looked at in one request for those that did not end."""
_DIGITS = 3
_PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0}
_Config = tuple[Any, Any, Any]
"""Hash, package and class of a configuration."""
_TIME = ["@timestamp", "timestamp", "event"]

_CALLS: dict[str, Any] = {
    "statuses": {"terms": {"field": "status", "size": 100}},
    "errors": {"terms": {"field": "error.type", "size": _MOST}},
    "ran": {
        "filter": {"bool": {"must_not": {"terms": {"status": list(GROUPS["rejected"])}}}},
        "aggs": {
            "mean": {"avg": {"field": "duration_ms"}},
            "max": {"max": {"field": "duration_ms"}},
            "ranks": {
                "percentiles": {
                    "field": "duration_ms",
                    "percents": list(_PERCENTILES.values()),
                    "hdr": {"number_of_significant_value_digits": _DIGITS},
                }
            },
        },
    },
    # Not `min` and `max`: these know no more than milliseconds of a time.
    "first": {"top_hits": {"size": 1, "sort": [{"@timestamp": "asc"}], "_source": _TIME}},
    "last": {"top_hits": {"size": 1, "sort": [{"@timestamp": "desc"}], "_source": _TIME}},
}
"""What is counted of a group of calls."""


def stats(options: SearchOptions, question: Question, tell: Tell) -> dict[str, Any]:
    """Return the figures of the calls that match: see ``Store.stats``; of a question its tool, session, since
    and until count. ``tell`` and errors as in `cluster.ask`.
    """
    conditions = conditions_of(question)
    ends = [*conditions, {"terms": {"event.action": list(ENDS)}}]
    with reach(options) as cluster:
        tools = {"terms": {"field": "tool_name", "size": _MOST}, "aggs": _CALLS}
        instances = {"terms": {"field": "instance_id", "size": _MOST}}
        found = cluster.count(
            {"query": _all(ends), "aggs": {**_CALLS, "tools": tools, "instances": instances}}, tell
        )
        configs = _configs(cluster, _names(found.get("instances")), tell)
        return {
            **_figures(found),
            "running": _running(cluster, conditions, tell),
            "dropped": _dropped(cluster, tell),
            "tools": sorted(
                ({"tool_name": one["key"], **_figures(one)} for one in _buckets(found.get("tools"))),
                key=lambda one: (-one["calls"], one["tool_name"]),
            ),
            "configs": _by_config(cluster, ends, configs, tell),
        }


def instances(options: SearchOptions, tell: Tell) -> list[dict[str, Any]]:
    """Return the tool instances, newest first, each with its config and how its calls went: see
    ``Store.instances``. ``tell`` and errors as in `cluster.ask`.
    """
    with reach(options) as cluster:
        seen: dict[str, dict[str, Any]] = {}
        for record in _instances(cluster, [], tell):
            seen.setdefault(str(record.get("instance_id")), record)
        aggs = {
            "of": {
                "terms": {"field": "instance_id", "size": _MOST},
                "aggs": {name: _CALLS[name] for name in ("statuses", "last")},
            }
        }
        body = {"query": _all([{"terms": {"event.action": list(ENDS)}}]), "aggs": aggs}
        calls = {str(one["key"]): one for one in _buckets(cluster.count(body, tell).get("of"))}
        return [_instance(record, calls.get(name, {})) for name, record in seen.items()]


def _instance(record: Mapping[str, Any], calls: Mapping[str, Any]) -> dict[str, Any]:
    statuses = _terms(calls.get("statuses"))
    tool = record.get("tool") or {}
    return {
        "instance_id": record.get("instance_id"),
        "package": tool.get("package"),
        "class_name": tool.get("qualname"),
        "config_hash": record.get("config_hash"),
        "created_at": record.get("created_at") or record.get("timestamp"),
        "recreated_from": record.get("recreated_from"),
        "config": record.get("config"),
        "calls": sum(statuses.values()),
        "successes": statuses.get("success", 0),
        "last_call": _time(calls.get("last")),
    }


# -- groups of calls


def _figures(bucket: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of one group of calls."""
    statuses = _terms(bucket.get("statuses"))
    total = sum(statuses.values())
    ran = bucket.get("ran", {})
    has_any = ran.get("max", {}).get("value") is not None
    ranks = ran.get("ranks", {}).get("values", {})
    return {
        "calls": total,
        "successes": statuses.get("success", 0),
        "success_rate": statuses.get("success", 0) / total if total else None,
        "statuses": statuses,
        "errors": _terms(bucket.get("errors")),
        "duration_ms": {
            "mean": ran["mean"]["value"] if has_any else None,
            **{name: ranks.get(str(share)) if has_any else None for name, share in _PERCENTILES.items()},
            "max": ran["max"]["value"] if has_any else None,
        },
        "first": _time(bucket.get("first")),
        "last": _time(bucket.get("last")),
    }


def _by_config(
    cluster: Cluster,
    ends: list[Mapping[str, Any]],
    configs: dict[_Config, list[str]],
    tell: Tell,
) -> list[dict[str, Any]]:
    """Return the figures of each configuration: all of its instances are one group."""
    if not configs:
        return []
    keys = list(configs)
    groups = {str(at): {"terms": {"instance_id": configs[key]}} for at, key in enumerate(keys)}
    aggs = {"configs": {"filters": {"filters": groups}, "aggs": _CALLS}}
    found = cluster.count({"query": _all(ends), "aggs": aggs}, tell).get("configs", {}).get("buckets", {})
    rows = [
        {
            "config_hash": key[0],
            "package": key[1],
            "class_name": key[2],
            "instances": len(configs[key]),
            **_figures(found.get(str(at), {})),
        }
        for at, key in enumerate(keys)
    ]
    return sorted(rows, key=lambda row: -row["calls"])


def _configs(cluster: Cluster, ids: list[str], tell: Tell) -> dict[_Config, list[str]]:
    """Return the instances that were called, by hash, package and class of their configuration; those of
    which nothing else is known are one group.
    """
    known: dict[str, _Config] = {}
    if ids:
        for record in _instances(cluster, [{"terms": {"instance_id": ids}}], tell):
            tool = record.get("tool") or {}
            name = str(record.get("instance_id"))
            known.setdefault(name, (record.get("config_hash"), tool.get("package"), tool.get("qualname")))
    found: dict[_Config, list[str]] = {}
    for name in ids:
        found.setdefault(known.get(name, ("", "", "")), []).append(name)
    return found


def _instances(cluster: Cluster, conditions: list[Mapping[str, Any]], tell: Tell) -> Iterator[dict[str, Any]]:
    kinds = {"term": {"event.action": "tool_instance"}}
    for page in cluster.pages([kinds, *conditions], tell):
        yield from page


def _running(cluster: Cluster, conditions: list[Mapping[str, Any]], tell: Tell) -> int:
    """Return how many calls began that have no end: the cluster counts by the call, some thousand at a time,
    and only those without an end come back.
    """
    starts = {"term": {"event.action": START}}
    aggs: dict[str, Any] = {"spans": {"cardinality": {"field": "span_id"}}, "starts": {"filter": starts}}
    sized = cluster.count({"query": _all(conditions), "aggs": aggs}, tell)
    if not sized.get("starts", {}).get("doc_count"):
        return 0
    number = int(sized["spans"]["value"])
    running = 0
    parts = -(-number * 5 // 4 // _AT_ONCE)  # some room, as the number is an estimate
    for part in range(parts):
        spans = {
            "terms": {
                "field": "span_id",
                "size": 2 * _AT_ONCE,
                "include": {"partition": part, "num_partitions": parts},
            },
            "aggs": {
                "starts": {"filter": starts},
                "ends": {"filter": {"terms": {"event.action": list(ENDS)}}},
                "open": {
                    "bucket_selector": {
                        "buckets_path": {"starts": "starts._count", "ends": "ends._count"},
                        "script": "params.starts > 0 && params.ends == 0",
                    }
                },
            },
        }
        found = cluster.count({"query": _all(conditions), "aggs": {"spans": spans}}, tell)
        running += len(list(_buckets(found.get("spans"))))
    return running


def _dropped(cluster: Cluster, tell: Tell) -> int:
    body = {
        "query": _all([{"term": {"event.action": "loss"}}]),
        "aggs": {"dropped": {"sum": {"field": "count"}}},
    }
    return int(cluster.count(body, tell).get("dropped", {}).get("value") or 0)


# -- what an answer says


def _all(conditions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {"bool": {"filter": list(conditions)}}


def _buckets(found: Any) -> Iterator[Mapping[str, Any]]:
    yield from (found or {}).get("buckets", ())


def _names(found: Any) -> list[str]:
    return [str(one["key"]) for one in _buckets(found)]


def _terms(found: Any) -> dict[str, int]:
    return {str(one["key"]): int(one["doc_count"]) for one in _buckets(found)}


def _time(found: Any) -> str | None:
    """Return the time of the one document that is the first or last of a group."""
    hits = (found or {}).get("hits", {}).get("hits", ())
    return from_search(hits[0]["_source"])["timestamp"] if hits else None
