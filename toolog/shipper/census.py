"""How much is left in the spool: counted on a thread of its own, so that a large backlog holds up nobody."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from toolog.counters import contain
from toolog.pipeline import Pipeline
from toolog.pipeline.thread import Loop

_POLL = 0.005


class Census(Loop):
    """Counts what is left for each sink every ``every`` seconds, and when somebody asks.

    ``pipeline`` gives the pipeline to ask; figures of another one do not count any more.
    """

    def __init__(self, pipeline: Callable[[], Pipeline], every: float) -> None:
        super().__init__("toolog-census")
        self._pipeline = pipeline
        self._every = every
        self._counted: tuple[Pipeline | None, float, Mapping[str, int]] = (None, 0.0, {})

    @property
    def figures(self) -> Mapping[str, int]:
        """What was left when it was counted last, by sink; empty when that was never done."""
        return self._counted[2] if self._counted[0] is self._pipeline() else {}

    def take(self, patience: float) -> Mapping[str, int]:
        """Return what is left now, or after ``patience`` seconds what was counted last."""
        asked = time.monotonic()
        self.bell.ring()
        while self.alive and time.monotonic() < asked + patience:
            if self._counted[1] >= asked and self._counted[0] is self._pipeline():
                break
            time.sleep(_POLL)
        return self.figures

    def run(self) -> None:
        """Count until told to stop."""
        while not self.stopping:
            began, pipeline = time.monotonic(), self._pipeline()
            try:
                figures = self._count(pipeline)
            except Exception as error:
                contain("census", error)
            else:
                if not self.stopping:
                    self._counted = (pipeline, began, figures)
            if pipeline is self._pipeline():
                self.idle(self._every)

    def _count(self, pipeline: Pipeline) -> Mapping[str, int]:
        return pipeline.in_spool(lambda: self.stopping or pipeline is not self._pipeline())
