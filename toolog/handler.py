"""``ToologHandler``, a plain `logging.Handler`: the door through which records enter the pipeline.

Everything about it can be said in ``logging.config.dictConfig``, in environment variables (``TOOLOG_*``) or
in ``[tool.toolog]`` of pyproject.toml; docs/reference/configuration.md lists all of it. ``handle`` takes no
lock, so a signal handler or a finalizer that logs cannot deadlock in it.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from toolog import counters
from toolog.breath import recording
from toolog.call import refresh_plans
from toolog.context import is_ours
from toolog.emit import cancel_first_record, is_opening
from toolog.errors import ConfigError, NotInstalled, kind_of
from toolog.levels import level_name, parse_level
from toolog.pipeline import Options, Pipeline, accepted
from toolog.pipeline.crew import worst
from toolog.pipeline.life import Signals, left_behind, living
from toolog.record import SuccessRecord, ToolRecord, record_from_log
from toolog.retention import Policies
from toolog.sanitize import Sanitizer, inuse, warm
from toolog.settings import provisional
from toolog.settings.resolve import (
    apply_capture,
    check,
    look_up,
    plain,
    resolve,
    with_sink_defaults,
)
from toolog.settings.table import section
from toolog.sinks import create, is_only_named

_NESTING = 3
"""How deep log lines may be that come from within the making of another log line's record."""


class _Depth(threading.local):
    value = 0


_depth = _Depth()


class ToologHandler(logging.Handler):
    """Ships records to sinks: tool calls, and any application's log lines (as ``log`` events).

    ``level`` is the handler's own level. The options are those of docs/reference/configuration.md, nested as
    there (``queue={"max_records": 5000}``); what is not given is looked up in the environment, in
    pyproject.toml, and in the defaults. ``capture`` is a table of what belongs to capture. Raises ConfigError
    for an unknown key, an impossible value, or a sink whose client is not installed. Since 0.1.
    """

    def __init__(self, level: int | str = logging.NOTSET, **options: Any) -> None:
        number = parse_level(level)
        self._given: dict[str, Any] = plain(options)
        capture = self._given.get("capture") or {}
        if not isinstance(capture, Mapping):
            raise ConfigError(f"capture in ToologHandler is a table of options, not {kind_of(capture)}")
        rest = {key: value for key, value in self._given.items() if key != "capture"}
        values = resolve(("handler",), rest, where="ToologHandler")
        captured = look_up(("capture",), capture, where="capture in ToologHandler")
        settings = {name: check(one.parameter, one.value, one.where) for name, one in captured.items()}
        self._options = pipeline_options(values)
        _refuse_clash(self._options)
        self._pipeline = Pipeline(self._options)
        super().__init__(number)  # not before: `logging` flushes at exit whatever it knows of
        self._accept = self._pipeline.accept
        self._signals: Signals | None = None
        self._closed = False
        if provisional.active:
            reset_capture()
        apply_capture({name: value for name, value in settings.items() if not captured[name].is_default})
        refresh_plans()
        cancel_first_record()
        if values["handle_signals"]:
            self._signals = Signals(self._pipeline.finish)
            if not self._signals.install():
                counters.contain("handle_signals needs the main thread")
        warm()  # else the first record would wait for the scans to be made
        self._pipeline.start()

    def createLock(self) -> None:
        """Have no lock: nothing here needs one, and a lock is what deadlocks in signal handlers."""
        self.lock = None

    # -- a record

    def handle(self, record: logging.LogRecord) -> bool:
        """Take a record if the filters let it pass. Never raises, and takes no lock."""
        if self.filters:
            passed: Any = self.filter(record)
            if not passed:
                return False
            if isinstance(passed, logging.LogRecord):  # from 3.12 on a filter may answer another record
                record = passed
        recording.append(None)
        try:
            # the usual one, without another call on the way
            if type(record) is not SuccessRecord or not self._pipeline.lane(record):
                self.emit(record)
        except Exception as error:
            self._broke(record, error)
        finally:
            del recording[-1:]
        return True

    def emit(self, record: logging.LogRecord) -> None:
        """Put a record into the pipeline; a foreign one becomes a ``log`` event first."""
        try:
            if isinstance(record, ToolRecord):
                self._accept(record)
            else:
                self._take_line(record)
        except Exception as error:
            self._broke(record, error)

    def _broke(self, record: logging.LogRecord, error: Exception) -> None:
        """Count a record that an error of ours lost."""
        counters.contain("handler", error)
        self._pipeline.losses.note("broken", _levelno(record))

    def _take_line(self, line: logging.LogRecord) -> None:
        if is_ours() and not _is_finalizer():  # a sink's client logs too: shipping that would never end
            counters.count("own_records")
            return
        if _depth.value >= _NESTING:  # a value in a log line that logs when it is asked for its text
            counters.count("reentrant")
            return
        _depth.value += 1
        try:
            if not self._options.policies.route(line.levelno):
                return
            record = record_from_log(line)
        except Exception as error:
            self._pipeline.refuse(_levelno(line), error)
            return
        finally:
            _depth.value -= 1
        self._accept(record)

    # -- the end

    def flush(self, timeout: float | None = None) -> bool:  # type: ignore[override]  # says more than None
        """Wait until all that was accepted before has arrived; see `toolog.flush`.

        ``timeout`` is seconds, by default the shutdown timeout. Answers False at once while this thread holds
        the lock of the module `logging` (``dictConfig`` does): the threads that would do the work may be
        waiting for it. After `close` nothing is waited for: what the cursors on disk say is answered.
        """
        if self._closed or _holds_logging_lock():
            return self._pipeline.has_arrived() and not self._pipeline.lost_at_end
        return self._pipeline.flush(self._options.shutdown_timeout if timeout is None else timeout)

    def close(self) -> None:
        """Flush within the shutdown timeout, then stop. May be called again.

        A record that comes later goes into the spool at once (counted as ``late``). While this thread holds
        the lock of the module `logging`, nothing is waited for: the pipeline ends on its own thread, with all
        that it has.
        """
        if self._closed:
            return
        self._closed = True
        super().close()
        if self._signals is not None:
            self._signals.restore()
        if _holds_logging_lock() and self._pipeline.worker.alive:
            self._pipeline.request_finish()
        else:
            self._pipeline.finish()

    # -- views

    @property
    def options(self) -> Options:
        """What the handler was made from, after all lookups."""
        return self._options

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline behind the handler."""
        return self._pipeline

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.level, self._given)

    def __repr__(self) -> str:
        kinds = ", ".join(self._options.sinks) or "no sinks"
        return f"<{type(self).__name__} {self._options.directory} to {kinds} ({level_name(self.level)})>"


def _levelno(record: logging.LogRecord) -> int:
    """Return the level number of a record that may be broken in any way."""
    levelno: Any = record.levelno
    return levelno if type(levelno) is int and 0 <= levelno <= 65535 else logging.ERROR


def _is_finalizer() -> bool:
    """Whether it is a finalizer that logs, which the garbage collector happened to run on a thread of ours.

    It interrupted our own code then. One that runs within a sink's client may be the client's.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        below = frame.f_back
        if frame.f_code.co_name == "__del__":
            return below is not None and str(below.f_globals.get("__name__")).startswith("toolog.")
        frame = below
    return False


def check_options(given: Mapping[str, Any]) -> None:
    """Raise the ConfigError that ``ToologHandler(**given)`` would raise, without making one."""
    values = resolve(("handler",), {key: given[key] for key in given if key != "capture"}, where="configure")
    options = pipeline_options(values)
    for name, table in options.sinks.items():
        try:
            create(name, table)
        except NotInstalled:
            if options.ship != "none":
                raise
        except ConfigError:
            if options.ship != "none" or not is_only_named(name, table):
                raise


def _rebuild(kind: type[ToologHandler], level: int, given: dict[str, Any]) -> ToologHandler:
    return kind(level, **given)


def pipeline_options(values: Mapping[str, Any]) -> Options:
    """Return a pipeline's options from resolved values of the section ``handler``. Raises ConfigError."""
    sinks = {
        name: with_sink_defaults(given) if isinstance(given, Mapping) else given
        for name, given in values["sinks"].items()
    }
    for name in sinks:
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ConfigError(f"sinks: the name of a sink is a printable text, not {name!a}")
    if not sinks:
        raise ConfigError("sinks is empty; name at least one, for example {'store': {'type': 'sqlite'}}")
    return Options(
        directory=Path(os.path.abspath(values["spool.path"])),  # the program may change its directory later
        sinks=sinks,
        policies=Policies.from_config(values["retention"], sinks),
        durability=values["durability"],
        serializer=values["serializer"],
        sanitizer=_sanitizer(values["sanitizer"]),
        max_records=values["queue.max_records"],
        when_full=values["queue.when_full"],
        block_timeout=values["queue.timeout"],
        max_size=values["spool.max_size"],
        segment_size=values["spool.segment_size"],
        ship=values["ship"],
        shutdown_timeout=values["shutdown_timeout"],
        purge_every=values["purge_every"],
        dead_letters_size=values["dead_letters.max_size"],
    )


def _sanitizer(given: Any) -> Sanitizer | None:
    """Return the sanitizer of a configuration; None means the default one."""
    if not isinstance(given, Mapping):
        ready: Sanitizer = given
        inuse.enlist(ready)
        return ready
    if not given:
        return None
    made = Sanitizer.from_config(given)
    inuse.enlist(made)
    return made


def reset_capture() -> None:
    """Return capture's settings to their defaults, before a new configuration says what it wants."""
    provisional.active = False
    apply_capture({one.name: check(one, one.default, one.name) for one in section("capture")})


def _refuse_clash(options: Options) -> None:
    """Raise ConfigError when another handler of this process ships the same directory to other sinks."""
    for other in pipelines():
        theirs = other.options
        same = theirs.directory == options.directory and theirs.ship == options.ship == "background"
        if same and dict(theirs.sinks) != dict(options.sinks):
            raise ConfigError(
                f"the spool {options.directory} goes to other sinks in another handler of this process; "
                "give each handler its own spool.path, or close the other one first"
            )


def _holds_logging_lock() -> bool:
    owned = getattr(logging._lock, "_is_owned", None)  # type: ignore[attr-defined]
    return bool(owned is not None and owned())


def pipelines() -> list[Pipeline]:
    """Return the pipelines of this process that are open; one lives as long as its thread, not as its
    handler.
    """
    return [pipeline for pipeline in living() if isinstance(pipeline, Pipeline) and not pipeline.closed]


def flush(timeout: float = 5.0) -> bool:
    """Wait until all that was accepted before is acknowledged by every sink of its policy, or is a dead
    letter.

    Where another process ships, or none does (``ship="none"``): until it is durable in the spool. ``timeout``
    is in seconds, for all handlers together. Returns False when it did not come about in time; when all
    handlers are closed, at once, if what they left is still in their spools. Since 0.1.
    """
    deadline = time.monotonic() + timeout
    if _holds_logging_lock():
        return False
    while is_opening():  # another thread brings the dev profile up, and records wait for that
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)
    while True:
        serving = pipelines()
        done = [pipeline.flush(max(0.0, deadline - time.monotonic())) for pipeline in serving]
        if not all(done):
            return False
        if not _are_ending():
            return bool(serving) or _have_arrived()
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)  # what they leave may be for the others to ship


def _are_ending() -> bool:
    """Whether a closed handler is still shipping what it has, on its own thread."""
    return any(
        one.closed and not one.ended and one.worker.alive for one in living() if isinstance(one, Pipeline)
    )


def _have_arrived() -> bool:
    """Whether all has arrived that closed handlers left in their spools."""
    left: dict[Path, Pipeline] = left_behind()
    for directory, pipeline in list(left.items()):
        if pipeline.has_arrived():
            left.pop(directory, None)
    return not left


def stats() -> dict[str, Any]:
    """Return what toolog counted in this process.

    ``accepted``; ``stored``, ``dead_letters``, ``resent`` (dead letters that were sent again and stored) and
    ``in_spool`` by sink; ``dropped`` by reason and level; ``delivered_again``; ``retries`` (writes that
    repeated others) and ``timeouts`` (writes that did not return in time) by sink; ``breaker`` (closed, open
    or half_open) by sink, ``breaker_open`` (the sinks where it is not closed); ``late`` (came after the end),
    ``own_records`` (logged by sinks' clients, not shipped), ``reentrant``, ``damaged`` (frames, by sink),
    ``internal`` (troubles of our own, by reason).

    Where another process ships, what that did with the records stands in its figures, not in these;
    ``in_spool`` is right everywhere. Since 0.1.
    """
    in_spool: dict[str, int] = {}
    breakers: dict[str, str] = {}
    for pipeline in pipelines():
        for sink, number in pipeline.in_spool().items():
            in_spool[sink] = in_spool.get(sink, 0) + number
        breakers |= worst(pipeline.shipping.crew.breakers())
    return {
        "in_spool": in_spool,
        "breaker": breakers,
        "breaker_open": [sink for sink, state in breakers.items() if state != "closed"],
        **counted(),
    }


def counted() -> dict[str, Any]:
    """Return what `stats` says without asking the pipelines what they have to do yet."""
    dropped: dict[str, dict[str, int]] = {}
    for labels, number in counters.table("dropped").items():
        named = dict(labels)
        dropped.setdefault(named["reason"], {})[named["level"]] = number
    return {
        "accepted": accepted(),
        "stored": _by("stored", "sink"),
        "dropped": dropped,
        "dead_letters": _by("dead_letters", "sink"),
        "resent": _by("resent", "sink"),
        "delivered_again": counters.value("delivered_again"),
        "retries": _by("retries", "sink"),
        "timeouts": _by("timeouts", "sink"),
        "late": counters.value("late"),
        "own_records": counters.value("own_records"),
        "reentrant": counters.value("reentrant"),
        "damaged": _by("damaged", "sink"),
        "internal": _by("internal", "reason"),
    }


def _by(name: str, label: str) -> dict[str, int]:
    return {dict(labels)[label]: number for labels, number in counters.table(name).items()}
