"""Calls without an end: streams that nobody ran to theirs, and tools that still run when the process ends.

Nothing keeps a list of them, which would cost every call something. They are found by asking the garbage
collector who refers to their classes: each object does to its own, and no code but C runs for it.
"""

from __future__ import annotations

import atexit
import gc
import time
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any

from toolog.call import Call
from toolog.context import Mode
from toolog.counters import contain
from toolog.emit import before_the_end
from toolog.forks import after_in_child
from toolog.instrumentation.endings import finish
from toolog.instrumentation.importlib_bootstrap_streams import Lazy
from toolog.instrumentation.stream_record import end

REASON = "the process ended before it did"
"""What the records of such calls say when the process ends."""
PATIENCE = 0.02
"""Seconds that a thread gets which is just recording an end by the short way, and so looks for none."""


class _Beginning:
    """From when on, by the monotonic clock, calls are this process's to end."""

    at = 0


def disown() -> None:
    """Leave all calls that were begun until now to others: those of a fork's parent, those of a test."""
    _Beginning.at = perf_counter_ns()


after_in_child(disown)


def _instances(root: type) -> Iterator[Any]:
    """Give all objects of a class and its subclasses that the garbage collector knows."""
    classes: list[type] = [root]
    for cls in classes:
        below: list[type] = type.__subclasses__(cls)
        classes += [one for one in below if one not in classes]
    for found in gc.get_referrers(*classes):
        if type(found) in classes:  # not isinstance: a stream says that it is what it stands for
            yield found


def open_streams() -> Iterator[Lazy]:
    """Give the streams that have no end yet."""
    for stream in _instances(Lazy):
        call = getattr(stream, "_toolog_call", None)
        if call is not None and not call.ended:
            yield stream


def end_all() -> None:
    """Record every call of this process that has no end as closed by the end of the process. Never raises.

    None of the application's code runs: a generator stays where it stands. What such a call does after this,
    in a thread that goes on, makes no second record.
    """
    try:
        Mode.ending = True
        Mode.refresh()  # from here on every end looks whether there was one
        for stream in sorted(open_streams(), key=lambda stream: -stream._toolog_call.depth):
            if _is_ours(stream._toolog_call):
                stream._toolog_call.add(reason=REASON)
                started = stream._toolog_scope is not None
                end(stream._toolog_call, stream._toolog_items, None, started)
        running = [call for call in _instances(Call) if not call.ended and _is_ours(call)]
        if running:
            time.sleep(PATIENCE)
        for call in sorted(running, key=lambda call: -call.depth):
            if not call.ended:
                call.add(reason=REASON)
                finish(call, "tool_call_cancelled", "closed", perf_counter_ns() - call.started)
    except Exception as trouble:
        contain("exit", trouble)


def _is_ours(call: Call) -> bool:
    """Whether a call was begun, and in this process; one that is just being made has no start yet."""
    return getattr(call, "started", 0) > _Beginning.at


before_the_end.append(end_all)
atexit.register(end_all)  # for records that go to other handlers than ours
