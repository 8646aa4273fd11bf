"""The points of a process's life at which it dies in the fault matrix, by SIGKILL, in the middle of work.

A point is a function of toolog's and whether death comes before or after it; `arm` puts the trap there. What
comes after is not told to anybody: no handler, no atexit, no flush.
"""

from __future__ import annotations

import importlib
import os
import signal
from typing import Any

BEFORE, AFTER = "before", "after"

POINTS: dict[str, tuple[str, str, str]] = {
    "before the spool's write": ("toolog.spool.writer:SpoolWriter.append", BEFORE, ""),
    "after the spool's write": ("toolog.spool.writer:SpoolWriter.append", AFTER, ""),
    "between two segments": ("toolog.spool.writer:SpoolWriter._create", AFTER, ""),
    "after a batch was read": ("toolog.spool.reader:SpoolReader.read", AFTER, "frames"),
    "before the sink's write": ("SINK.write", BEFORE, ""),
    "after the sink's write": ("SINK.write", AFTER, ""),
    "before the cursor": ("toolog.spool.cursor:Cursor.save", BEFORE, ""),
    "after the cursor": ("toolog.spool.cursor:Cursor.save", AFTER, ""),
}
"""Name -> the function, when, and what else must be so."""


def arm(point: str, times: int = 1) -> None:
    """Die at the ``times``-th passing of a point."""
    path, when, also = POINTS[point]
    places = SINKS if path == "SINK.write" else (path,)
    left = [times]
    for place in places:
        _trap(place, when, left, also == "frames")


SINKS = ("toolog.sinks.search.sink:ElasticsearchSink.write", "toolog.sinks.s3.sink:S3Sink.write")


def _trap(place: str, when: str, left: list[int], only_frames: bool) -> None:
    module, _, name = place.partition(":")
    kind_name, _, method = name.partition(".")
    kind = getattr(importlib.import_module(module), kind_name)
    inner = getattr(kind, method)

    def trapped(self: Any, *arguments: Any, **options: Any) -> Any:
        if when == BEFORE:
            _pass(left)
        answer = inner(self, *arguments, **options)
        if when == AFTER and (answer or not only_frames):
            _pass(left)
        return answer

    setattr(kind, method, trapped)


def _pass(left: list[int]) -> None:
    left[0] -= 1
    if left[0] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
