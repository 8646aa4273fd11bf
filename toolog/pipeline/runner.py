"""One thread for each sink: reads the spool by a cursor of its own, writes batches, tries again, gives up on
nothing but what the sink refuses.

The cursor moves only when all of a batch is settled: stored, or in the dead letters. What a sink cannot take
now is tried again for as long as it takes; the spool's bound decides what is lost, not a number of tries. The
pause between tries doubles up to ``max_backoff`` with jitter. That is ten lines here and no library, because
the pause must end at once when somebody flushes, when the process forks and when it ends.

After BREAK_AFTER failures in a row, or at once when the sink denies us access, the breaker is open: only a
small batch is sent as a probe after each pause, so that a sink that comes back is not met with everything at
once.

A sink that breaks on a record (any error but SinkUnavailable) gets the batch in halves until the record
stands alone; that one goes to the dead letters.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from toolog.counters import contain, count
from toolog.errors import SinkDenied, SinkRejected, SinkUnavailable, ToologError
from toolog.pipeline.dead_letters import DeadLetters
from toolog.pipeline.losses import Losses
from toolog.pipeline.thread import Loop
from toolog.retention import Policies
from toolog.sanitize import Sanitizer
from toolog.sinks.base import Answer, Delivery, Pace, Sink, SinkRecord
from toolog.spool import Frame

BREAK_AFTER = 5
PROBE = 16
_FIRST_PAUSE = 0.1
_HURRIED_PAUSE = 0.2
_POLL = 0.05
_NO_FRAME = Frame("", -1, -1, -1, 0, 0, 0, 0, b"")  # acknowledges nothing: only the state is saved
_ALONE_TRIES = 3
"""How often a record that the sink breaks on is tried alone before it is a dead letter."""


class Source(Protocol):
    """What a runner reads from: the spool on disk, or what is held in memory."""

    @property
    def state(self) -> dict[str, Any] | None:
        """What the sink left in its cursor."""

    def read(self, max_records: int = ..., max_bytes: int = ...) -> list[Frame]:
        """Return the next frames."""

    def ack(self, frame: Frame, state: dict[str, Any] | None = None) -> bool:
        """Acknowledge a frame and all before it."""

    def forget(self) -> None:
        """Return to the cursor."""

    def pending(self) -> int:
        """Return how many records are not acknowledged."""


class Stopped(Exception):
    """The runner was told to stop while it had something in hand; that stays in the spool."""


class Recalled(Exception):
    """Some of what the runner has in hand may be given up in the spool: it begins again at its cursor."""


class SinkRunner(Loop):
    """Ships to one sink.

    ``make`` gives the sink (a new one after a fork), ``sources`` are read in turn, ``delivery`` holds its
    batch limits and longest pause; ``purge`` is called every ``purge_every`` seconds between two batches, on
    this thread, because it uses the sink's own connection.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Sink],
        delivery: Delivery,
        policies: Policies,
        sources: Sequence[Source],
        dead_letters: DeadLetters,
        losses: Losses,
        *,
        purge: Callable[[Sink], int],
        purge_every: float,
    ) -> None:
        super().__init__(f"toolog-{name}")
        self.sink_name = name
        self.hurry = False  # somebody flushes: no waiting for a full batch, short pauses
        self.failures = 0
        self.failed_at = 0.0
        self.recalled = False
        self._make = make
        self._delivery = delivery
        self._policies = policies
        self._sources = sources
        self._dead_letters = dead_letters
        self._losses = losses
        self._purge = purge
        self._purge_every = purge_every
        self._purged_at = 0.0
        self._sink: Sink | None = None
        self._is_done: Callable[[], bool] = lambda: False

    @property
    def breaker_open(self) -> bool:
        """Whether the sink failed so often in a row that only probes are sent."""
        return self.failures >= BREAK_AFTER

    # -- the loop

    def run(self) -> None:
        """Ship until told to stop."""
        try:
            while not self.stopping:
                self._round()
        except Stopped:
            pass
        finally:
            self._close()

    def work_here(self, is_done: Callable[[], bool]) -> None:
        """Ship on the calling thread until ``is_done``: where no thread can be started."""
        self.hurry = True
        self._is_done = is_done
        try:
            while not is_done():
                self._round()
        except Stopped:
            pass
        finally:
            self.hurry = False
            self._is_done = lambda: False

    def pending(self) -> int:
        """Return how many records the sink has not acknowledged."""
        return sum([source.pending() for source in self._sources])

    def _round(self) -> None:
        if self._sink is None and not self._connect():
            return
        for source in self._sources:
            self.recalled = False
            frames = self._gather(source)
            if frames:
                self._deliver(source, frames)
                return
        if time.monotonic() - self._purged_at >= self._purge_every:
            self._purge_now()
        self.idle(_POLL)

    def _connect(self) -> bool:
        sink: Sink | None = None
        self.enter()
        try:
            sink = self._make()
            sink.connect()
            restore = getattr(sink, "restore", None)
            if restore is not None:
                restore(self._sources[0].state)
        except Exception as error:
            self._failed("connect", error)
            if sink is not None:
                _close_quietly(sink)
        else:
            self._sink = sink
        finally:
            self.leave()
        if self._sink is None:
            self._pause()
        return self._sink is not None

    def _gather(self, source: Source) -> list[Frame]:
        """Return the frames of the next batch; waits for a full one at most ``max_age`` seconds."""
        limits = self._delivery.batch
        frames = source.read(limits.max_records, limits.max_bytes)
        if not frames:
            return frames
        size = sum([len(frame.payload) for frame in frames])
        full_at = time.monotonic() + limits.max_age
        while (
            len(frames) < limits.max_records and size < limits.max_bytes and not (self.hurry or self.stopping)
        ):
            rest = full_at - time.monotonic()
            if rest <= 0:
                break
            self.idle(min(rest, _POLL))
            more = source.read(limits.max_records - len(frames), limits.max_bytes - size)
            size += sum([len(frame.payload) for frame in more])
            frames += more
        return frames

    # -- delivery

    def _deliver(self, source: Source, frames: list[Frame]) -> None:
        self._note_beginning()
        batch = _Batch(frames, self._policies)
        try:
            while batch.open:
                self._send_next(batch)
        except (Stopped, Recalled) as error:
            settled = batch.settled_prefix()
            if settled:
                source.ack(frames[settled - 1], self._state())
            source.forget()
            if isinstance(error, Stopped):
                raise
            return
        state = self._state()
        source.ack(frames[-1], state)
        if state is not None and source is not self._sources[0]:
            # The sink's own state lives in the cursor on disk, whatever the records came from.
            self._sources[0].ack(frames[-1], state)

    def _note_beginning(self) -> None:
        """Save the sink's state before its very first batch, so that a crash in it leaves nothing twice."""
        spool = self._sources[0]
        if spool.state is None:
            state = self._state()
            if state is not None:
                spool.ack(_NO_FRAME, state)

    def _send_next(self, batch: _Batch) -> None:
        assert self._sink is not None
        pace = getattr(self._sink, "pace", None)
        if pace is not None:
            self._wait_for(pace)
        if self.stopping:
            raise Stopped
        part = batch.open[0]
        most = (None if pace is None else pace.take) or len(part)
        if self.breaker_open:
            most = min(most, PROBE)
        if len(part) > most:
            batch.open[0:1] = [part[:most], part[most:]]
            part = batch.open[0]
        self.enter()
        if self.recalled:
            self.leave()
            raise Recalled
        again = batch.resent(part)
        try:
            answer = self._sink.write([batch.records[index] for index in part])
        except SinkUnavailable as error:
            self._failed("unavailable", error)
            self.leave()
            self._pause()
        except SinkRejected as error:
            self._isolate(batch, part, str(error), "rejected", tries=1)
        except Exception as error:  # the sink broke: on one of these records, most likely
            contain("sink", error)
            self._isolate(batch, part, f"{type(error).__name__}: {error}", "failed", tries=_ALONE_TRIES)
        else:
            self.failures = 0
            self._settle(batch, part, answer, again)
        finally:
            self.leave()

    def _wait_for(self, pace: Pace) -> None:
        """Wait as long as the sink wants to be left alone."""
        while not self.stopping and (rest := pace.wait()) > 0:
            if self._is_done():
                raise Stopped
            self.idle(min(rest, _HURRIED_PAUSE))

    def _settle(self, batch: _Batch, part: list[int], answer: Answer | None, again: int) -> None:
        stored, retry, known = part, [], 0
        if answer is not None:
            ids: dict[int, str] = {}
            if answer.rejected or answer.retry:
                ids = {index: batch.records[index].record_id for index in part}
            rejected = [index for index in part if ids.get(index) in answer.rejected]
            retry = [index for index in part if ids.get(index) in answer.retry and index not in rejected]
            out = {*rejected, *retry}
            stored = [index for index in part if index not in out]
            if rejected:
                self._bury(batch, [(index, answer.rejected[ids[index]], "rejected") for index in rejected])
            known = answer.again
            again = max(again, known)
        if again:
            count("delivered_again", again)
        batch.close(part, stored)
        if len(stored) > known:
            count("stored", len(stored) - known, sink=self.sink_name)
        if retry:
            batch.open.insert(0, retry)
            self.failures += 1
            self.leave()
            self._pause()

    def _isolate(self, batch: _Batch, part: list[int], reason: str, status: str, *, tries: int) -> None:
        if len(part) > 1:
            middle = len(part) // 2
            batch.open[0:1] = [part[:middle], part[middle:]]
            return
        index = part[0]
        batch.broke[index] = batch.broke.get(index, 0) + 1
        if batch.broke[index] < tries:
            self.leave()
            self._pause(short=True)
            return
        self._bury(batch, [(index, reason, status)])
        batch.close(part, [])

    def _bury(self, batch: _Batch, dead: list[tuple[int, str, str]]) -> None:
        for index, reason, status in dead:
            lost = self._dead_letters.write([(batch.records[index], reason, status)])
            if lost:
                self._losses.note("dead_letters", batch.records[index].level, lost, self.sink_name)
            batch.settled.add(index)

    def _state(self) -> dict[str, Any] | None:
        given = getattr(self._sink, "cursor_state", None)
        if given is None:
            return None
        state: dict[str, Any] | None = given()
        return state

    # -- trouble

    def _failed(self, reason: str, error: BaseException) -> None:
        self.failures += 1
        if isinstance(error, SinkDenied):
            self.failures = max(self.failures, BREAK_AFTER)
        self.failed_at = time.monotonic()
        told = None
        # With "connect" no record was at hand, only the options.
        if isinstance(error, ToologError) and (reason == "connect" or getattr(error, "tells", False)):
            told = str(Sanitizer().sanitize(str(error)))
        contain(f"sink {self.sink_name}: {reason}", error, told=told)

    def _pause(self, *, short: bool = False) -> None:
        """Wait before the next try: exponential, with jitter so that many processes do not come back at
        once.
        """
        longest = _FIRST_PAUSE
        if not short:
            longest = min(self._delivery.max_backoff, _FIRST_PAUSE * 2 ** min(self.failures, 20))
        until = time.monotonic() + longest * random.uniform(0.5, 1.0)
        while not self.stopping:
            rest = until - time.monotonic()
            if self.hurry:
                rest = min(rest, self.failed_at + _HURRIED_PAUSE - time.monotonic())
            if rest <= 0:
                return
            self.idle(min(rest, _HURRIED_PAUSE))

    def _purge_now(self) -> None:
        self._purged_at = time.monotonic()
        assert self._sink is not None
        self.enter()
        try:
            self._purge(self._sink)
        except Exception as error:
            contain("purge", error)
        finally:
            self.leave()

    def part(self, closing: type[Sink]) -> None:
        """Leave the sink to the parent, in a forked child; one of the type ``closing`` is closed here."""
        if isinstance(self._sink, closing):
            _close_quietly(self._sink)

    def _close(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            _close_quietly(sink)


class _Batch:
    """A batch on its way: which of its records are settled, and in which parts the rest is sent."""

    def __init__(self, frames: Sequence[Frame], policies: Policies) -> None:
        self.records: list[SinkRecord] = []
        for frame in frames:
            policy = policies.policy(frame.levelno)
            self.records.append(
                SinkRecord(
                    frame.payload,
                    serializer=frame.serializer,
                    level=frame.levelno,
                    policy="" if policy is None else policy.name,
                )
            )
        self.open: list[list[int]] = [list(range(len(frames)))]
        self.settled: set[int] = set()
        self.broke: dict[int, int] = {}
        self._sent: set[int] = set()

    def resent(self, part: list[int]) -> int:
        """Note that a part is being sent; return how many of its records were sent before."""
        again = sum(index in self._sent for index in part)
        self._sent.update(part)
        return again

    def close(self, part: list[int], stored: list[int]) -> None:
        """Take a part out of what is open."""
        self.open.remove(part)
        self.settled.update(stored)

    def settled_prefix(self) -> int:
        """Return how many records from the first on may be acknowledged: all settled ones, or none of them.

        Not some of them: what is acknowledged and what a sink says of its state must be the same.
        """
        count = len(self.settled)
        return count if self.settled == set(range(count)) else 0


def _close_quietly(sink: Sink) -> None:
    try:
        sink.close()
    except Exception as error:
        contain("close", error)
