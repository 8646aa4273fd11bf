"""Expiry in a search cluster: the data streams of a sink, and the engine that lets go of old records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolog.errors import SinkRejected, SinkUnavailable
from toolog.expiry import engines
from toolog.expiry.cluster import Cluster
from toolog.expiry.engines.base import Engine, Stream
from toolog.expiry.foreign import find_foreign
from toolog.expiry.plan import Bounds, Change, SinkPlan, Term
from toolog.expiry.target import Tell, carry_out
from toolog.retention import Policies
from toolog.sinks.search.lifecycles import LIFECYCLES
from toolog.sinks.search.names import data_stream, stream_pattern, template_name
from toolog.sinks.search.options import SearchOptions
from toolog.sinks.search.template import make_template


class SearchTarget:
    """The data streams of one search sink; ``options`` are the sink's. Raises ConfigError for a wrong one."""

    def __init__(self, name: str, options: Mapping[str, Any], policies: Policies) -> None:
        self.name = name
        self.options = SearchOptions.from_table(options, f"sink {name!r}")
        self._namespace = self.options.namespace
        self._policies = policies.of_sink(name)
        self._known = {data_stream(policy.name, self._namespace) for policy in policies}

    def blank(self) -> SinkPlan:
        """Return a plan that says which sink this is."""
        place = f"{', '.join(self.options.hosts)} {stream_pattern(self._namespace)}"
        return SinkPlan(self.name, self.options.dialect, self.options.lifecycle, place)

    def examine(self, now: float) -> SinkPlan:
        """Ask the cluster what holds, and compare."""
        with _Connection(self.options) as (cluster, engine):
            return self._examine(cluster, engine, now)

    def _examine(self, cluster: Cluster, engine: Engine, now: float) -> SinkPlan:
        plan = self.blank()
        there = self._streams(cluster)
        plan.changes += self._changes(cluster, engine, there, plan.notes)
        for policy in self._policies:
            stream = self._of(policy.name, there)
            bounds = Bounds(None, None, "nothing deletes them")
            if policy.keep is not None:
                bounds = engine.bounds(policy.keep)
                plan.pieces += engine.pieces(stream, policy.keep, now)
            plan.terms.append(Term(policy.name, policy.keep, stream.name, bounds))
            try:
                plan.foreign += find_foreign(cluster, self.options.dialect, engine.name, stream, policy.keep)
            except (SinkRejected, SinkUnavailable) as error:
                plan.notes.append(f"whether others delete in {stream.name} could not be found out: {error}")
        ours = {term.target for term in plan.terms}
        plan.notes += [self._left_alone(stream) for stream in there.values() if stream.name not in ours]
        return plan

    def _left_alone(self, stream: Stream) -> str:
        what = f"the data stream {stream.name} ({len(stream.indices)} indices) is left"
        if stream.name in self._known:
            return f"the policy {stream.policy!r} does not name this sink: {what} as it is"
        return (
            f"no policy is named {stream.policy!r} any more: {what} alone, and its records stay until "
            "somebody deletes them"
        )

    def _changes(
        self, cluster: Cluster, engine: Engine, there: Mapping[str, Stream], notes: list[str]
    ) -> Iterator[Change]:
        """Yield what is not as it should be, and what must go: of this engine where records have no end, of
        every other engine everywhere, as two of them would delete by two rules.

        A stream whose policy goes to another sink only is not looked at: that sink may be in this cluster.
        """
        wanted = {self._of(one.name, there): one.keep for one in self._policies}
        gone = [stream for stream in there.values() if stream.name not in self._known]
        if engine.needs_template and any(keep is not None for keep in wanted.values()):
            yield from self._template(cluster)
        for stream, keep in wanted.items():
            if keep is not None:
                yield from engine.changes(stream, keep)
        for stream in (*wanted, *gone):
            if wanted.get(stream) is None:
                yield from engine.withdrawal(stream)
        for other in LIFECYCLES[self.options.dialect]:
            if other == engine.name:
                continue
            try:
                for stream in (*wanted, *gone):
                    yield from list(engines.load(other, cluster).withdrawal(stream))
            except SinkRejected:  # this server has no such engine, so it has left nothing
                pass
            except SinkUnavailable as error:
                notes.append(f"whether {other} deletes here too could not be found out: {error}")

    def _template(self, cluster: Cluster) -> Iterator[Change]:
        """Yield the index template when it is missing; what becomes of it later is the sink's to say."""
        name = template_name(self._namespace)
        if cluster.get(f"/_index_template/{name}") is None:
            body = make_template(self.options.dialect, self._namespace)
            yield Change(
                "create",
                f"index template {name}",
                None,
                body,
                lambda: cluster.call("PUT", f"/_index_template/{name}", body),
            )

    def apply(self, plan: SinkPlan, tell: Tell) -> None:
        """Carry out what has to be changed now."""
        if plan.changes:
            with _Connection(self.options) as (cluster, engine):
                carry_out(self._changes(cluster, engine, self._streams(cluster), []), tell)

    def doubt(self, now: float) -> str:
        """Nothing: the server has a clock of its own."""
        return ""

    def purge(self, now: float, tell: Tell) -> int:
        """Delete what is past its age, where no server does it."""
        gone = 0
        with _Connection(self.options) as (cluster, engine):
            there = self._streams(cluster)
            for policy in self._policies:
                if policy.keep is None:
                    continue
                for piece in engine.purge(self._of(policy.name, there), policy.keep, now):
                    if piece.action == "delete":
                        gone += piece.records or 0
                        tell(f"deleted {piece.what} with {piece.records} records")
                    else:
                        tell(f"rolled over {piece.what}")
        return gone

    # -- the cluster

    def _streams(self, cluster: Cluster) -> dict[str, Stream]:
        """Return the data streams of our namespace, by name."""
        pattern = stream_pattern(self._namespace)
        shape = re.compile(re.escape(pattern).replace(r"\*", r"([a-z0-9_.]+)"))
        found = {}
        for one in (cluster.get(f"/_data_stream/{pattern}") or {}).get("data_streams", ()):
            if ours := shape.fullmatch(one["name"]):
                indices = tuple(index["index_name"] for index in one["indices"])
                found[one["name"]] = Stream(one["name"], ours[1], self._namespace, indices)
        return found

    def _of(self, policy: str, there: Mapping[str, Stream]) -> Stream:
        name = data_stream(policy, self._namespace)
        return there.get(name, Stream(name, policy, self._namespace))


class _Connection:
    """A cluster and its engine for the time of a `with`; its connections are closed behind it."""

    def __init__(self, options: SearchOptions) -> None:
        self._cluster = Cluster(options)
        self._engine = engines.load(options.lifecycle, self._cluster)

    def __enter__(self) -> tuple[Cluster, Engine]:
        return self._cluster, self._engine

    def __exit__(self, *error: object) -> None:
        self._cluster.close()
