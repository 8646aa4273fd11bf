"""What becomes of records whose retention policy lets them go: the policies, compiled for each sink.

    policies + options of a sink  ->  target  ->  plan  ->  apply, purge, verify

A *target* is a sink as retention sees it. It knows which policies' records the sink holds and who deletes
there: lifecycle rules of S3, an engine of the search cluster, or toolog itself. Looking at it gives a
*plan*: what the server's settings should be and are, what is past its age, what a hold keeps. ``apply``
changes the settings, ``purge`` deletes what no server deletes by itself. A plan without drift is what
``verify`` asks for.

Nothing here knows a pipeline: ``toolog retention`` works where no process ships.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolog.errors import ConfigError, SinkError
from toolog.expiry.local import FileTarget, OwnTarget, StoreTarget
from toolog.expiry.plan import Bounds, Change, Piece, SinkPlan, Term
from toolog.expiry.target import Target, Tell
from toolog.retention import Policies
from toolog.sinks import Sink, create

__all__ = [
    "Bounds", "Change", "Piece", "SinkPlan", "Target", "Term", "enforce", "look", "make_target",
]  # fmt: skip


def make_target(name: str, options: Mapping[str, Any] | Sink, policies: Policies) -> Target:
    """Return the target of one sink; no server is asked before it is examined. Raises ConfigError."""
    create(name, options)  # which checks every option
    if not isinstance(options, Mapping):
        return OwnTarget(name, options, policies)
    kind = options.get("type", name)
    if kind == "sqlite":
        from toolog.store import DEFAULT_PATH

        return StoreTarget(name, Path(options.get("path", DEFAULT_PATH)).expanduser(), policies)
    if kind == "file":
        return FileTarget(name, options, policies)
    if kind in ("elasticsearch", "opensearch"):
        from toolog.expiry.search import SearchTarget

        return SearchTarget(name, options, policies)
    if kind == "s3":
        from toolog.expiry.s3 import S3Target

        return S3Target(name, options, policies)
    return OwnTarget(name, options, policies)


def look(target: Target, now: float) -> SinkPlan:
    """Return a target's plan at ``now`` (seconds of the Unix epoch); one with ``trouble`` when its server
    could not be asked.
    """
    try:
        return target.examine(now)
    except (SinkError, ConfigError, OSError) as error:
        plan = target.blank()
        plan.trouble = _say(error)
        return plan


def enforce(
    target: Target, plan: SinkPlan, tell: Tell, *, purge: bool, now: float, trust_clock: bool = False
) -> int | None:
    """Make a sink what its plan says, and with ``purge`` delete what is past its age at ``now``.

    Without ``trust_clock`` nothing on this machine is deleted when all of it would go because nothing new
    came for long: a clock that runs ahead looks the same.

    Returns how many records went (files count for what cannot be counted in records), None when that could
    not be done: why stands in the plan's ``trouble`` then.
    """
    if plan.trouble:
        return None
    try:
        target.apply(plan, tell)
        if not purge:
            return 0
        doubt = "" if trust_clock else target.doubt(now)
        if doubt:
            plan.notes = [note for note in plan.notes if note != doubt]
            plan.trouble = doubt
            return None
        return target.purge(now, tell)
    except (SinkError, ConfigError, OSError) as error:
        plan.trouble = _say(error)
        return None


def _say(error: Exception) -> str:
    """Return an error's text; a system error's with the file that it is about."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error)
