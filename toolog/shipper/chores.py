"""What a shipper does beside shipping, every now and then, as the only process of its spool that does it.

A chore runs on a thread of its own, so one that takes long holds up no sink; one at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolog.counters import contain, count
from toolog.pipeline import Options
from toolog.pipeline.thread import Loop

_LOOK_EVERY = 0.2


@dataclass(frozen=True, slots=True)
class Chore:
    """One chore: its ``name``, how many seconds lie between two runs (``every`` says it), and what is run.

    ``run`` is given the options that the shipper has then; it answers with a line to be told, or None. What
    it raises is counted and told, and it is tried again at the next turn.
    """

    name: str
    every: Callable[[Options], float]
    run: Callable[[Options], str | None]


class Chores(Loop):
    """Runs chores while ``options()`` gives options: None while another process ships."""

    def __init__(
        self,
        chores: Sequence[Chore],
        options: Callable[[], Options | None],
        tell: Callable[[str, str], None],
    ) -> None:
        super().__init__("toolog-chores")
        self._chores = list(chores)
        self._options = options
        self._tell = tell
        self._due = {chore.name: 0.0 for chore in self._chores}

    def run(self) -> None:
        """Run what is due until told to stop."""
        while not self.stopping:
            for chore in self._chores:
                options = self._options()
                if options is None or self.stopping or time.monotonic() < self._due[chore.name]:
                    continue
                self._run(chore, options)
                self._due[chore.name] = time.monotonic() + chore.every(options)
            self.idle(_LOOK_EVERY)

    def _run(self, chore: Chore, options: Options) -> None:
        count("chores", chore=chore.name)
        try:
            line = chore.run(options)
        except Exception as error:
            told = str(error) if getattr(error, "tells", False) else None
            contain(f"chore {chore.name}", error, told=told)
            return
        if line:
            self._tell(chore.name, line)
