"""`toolog ship`: the background threads' work as a process of its own.

It is the same pipeline as in an application, only that no record ever enters it: the same lock, the same
threads for the sinks, the same end. What is here is what a process of its own needs beside: a configuration
that can be read again, an end when the spool is empty, and somebody who says what goes on.

``config``: what is shipped where; ``metrics``: the figures for Prometheus; ``chores``: what is done every now
and then beside shipping; ``devotion``: how the interpreter is set up for a process that does nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolog import counters
from toolog.all_pipelines import counted
from toolog.errors import ConfigError, SpoolError, ToologError
from toolog.pipeline import Options, Pipeline
from toolog.pipeline.bell import Bell
from toolog.shipper.census import Census
from toolog.shipper.chores import Chore, Chores
from toolog.shipper.devotion import Tidying
from toolog.shipper.retention import purge_clusters
from toolog.spool import Spool

__all__ = ["CHORES", "Chore", "Event", "Shipper"]

CHORES: list[Chore] = [Chore("retention", lambda options: options.purge_every, purge_clusters)]
"""The chores of every shipper; a part of toolog that has one puts it here."""

LARGE_BACKLOG = 10_000
"""So many records in the spool are called a backlog: its progress is told."""
_LOOK_EVERY = 0.2
_COUNT_EVERY = 1.0
_POLL = 0.01
_GRACE = 0.5
"""Seconds that the end waits for what is beside shipping."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a shipper tells: a ``name`` for programs, a ``text`` for people, and figures."""

    name: str
    text: str
    figures: dict[str, Any] = field(default_factory=dict)


class Shipper:
    """Ships one spool until it is told to stop.

    ``load`` returns the options, and is called again by `reload`; ``tell`` is given each Event. ``once``: end
    as soon as the spool is empty, or after ``patience`` seconds. `stop` and `reload` may be called from a
    signal handler.
    """

    def __init__(
        self,
        load: Callable[[], Options],
        tell: Callable[[Event], None],
        *,
        once: bool = False,
        patience: float | None = None,
        chores: Sequence[Chore] | None = None,
    ) -> None:
        self._load = load
        self._tell = tell
        self._once = once
        self._patience = patience
        self._bell = Bell()
        self._stopping = self._reloading = False
        self._told_waiting = self._told_shipping = False
        self._shown: Mapping[str, int] = {}
        self._ends_at: float | None = None
        self._replaced: list[Pipeline] = []  # whose threads may still be inside a client
        self.pipeline = _make(load())
        self.census = Census(lambda: self.pipeline, _LOOK_EVERY if once else _COUNT_EVERY)
        self._chores = Chores(CHORES if chores is None else chores, self._options, self._tell_chore)

    # -- asked from anywhere

    def stop(self) -> None:
        """Ask for the end: the batches in flight are finished, the rest stays in the spool."""
        self._stopping = True
        self._bell.ring()

    def reload(self) -> None:
        """Ask for the configuration to be read again."""
        self._reloading = True
        self._bell.ring()

    @property
    def is_shipping(self) -> bool:
        """Whether this process has the right to ship the spool."""
        return self.pipeline.shipping.is_shipper

    # -- the main thread

    def run(self) -> bool:
        """Ship; return whether all that was in the spool was delivered."""
        options = self.pipeline.options
        self._say(
            "started",
            f"shipping {options.directory} to {', '.join(options.sinks)}",
            directory=str(options.directory),
            sinks=list(options.sinks),
        )
        self.census.start()
        self.census.take(_LOOK_EVERY)  # what there is before anything is shipped
        self.pipeline.start()
        self._chores.start()
        began = time.monotonic()
        tidying = Tidying()
        while not self._stopping:
            self._look()
            tidying.tidy()
            if self._once and self._is_empty():
                break
            if self._patience is not None and time.monotonic() - began >= self._patience:
                break
            self._bell.wait(_LOOK_EVERY)
            if self._reloading:
                self._reloading = False
                self._read_again()
        return self._finish()

    def _look(self) -> None:
        """Tell who ships, and what is left."""
        shipping = self.pipeline.shipping
        left = self.census.figures
        if self.is_shipping:
            if self._once:
                for runner in shipping.runners:  # no waiting for a full batch; no haste with one that fails
                    runner.hurry = not runner.breaker.failures
            if left and left is not self._shown:
                self._shown = left
                self._tell(Event("progress", "", {"in_spool": left}))
            if left and not self._told_shipping:
                self._told_shipping, self._told_waiting = True, False
                self._say("shipping", f"to ship: {_by_sink(left)}", in_spool=left)
        elif shipping.other_ships and not self._told_waiting:
            self._told_waiting, self._told_shipping = True, False
            owner = shipping.owner()
            self._say("waiting", f"process {owner} ships this spool; waiting for its end", process=owner)

    def _is_empty(self) -> bool:
        """Whether every sink has all there is; also where another process brought it there."""
        shipping = self.pipeline.shipping
        known = (self.is_shipping and bool(shipping.runners)) or shipping.other_ships
        left = self.census.figures
        return known and bool(left) and not any(left.get(sink) for sink in self.pipeline.options.sinks)

    def _read_again(self) -> None:
        """Replace the pipeline by one of the configuration as it stands now, if that can be used."""
        try:
            fresh = _make(self._load())
        except Exception as error:  # a sink of the user's own may raise anything for its options
            told = str(error) if isinstance(error, ToologError) else f"{type(error).__name__}: {error}"
            counters.count("reloads", result="refused")
            self._say("reload_refused", f"the configuration stays as it was: {told}", error=told)
            return
        before = self.pipeline
        fresh.shipping.succeed(before.shipping)
        self._end(before, lambda: self._stopping)
        if self._stopping:  # the end goes on with the pipeline that is ending already
            fresh.finish()
            return
        self._replaced = [one for one in (*self._replaced, before) if _hangs(one)]
        self.pipeline = fresh
        self._told_waiting = self._told_shipping = False
        fresh.start()
        self.census.bell.ring()
        counters.count("reloads", result="done")
        self._say(
            "reloaded", f"shipping to {', '.join(fresh.options.sinks)} now", sinks=list(fresh.options.sinks)
        )

    def _end(self, pipeline: Pipeline, stop: Callable[[], bool] = lambda: False) -> None:
        """End a pipeline: what is in a sink's hand is waited for, but not longer than its end may take."""
        pipeline.hasty = True
        if self._ends_at is None:
            self._ends_at = time.monotonic() + pipeline.options.shutdown_timeout + _GRACE
        pipeline.request_finish()
        if not pipeline.worker.alive:
            pipeline.finish_now()
        while pipeline.worker.alive and time.monotonic() < self._ends_at and not stop():
            time.sleep(_POLL)
        if not stop():
            self._ends_at = None

    def _finish(self) -> bool:
        self._chores.stop()
        self._end(self.pipeline)
        deadline = time.monotonic() + _GRACE
        left = self.census.take(_GRACE)
        self.census.stop()
        while self._chores.alive and time.monotonic() < deadline:
            time.sleep(_POLL)
        figures = counted()
        dropped = sum(sum(levels.values()) for levels in figures["dropped"].values())
        faults = {"dead letters": figures["dead_letters"], "damaged frames": figures["damaged"]}
        parts = [f"stored: {_by_sink(figures['stored'])}"]
        parts.append(f"left in the spool: {_by_sink(left) if left else 'not counted'}")
        parts += [f"{what}: {_by_sink(numbers)}" for what, numbers in faults.items() if any(numbers.values())]
        parts += [f"dropped: {dropped}"] if dropped else []
        self._say(
            "stopped",
            "; ".join(parts),
            **{name: figures[name] for name in ("stored", "dead_letters", "dropped", "damaged")},
            in_spool=left,
        )
        is_clean = not dropped and not any(any(numbers.values()) for numbers in faults.values())
        return is_clean and bool(left) and not any(left.values())

    @property
    def hangs(self) -> bool:
        """Whether a thread of ours is still inside a client, so that the process must be ended the hard
        way.
        """
        return self._chores.alive or any(map(_hangs, (self.pipeline, *self._replaced)))

    # -- telling

    def _say(self, name: str, text: str, **figures: Any) -> None:
        self._tell(Event(name, text, figures))

    def _tell_chore(self, name: str, line: str) -> None:
        self._say("chore", f"{name}: {line}", chore=name, done=line)

    def _options(self) -> Options | None:
        return self.pipeline.options if self.is_shipping else None


def _hangs(pipeline: Pipeline) -> bool:
    return any(runner.alive for runner in pipeline.shipping.runners)


def _by_sink(numbers: Mapping[str, int]) -> str:
    """Return numbers of records in words: each sink has its own, so they are not added up."""
    told = [f"{number} for {sink}" for sink, number in numbers.items() if number]
    return ", ".join(told) or "nothing"


def _make(options: Options) -> Pipeline:
    """Return a pipeline that ships. Raises ConfigError, also for a spool that cannot be used."""
    try:
        Spool(options.directory)
    except SpoolError as error:
        raise ConfigError(str(error)) from error
    made = Pipeline(options)
    made.listens = False  # it records no calls, so no level is its own
    return made
