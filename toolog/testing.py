"""For users' own tests: what their tools' calls would be recorded as.

    from toolog.testing import capture

    def test_lookup():
        with capture() as records:
            lookup("lamp")
        assert records[0]["status"] == "success"

``assert_no_leaks(["hunter2!"], Path("logs"))`` fails when a known secret got out.
With pytest, the fixture ``toolog_records`` is the same list for the whole test, and the mark ``toolog`` takes
what `capture` does: ``@pytest.mark.toolog(level="INFO", capture_output=True)``. This module is loaded by
every run of pytest in an environment that has toolog, so it imports the rest of toolog only when it is used.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolog.sanitize import Sanitizer

try:
    import pytest
except ImportError:  # no pytest: `capture` works without it
    pytest = None  # type: ignore[assignment]

Records = list[dict[str, Any]]

__all__ = ["assert_no_leaks", "capture", "find", "only"]


class _Collector(logging.Handler):
    """Keeps each record as plain data, sanitized and checked, as soon as it is handled."""

    def __init__(self, records: Records, sanitizer: Sanitizer | None) -> None:
        super().__init__()
        self.faults: list[Exception] = []
        self._records = records
        self._sanitizer = sanitizer

    def createLock(self) -> None:
        """Have no lock: a tool may log from anywhere."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Keep a record; a fault is told at the end of the block, because handlers never raise into a
        call.
        """
        from toolog.errors import RecordInvalid
        from toolog.events import record_from_log
        from toolog.record import ToolRecord
        from toolog.sanitize.seal import seal
        from toolog.schema import validate

        ours = record if isinstance(record, ToolRecord) else record_from_log(record)
        seal(ours, self._sanitizer)
        document = ours.document()
        self._records.append(document)
        try:
            validate(document)
        except RecordInvalid as fault:
            self.faults.append(fault)
        return True


_PARAMETERS = ("level", "logs", "sanitizer")
"""What `capture` takes beside the settings of capture."""


@contextmanager
def capture(
    level: int | str = "DEBUG",
    *,
    logs: bool = False,
    sanitizer: Sanitizer | Mapping[str, Any] | None = None,
    **settings: Any,
) -> Iterator[Records]:
    """Collect the records of all tool calls inside the block, as plain dicts, each there when its call
    returns.

    ``level``: from which level on; ``logs``: also the application's own log lines (as ``log`` events);
    ``sanitizer``: your own masking, as a `toolog.Sanitizer` or a table of its options, the default one else;
    ``settings``: those of capture (``capture_output=True``, ``max_depth=3`` ...), the defaults else. Nothing
    else is configured inside: no handler of the application's gets these records. At the end everything about
    the loggers and the settings is as before. Raises ConfigError for an unknown setting or a wrong sanitizer,
    and RecordInvalid at the end of the block for a record that breaks the schema.
    """
    from toolog import emit
    from toolog.call import refresh_plans
    from toolog.errors import unknown_key
    from toolog.levels import ROOT, parse_level
    from toolog.settings import capture as active
    from toolog.settings.checks import check
    from toolog.settings.resolve import apply_capture, flatten
    from toolog.settings.table import section

    number = parse_level(level)
    rules = _rules(sanitizer)
    parameters = section("capture")
    known = {*_PARAMETERS, *(one.name.partition(".")[0] for one in parameters)}
    for name in settings:
        if name not in known:
            raise unknown_key(name, known, "capture")
    given = flatten(settings, parameters, "capture")
    inside = {one.name: check(one, given.get(one.name, one.default), one.name) for one in parameters}
    outside = {one.name: getattr(active, one.name) for one in parameters}
    records: Records = []
    collector = _Collector(records, rules)
    state = _LoggerState(ROOT)
    hooks = emit.first[:]
    root = logging.getLogger()
    emit.cancel_first_record()
    state.clear()
    logger = logging.getLogger(ROOT)
    logger.handlers = [collector]
    logger.propagate = False
    logger.setLevel(number)
    apply_capture(inside)
    refresh_plans()
    if logs:
        root.addHandler(collector)
    try:
        yield records
    finally:
        root.removeHandler(collector)
        apply_capture(outside)
        refresh_plans()
        state.restore()
        emit.first[:] = hooks
        unended = sys.modules.get("toolog.instrumentation.unended")
        if unended is not None:  # a stream that a test left open is no record when pytest ends
            unended.disown()
    if collector.faults:
        raise collector.faults[0]


def _rules(given: object) -> Sanitizer | None:
    """Return the sanitizer that is given, or made from its options. Raises ConfigError."""
    from toolog.errors import ConfigError, kind_of
    from toolog.sanitize import Sanitizer, inuse

    if given is None:
        return None
    if isinstance(given, Mapping):
        given = Sanitizer.from_config(given)
    elif not isinstance(given, Sanitizer):
        raise ConfigError(
            f"sanitizer in capture is a toolog.Sanitizer or a table of its options, not {kind_of(given)}"
        )
    inuse.enlist(given)  # for what is masked beside records, for as long as the block has it
    return given


class _LoggerState:
    """Levels, handlers and the like of a logger and all below it, to be put back."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._manager = logging.getLogger().manager
        self._disable = self._manager.disable
        self._before = {one: self._state(one) for one in self._loggers()}

    def _loggers(self) -> list[logging.Logger]:
        below = self._name + "."
        known = list(self._manager.loggerDict.items())
        return [logging.getLogger(self._name)] + [
            one for name, one in known if name.startswith(below) and isinstance(one, logging.Logger)
        ]

    @staticmethod
    def _state(one: logging.Logger) -> tuple[Any, ...]:
        return one.level, one.propagate, one.disabled, one.handlers, one.filters

    @staticmethod
    def _put(
        one: logging.Logger, level: int, propagate: bool, disabled: bool, handlers: Any, filters: Any
    ) -> None:
        one.propagate, one.disabled, one.handlers, one.filters = propagate, disabled, handlers, filters
        one.setLevel(level)  # last: it also forgets which levels were enabled

    def clear(self) -> None:
        """Make them as if nobody had ever configured them."""
        self._manager.disable = 0
        for one in self._before:
            self._put(one, logging.NOTSET, True, False, [], [])

    def restore(self) -> None:
        """Put everything back; loggers that are new go back to nothing said."""
        self._manager.disable = self._disable
        for one in self._loggers():
            self._put(one, *self._before.get(one, (logging.NOTSET, True, False, [], [])))


def find(records: Records, **fields: Any) -> Records:
    """Return the records that have all of these values: ``find(records, event="tool_call_failed")``."""
    return [record for record in records if all(record.get(key) == value for key, value in fields.items())]


def only(records: Records, **fields: Any) -> dict[str, Any]:
    """Return the one record that has all of these values. Raises AssertionError when there is none, or when
    there are several: it says what tells them apart.
    """
    found = find(records, **fields)
    if len(found) != 1:
        seen = [(record.get("event"), record.get("tool_name")) for record in records]
        apart = _tell_apart(found) if found else ""
        raise AssertionError(f"{len(found)} records have {fields}, not one{apart}; recorded were {seen}")
    return found[0]


_TELLING = ("event", "tool_name", "status", "session_id", "level", "input", "output")
"""The fields by which a person tells records apart, the best first; ids and times differ in all of them."""


def _tell_apart(found: Records) -> str:
    """Return in words what several records differ in, and what to give so that one is left."""
    differing = {}
    for name in _TELLING:
        several = dict.fromkeys(f"{record.get(name)!r:.60}" for record in found)
        if len(several) > 1:
            differing[name] = ", ".join(several)
    if not differing:
        return ": nothing but ids and times tells them apart, so take them from find()"
    (name, values), *_ = differing.items()
    starts = ", or level='INFO' to capture, which has no starts" if "tool_call_start" in values else ""
    others = f" (they differ in {', '.join(differing)}, too)" if len(differing) > 1 else ""
    return f": give {name}= ({values}){starts}{others}"


def assert_no_leaks(secrets: Iterable[str], *things: Any) -> None:
    """Raise AssertionError when one of the secrets stands in one of the things, in whatever spelling.

    ``secrets``: texts of at least four characters. A thing is a ``pathlib.Path`` (a file, or a folder with
    all below it: logs, spools, databases, compressed or not), a ``logging.LogRecord`` (all that a formatter
    could show), an exception (with its causes and traceback), or a value: text, bytes, records. The message
    tells where, which secret by its number, and in which spelling; it never shows the secret. Raises
    ConfigError when there is no secret, one is too short, or there is nothing to look into. Since 0.1.
    """
    __tracebackhide__ = True
    from toolog.audit import Secrets, audit_path, audit_value
    from toolog.audit.search import Needles
    from toolog.audit.units import files
    from toolog.errors import ConfigError

    needles = Needles(Secrets(list(secrets)))
    if not things:
        raise ConfigError("assert_no_leaks needs something to look into: a path, a record, a value")
    leaks: list[str] = []
    unread: list[str] = []
    for number, thing in enumerate(things, 1):
        if isinstance(thing, os.PathLike):
            for path in files(Path(thing)):
                leaks += map(str, audit_path(path, needles, unread.append))
        else:
            leaks += map(str, audit_value(_shown(thing), needles, f"thing {number}"))
    if unread:
        leaks.append(f"not read: {'; '.join(unread)}")
    if leaks:
        raise AssertionError("\n".join(leaks)) from None


def _shown(thing: Any) -> Any:
    """Return what a thing would show to whoever formats it."""
    if isinstance(thing, logging.LogRecord):
        shown: dict[str, Any] = {"formatted": logging.Formatter().format(thing), "repr": repr(thing)}
        shown |= {name: _shown(value) for name, value in vars(thing).items() if not name.startswith("_")}
        return shown
    if isinstance(thing, BaseException):
        return ["".join(traceback.format_exception(thing)), repr(thing), *map(_shown, thing.args)]
    if isinstance(thing, Mapping | list | tuple | set | frozenset | str | bytes | bytearray | memoryview):
        return thing
    return [repr(thing), str(thing)]


if pytest is not None:

    def pytest_configure(config: pytest.Config) -> None:
        """Make the mark known, also where unknown marks are errors."""
        config.addinivalue_line(
            "markers",
            "toolog(level='DEBUG', logs=False, sanitizer=None, **settings): what toolog_records captures",
        )

    @pytest.fixture
    def toolog_records(request: pytest.FixtureRequest) -> Iterator[Records]:
        """The records of all tool calls of this test: plain dicts, sanitized, each valid by the schema.

        ``@pytest.mark.toolog(level="INFO", capture_output=True)`` on a test, a class or a module says how
        they are captured; the nearest mark wins, setting by setting.
        """
        wanted: dict[str, Any] = {}
        for mark in request.node.iter_markers("toolog"):
            if len(mark.args) > 1:
                from toolog.errors import ConfigError

                raise ConfigError(f"the mark toolog takes a level and names with values, not {mark.args[1:]}")
            wanted = {**dict(zip(("level",), mark.args, strict=False)), **mark.kwargs, **wanted}
        with capture(**wanted) as records:
            yield records
