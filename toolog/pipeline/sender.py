"""How a batch is handed to a sink until each of its records is settled: stored, or a dead letter.

What a sink cannot take now is tried again for as long as it takes; the spool's bound decides what is lost,
not a number of tries. The pause between tries doubles up to ``max_backoff`` with jitter (see ``breaker``).
That is ten lines here and no library, because the pause must end at once when somebody flushes, when the
process forks and when it ends.

While the breaker is open, only a small batch is sent as a probe after each pause, so that a sink that comes
back is not met with everything at once. (Not to a sink that plans: the bounds of what it makes are fixed, and
saved before its first try.) A call into the sink that does not return within its ``timeout`` is noticed by
whoever calls ``check``: nobody can end it, but nobody waits for it either.

A sink that breaks on a record (any error but SinkUnavailable) gets the batch in halves until the record
stands alone; that one goes to the dead letters.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from toolog.breath import breathe
from toolog.counters import contain, count
from toolog.errors import SinkRejected, SinkUnavailable
from toolog.pipeline import progress
from toolog.pipeline.answers import read_answer, words_of
from toolog.pipeline.batch import Batch
from toolog.pipeline.breaker import PROBE, Breaker
from toolog.pipeline.thread import Loop
from toolog.pipeline.watch import Watch
from toolog.sinks.base import Answer, Delivery, Pace, Sink, SinkRecord

_HURRIED_PAUSE = 0.2
_ALONE_TRIES = 3
"""How often a record that the sink breaks on is tried alone before it is a dead letter."""


class Stopped(Exception):
    """The runner was told to stop while it had something in hand; that stays in the spool."""


class Recalled(Exception):
    """Some of what the runner has in hand may be given up in the spool: it begins again at its cursor."""


class Sender(Loop):
    """A thread that hands batches to one sink, on that track into it that records of one ``policy`` take.

    ``hurry``: somebody flushes, so no waiting for a full batch, short pauses. ``recalled``: what is in hand
    may be given up in the spool, so the next try must not begin. ``renewed``: the cursor was read again since
    (somebody else may have shipped), so what is in hand is read again, too, and the sink begins anew with it.
    """

    def __init__(self, name: str, policy: str, delivery: Delivery) -> None:
        super().__init__(f"toolog-{name}-{policy}" if policy else f"toolog-{name}")
        self.sink_name = name
        self.policy = policy
        self.hurry = False
        self.recalled = False
        self.renewed = False
        self.breaker = Breaker(name, delivery.max_backoff, policy)
        self._watch = Watch(self.breaker, delivery.timeout)
        self._sink: Sink | None = None
        self._is_done: Callable[[], bool] = lambda: False

    @property
    def breaker_open(self) -> bool:
        """Whether the sink failed so often in a row that only probes are sent, or does not return."""
        return self.breaker.is_open

    @property
    def in_sink(self) -> bool:
        """Whether the thread is where a fork should not happen, and where somebody may still wait for it."""
        return self.busy and self.alive and not self.breaker.hung

    def check(self) -> None:
        """Notice a call into the sink that has been running for too long; counted and told once for each."""
        if self.alive:
            self._watch.check()

    def _send_next(self, batch: Batch) -> None:
        assert self._sink is not None
        pace: Pace | None = getattr(self._sink, "pace", None)
        if pace is not None:
            self._wait_for(pace)
        if self.stopping or self._is_done():
            raise Stopped
        part = batch.open[0]
        most = max(1, (None if pace is None else pace.take) or len(part))  # a pace may be anybody's
        if self.breaker.is_open:
            if not hasattr(self._sink, "plan"):
                most = min(most, PROBE)
            self.breaker.probing = True
        if len(part) > most:
            batch.open[0:1] = [part[:most], part[most:]]
            part = batch.open[0]
        self.enter()
        if self.recalled or self.renewed:
            self.leave()
            raise Recalled
        again = batch.send(part)
        if again:
            count("retries", sink=self.sink_name)
        began = self._watch.begin("write")
        try:
            records = [batch.records[index] for index in part]
            self._plan(records)
            answer = read_answer(self._sink.write(records), records)
            breathe()
        except SinkUnavailable as error:
            self._watch.end()
            self.breaker.failed("unavailable", error)
            self.leave()
            self._pause()
        except SinkRejected as error:
            self.breaker.answered()
            self._isolate(batch, part, words_of(error), "rejected", tries=1)
        except Exception as error:  # the sink broke: on one of these records, most likely
            contain("sink", error)
            reason = f"{type(error).__name__}: {words_of(error)}"
            self._isolate(batch, part, reason, "failed", tries=_ALONE_TRIES)
        else:
            self._watch.end()
            progress.note_write(self.sink_name, time.monotonic() - began)
            self._settle(batch, part, answer, again)
        finally:
            self._watch.end()
            self.leave()

    def _wait_for(self, pace: Pace) -> None:
        """Wait as long as the sink wants to be left alone."""
        while not self.stopping and (rest := pace.wait()) > 0:
            if self._is_done():
                raise Stopped
            self.idle(min(rest, _HURRIED_PAUSE))

    def _plan(self, records: list[SinkRecord]) -> None:
        """Let a sink that plans decide what it will make, and save that. Raises SinkUnavailable."""
        plan = getattr(self._sink, "plan", None)
        if plan is None or not plan(records):
            return
        if not self._save_state():
            self.recalled = True  # perhaps another process ships by now: begin again at the cursor
            raise SinkUnavailable(
                "what is about to be stored cannot be noted in the spool: its disk is full or read-only",
                tells=True,
            )

    def _settle(self, batch: Batch, part: list[int], answer: Answer, again: int) -> None:
        retry = batch.take_answer(part, answer)
        again = max(again, answer.again)
        if again:
            count("delivered_again", again, sink=self.sink_name)
        if len(retry) < len(part):  # a sink that asks for all of them again has not answered yet
            self.breaker.answered()
        if retry:
            self.breaker.failed("retry", why=words_of(answer.reason))
            self.leave()
            self._pause()

    def _isolate(self, batch: Batch, part: list[int], reason: str, status: str, *, tries: int) -> None:
        if batch.isolate(part, reason, status, tries):
            self.leave()
            self._pause(short=True)

    def _save_state(self) -> bool:
        """Save the sink's own state in the spool; False when it could not be saved."""
        raise NotImplementedError

    def _pause(self, *, short: bool = False) -> None:
        """Wait before the next try; no longer than a moment while somebody flushes, unless the sink asked us
        to.
        """
        until = time.monotonic() + self.breaker.pause(short=short)
        hurried = self.breaker.failed_at + max(_HURRIED_PAUSE, self.breaker.asked_for)
        while not self.stopping and not self._is_done():
            rest = until - time.monotonic()
            if self.hurry:
                rest = min(rest, hurried - time.monotonic())
            if rest <= 0:
                return
            self.idle(min(rest, _HURRIED_PAUSE))
