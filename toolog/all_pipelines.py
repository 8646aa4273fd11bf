"""All open pipelines of this process together: what `toolog.flush` waits for and `toolog.stats` counts."""

from __future__ import annotations

import logging
import threading
import time
from numbers import Real
from pathlib import Path
from typing import Any

from toolog import counters
from toolog.emit import is_opening
from toolog.errors import ConfigError, shown
from toolog.forks import look
from toolog.pipeline import Pipeline, accepted
from toolog.pipeline.crew import worst
from toolog.pipeline.life import left_behind, living
from toolog.units import parse_duration


def holds_logging_lock() -> bool:
    """Whether this thread is inside the module `logging`, where other threads may be waiting for it."""
    owned = getattr(logging._lock, "_is_owned", None)  # type: ignore[attr-defined]
    return bool(owned is not None and owned())


def pipelines() -> list[Pipeline]:
    """Return the pipelines of this process that are open; one lives as long as its thread, not as its
    handler.
    """
    look()
    return [pipeline for pipeline in living() if isinstance(pipeline, Pipeline) and not pipeline.closed]


def flush(timeout: float | str = 5.0) -> bool:
    """Wait until all that was accepted before is acknowledged by every sink of its policy, or is a dead
    letter.

    Where another process ships, or none does (``ship="none"``): until it is durable in the spool. ``timeout``
    is in seconds or a text such as "5 s", for all handlers together. Returns False when it did not come about
    in time; when all handlers are closed, at once, if what they left is still in their spools. Raises
    ConfigError for a timeout that is none. Since 0.1.
    """
    deadline = time.monotonic() + _seconds(timeout)
    if holds_logging_lock():
        return False
    while is_opening():  # another thread brings the dev profile up, and records wait for that
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)
    while True:
        serving = pipelines()
        done = [pipeline.flush(max(0.0, deadline - time.monotonic())) for pipeline in serving]
        if not all(done):
            return False
        if not _are_ending():
            return bool(serving) or _have_arrived()
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)  # what they leave may be for the others to ship


def _seconds(timeout: object) -> float:
    """Return a timeout in seconds, none longer than a lock can wait."""
    if isinstance(timeout, str):
        return parse_duration(timeout, "timeout of flush")
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or timeout != timeout:
        raise ConfigError(
            f"timeout of flush is a number of seconds or a text such as '5 s', not {shown(timeout)}"
        )
    return min(float(timeout), threading.TIMEOUT_MAX / 2)


def _are_ending() -> bool:
    """Whether a closed handler is still shipping what it has, on its own thread."""
    return any(
        one.closed and not one.ended and one.worker.alive for one in living() if isinstance(one, Pipeline)
    )


def _have_arrived() -> bool:
    """Whether all has arrived that closed handlers left in their spools."""
    left: dict[Path, Pipeline] = left_behind()
    for directory, pipeline in list(left.items()):
        if pipeline.has_arrived():
            left.pop(directory, None)
    return not left


def stats() -> dict[str, Any]:
    """Return what toolog counted in this process.

    ``accepted``; ``stored``, ``dead_letters``, ``resent`` (dead letters that were sent again and stored) and
    ``in_spool`` by sink; ``dropped`` by reason and level; ``delivered_again``; ``retries`` (writes that
    repeated others) and ``timeouts`` (writes that did not return in time) by sink; ``breaker`` (closed, open
    or half_open) by sink, ``breaker_open`` (the sinks where it is not closed); ``late`` (came after the end),
    ``own_records`` (logged by sinks' clients, not shipped), ``reentrant``, ``damaged`` (frames, by sink),
    ``internal`` (troubles of our own, by reason).

    Where another process ships, what that did with the records stands in its figures, not in these;
    ``in_spool`` is right everywhere. Since 0.1.
    """
    in_spool: dict[str, int] = {}
    breakers: dict[str, str] = {}
    for pipeline in pipelines():
        for sink, number in pipeline.in_spool().items():
            in_spool[sink] = in_spool.get(sink, 0) + number
        breakers |= worst(pipeline.shipping.crew.breakers())
    return {
        "in_spool": in_spool,
        "breaker": breakers,
        "breaker_open": [sink for sink, state in breakers.items() if state != "closed"],
        **counted(),
    }


def counted() -> dict[str, Any]:
    """Return what `stats` says without asking the pipelines what they have to do yet."""
    dropped: dict[str, dict[str, int]] = {}
    for labels, number in counters.table("dropped").items():
        named = dict(labels)
        dropped.setdefault(named["reason"], {})[named["level"]] = number
    return {
        "accepted": accepted(),
        "stored": _by("stored", "sink"),
        "dropped": dropped,
        "dead_letters": _by("dead_letters", "sink"),
        "resent": _by("resent", "sink"),
        "delivered_again": counters.value("delivered_again"),
        "retries": _by("retries", "sink"),
        "timeouts": _by("timeouts", "sink"),
        "late": counters.value("late"),
        "own_records": counters.value("own_records"),
        "reentrant": counters.value("reentrant"),
        "damaged": _by("damaged", "sink"),
        "internal": _by("internal", "reason"),
    }


def _by(name: str, label: str) -> dict[str, int]:
    return {dict(labels)[label]: number for labels, number in counters.table(name).items()}
