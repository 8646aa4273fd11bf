"""The sinks' threads: who reads for which sink, on which track, and what is left for each.

A sink whose places for the records of different policies fail apart (it has ``for_policy``, see
`toolog.sinks.base`) is served on several tracks, one for each policy that names it: each with a cursor, a
thread and a sink object of its own, so that what is refused in one place waits and holds up nobody. Every
other sink is served on one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolog import sinks
from toolog.counters import count
from toolog.pipeline.dead_letters import DeadLetters
from toolog.pipeline.held import Held, HeldReader
from toolog.pipeline.losses import Losses
from toolog.pipeline.options import Options
from toolog.pipeline.outlet import Outlet
from toolog.pipeline.purge import purge
from toolog.pipeline.runner import SinkRunner
from toolog.pipeline.served import Served, prepare
from toolog.pipeline.source import Source
from toolog.sinks import Sink
from toolog.sinks.base import ByPolicy
from toolog.sinks.file import FileSink
from toolog.spool import Cursor, SpoolReader, open_tracks

_POLL = 0.002
_GRACE = 0.3
_MOST_IN_HAND = 8
"""A batch that waits to be full may keep this part of the spool's bound from being deleted."""
_WORST_FIRST = ("open", "half_open", "closed")


class Member(NamedTuple):
    """Who serves one track of one sink: its thread, and what that reads, on disk and in memory."""

    runner: SinkRunner
    reader: SpoolReader
    held: HeldReader


class Crew:
    """All members of one pipeline. ``source`` makes of a reader what a runner reads. Raises ConfigError for
    a sink's wrong option.
    """

    def __init__(
        self,
        options: Options,
        outlet: Outlet,
        held: Held,
        losses: Losses,
        source: Callable[[SpoolReader], Source],
    ) -> None:
        self.members: list[Member] = []
        self.before: list[SinkRunner] = []  # of the pipeline that this one replaces; still in a sink
        self._options = options
        self._outlet = outlet
        self._held = held
        self._losses = losses
        self._source = source
        self._served: dict[str, Served] = {}
        self._counting: dict[str, list[SpoolReader]] = {}  # to count by what the disk says
        self._awaited: set[str] = set()
        for name, given in options.sinks.items():
            self._take_in(name, given)

    def _take_in(self, name: str, given: Mapping[str, Any] | Sink) -> None:
        options = self._options
        # Each thread makes a sink of its own later.
        self._served[name] = prepare(name, given, options)
        if options.ship == "background" and self._outlet.spool is not None:
            self._outlet.spool.reserve(name)

    @property
    def sinks(self) -> list[str]:
        """The names of the sinks."""
        return list(self._served)

    @property
    def runners(self) -> list[SinkRunner]:
        """The threads, whether they run or not."""
        return [member.runner for member in self.members]

    @property
    def readers(self) -> list[SpoolReader]:
        """Who reads the spool, one for each track of each sink."""
        return [member.reader for member in self.members]

    # -- the threads

    def start(self) -> None:
        """Start the threads that do not run."""
        if not self.members:
            self.members = [member for name in self._served for member in self._engage(name)]
        self.before = [runner for runner in self.before if runner.alive]
        busy = {runner.sink_name for runner in self.before}
        for runner, _, _ in self.members:
            if runner.alive or runner.stopping or runner.sink_name in busy:
                continue
            if runner.sink_name in self._awaited:  # the cursors may have moved since they were read
                self._awaited.discard(runner.sink_name)
                self.reload(runner.sink_name)
            runner.start()

    def check(self) -> None:
        """Notice calls into sinks that have been running for too long."""
        for runner in (*self.runners, *self.before):
            runner.check()

    def reload(self, sink: str | None = None) -> None:
        """Read cursors again (all, or those of one sink): somebody else may have shipped since."""
        for member in self.members:
            if sink in (None, member.runner.sink_name):
                # Said before it, too: what was read by the cursor as it was must not be acknowledged.
                member.runner.renewed = True
                member.reader.reload()
                member.runner.renewed = True

    def succeed(self, before: Crew) -> None:
        """Take over from the crew of a pipeline that is about to end, in this process.

        A sink whose call there has not returned yet is served when it has, and what it answers then counts:
        no record is given to a sink twice at once.
        """
        self.before = [*before.before, *before.runners]
        self._awaited = {runner.sink_name for runner in self.before}

    def stop(self, deadline: float) -> None:
        """Stop the threads; wait for them until the deadline, or a moment: a hung one is left alone."""
        for runner in self.runners:
            runner.stop()
        grace = max(deadline, time.monotonic() + _GRACE)
        while any(one.alive and not one.breaker.hung for one in self.runners) and time.monotonic() < grace:
            time.sleep(_POLL)
            for runner in self.runners:
                runner.check()

    def part(self) -> None:
        """Part from the parent's sinks in a forked child, without closing them: their connections are the
        parent's.

        A file is the exception: while its descriptor is open here, its lock would outlive the parent.
        """
        for runner in self.runners:
            runner.part(FileSink)
        _abandoned.extend(self.runners)
        _abandoned.extend(self.before)
        self.members, self.before = [], []
        self._counting = {}  # another thread may have been counting, under a lock

    def _engage(self, name: str) -> list[Member]:
        """Return who serves one sink, on each of its tracks."""
        cursors = open_tracks(self._options.directory, name, self._served[name].tracks)
        return [self._member(name, cursor) for cursor in cursors]

    def _member(self, name: str, cursor: Cursor) -> Member:
        options = self._options
        policy = cursor.track.policy
        reader = self._reader(name, cursor)
        held = HeldReader(self._held, reader.wants)
        served = self._served[name]
        assert served.delivery is not None  # of a sink that this process serves

        def make() -> Sink:
            sink = sinks.create(name, served.source)
            return sink.for_policy(policy) if policy and isinstance(sink, ByPolicy) else sink

        def letters() -> Path | None:
            return None if self._outlet.spool is None else self._outlet.spool.dead_letters(name)

        runner = SinkRunner(
            name,
            make,
            served.delivery,
            options.policies,
            [self._source(reader), held],
            DeadLetters(
                letters, name, options.dead_letters_size, sync="power" in options.durability.values()
            ),
            self._losses,
            purge=lambda sink: purge(sink, options.policies),
            purge_every=options.purge_every,
            most_in_hand=options.max_size // _MOST_IN_HAND,
            policy=policy,
        )
        return Member(runner, reader, held)

    def _reader(self, name: str, cursor: Cursor) -> SpoolReader:
        route = self._options.policies.route
        is_first = cursor.covers(-1)  # every track reads over the same damage

        def note_damage(segment: str, frames: int, size: int) -> None:
            if is_first:
                count("damaged", frames, sink=name)

        return SpoolReader(
            self._options.directory,
            name,
            keep=lambda levelno: name in route(levelno),
            sync="power" in self._options.durability.values(),
            on_damage=note_damage,
            cursor=cursor,
        )

    # -- figures

    def breakers(self) -> dict[tuple[str, str], str]:
        """Return the state of each breaker, by sink and policy ("" for a sink that is served on one track).

        See ``breaker``.
        """
        return {(one.sink_name, one.policy): one.breaker.state for one in self.runners}

    def pending(self, stop: Callable[[], bool], *, by_disk: bool) -> dict[str, int]:
        """Return how many records each sink has still to acknowledge, held ones included.

        ``by_disk``: another process moves the cursors. ``stop``: see `SpoolReader.pending`.
        """
        found = dict.fromkeys(self._served, 0 if self.members else len(self._held.frames))
        for runner, _, held in self.members:
            found[runner.sink_name] += held.pending()
        if self.members and not by_disk:
            counted = [(runner.sink_name, reader) for runner, reader, _ in self.members]
        else:
            counted = [(name, reader) for name in self._served for reader in self._readers_by_disk(name)]
        for name, reader in counted:
            found[name] += reader.pending(stop)
        return found

    def passed_by_disk(self, segment: str) -> int:
        """Return up to which byte of a segment every sink has acknowledged, as it stands on disk."""
        readers = [reader for name in self._served for reader in self._readers_by_disk(name)]
        return min([reader.passed(segment) for reader in readers], default=0)

    def _readers_by_disk(self, name: str) -> list[SpoolReader]:
        """Return readers of a sink's tracks as they stand on disk: those of the last time, if they fit, as
        they know what was counted.
        """
        cursors = open_tracks(self._options.directory, name)
        readers = self._counting.get(name, [])
        if [reader.cursor.track for reader in readers] != [cursor.track for cursor in cursors]:
            readers = self._counting[name] = [self._reader(name, cursor) for cursor in cursors]
        for reader, cursor in zip(readers, cursors, strict=True):
            reader.cursor = cursor
        return readers


def worst(breakers: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return the state of each sink's breakers as one: that of the track that fares worst."""
    found: dict[str, str] = {}
    for (sink, _), state in breakers.items():
        found[sink] = min(state, found.get(sink, "closed"), key=_WORST_FIRST.index)
    return found


_abandoned: list[Any] = []
