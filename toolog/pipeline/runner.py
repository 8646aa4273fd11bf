"""One thread for each sink: reads the spool by a cursor of its own, and writes batches to the sink.

The cursor moves only when all of a batch is settled: stored, or in the dead letters (see `sender`). Those are
written when the whole batch is settled, just before the cursor moves: a batch that comes again makes no
second letter, also where somebody died in between.

Whatever breaks, in the sink or here, costs no record: the runner returns to its cursor and begins anew with
the sink, as after a restart.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from toolog.breath import breathe
from toolog.counters import contain, count
from toolog.pipeline import progress
from toolog.pipeline.batch import Batch, portions
from toolog.pipeline.clock import Clock
from toolog.pipeline.dead_letters import DeadLetters
from toolog.pipeline.gather import POLL, gather
from toolog.pipeline.losses import Losses
from toolog.pipeline.sender import Recalled, Sender, Stopped
from toolog.pipeline.source import Source
from toolog.retention import Policies
from toolog.sinks.base import Delivery, Sink
from toolog.spool import Frame

_NO_FRAME = Frame("", -1, -1, -1, 0, 0, 0, 0, b"")  # acknowledges nothing: only the state is saved


class SinkRunner(Sender):
    """Ships to one sink, or on that track into it that the records of one ``policy`` take.

    ``make`` gives the sink (a new one after a fork), ``sources`` are read in turn, ``delivery`` holds its
    batch limits and longest pause; ``purge`` is called every ``purge_every`` seconds, when there is nothing
    to ship and at the latest after twice that time, on this thread, because it uses the sink's own
    connection. A batch waits no longer for more once ``most_in_hand`` bytes of the disk cannot be freed
    because of it.
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
        most_in_hand: float = math.inf,
        policy: str = "",
    ) -> None:
        super().__init__(name, policy, delivery)
        self.batch: Batch | None = None  # in hand: not acknowledged, nor given back
        self._make = make
        self._delivery = delivery
        self._policies = policies
        self._sources = sources
        self._doubtful = set(sources)  # whose cursor may lag behind what was settled
        self._dead_letters = dead_letters
        self._losses = losses
        self._purge = purge
        self._purge_every = purge_every
        self._most_in_hand = most_in_hand
        self._purge_due = 0.0
        self._clock = Clock()
        self._purge_latest = time.monotonic() + purge_every

    @property
    def pinned(self) -> Batch | None:
        """What is in hand and perhaps stored already, in whole or in part: it may not be given up.

        It can be relied on while the runner is ``paused``.
        """
        batch = self.batch
        return batch if batch is not None and (self.busy or batch.settled) else None

    # -- the loop

    def run(self) -> None:
        """Ship until told to stop."""
        try:
            while not self.stopping:
                self._round_guarded()
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
                self._round_guarded()
        except Stopped:
            pass
        finally:
            self.hurry = False
            self._is_done = lambda: False

    def _round_guarded(self) -> None:
        """Do one round. What breaks in it is told, and costs no record: what was read is read again."""
        whole = False
        try:
            self._round()
            whole = True
        except Stopped:
            whole = True
            raise
        except (Exception, SystemExit) as error:  # a client that exits ends neither us nor who flushes
            self.breaker.failed("broke", error)
        finally:
            if not whole:  # even when it ends this thread: another one is started
                self._begin_anew()
        if not whole:
            self._pause()

    def _begin_anew(self) -> None:
        """Return to the cursor; the sink is made again, and learns from it how far it came."""
        self._watch.end()
        self.leave()
        self._close()
        for source in self._sources:
            self._forget(source)

    def _round(self) -> None:
        if self.renewed:
            self.renewed = False
            self._doubtful.update(self._sources)
            self._close()
        if self._sink is None and not self._connect():
            return
        if time.monotonic() >= self._purge_latest:  # records without a pause must not keep old ones for ever
            self._purge_now()
        for source in self._sources:
            self.recalled = False
            frames = self._gather(source)
            if frames:
                self._deliver_all(source, frames)
                return
        if time.monotonic() >= self._purge_due:
            self._purge_now()
        self.idle(POLL)

    def _connect(self) -> bool:
        sink: Sink | None = None
        self.enter()
        self._watch.begin("connect")
        try:
            sink = self._make()
            self._watch.pulse = getattr(sink, "pulse", None)
            sink.connect()
            restore = getattr(sink, "restore", None)
            if restore is not None:
                restore(self._sources[0].state)
        except Exception as error:
            self.breaker.failed("connect", error)
            if sink is not None:
                _close_quietly(sink)
        else:
            self._sink = sink
        finally:
            self._watch.end()
            self.leave()
        if self._sink is None:
            self._pause()
        return self._sink is not None

    def _gather(self, source: Source) -> list[Frame]:
        """Return the frames of the next batch."""
        others = [other for other in self._sources if other is not source]
        goes_on = getattr(self._sink, "goes_on", None)
        frames = gather(source, others, self._delivery.batch, self._most_in_hand, goes_on, self)
        if frames:
            progress.note_read(self.sink_name, len(frames))
        return frames

    # -- delivery

    def _deliver_all(self, source: Source, frames: list[Frame]) -> None:
        plans = hasattr(self._sink, "plan")
        for part in portions(frames) if plans else [frames]:
            if not self._deliver(source, part):
                return

    def _deliver(self, source: Source, frames: Sequence[Frame]) -> bool:
        """Deliver a batch; False when what was read behind it is to be read again, too."""
        self._note_beginning()
        batch = self.batch = Batch(frames, self._policies)
        try:
            while batch.open:
                self._send_next(batch)
            self._acknowledge(source, batch, len(frames))
        except (Stopped, Recalled) as error:
            self._acknowledge(source, batch, batch.settled_prefix())
            self._forget(source)
            if isinstance(error, Stopped):
                raise
            return False
        finally:
            self.batch = None
        return True

    def _forget(self, source: Source) -> None:
        """Return to a source's cursor: from there on records come that were perhaps settled before."""
        source.forget()
        self._doubtful.add(source)

    def _acknowledge(self, source: Source, batch: Batch, number: int) -> None:
        """Move the cursor behind so many records of the batch, when their dead letters are written.

        Here they are counted: as stored or dead letter once each, however often the sink was handed them.
        """
        if not number or (self.renewed and source is self._sources[0]):
            return  # the cursor is another one: from there the records come again
        state = self._state()
        self._bury(batch, number, once=source in self._doubtful)
        stored, resent = batch.stored(number)
        if stored:
            count("stored", stored, sink=self.sink_name)
        if resent:
            count("resent", resent, sink=self.sink_name)
        breathe()
        last = batch.frames[number - 1]
        if source.ack(last, state):
            self._doubtful.discard(source)
        breathe()
        if state is not None and source is not self._sources[0]:
            # The sink's own state lives in the cursor on disk, whatever the records came from.
            self._sources[0].ack(last, state)

    def _note_beginning(self) -> None:
        """Save the sink's state before its very first batch, so that a crash in it leaves nothing twice."""
        spool = self._sources[0]
        if spool.state is None:
            state = self._state()
            if state is not None:
                spool.ack(_NO_FRAME, state)

    def _bury(self, batch: Batch, number: int, *, once: bool) -> None:
        """Write the dead letters among the first so many records of a batch; what cannot be kept is lost.

        ``once``: who died after that, and before the cursor moved, wrote some of them perhaps.
        """
        for index, (reason, status) in sorted(batch.letters.items()):
            if index >= number:
                break
            record = batch.records[index]
            try:
                lost = self._dead_letters.write([(record, reason, status)], once=once)
            except Exception as error:
                contain("dead_letters", error)
                lost = 1
            if lost:
                self._losses.note("dead_letters", record.level, lost, self.sink_name)

    def _save_state(self) -> bool:
        return self._sources[0].ack(_NO_FRAME, self._state())

    def _state(self) -> dict[str, Any] | None:
        given = getattr(self._sink, "cursor_state", None)
        if given is None:
            return None
        state: dict[str, Any] | None = given()
        return state

    def _purge_now(self) -> None:
        now = time.monotonic()
        self._purge_due, self._purge_latest = now + self._purge_every, now + 2 * self._purge_every
        assert self._sink is not None
        if not self._clock.is_trusted():
            return
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


def _close_quietly(sink: Sink) -> None:
    try:
        sink.close()
    except Exception as error:
        contain("close", error)
