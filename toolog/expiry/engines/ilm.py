"""Elasticsearch's index lifecycle management: a policy of the server's for each of ours.

An index names its policy in a setting, which comes from its index template. One template serves all streams
of a namespace, so each stream gets one of its own above it: a copy with that setting. It is compared with the
template it came from whenever retention looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolog.expiry.cluster import write_time
from toolog.expiry.engines.base import Engine, Stream, settle, settle_index, span
from toolog.expiry.plan import Change
from toolog.sinks.search.names import template_name
from toolog.sinks.search.template import make_template

_META = {"managed_by": "toolog"}
_SIZE = "50gb"
"""A primary shard of this size is rolled over whatever its age: what Elasticsearch itself goes by."""
_SETTING = "index.lifecycle.name"


class IlmEngine(Engine):
    """See the module's docstring."""

    name = "ilm"
    needs_template = True

    def changes(self, stream: Stream, keep: float) -> Iterator[Change]:
        """Yield the policy, the template and the indices that are not as they should be."""
        name = stream.name
        wanted = _policy(keep)
        yield from settle(
            f"ILM policy {name}",
            self._policy(name),
            wanted,
            lambda: self.cluster.call("PUT", f"/_ilm/policy/{name}", {"policy": wanted}),
        )
        yield from self._template(stream)
        for index, setting in self._settings(stream).items():
            yield from settle_index("ILM", index, setting, name, lambda index: self._put_under(index, name))

    def _put_under(self, index: str, policy: str) -> object:
        return self.cluster.call("PUT", f"/{index}/_settings", {_SETTING: policy})

    def _template(self, stream: Stream) -> Iterator[Change]:
        name = stream.name
        above = template_name(stream.namespace)
        base = self._index_template(above) or make_template("elasticsearch", stream.namespace)
        template = base.get("template", {})
        settings = template.get("settings", {})
        lifecycle = {**settings.get("index", {}), "lifecycle": {"name": name}}
        wanted = {
            **base,
            "index_patterns": [name],
            "priority": base.get("priority", 0) + 1,
            "template": {**template, "settings": {**settings, "index": lifecycle}},
            "_meta": {**base.get("_meta", {}), **_META, "copy_of": above},
        }
        yield from settle(
            f"index template {name}",
            self._index_template(name),
            wanted,
            lambda: self.cluster.call("PUT", f"/_index_template/{name}", wanted),
        )

    def withdrawal(self, stream: Stream) -> Iterator[Change]:
        """Yield template, indices and policy that are still ours."""
        name = stream.name
        template = self._index_template(name)
        if template is not None and template.get("_meta", {}).get("managed_by") == _META["managed_by"]:
            path = f"/_index_template/{name}"
            yield Change(
                "remove", f"index template {name}", template, None, lambda: self.cluster.delete(path)
            )
        managed = [index for index, setting in self._settings(stream).items() if setting == name]
        if managed:
            yield Change(
                "remove",
                f"ILM policy of the data stream {name}",
                name,
                None,
                lambda: self.cluster.call("POST", f"/{name}/_ilm/remove"),
            )
        policy = self._policy(name)
        if policy is not None and policy.get("_meta", {}).get("managed_by") == _META["managed_by"]:
            yield Change(
                "remove",
                f"ILM policy {name}",
                policy,
                None,
                lambda: self.cluster.delete(f"/_ilm/policy/{name}"),
            )

    def _policy(self, name: str) -> dict[str, Any] | None:
        found = (self.cluster.get(f"/_ilm/policy/{name}") or {}).get(name)
        policy: dict[str, Any] | None = None if found is None else found.get("policy")
        return policy

    def _index_template(self, name: str) -> dict[str, Any] | None:
        for one in (self.cluster.get(f"/_index_template/{name}") or {}).get("index_templates", ()):
            if one.get("name") == name:
                template: dict[str, Any] = one["index_template"]
                return template
        return None

    def _settings(self, stream: Stream) -> dict[str, str | None]:
        """Return for each backing index the policy that it names."""
        if not stream.indices:
            return {}
        answer = self.cluster.get(f"/{stream.name}/_settings/{_SETTING}?flat_settings=true") or {}
        return {index: answer.get(index, {}).get("settings", {}).get(_SETTING) for index in stream.indices}


def _policy(keep: float) -> dict[str, Any]:
    rollover = {"max_age": write_time(span(keep)), "max_primary_shard_size": _SIZE}
    return {
        "phases": {
            "hot": {"min_age": "0ms", "actions": {"rollover": rollover}},
            "delete": {
                "min_age": write_time(keep),
                "actions": {"delete": {"delete_searchable_snapshot": True}},
            },
        },
        "_meta": _META,
    }
