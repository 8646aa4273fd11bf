"""The index template of a namespace's data streams: what it says, and how it gets into the cluster.

The mapping is explicit and closed (``dynamic: false``): whatever arguments tools have, no field is added to
it. What the cluster has is replaced when it came from an older toolog or is not there; what others put into
it beside our mapping (shards, lifecycles, components) stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import orjson

from toolog.sinks.search.names import stream_pattern
from toolog.sinks.search.shapes import (
    BOOLEAN,
    FIELDS,
    KEYWORD,
    LONG,
    OTHER,
    RENAMED,
    UNINDEXED,
    is_object,
)

VERSION = 2
"""Rises with every change of the mapping, so that an older toolog leaves a newer one's template alone."""
PRIORITY = 250
"""Above 200, where the built-in templates of Elasticsearch and of its agents end."""
ALIASES: dict[str, str] = {
    "trace.id": "trace_id",
    "span.id": "span_id",
    "parent.id": "parent_id",
    "session.id": "session_id",
    "log.level": "level",
    "log.logger": "logger",
    "event.id": "record_id",
    "gen_ai.conversation.id": "session_id",
    "gen_ai.tool.name": "tool_name",
    "gen_ai.tool.type": "tool.type",
    "gen_ai.tool.description": "tool.description",
    "gen_ai.tool.call.id": "tool_call_id",
}
"""Names of other conventions (ECS, OpenTelemetry) -> the field that they mean here."""

_FLAT_TYPES: dict[str, dict[str, Any]] = {
    "elasticsearch": {"type": "flattened", "ignore_above": 8191, "depth_limit": 250},
    "opensearch": {"type": "flat_object"},
}
_FLAT_NAMES = tuple(one["type"] for one in _FLAT_TYPES.values())


def make_template(server: str, namespace: str) -> dict[str, Any]:
    """Return the body of the index template; ``server`` is ``elasticsearch`` or ``opensearch``."""
    template = {"mappings": make_mapping(server)}
    digest = sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
    return {
        "index_patterns": [stream_pattern(namespace)],
        "data_stream": {},
        "priority": PRIORITY,
        "version": VERSION,
        "_meta": {"managed_by": "toolog", "toolog": {"version": VERSION, "content": digest}},
        "template": template,
    }


def make_mapping(server: str) -> dict[str, Any]:
    """Return the mapping of a search document."""
    properties = _properties(FIELDS, _FLAT_TYPES[server])
    del properties["timestamp"]
    properties["@timestamp"] = {"type": "date_nanos"}
    properties["event"] = {"properties": {"action": KEYWORD, "outcome": KEYWORD, "duration": LONG}}
    properties["host"] = {"properties": {"name": KEYWORD}}
    for name, shape in FIELDS.items():
        if shape.get("type") == "flat":
            properties[f"{name}_wrapped"] = BOOLEAN
    for alias, path in ALIASES.items():
        _put(properties, alias.split("."), {"type": "alias", "path": path})
    return {"dynamic": False, "date_detection": False, "properties": properties}


def _properties(shapes: Mapping[str, Any], flat: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {OTHER: UNINDEXED}
    for name, shape in shapes.items():
        if is_object(shape):
            made[name] = {"properties": _properties(shape, flat)}
        else:
            made[RENAMED.get(name, name)] = flat if shape["type"] == "flat" else shape
    return made


def _put(properties: dict[str, Any], path: list[str], field: dict[str, Any]) -> None:
    for name in path[:-1]:
        properties = properties.setdefault(name, {"properties": {}})["properties"]
    properties[path[-1]] = field


def is_ours(entry: Any) -> bool:
    """Whether the ``mappings`` of an index or a template are as ours where it matters: no argument becomes a
    field.
    """
    mapping = entry.get("mappings") if isinstance(entry, Mapping) else None
    if not isinstance(mapping, Mapping):
        return False
    fields = mapping.get("properties")
    field = fields.get("input") if isinstance(fields, Mapping) else None
    flat = isinstance(field, Mapping) and field.get("type") in _FLAT_NAMES
    return flat and mapping.get("dynamic") in (False, "false")


def merge_template(present: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what to write over the template that is present (None: none is), or None when it may stay.

    Ours is the pattern, the data stream, the mapping and ``_meta``; everything else stays as somebody put it.
    A mapping that somebody opened to new fields is replaced, and so is another pattern: a template in use
    cannot be deleted.
    """
    if present is None:
        return dict(wanted)
    meta = present.get("_meta") or {}
    mark = meta.get("toolog") if isinstance(meta, Mapping) else None
    if isinstance(mark, Mapping):
        covered = set(wanted["index_patterns"]) <= set(present.get("index_patterns") or ())
        if mark == wanted["_meta"]["toolog"] and covered and is_ours(present.get("template")):
            return None
        version = mark.get("version")
        if isinstance(version, int) and version > wanted["_meta"]["toolog"]["version"]:
            return None
    merged = {**present, **{key: value for key, value in wanted.items() if key not in ("template", "_meta")}}
    merged["priority"] = max(wanted["priority"], present.get("priority") or 0)
    merged["_meta"] = {**(meta if isinstance(meta, Mapping) else {}), **wanted["_meta"]}
    merged["template"] = {**(present.get("template") or {}), **wanted["template"]}
    merged["data_stream"] = {**(present.get("data_stream") or {}), **wanted["data_stream"]}
    return merged
