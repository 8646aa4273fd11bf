"""Deleting from the local store and from files what is past its policy's ``keep``; what is on hold stays.

Only what is local is purged here, on the sink's own thread. Servers have lifecycle engines of their own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from toolog.counters import count
from toolog.retention import Policies
from toolog.sinks import Sink
from toolog.sinks.file import FileSink
from toolog.sinks.sqlite import SqliteSink

_DAY = 86_400.0


def purge(sink: Sink, policies: Policies) -> int:
    """Purge one sink by the policies whose records go there; return how many records went.

    A sink of the user's own takes part with a method ``purge(levels, before)``: names of levels, and seconds
    of the Unix epoch before which their records may go.
    """
    if isinstance(sink, FileSink):
        sink.delete_old()  # by its own ``max_age``, see `with_file_limits`
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


def with_file_limits(name: str, options: Mapping[str, Any], policies: Policies) -> Mapping[str, Any]:
    """Return a file sink's options with what the policies say: it deletes whole rotated files by their age.

    A file is as old as its newest record, and holds records of all its policies, so the longest ``keep``
    counts; it is rotated at least daily, else nothing in it would ever be old. What the user wrote stays as
    it is.
    """
    keeps = [policy.keep for policy in policies.of_sink(name)]
    longest = max([keep for keep in keeps if keep is not None], default=None)
    if options.get("type", name) != "file" or longest is None or None in keeps:
        return options
    return {"max_age": longest, "rotate_every": min(_DAY, longest), **options}
