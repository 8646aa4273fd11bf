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
from collections.abc import Collection, Mapping
from types import FrameType
from typing import Any

from toolog import counters
from toolog.all_pipelines import holds_logging_lock, pipelines
from toolog.breath import recording
from toolog.call import refresh_plans
from toolog.context import is_our_thread, is_ours
from toolog.copies import record_from_copy
from toolog.emit import cancel_first_record
from toolog.errors import ConfigError, kind_of
from toolog.events import record_from_log
from toolog.forks import look
from toolog.levels import level_name, level_of, parse_level
from toolog.pipeline import Options, Pipeline
from toolog.pipeline.life import Signals, is_ending
from toolog.pipeline_options import make_options
from toolog.record import SuccessRecord, ToolRecord
from toolog.sanitize import warm
from toolog.settings import provisional
from toolog.settings.checks import check, plain
from toolog.settings.resolve import apply_capture, look_up, reset_capture, resolve

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
        self._options = make_options(values)
        refuse_clash(self._options)
        self._pipeline = Pipeline(self._options)
        super().__init__(number)  # not before: `logging` flushes at exit whatever it knows of
        self._accept = self._pipeline.accept
        self._signals: Signals | None = None
        self._closed = False
        self._asleep = False
        if provisional.active:
            reset_capture()
        apply_capture({name: value for name, value in settings.items() if not captured[name].is_default})
        refresh_plans()
        cancel_first_record()
        if values["handle_signals"]:
            self._signals = Signals(lambda: self._pipeline.finish(), lambda: self._asleep)
            if not self._signals.install():
                counters.contain("handle_signals needs the main thread")
        if not self._pipeline.seals_later:
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
            if self._asleep:
                self._wake()
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
        # A sink's client logs too, perhaps into a queue of the application's: shipping that would never end.
        if (is_ours() and not _is_finalizer()) or _came_from_us(line):
            counters.count("own_records")
            return
        if _depth.value >= _NESTING:  # a value in a log line that logs when it is asked for its text
            counters.count("reentrant")
            return
        _depth.value += 1
        try:
            if not self._options.policies.route(level_of(line)):
                return
            record = record_from_copy(line) or record_from_log(line)
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
        waiting for it. After `close`, or where the pipeline ended with the process, nothing is waited for:
        what the cursors on disk say is answered.
        """
        look()
        if self._closed or self._pipeline.ended or holds_logging_lock():
            return self._pipeline.has_arrived() and not self._pipeline.lost_at_end
        return self._pipeline.flush(self._options.shutdown_timeout if timeout is None else timeout)

    def close(self) -> None:
        """Flush within the shutdown timeout, then stop. May be called again.

        A record that comes later goes into the spool at once (counted as ``late``). While this thread holds
        the lock of the module `logging`, nothing is waited for: the pipeline ends on its own thread, with all
        that it has. It is `logging.config` that closes then, every handler there is, whoever made it; where
        this one still hangs at a logger, it goes on with the next record, as a FileHandler opens its file
        again.
        """
        look()
        if self._closed:
            return
        if holds_logging_lock() and not is_ending() and self._is_attached():
            self._asleep = True
            self._end()
            return
        self._closed = True
        self._asleep = False
        super().close()
        if self._signals is not None:
            self._signals.restore()
        self._end()

    def _end(self) -> None:
        if holds_logging_lock() and self._pipeline.worker.alive:
            self._pipeline.request_finish()
        else:
            self._pipeline.finish()

    def _is_attached(self) -> bool:
        """Whether some logger still has this handler."""
        known = [logging.root, *list(logging.root.manager.loggerDict.values())]
        return any(self in one.handlers for one in known if isinstance(one, logging.Logger))

    def _wake(self) -> None:
        """Go on after `logging.config` closed all handlers, with a new pipeline from the same options.

        Not while it is still at work, as it may be about to put another handler here, nor where it has done
        so; the record that asks is a late one then. Waits for no lock.
        """
        lock = logging._lock  # type: ignore[attr-defined]
        if is_ending() or holds_logging_lock() or not lock.acquire(blocking=False):
            return
        try:
            if not self._asleep or not self._is_attached():
                return
            refuse_clash(self._options)
            self._pipeline = Pipeline(self._options)
            self._accept = self._pipeline.accept
            self._asleep = False
            logging._addHandlerRef(self)  # type: ignore[attr-defined]  # else the next dictConfig passes it by
            if self.name:
                self.set_name(self.name)
            self._pipeline.start()
        except ConfigError:  # another handler has the spool now
            self._asleep, self._closed = False, True
            counters.contain("handler", told="its spool goes to other sinks now, in another handler")
        finally:
            lock.release()

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


def _came_from_us(line: logging.LogRecord) -> bool:
    """Whether a thread of ours logged a line that another thread, of a QueueListener's kind, brings here."""
    thread = line.thread
    return thread != threading.get_ident() and line.process in (os.getpid(), None) and is_our_thread(thread)


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


def _rebuild(kind: type[ToologHandler], level: int, given: dict[str, Any]) -> ToologHandler:
    return kind(level, **given)


def refuse_clash(options: Options, replaced: Collection[ToologHandler] = ()) -> None:
    """Raise ConfigError when another handler of this process ships the same directory to other sinks.

    Those that are ``replaced`` are about to be closed.
    """
    leaving = [handler.pipeline for handler in replaced]
    for other in pipelines():
        if other in leaving:
            continue
        theirs = other.options
        same = theirs.directory == options.directory and theirs.ship == options.ship == "background"
        if same and dict(theirs.sinks) != dict(options.sinks):
            raise ConfigError(
                f"the spool {options.directory} goes to other sinks in another handler of this process; "
                "give each handler its own spool.path, or close the other one first"
            )
