"""What a shipper prints: a quiet line for each event, JSON objects, or a progress bar on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import orjson

from toolog.shipper import LARGE_BACKLOG, Event
from toolog.sinks.lines import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PROGRESS_EVERY = 10.0
"""Seconds between two lines about a backlog where there is no terminal."""


class Output:
    """Prints the events of one shipper; any thread may tell it something."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._most: dict[str, int] = {}
        self._said_at = 0.0

    def tell(self, event: Event) -> None:
        """Print one event."""
        if event.name == "progress":
            self._show_progress(event.figures["in_spool"])
        else:
            self._print(event.name, event.text, event.figures)

    def tell_metrics(self, url: str) -> None:
        """Print where the figures are served."""
        self._print("metrics", f"figures for Prometheus: {url}", {"url": url})

    def tell_trouble(self, text: str) -> None:
        """Print one of toolog's own troubles."""
        self._print("trouble", text, {"text": text}, err=True)

    def close(self) -> None:
        """Take the progress bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _print(self, name: str, text: str, figures: dict[str, object], *, err: bool = False) -> None:
        try:
            if self._as_json:
                line = orjson.dumps({"event": name, "time": _now(), **figures}, default=str)
                sys.stdout.buffer.write(line + b"\n")
                sys.stdout.flush()
            elif self._bar is not None:
                self._bar.console.print(visible(text), markup=False)
            else:
                stream = sys.stderr if err else sys.stdout
                stream.write(f"{_now()} {visible(text)}\n")
                stream.flush()
        except OSError:  # nobody reads it any more: shipping matters more
            pass

    def _show_progress(self, left: dict[str, int]) -> None:
        if max(left.values(), default=0) < LARGE_BACKLOG and self._bar is None:
            if not any(left.values()):
                self._most = {}
            return
        for sink, number in left.items():
            self._most[sink] = max(number, self._most.get(sink, 0))
        if not self._as_json and sys.stderr.isatty():
            self._draw(left)
        elif time.monotonic() - self._said_at >= _PROGRESS_EVERY:
            self._said_at = time.monotonic()
            waiting = ", ".join(f"{number} for {sink}" for sink, number in left.items() if number)
            self._print("backlog", f"records in the spool: {waiting}", {"in_spool": left})

    def _draw(self, left: dict[str, int]) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True, highlight=False, emoji=False),
                transient=True,
            )
            self._tasks = {}
            self._bar.start()
        for sink, number in left.items():
            if sink not in self._tasks:
                self._tasks[sink] = self._bar.add_task(sink)
            most = self._most[sink]
            self._bar.update(self._tasks[sink], total=most, completed=most - number)
        if not any(left.values()):
            self.close()
            self._most = {}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
