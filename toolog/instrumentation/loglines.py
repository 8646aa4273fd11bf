"""Log lines made during a call say which call: ``trace_id``, ``span_id`` and ``tool_name`` on each LogRecord.

Any formatter can show them (``%(tool_name)s``); outside a call each is the empty text, so that such a
formatter works everywhere. Whoever gives one of these names in ``extra`` keeps his own value.

That last sentence is why this is no ``logging.setLogRecordFactory``: `logging` refuses an ``extra`` key that
the factory's record has already, so a program that logs ``extra={"trace_id": ...}`` would fail with KeyError
(docs/decisions/log-line-fields.md). The attributes are added one step later, in ``Logger.makeRecord``.
"""

from __future__ import annotations

import functools
import logging
from typing import Any

from toolog.context import current
from toolog.counters import contain

FIELDS = ("trace_id", "span_id", "tool_name")
_original: Any = logging.Logger.makeRecord
_active = False
_installed = False  # ours stands in Logger, or below what somebody put on top


def stamp(line: logging.LogRecord) -> None:
    """Give a log line the three attributes of the current call, where it has none of its own."""
    attributes = line.__dict__
    scope = current.get()
    if scope is None or scope.trace is None:
        for name in FIELDS:
            attributes.setdefault(name, "")
    else:
        attributes.setdefault("trace_id", scope.trace_id)
        attributes.setdefault("span_id", scope.span_id or "")
        attributes.setdefault("tool_name", scope.tool_name or "")


@functools.wraps(logging.Logger.makeRecord)
def _make_record(self: logging.Logger, *args: Any, **kwargs: Any) -> logging.LogRecord:
    line: logging.LogRecord = _original(self, *args, **kwargs)
    if _active:
        try:
            stamp(line)
        except Exception as trouble:
            contain("log", trouble)
    return line


def install() -> None:
    """Begin to mark log lines. Repeating it changes nothing."""
    global _active, _installed, _original
    if not _installed:
        _original = logging.Logger.makeRecord
        logging.Logger.makeRecord = _make_record  # type: ignore[method-assign]
        _installed = True
    _active = True


def undo() -> None:
    """Mark no more: ``logging.Logger.makeRecord`` is the very function that it was.

    When somebody has replaced it since, ours stays underneath and passes through.
    """
    global _active, _installed
    _active = False
    if logging.Logger.makeRecord is _make_record:
        logging.Logger.makeRecord = _original  # type: ignore[method-assign]
        _installed = False
