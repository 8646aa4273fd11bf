"""What people read: records as lines, trees and waterfalls, figures as tables.

Every view exists twice: as plain data (``forest``, ``spans``, and the dicts that the store's queries return),
for ``--json`` and for pages, and as lines of ``(style, text)`` pieces made from that data. ``text(lines)`` is
plain text, ``write(lines)`` puts them on a stream, coloured on a terminal and cut to its width. Nothing that
a tool printed or returned reaches the terminal unescaped; there is no markup language in between that it
could speak.
"""

from __future__ import annotations

from toolog.report.output import text, write
from toolog.report.tables import instances_table, sessions_table, stats_table, table
from toolog.report.tree import Call, Session, Trace, forest, tree
from toolog.report.waterfall import Span, spans, waterfall
from toolog.sinks.lines import ASCII, UNICODE, Line, Marks, line, printed

__all__ = [
    "ASCII",
    "UNICODE",
    "Call",
    "Line",
    "Marks",
    "Session",
    "Span",
    "Trace",
    "forest",
    "instances_table",
    "line",
    "printed",
    "sessions_table",
    "spans",
    "stats_table",
    "table",
    "text",
    "tree",
    "waterfall",
    "write",
]
