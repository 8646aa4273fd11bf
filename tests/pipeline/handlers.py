"""Handlers of their own for the tests beside this file, each with its logger."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolog import counters
from toolog.handler import ToologHandler

Make = Callable[..., tuple[logging.Logger, ToologHandler]]


@contextmanager
def making(folder: Path, **usual: Any) -> Iterator[Make]:
    """Give what makes a logger and its handler, with a spool in ``folder`` and the ``usual`` options.

    All counters begin at zero. The handlers are closed at the end, each with its logger off.
    """
    made: list[tuple[logging.Logger, ToologHandler]] = []

    def make(**options: Any) -> tuple[logging.Logger, ToologHandler]:
        handler = ToologHandler(**{"spool": {"path": str(folder / "spool")}, **usual, **options})
        log = logging.getLogger(f"{folder.name}.{len(made)}")
        log.setLevel(1)
        log.propagate = False
        log.handlers = [handler]
        made.append((log, handler))
        return log, handler

    counters.reset()
    try:
        yield make
    finally:
        for log, handler in made:
            log.handlers = []
            handler.close()
