"""Behind the spool: who may ship a directory, the sinks' threads, and what has arrived.

One process at a time ships a directory: the holder of its lock. The others look every second whether it
became free, so a shipper that dies is replaced. What only memory holds (the disk fails) each process ships
itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from toolog.counters import contain
from toolog.errors import SpoolError
from toolog.pipeline.arrivals import Arrivals
from toolog.pipeline.crew import Crew
from toolog.pipeline.held import Held
from toolog.pipeline.letters import settle
from toolog.pipeline.losses import Losses
from toolog.pipeline.options import Options
from toolog.pipeline.outlet import Outlet
from toolog.pipeline.runner import SinkRunner
from toolog.pipeline.source import OfShipper
from toolog.spool import ShipperLock, ask_for_room, room_asked_for
from toolog.spool.claims import Claim, take_claims

LOCK_EVERY = 1.0
_LOCK_SOON_FOR = 6.0
_POLL = 0.002
_LONGEST_POLL = 0.05
_RECALL = 0.2


class Shipping:
    """The sinks of one pipeline and the threads that serve them. Raises ConfigError for a sink's wrong
    option.
    """

    def __init__(self, options: Options, outlet: Outlet, held: Held, losses: Losses) -> None:
        self.options = options
        self.outlet = outlet
        self.crew = Crew(
            options,
            outlet,
            held,
            losses,
            lambda reader: OfShipper(reader, lambda: self.is_shipper, self._may_acknowledge),
        )
        self._held = held
        self._losses = losses
        self._claims: list[Claim] = []  # of sinks that this pipeline does not serve
        self._successor: Shipping | None = None
        self._lock: ShipperLock | None = None
        self._was_shipper = False  # at the end
        self._ready = False  # the lock is ours, and the cursors were read since
        self._other_ships = False
        self._lock_at = self._asked_at = 0.0
        self._born, self._began = time.monotonic(), time.time_ns()
        self._refused_at = 0.0

    @property
    def runners(self) -> list[SinkRunner]:
        """The sinks' threads, once there are any."""
        return self.crew.runners

    @property
    def is_shipper(self) -> bool:
        """Whether this pipeline has the right to ship its directory."""
        return self._ready and self._lock is not None and self._lock.held

    @property
    def other_ships(self) -> bool:
        """Whether another process had the right when this one last asked for it."""
        return self._other_ships and not self.is_shipper

    def owner(self) -> int | None:
        """Return the process id of whoever ships the directory, as it stands in the lock's file."""
        return None if self._lock is None else self._lock.owner()

    # -- every now and then

    def keep_going(self) -> None:
        """Become the directory's shipper if nobody is; start the sinks' threads, and restart one that
        died.
        """
        now = time.monotonic()
        self.crew.check()
        if self._lock is not None and self._lock.is_lost():
            self._ready = False
            self._lock.release()  # with a new file, another process would ship beside this one
        if not self.is_shipper and now >= self._lock_at:
            # Soon at first: a handler that this one replaces may be about to let go.
            self._lock_at = now + (LOCK_EVERY if now - self._born > _LOCK_SOON_FOR else 0.0)
            self._try_lock()
        if self.is_shipper or self._held.frames:
            self.crew.start()
        if self.is_shipper and self.outlet.spool is not None:
            self._seal_when_shipped()
            self._retire()
            self._give_room()

    def _try_lock(self) -> None:
        if self.outlet.spool is None:
            return
        try:
            if self._lock is None:
                self._lock = self.outlet.spool.shipper_lock()
            asked_at = time.monotonic()
            self._other_ships = not self._lock.try_acquire()
            self._asked_at = asked_at  # not before: till then the answer is that of the time before
            if self._other_ships:
                self._claims = []  # the other one has its own
        except SpoolError as error:
            if self.options.directory.is_dir():  # else somebody deleted it: then nothing is to be shipped
                contain("lock", error, told=str(error))
            return
        if self._lock.held:
            self._begin_to_ship()

    def _begin_to_ship(self) -> None:
        """Read again what another process may have left since: cursors, and dead letters on their way."""
        if self.outlet.spool is not None:
            self.outlet.spool.mend()
        writer = self.outlet.writer
        wrote = (lambda name: False) if writer is None else writer.wrote
        self._claims = take_claims(self.options.directory, self.crew.sinks, wrote)
        self.crew.reload()  # they served what memory held, by what they knew then
        waiting = list(dict.fromkeys(claim.sink for claim in self._claims if claim.waits()))
        if waiting:
            contain(
                "unserved",
                told=f"{self.options.directory} holds records for {', '.join(waiting)}, not among the sinks"
                " here; they stay until it is, or until `toolog ship --forget NAME` gives them up",
            )
        try:
            settle(self.options.directory)
        except OSError as error:
            contain("dead_letters", error)
        self._ready = True

    def _retire(self) -> None:
        """Delete the segments that hold nothing for anybody any more."""
        self._claims = [claim for claim in self._claims if not claim.is_given_up()]
        readers = self.crew.readers
        if readers and self.outlet.spool is not None:
            self.outlet.spool.retire([*readers, *self._claims])

    def _seal_when_shipped(self) -> None:
        """End a large live segment that every sink has read, so that it can be deleted."""
        writer = self.outlet.writer
        if writer is None or not self.crew.members:
            return
        for name, size in self.own_segments().items():
            if size > self.options.segment_size // 4 and self.passed(name) >= size:
                writer.seal()

    def make_room(self, levelno: int) -> bool:
        """Give up records in a spool that is at its bound, lower ones than those that wait; True when some
        went.
        """
        spool, writer = self.outlet.spool, self.outlet.writer
        oldest = self.options.when_full == "drop_oldest"
        if spool is None or writer is None:
            return False
        if not self.is_shipper:
            ask_for_room(self.options.directory, levelno)
            return False
        readers = self.crew.readers
        if not readers:
            return False
        if time.monotonic() - self._refused_at < LOCK_EVERY and not oldest:
            return False
        writer.seal()
        below = None if oldest else 10 * (levelno // 10)
        with self._recall(spare=True) as spared:
            need = max(self.options.max_size // 8, 1)
            given = spool.drop_oldest(need, readers, below=below, spare=spared, last=self._claims)
        for lost, number in given.frames.items():
            self._losses.note("spool_full", lost, number)
        if not given.freed:
            self._refused_at = time.monotonic()
        return bool(given.freed)

    def _give_room(self) -> None:
        """Make the room that a process asked for which does not ship: it holds its records in memory."""
        levelno = room_asked_for(self.options.directory)
        if levelno is not None:
            self.make_room(levelno)

    def salvage(self) -> None:
        """Write again what somebody deleted before every sink had it."""
        with self._recall():
            self.outlet.salvage(self.passed)

    @contextmanager
    def _recall(self, *, spare: bool = False) -> Iterator[set[str]]:
        """Take back what the runners have in hand, so that nothing is both given up and delivered.

        A write that is under way is waited for, but not for long, and not a hung one. ``spare``: a batch that
        is being written all the same, or of which something is settled, stays in hand; its segments come out.
        """
        deadline = time.monotonic() + _RECALL
        for runner in self.runners:
            runner.paused = True
        while any(runner.in_sink for runner in self.runners) and time.monotonic() < deadline:
            time.sleep(_POLL)
        kept = {runner: runner.pinned if spare else None for runner in self.runners}
        try:
            others = [runner.batch for runner in self.crew.before if spare and runner.alive]
            batches = [batch for batch in (*kept.values(), *others) if batch is not None]
            yield {frame.segment for batch in batches for frame in batch.frames}
        finally:
            for runner, batch in kept.items():
                # It may have another batch by now, which it read before.
                runner.recalled = runner.recalled or batch is None or runner.batch is not batch
                runner.paused = False

    def succeed(self, before: Shipping) -> None:
        """Take over from the shipping of a pipeline that is about to end, in this process (see `Crew`)."""
        before._successor = self
        self.crew.succeed(before.crew)

    def _may_acknowledge(self) -> bool:
        """Whether the cursors are this pipeline's, or its successor's, which leaves them alone till then."""
        if self.is_shipper or self._successor is None:
            return self.is_shipper
        deadline = time.monotonic() + LOCK_EVERY
        while not self._successor._may_acknowledge() and time.monotonic() < deadline:
            time.sleep(_POLL)  # the lock is being handed over
        return self._successor._may_acknowledge()

    # -- what has arrived

    def own_segments(self, *, left_since: int | None = None) -> dict[str, int]:
        """Return the segments that this process wrote, and their sizes in bytes.

        ``left_since``: also those that dead processes began at that time (nanoseconds of the Unix epoch) or
        later, which this one ships for them.
        """
        pid = os.getpid()
        spool = self.outlet.spool
        return {
            one.name: one.size
            for one in ([] if spool is None else spool.segments())
            if one.facts.pid == pid
            or (left_since is not None and not one.live and one.facts.created_ns >= left_since)
        }

    def wait(self, deadline: float, *, and_left: bool = False) -> bool:
        """Wait until every sink has acknowledged what this process has in the spool now.

        With what dead processes left there since this one began, such as the workers of its pools;
        ``and_left``: all that they left. Where no thread runs, this one ships. Where another process ships
        there is nothing to wait for; another handler of this process is. False when the deadline (monotonic
        seconds) came.
        """
        since = 0 if and_left else self._began
        arrivals = Arrivals(
            self.outlet, self._held, lambda: self.own_segments(left_since=since), self._passed_for_all
        )
        is_done = _Once(lambda: self._has_arrived(arrivals))
        began = time.monotonic()
        for runner in [runner for runner in self.runners if not runner.alive and not runner.stopping]:
            runner.work_here(lambda: is_done() or time.monotonic() >= deadline)
        try:
            while not is_done():
                if time.monotonic() >= deadline:
                    return False
                for runner in self.runners:
                    runner.hurry = True
                    runner.bell.ring()
                # Looking costs the sinks' threads their turns: less often, the longer it takes.
                time.sleep(min(_LONGEST_POLL, _POLL + (time.monotonic() - began) / 20))
        finally:
            for runner in self.runners:
                runner.hurry = False
        return True

    def _has_arrived(self, arrivals: Arrivals) -> bool:
        if not arrivals.left_memory:
            return False
        if not self.is_shipper:
            if self.outlet.spool is None:
                return True  # nobody can ship: memory is all there is
            if self._lock is not None and self._lock.was_here(self._asked_at):
                return arrivals.left_disk()  # another handler of this process has the right, or just let go
            return self._other_ships
        readers = self.crew.readers
        with readers[0].hold() if readers else nullcontext():  # nothing is given up meanwhile
            return arrivals.left_disk()

    def passed(self, name: str) -> int:
        """Return up to which byte of a segment every sink has acknowledged."""
        return min([reader.passed(name) for reader in self.crew.readers], default=0)

    def _passed_for_all(self, name: str) -> int:
        """Return the same, where another handler of this process may be the one that ships."""
        return self.passed(name) if self.is_shipper else self.crew.passed_by_disk(name)

    def is_acknowledged(self) -> bool:
        """Whether every sink has all that this process has in the spool, as it stands on disk."""
        return all(self.crew.passed_by_disk(name) >= size for name, size in self.own_segments().items())

    def pending(self, stop: Callable[[], bool] = lambda: False) -> dict[str, int]:
        """Return how many records each sink has still to acknowledge, held ones included.

        Whoever ships counts what waits for sinks that it does not serve among them. ``stop``: see
        `SpoolReader.pending`.
        """
        found = self.crew.pending(stop, by_disk=not (self.is_shipper or self._was_shipper))
        for claim in self._claims:
            number = claim.pending(stop)
            if number:
                found[claim.sink] = found.get(claim.sink, 0) + number
        return found

    # -- the turns of life

    def stop(self, deadline: float) -> None:
        """Stop the threads; wait for them until the deadline, or a moment: a hung one is left alone."""
        self.crew.stop(deadline)

    def release(self) -> None:
        """Delete what is shipped, and let another process ship."""
        if self._lock is not None:
            if self.is_shipper:
                for reader in self.crew.readers:
                    reader.settle()
                self._retire()
            self._was_shipper = self.is_shipper
            self._ready = False
            self._lock.release()
            self._other_ships = True  # whoever comes next

    def after_fork_in_child(self) -> None:
        """Part from what is the parent's."""
        self.crew.part()
        self._claims = []
        self._lock_at = 0.0
        self._ready = False
        self._other_ships = False
        self._born = time.monotonic()


class _Once:
    """A question that is not asked again once the answer was yes."""

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask = ask
        self._yes = False

    def __call__(self) -> bool:
        self._yes = self._yes or self._ask()
        return self._yes
