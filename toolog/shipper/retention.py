"""A chore: letting go of old records in the search clusters where toolog itself has to do it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from toolog import expiry
from toolog.counters import count
from toolog.errors import SinkUnavailable
from toolog.pipeline import Options

_KINDS = ("elasticsearch", "opensearch")


def purge_clusters(options: Options) -> str | None:
    """Roll over and delete in every cluster with the engine ``toolog``; answer with what was done.

    Raises SinkUnavailable naming the sinks whose clusters could not be purged, when the others are done.
    """
    done: list[str] = []
    troubles: list[str] = []
    for name, table in options.sinks.items():
        if not isinstance(table, Mapping) or table.get("type", name) not in _KINDS:
            continue
        target = expiry.make_target(name, table, options.policies)
        plan = target.blank()
        if plan.engine != "toolog" or not _has_end(options, name):
            continue
        told: list[str] = []
        gone = expiry.enforce(target, plan, told.append, purge=True, now=time.time())
        done += [f"{name}: {sentence}" for sentence in told]
        if gone:
            count("purged", gone, sink=name)
        if plan.trouble:
            troubles.append(plan.trouble)
    if troubles:
        raise SinkUnavailable("; ".join(troubles), tells=True)
    return "; ".join(done) or None


def _has_end(options: Options, sink: str) -> bool:
    """Whether anything that goes to a sink is to be let go of: else its cluster need not let us look."""
    return any(policy.keep is not None for policy in options.policies.of_sink(sink))
