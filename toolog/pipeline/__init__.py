"""The pipeline: the only place that names all stations of a record after it left the handler.

    queue -> sanitize -> serialize -> spool -> route -> sink

The stations are the same functions in every durability; only the point where the caller goes home moves. In
``memory`` the caller puts the record into the queue, and the worker does the rest. In ``process`` the caller
itself seals, serializes and writes to the spool. In ``power`` it also waits until the disk has it. Behind the
spool there is a thread for each sink, each with its own cursor.

- ``queues``: what waits in memory; ``held``: what the disk could not take; ``outlet``: the spool, on disk or
held
- ``worker``: carries the queue into the spool; ``runner``: carries the spool into one sink, a ``batch`` at a
time, as its ``breaker`` allows; ``progress``: how it does
- ``losses``, ``dead_letters``: what was given up; ``letters``: dead letters sent again
- ``life``: fork, exit, signals; ``thread``, ``bell``: what runs it

The module is as long as it is because the beginning and the end of a pipeline name each of these in turn, and
are read together.
"""

from __future__ import annotations

import _thread
import itertools
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from toolog import serializers
from toolog.breath import breathe
from toolog.context import is_ours
from toolog.control import Inbox
from toolog.counters import contain, count
from toolog.forks import after_in_child
from toolog.pipeline import life
from toolog.pipeline.held import Held
from toolog.pipeline.lane import Lane, Shortener, ShortenMany, make_lane, no_lane, not_short
from toolog.pipeline.losses import Losses
from toolog.pipeline.options import Options
from toolog.pipeline.outlet import Outlet, Sealed
from toolog.pipeline.queues import Queues
from toolog.pipeline.shipping import Shipping
from toolog.pipeline.worker import LARGE, SMALL, Worker
from toolog.record import SuccessRecord, ToolRecord
from toolog.sanitize import default
from toolog.sanitize.seal import seal, seal_batch
from toolog.serializers.base import COMPACT

__all__ = ["Options", "Pipeline", "accepted"]

_LOOK = 0.01
_POLL = 0.002
_GRACE = 0.5
_GETTING_READY = 10.0
_MEMORY, _PROCESS, _POWER, _NOWHERE = range(4)
_MODES = {"memory": _MEMORY, "process": _PROCESS, "power": _POWER}


class Pipeline:
    """Stations 3 to 8 of a record's journey, for one handler. Raises ConfigError for options that cannot
    work.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.serializer = serializers.get(options.serializer)
        self._transcode = None if self.serializer.name == "msgpack" else self.serializer.from_packed
        self._code = self.serializer.code
        self.sanitizer = options.sanitizer
        # Made once now, so that a wrong option is told to whoever configures; each thread makes its own
        # later.
        self.losses = Losses()
        self.held = Held()
        self.queues = Queues(
            options.max_records,
            options.when_full,
            options.block_timeout,
            on_drop=self.losses.note,
            spill=self._write_one,
            held=self.held,
        )
        self.outlet = Outlet(
            options.directory,
            options.max_size,
            options.segment_size,
            held=self.held,
            hold=self.queues.hold,
            make_room=lambda levelno: self.shipping.make_room(levelno),
        )
        self.shipping = Shipping(options, self.outlet, self.held, self.losses)
        self.worker = Worker(self)
        self._inbox: Inbox | None = None
        self._modes: dict[int, int] = {}
        self.lane: Lane = no_lane
        self.shorten: ShortenMany = not_short
        self._draining = _thread.allocate_lock()
        self._starting = _thread.allocate_lock()
        self._threadless = False
        self.listens = True  # to `toolog level`
        self.hasty = False  # the end waits for what is in a sink's hand, not for what is in the spool
        self.closed = False  # records that come now are late
        self.ended = False  # nothing of ours runs any more
        self.lost_at_end = False  # then not all that was in memory found a place
        self._left_to_others = False  # what the spool has then, another process ships
        life.watch(self)

    @property
    def seals_later(self) -> bool:
        """Whether no record is sealed on its caller's thread: all wait in memory for the worker."""
        return set(self.options.durability.values()) == {"memory"}

    # -- the caller's thread

    def accept(self, record: ToolRecord) -> None:
        """Take a record as its level's durability says. Never raises; takes no lock."""
        levelno = record.levelno
        mode = self._modes.get(levelno)
        if mode is None:
            mode = self._mode(levelno)
        if mode == _NOWHERE:
            return
        next(_accepted.numbers)
        if self.closed:
            self._late(record)
        elif mode == _MEMORY:
            self.queues.put(levelno, record)
            if not self.worker.polls:
                self._wake()
        else:
            payload = seal(record, self.sanitizer)
            if self._transcode is not None:
                transcoded = self._serialize(levelno, payload)
                if transcoded is None:
                    return
                payload = transcoded
            if not self.outlet.append(levelno, self._code, payload):
                self.queues.put(levelno, payload, self._code)
                self.worker.bell.ring()
            elif mode == _POWER:
                self.outlet.sync(self.options.shutdown_timeout)
            if not self.worker.alive:
                self.start()

    def _wake(self) -> None:
        """See to it that somebody looks into the queue, in which there is something now."""
        self.worker.bell.ring()
        if self.ended:  # the worker may have looked for the last time before the record was there
            self.rescue()
        elif not self.worker.alive:
            self.start()

    def refuse(self, levelno: int, error: Exception) -> None:
        """Count a log line of which no record could be made: accepted, and dropped as ``broken``."""
        next(_accepted.numbers)
        contain("handler", error)
        self.losses.note("broken", levelno)

    def _mode(self, levelno: int) -> int:
        """Return what happens with records of a level, found once for each level."""
        if not self.options.policies.route(levelno):
            mode = _NOWHERE
        else:
            bounds = sorted(self.options.durability)
            position = max(0, bisect_right(bounds, levelno) - 1)
            mode = _MODES[self.options.durability[bounds[position]]]
        if len(self._modes) < 256:
            self._modes[levelno] = mode
        if mode != _NOWHERE and levelno == SuccessRecord.levelno and self._transcode is None:
            rules = self.sanitizer or default()
            if not rules.by_tool:
                shortener = Shortener(rules.common)
                self.shorten = shortener.shorten_many
                if mode == _PROCESS:
                    self.lane = make_lane(self, shortener.shorten, lambda: next(_accepted.numbers))
        return mode

    def _serialize(self, levelno: int, packed: bytes) -> bytes | None:
        if self._transcode is None:
            return packed
        try:
            transcoded: bytes = self._transcode(packed)
            return transcoded
        except Exception as error:
            contain("serialize", error)
            self.losses.note("serialize", levelno)
            return None

    def _write_one(self, levelno: int, code: int, payload: Any) -> bool:
        """Carry one record into the spool on the caller's thread (``spill``); False when the disk fails."""
        if code < 0:
            sealed = self._serialize(levelno, seal(payload, self.sanitizer))
            if sealed is None:
                return True
            payload = sealed
        return self.outlet.append(levelno, self._code, payload)

    def _late(self, record: ToolRecord) -> None:
        """Take a record that comes after the end: straight into the spool, whatever its durability."""
        count("late")
        if not self._write_one(record.levelno, -1, record):
            self.losses.note("late", record.levelno)

    # -- carrying the queue into the spool

    def drain(self) -> int:
        """Carry what waits now into the spool, in small batches; return how many records. One thread at a
        time.
        """
        total = 0
        backlog = len(self.queues)
        while total < backlog and self._draining.acquire(False):
            try:
                taken = self.queues.take(max(SMALL, min(backlog, 4 * LARGE)))
                size = LARGE if backlog > 4 * SMALL else SMALL
                for start in range(0, len(taken), size):
                    self._carry(taken[start : start + size])
                    breathe()
                total += len(taken)
            finally:
                self._draining.release()
            if not taken:
                break
        return total

    def rescue(self) -> None:
        """Carry everything that waits into the spool on this thread: the worker has looked for the last
        time.
        """
        deadline = time.monotonic() + 1.0
        while len(self.queues) and time.monotonic() < deadline:
            if not self.drain():
                time.sleep(_POLL)

    def _carry(self, taken: Sequence[tuple[int, int, int, Any]]) -> None:
        """Carry a batch out of the queue into the spool; what breaks costs it, counted, and nothing else."""
        try:
            self.outlet.append_many(self._seal(taken))
        except Exception as error:
            contain("carry", error)
            for item in taken:
                self.losses.note("broken", item[1])

    def _seal(self, taken: Sequence[tuple[int, int, int, Any]]) -> list[Sealed]:
        frames: list[Sealed | None] = []
        plain: list[tuple[int, SuccessRecord]] = []
        fresh: list[tuple[int, ToolRecord]] = []
        for place, (_, levelno, code, payload) in enumerate(taken):
            frames.append((levelno, code, payload) if code >= 0 else None)
            if code < 0:
                (plain if type(payload) is SuccessRecord else fresh).append((place, payload))
        for (place, success), short in zip(plain, self.shorten([one for _, one in plain]), strict=True):
            if short is None:
                fresh.append((place, success))
            else:
                frames[place] = (success.levelno, COMPACT, short)
        sealed = seal_batch([record for _, record in fresh], self.sanitizer)
        for (place, record), packed in zip(fresh, sealed, strict=True):
            data = self._serialize(record.levelno, packed)
            if data is not None:
                frames[place] = (record.levelno, self._code, data)
        return [frame for frame in frames if frame is not None]

    # -- house

    def start(self) -> None:
        """Start the worker unless it runs, or the interpreter ends. Anybody may call it, at any time."""
        if self.closed or self._threadless or life.is_ending() or not self._starting.acquire(False):
            return
        try:
            if not self.worker.alive and not self.worker.stopping:
                life.finish_in_children()
                self._threadless = not self.worker.start()
        finally:
            self._starting.release()

    def keep_house(self) -> None:
        """Do what is due every now and then; called by the worker."""
        self._tell_losses()
        if self.outlet.degraded:
            self.outlet.recover()
        self.salvage()
        self.listen()
        if self.options.ship == "background":
            self.shipping.keep_going()
        self.held.retire()

    def wait_ready(self) -> None:
        """Wait until the worker, if one runs, has made its scans; no timeout of a sink shall pay for that."""
        deadline = time.monotonic() + _GETTING_READY
        while self.worker.alive and not self.worker.ready and time.monotonic() < deadline:
            time.sleep(_POLL)

    def salvage(self) -> None:
        """Write again what went into a segment that somebody deleted before it was shipped."""
        if self.outlet.lost_segments() and self._draining.acquire(False):
            try:
                self.shipping.salvage()
            finally:
                self._draining.release()

    def _tell_losses(self, *, all_of_them: bool = False) -> None:
        if not all_of_them and self.queues.is_pressed():
            return  # what is told now would be given up next, and what it tells with it
        records = self.losses.due(all_of_them=all_of_them)
        routed = [record for record in records if self.options.policies.route(record.levelno)]
        if routed:
            for _ in routed:
                next(_accepted.numbers)
            self.outlet.append_many(self._seal([(0, record.levelno, -1, record) for record in routed]))

    def listen(self) -> None:
        """Do what somebody outside asked for with `toolog level`."""
        if self._inbox is None and self.listens and self.outlet.spool is not None:
            inbox = Inbox(self.options.directory)
            try:
                inbox.open()
            except OSError as error:
                contain("control", error)
                return
            self._inbox = inbox
        if self._inbox is not None:
            self._inbox.poll()

    # -- flush

    def flush(self, timeout: float) -> bool:
        """Wait until all that was accepted before is acknowledged by every sink of its policy, or a dead
        letter.

        Where another process ships, or none does: until it is durable in the spool. False when that did not
        come about within ``timeout`` seconds. It polls, so that a signal handler may call it.
        """
        if is_ours():
            return False
        deadline = time.monotonic() + timeout
        if not self._wait_drained(deadline):
            return False
        self.salvage()
        if self.options.ship != "background":
            return self._wait_durable(deadline)
        if not self.worker.alive and not self.ended:
            self.keep_house()
        return self.shipping.wait(deadline, and_left=True)

    def _wait_drained(self, deadline: float) -> bool:
        """Wait until what waits in memory now is in the spool, or held."""
        mark = self.queues.mark()
        while self.queues.has_before(mark):
            self.worker.bell.ring()
            if not self.worker.alive:
                self.drain()
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL)
        while not self._draining.acquire(False):  # a batch that left the queue is not in the spool yet
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL)
        self._draining.release()
        return True

    def _wait_durable(self, deadline: float) -> bool:
        """Wait until the disk has what is held in memory: a full one may have room before the time is up."""
        while not self.held.is_empty():
            if self.ended or time.monotonic() >= deadline:
                return False
            if not self.worker.alive:
                self.keep_house()
            time.sleep(_LOOK)
        return True

    # -- the end

    def request_finish(self) -> None:
        """Take no more records and begin to end; returns at once."""
        self.closed = True
        self.worker.stop()

    def finish(self) -> None:
        """End: flush within the shutdown timeout, stop, and return then. May be called again."""
        self.request_finish()
        self.wait_ready()
        deadline = time.monotonic() + self.options.shutdown_timeout + _GRACE
        if not self.worker.alive:
            self.finish_now()
        while not self.ended and self.worker.alive and time.monotonic() < deadline:
            time.sleep(_POLL)

    def finish_now(self) -> None:
        """Do the work of ending on this thread; what breaks in one step keeps no other from its turn."""
        if self.ended:
            return
        deadline = time.monotonic() + self.options.shutdown_timeout
        for step in (
            self.drain,
            self.salvage,
            lambda: self._tell_losses(all_of_them=True),
            self.outlet.close,  # the segment is complete, so that it can be deleted when it is shipped
            lambda: self._ship_last(deadline),
            self._leave_nothing,
            self._leave_to_others,
            self.shipping.release,
        ):
            try:
                step()
            except Exception as error:
                contain("finish", error)
        if not self._has_arrived():
            life.leave(self.options.directory, self)  # first: whoever waits for the end asks for it then
        self.ended = True
        life.unwatch(self)
        self.drain()

    def has_arrived(self) -> bool:
        """Whether all has arrived that was in the spool when this pipeline ended, as it stands on disk now.

        False before the end. What the disk did not take then is lost, see ``lost_at_end``.
        """
        return self.ended and self._has_arrived()

    def _has_arrived(self) -> bool:
        return self._left_to_others or self.outlet.spool is None or self.shipping.is_acknowledged()

    def _leave_to_others(self) -> None:
        self._left_to_others = self.options.ship != "background" or self.shipping.other_ships

    def _leave_nothing(self) -> None:
        for levelno, number in self.outlet.leave_nothing().items():
            self.lost_at_end = True
            self.losses.note("exit", levelno, number)
        self.outlet.close()
        if self._inbox is not None:
            self._inbox.close()

    def _ship_last(self, deadline: float) -> None:
        """Give the sinks until the deadline for what they have not got yet, then stop them.

        Where no worker ever ran, only what came while the interpreter was ending is there; that stays in the
        spool, because a sink's client would have to be imported now.
        """
        if self.options.ship != "background":
            return
        if self.shipping.runners or self._threadless or is_ours():
            self.shipping.keep_going()
            if not self.hasty:
                self.shipping.wait(deadline)
        self.shipping.stop(deadline)

    # -- fork

    @property
    def busy(self) -> bool:
        """Whether a thread of ours is where a fork should not happen."""
        return any(runner.in_sink for runner in self.shipping.runners)

    @property
    def paused(self) -> bool:
        """Whether our threads are to begin nothing in which a fork should not happen."""
        return self.worker.paused

    @paused.setter
    def paused(self, value: bool) -> None:
        for loop in (self.worker, *self.shipping.runners):
            loop.paused = value

    def after_fork_in_child(self) -> None:
        """Become the child's pipeline: the parent ships what it had, and nothing runs here before the first
        record.
        """
        self.queues.clear()
        self._modes, self.lane, self.shorten = {}, no_lane, not_short
        # the child may have scans of its own, and has another worker
        self.outlet.after_fork_in_child()
        self.losses.forget()
        if self._inbox is not None:
            self._inbox.after_fork_in_child()
            self._inbox = None
        self.shipping.after_fork_in_child()
        self._draining = _thread.allocate_lock()
        self._starting = _thread.allocate_lock()
        self._threadless = False
        self.worker = Worker(self)

    # -- figures

    def in_spool(self, stop: Callable[[], bool] = lambda: False) -> dict[str, int]:
        """Return how many records each sink has still to acknowledge; what waits in the queue is in no spool
        yet.

        Also sinks that this pipeline ships to no more, if the spool holds something for them. ``stop`` is
        asked meanwhile: when it says yes, the figures are those of what was counted so far.
        """
        return self.shipping.pending(stop)


class _Accepted:
    """How many records this process's pipelines accepted; ``next`` on ``numbers`` is atomic, and cheap."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin at zero: a forked child counts its own."""
        self.numbers = itertools.count()


_accepted = _Accepted()
after_in_child(_accepted.reset)


def accepted() -> int:
    """Return how many records were accepted in this process: each is stored, dropped, dead or still on its
    way.
    """
    return int(repr(_accepted.numbers)[len("count(") : -1])  # reading it by `next` would count
