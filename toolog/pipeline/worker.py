"""The worker: the thread that carries records from the queues into the spool, and keeps house.

It polls: every 10 ms while records come, and when none came for a while it sleeps until the next record
rings. Before it looks for the first time it makes the sanitizer's scans: a second of work, for which no
caller shall wait. Batches are small (a batch is sealed with one scan and written with one ``write``), because
sealing holds the interpreter's lock and the application's threads wait for it meanwhile.

At the end the same thread finishes: it empties the queues, waits for the sinks within the shutdown timeout,
stops them and gives up the shipper's lock. So whoever closes a handler need not wait for it, and may not when
it holds the lock of the module ``logging`` (``dictConfig`` does), for which a sink's client may be waiting.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from toolog.counters import contain
from toolog.pipeline.thread import Loop
from toolog.sanitize import warm

if TYPE_CHECKING:
    from toolog.pipeline import Pipeline

SMALL, LARGE = 16, 64
"""How many records are sealed and written at once: few while the worker keeps up, more when it does not."""
_POLL = 0.01
_ASLEEP_AFTER = 0.5
_HOUSE_EVERY = 0.25


class Worker(Loop):
    """The worker of one pipeline. ``polls``: it looks by itself; else the next record must ring.

    ``ready``: it has what it seals with.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__("toolog-worker")
        self.polls = False
        self.ready = False
        self._pipeline = pipeline

    def run(self) -> None:
        """Work until told to stop, then finish."""
        pipeline = self._pipeline
        house_at = 0.0
        worked_at = time.monotonic()
        self.polls = True
        try:
            pipeline.listen()  # first: who sets a level meanwhile should find us
            warm()
        except Exception as error:
            contain("worker", error)
        self.ready = True
        while not self.stopping:
            self.enter()
            try:
                done = pipeline.drain()
                now = time.monotonic()
                if done:
                    worked_at = now
                if now >= house_at:
                    house_at = now + _HOUSE_EVERY
                    pipeline.keep_house()
            except Exception as error:
                contain("worker", error)
            finally:
                self.leave()
            if now - worked_at < _ASLEEP_AFTER:
                self.idle(_POLL)
            else:
                self._sleep(house_at - now)
        self.polls = False
        try:
            pipeline.finish_now()
        except Exception as error:
            contain("finish", error)

    def _sleep(self, seconds: float) -> None:
        self.polls = False
        # Asked after that is set: who puts now rings, who put before is seen.
        if not len(self._pipeline.queues):
            self.idle(seconds)
        self.polls = True
