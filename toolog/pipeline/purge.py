"""Deleting from the local store and from files what is past its policy's ``keep``; what is on hold stays.

Only what is local is purged here, on the sink's own thread; servers are a matter of `toolog.expiry`.
"""

from __future__ import annotations

import time

from toolog.counters import count
from toolog.retention import Policies
from toolog.sinks import Sink
from toolog.sinks.file import FileSink
from toolog.sinks.sqlite import SqliteSink


def purge(sink: Sink, policies: Policies) -> int:
    """Purge one sink by the policies whose records go there; return how many records went.

    A sink of the user's own takes part with a method ``purge(levels, before)``: names of levels, and seconds
    of the Unix epoch before which their records may go.
    """
    if isinstance(sink, FileSink):
        sink.delete_old()  # by its own ``max_age``, see `expiry.local.with_file_limits`
        return 0
    gone = 0
    now = time.time()
    for limit in policies.limits(sink.name):
        levels, before = list(limit.levels), now - limit.keep
        if isinstance(sink, SqliteSink):
            gone += _purge_store(sink, levels, before)
        elif callable(own := getattr(sink, "purge", None)):
            gone += int(own(levels, before) or 0)
    if gone:
        count("purged", gone, sink=sink.name)
    return gone


def _purge_store(sink: SqliteSink, levels: list[str], before: float) -> int:
    from toolog import store  # sqlite3 is loaded with it: only where there is such a store

    with store.open(sink.path) as opened:
        return opened.purge(levels, before=before).deleted
