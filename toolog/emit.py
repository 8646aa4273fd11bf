"""The one door into `logging`: what capture has to tell leaves here, as light LogRecords to
``toolog.calls.<tool>``.

Capture ends here and shipping begins in a `logging.Handler`; neither imports the other.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

import toolog.sanitize.seal  # noqa: F401 - teaches ToolRecord to seal itself
from toolog.context import Scope, current, quiet
from toolog.counters import contain
from toolog.events import make_record
from toolog.forks import after_in_child
from toolog.levels import ROOT, level_name, parse_level, tool_logger
from toolog.record import ToolRecord
from toolog.settings import capture

LEVELS = {
    "tool_call_start": 10, "tool_call_success": 20, "tool_call_failed": 40, "tool_call_rejected": 30,
    "tool_call_cancelled": 30, "tool_instance": 20, "evaluation": 20, "log": 20, "loss": 30,
}  # fmt: skip
"""Default level of each event; ``capture.levels`` overrides."""

first: list[Callable[[], None]] = []
"""The hook to run before the first record, until it has run."""

before_the_end: list[Callable[[], None]] = []
"""What capture does when the process ends, before the last records are shipped: it ends the calls that have
no end. May be called more than once, and never raises."""

_claim: list[None] = []
"""One token: whose ``pop`` gets it runs the hook. No lock, because a hook imports, and a signal handler
may call a tool."""

_waiting: deque[tuple[logging.Logger, ToolRecord]] = deque()
"""Records that were made while the hook runs."""


def on_first_record(hook: Callable[[], None]) -> None:
    """Run ``hook`` once, before the first record leaves (it may bring up a default configuration)."""
    _claim[:] = [None]
    first[:] = [hook]


def cancel_first_record() -> None:
    """Forget the hook: somebody configured toolog before the first record. While it runs, nothing happens."""
    if not is_opening():
        first.clear()


def is_opening() -> bool:
    """Whether the hook runs just now, so that records wait for its end."""
    return bool(first) and not _claim


def _open(logger: logging.Logger, record: ToolRecord) -> None:
    """Run the hook, then deliver what waits for it; where another thread runs it, that one delivers."""
    _waiting.append((logger, record))
    hooks = first[:]
    try:
        if hooks:
            _claim.pop()
    except IndexError:
        pass
    else:
        try:
            for hook in hooks:
                hook()
        except RecursionError:  # it did not even begin: the next record, further up the stack, runs it
            _claim[:] = [None]
            raise
        except BaseException:
            _go_on()
            raise
        _go_on()
    if not first:  # what came between the last look and the end of the hook
        _deliver_waiting()


def _go_on() -> None:
    """Deliver what waits for the hook, and all that follows without it."""
    _deliver_waiting()
    first.clear()


def _deliver_waiting() -> None:
    while _waiting:
        try:
            logger, record = _waiting.popleft()
        except IndexError:  # another thread was faster
            return
        try:
            logger.handle(record)
        except Exception as error:
            contain("handler", error)


def _after_fork() -> None:
    _waiting.clear()  # they are the parent's
    if first:
        _claim[:] = [None]  # the thread that ran the hook is not in the child


after_in_child(_after_fork)


def level_of(event: str) -> int:
    """Return the level number of an event, as configured."""
    wanted = capture.levels.get(event)
    return LEVELS[event] if wanted is None else parse_level(wanted)


def deliver(logger: logging.Logger, record: ToolRecord) -> None:
    """Hand a record to its logger. Never raises: what a handler breaks is contained and counted."""
    try:
        if first:
            _open(logger, record)
        else:
            logger.handle(record)
    except Exception as error:
        contain("handler", error)


def emit_event(
    event: str,
    *,
    levelno: int | None = None,
    tool: str | None = None,
    facts: dict[str, Any] | None = None,
    content: dict[str, Any] | None = None,
    packed: tuple[str, bytes, dict[str, Any] | None] | None = None,
    scope: Scope | None = None,
) -> None:
    """Send an event that is no call's own (an instance, an evaluation, a loss) if its logger takes the level.

    ``facts`` is never scanned for secrets, so no user's data belongs there; ``content`` is,
    and so is ``packed``, as in `make_record`. ``scope`` defaults to the current one. Never raises.
    """
    try:
        number = level_of(event) if levelno is None else levelno
        logger = logging.getLogger(ROOT) if tool is None else tool_logger(tool)
        if logger.isEnabledFor(number):
            scope = current.get() if scope is None else scope
            record = make_record(
                event, number, logger=logger.name, facts=facts, content=content, packed=packed, scope=scope
            )
            with quiet(current.get()):
                deliver(logger, record)
    except Exception as error:
        contain("emit", error)


def loss_record(
    reason: str, count: int, *, first: str, last: str, level: str | None = None, sink: str | None = None
) -> ToolRecord:
    """Return the record that tells how many records were dropped, why, and between which times (RFC 3339)."""
    facts: dict[str, Any] = {"reason": reason, "count": count, "first": first, "last": last}
    if sink is not None:
        facts["sink"] = sink
    if level is not None:
        facts["lost_level"] = level
    return make_record("loss", level_of("loss"), facts=facts)


__all__ = [
    "LEVELS", "before_the_end", "cancel_first_record", "deliver", "emit_event", "first", "is_opening",
    "level_name", "level_of", "loss_record", "on_first_record",
]  # fmt: skip
