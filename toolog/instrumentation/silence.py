"""Why the records of calls that were watched are not seen: what lies behind the tools.

level                     the level of ``toolog.calls``, a tool or all handlers hides successes or everything
disabled logger           ``dictConfig`` with ``disable_existing_loggers`` (its default), logging.disable
no handler                records go nowhere
closed handler            somebody closed the handler that was there
other handler             records go to the application's own handlers alone
retention                 no policy covers successes, so that they are not shipped
nested                    calls that a package makes into itself are no records
stream not ended          a generator or coroutine that nobody ran to its end has no record yet
other process             a child process knows nothing of what is instrumented here; nobody ships the spool
dropped                   records were given up, and counted
troubles                  recording itself failed, and was contained
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from toolog import counters, emit
from toolog.instrumentation.unended import open_streams
from toolog.levels import NAMES, ROOT

if TYPE_CHECKING:
    from toolog.instrumentation.instrumented import Instrumentation


class Finding(NamedTuple):
    """One thing worth knowing: ``kind`` is ok, note or problem; ``cause`` a short name; ``advice`` what to
    do."""

    kind: str
    cause: str
    subject: str
    text: str
    advice: str = ""


def after_the_call(made: Iterable[Instrumentation]) -> Iterator[Finding]:
    """Give what keeps the records of watched calls from being seen; changes nothing."""
    yield from _logging()
    yield from _nested(made)
    yield from _open_streams()
    yield from _other_processes()
    yield from _dropped()
    yield from _own_troubles()


def _logging() -> Iterator[Finding]:
    root = logging.getLogger(ROOT)
    below = logging.root.manager.disable
    if below >= logging.INFO:
        yield Finding(
            "problem", "disabled logger", "logging", f"logging.disable({below}) is in force",
            "call logging.disable(logging.NOTSET)",
        )  # fmt: skip
    level = root.getEffectiveLevel()
    if level > logging.INFO:
        hidden = "successful calls are" if level <= logging.ERROR else "all calls are"
        where = next(
            (f"{key}={os.environ[key]}" for key in ("TOOLOG_LEVEL", "LOG_LEVEL") if key in os.environ), ""
        )
        yield Finding(
            "problem", "level", ROOT, f"its level is {logging.getLevelName(level)}, so {hidden} not recorded",
            f"toolog.set_level('INFO'){f' (it came from {where})' if where else ''}",
        )  # fmt: skip
    silenced = [
        name for name, logger in list(logging.root.manager.loggerDict.items())
        if isinstance(logger, logging.Logger) and logger.disabled and (name + ".").startswith(ROOT + ".")
    ]  # fmt: skip
    if silenced:
        yield Finding(
            "problem", "disabled logger", ROOT,
            f"{len(silenced)} of its loggers are disabled: {few(silenced)}",
            "give dictConfig 'disable_existing_loggers': False, or instrument after it",
        )  # fmt: skip
    raised = [
        name for name, logger in list(logging.root.manager.loggerDict.items())
        if isinstance(logger, logging.Logger) and name.startswith(ROOT + ".") and logger.level > logging.INFO
    ]  # fmt: skip
    if raised:
        yield Finding("note", "level", ROOT, f"{len(raised)} tools have a level of their own: {few(raised)}")
    handlers = list(_handlers_of(root))
    if not handlers:
        yield _no_handler()
    for handler in handlers:
        if getattr(handler, "_closed", False):
            yield Finding(
                "problem", "closed handler", ROOT, f"its {type(handler).__name__} was closed",
                "call toolog.configure() after whatever closed it",
            )  # fmt: skip
    if handlers and all(handler.level > logging.INFO for handler in handlers):
        least = logging.getLevelName(min(handler.level for handler in handlers))
        yield Finding(
            "problem", "level", ROOT, f"no handler takes records below {least}, so successful calls are lost",
            "set the handler's level to INFO",
        )  # fmt: skip
    yield from _options_of(handlers)


def _options_of(handlers: list[logging.Handler]) -> Iterator[Finding]:
    """Give what handlers of ours were told about records: that they ship not all of them, or none."""
    told: list[Any] = [getattr(handler, "options", None) for handler in handlers]
    ours = [options for options in told if hasattr(options, "policies") and hasattr(options, "ship")]
    if handlers and not ours:
        kinds = few(dict.fromkeys(type(handler).__name__ for handler in handlers))
        yield Finding(
            "note", "other handler", ROOT, f"its records go to {kinds}, and to no store or spool",
            "toolog.configure(), or a ToologHandler beside it, stores them",
        )  # fmt: skip
    if ours and len(ours) == len(handlers):
        unshipped = [find_unshipped(options.policies.route) for options in ours]
        if all(unshipped):
            yield from (finding for finding in unshipped[:1] if finding)
    for options in ours:
        if options.ship == "none":
            yield Finding(
                "note", "other process", f"spool {options.directory}",
                "records are only written here, and wait for a process that ships them",
                "run `toolog ship`, or leave ship = 'none' out",
            )  # fmt: skip


def find_unshipped(route: Callable[[int], object]) -> Finding | None:
    """Return what is to be said of a retention table that names no sink for successes; None for others.

    ``route`` gives the sinks of a level's number.
    """
    if route(logging.INFO):
        return None
    least = next((name for name, number in NAMES.items() if route(number)), "any level")
    return Finding(
        "problem",
        "retention",
        "retention",
        f"nothing below {least} is shipped, so successful calls are lost",
        "a level's policy covers it up to the next named one: name INFO (or DEBUG), or leave retention out",
    )


def _no_handler() -> Finding:
    text = "no logging handler receives the records yet"
    if os.environ.get("TOOLOG_AUTOCONFIGURE") == "0":
        advice = "TOOLOG_AUTOCONFIGURE=0 is set: call toolog.configure() or add a ToologHandler"
        return Finding("problem", "no handler", ROOT, text, advice)
    if not emit.first:
        advice = (
            "its handlers were taken away, or it does not propagate to where they are (dictConfig?): call "
            "toolog.configure() after that, or name a ToologHandler in the dict"
        )
        return Finding("problem", "no handler", ROOT, "no logging handler receives the records", advice)
    advice = "the first record brings up the development profile; toolog.configure() brings up another"
    return Finding("note", "no handler", ROOT, text, advice)


def _handlers_of(logger: logging.Logger) -> Iterator[logging.Handler]:
    """Give the handlers that a logger's records reach."""
    here: logging.Logger | None = logger
    while here is not None:
        yield from (handler for handler in here.handlers if not isinstance(handler, logging.NullHandler))
        here = here.parent if here.propagate else None


def _nested(made: Iterable[Instrumentation]) -> Iterator[Finding]:
    for item in made:
        packages = {
            grant.plan.package
            for spot in item.spots() for grant in spot.grants
            if grant.owner is item and not grant.plan.nested and grant.plan.package
        }  # fmt: skip
        if packages:
            yield Finding(
                "note", "nested", item.label,
                f"the outermost calls of {few(sorted(packages))} are records, what it calls itself is not",
                f"toolog.instrument({item.label}, nested=True) records those, too",
            )  # fmt: skip


def _open_streams() -> Iterator[Finding]:
    unended: Counter[tuple[str, str]] = Counter()
    for stream in open_streams():
        state = "never started" if stream._toolog_scope is None else "not ended yet"
        unended[stream._toolog_call.plan.tool_name, state] += 1
    for (name, state), number in unended.items():
        yield Finding(
            "note", "stream not ended", name,
            f"{number} of its generators or coroutines {'was' if number == 1 else 'were'} {state}",
            "a stream's record comes when it is exhausted, closed, dropped or fails",
        )  # fmt: skip


def _other_processes() -> Iterator[Finding]:
    used = os.times()
    if used.children_user + used.children_system > 0:
        yield Finding(
            "note", "other process", "child processes",
            "this process ran others; what is instrumented here is so in forks (under `toolog run` in all "
            "that multiprocessing starts), not in programs it started",
            "start them by `toolog run`, or instrument in a module that they import",
        )  # fmt: skip


def _dropped() -> Iterator[Finding]:
    lost: Counter[str] = Counter()
    for labels, number in counters.table("dropped").items():
        lost[dict(labels).get("reason", "?")] += number
    for reason, number in lost.items():
        yield Finding(
            "problem", "dropped", "records", f"{number} were dropped: {reason}",
            "toolog.stats() tells more; see the reference page on durability",
        )  # fmt: skip


def _own_troubles() -> Iterator[Finding]:
    for labels, number in counters.table("internal").items():
        reason = dict(labels).get("reason", "?")
        yield Finding(
            "problem", "troubles", "toolog", f"{number} times contained while recording: {reason}",
            "the logger toolog.internal tells the kind of error",
        )  # fmt: skip
    number = counters.value("reentrant")
    if number:
        yield Finding(
            "note", "reentrant", "toolog", f"{number} calls made by recording itself were not recorded"
        )


def few(names: Iterable[str], most: int = 6) -> str:
    """Return the first names of several, and how many more there are."""
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
