"""Levels of tools: each tool has a logger of its own, ``toolog.calls.<tool>``, and levels are those of
`logging`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from operator import index
from typing import Any

from toolog.errors import ConfigError, nearest
from toolog.settings.checks import find_level

ROOT = "toolog.calls"
_ABOVE = ("toolog", ROOT)
"""The loggers above those of all tools, in the order in which their filters count: the last one says."""
NAMES = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
_rules: list[tuple[str, int]] = []
"""What ``set_level(..., tool=glob)`` said, in order, for tools that are instrumented later."""
_loggers: dict[str, logging.Logger] = {}

logging.getLogger("toolog").addHandler(logging.NullHandler())  # else logging.lastResort prints on stderr


class ToolLogger(logging.Logger):
    """A logger of ours, which ``disable_existing_loggers`` passes by.

    That is dictConfig's and fileConfig's default and meant for loggers nobody configured; a program that
    configures its own logging after `instrument` would lose every record without a word. Setting ``disabled``
    by hand works as for any logger.

    `logging` asks a logger's filters about its own records only, not about those of the loggers below it. Who
    hangs a sanitizer on ``toolog.calls`` means those of all tools, so what its filters are is told.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name == "disabled" and value and sys._getframe(1).f_globals.get("__name__") == "logging.config":
            return
        super().__setattr__(name, value)
        if name == "filters":
            _filters_changed(self)

    def addFilter(self, filter: Any) -> None:
        """Add a filter, as every logger does."""
        super().addFilter(filter)
        _filters_changed(self)

    def removeFilter(self, filter: Any) -> None:
        """Remove a filter, as every logger does."""
        super().removeFilter(filter)
        _filters_changed(self)


_above_tools: list[Callable[[list[Any]], None]] = []


def watch_filters(tell: Callable[[list[Any]], None]) -> None:
    """Have ``tell`` called with the filters of the loggers above all tools, now and when they change."""
    _above_tools.append(tell)
    _filters_changed(logging.getLogger(ROOT))


def _filters_changed(logger: logging.Logger) -> None:
    if logger.name in _ABOVE:
        held = [one for name in _ABOVE for one in list(logging.getLogger(name).filters)]
        for tell in _above_tools:
            tell(held)


def _keep_enabled(name: str) -> logging.Logger:
    """Return a logger that is ours in the sense of `ToolLogger`, unless the application made its class."""
    logger = logging.getLogger(name)
    if type(logger) is logging.Logger:
        logger.__class__ = ToolLogger
    return logger


for _name in ("toolog", "toolog.internal", ROOT):
    _keep_enabled(_name)


def parse_level(level: int | str, where: str = "level") -> int:
    """Return the number of a level: a number, or a name, also one of the application's own. Raises
    ConfigError that names the nearest level.
    """
    if isinstance(level, int) and not isinstance(level, bool) and level >= 0:
        return level
    if isinstance(level, str) and (number := find_level(level)) is not None:
        return number
    guess = nearest(level.strip().upper(), NAMES) if isinstance(level, str) else None
    hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(NAMES)}"
    raise ConfigError(f"{where}: {level!r} is no level; {hint}")


def level_name(number: int) -> str:
    """Return the standard name at or below a level number (25 is INFO)."""
    name = "DEBUG"
    for candidate, bound in NAMES.items():
        if number >= bound:
            name = candidate
    return name


def level_of(line: logging.LogRecord) -> int:
    """Return the number of a line's level. One that was made from anybody's data may say it in another way;
    where no number is to be had, it is an ERROR: a line too many is better than one too few.
    """
    for given in (line.levelno, line.levelname):
        try:
            return index(given)  # type: ignore[arg-type]  # what is no number raises
        except TypeError:
            if isinstance(given, str) and (number := find_level(given)) is not None:
                return number
    return logging.ERROR


def tool_logger(tool: str) -> logging.Logger:
    """Return the logger of a tool, with the levels that were set for it; made once a tool."""
    logger = _loggers.get(tool)
    if logger is None:
        # `logging` finds no parent of ours over two dots in a row
        logger = _loggers[tool] = _keep_enabled(f"{ROOT}.{tool.lstrip('.') or '_'}")
        for pattern, number in _rules:
            if fnmatchcase(tool, pattern):
                logger.setLevel(number)
        _start_level()
    return logger


def set_level(level: int | str, tool: str | None = None) -> list[str]:
    """Set the level from which tool calls are recorded, while the program runs.

    ``level``: a name or number of `logging`; ``tool``: a glob over tool names ("payment.*"; also tools that
    are instrumented later), None for all. Returns the names of the tools it changed. Raises ConfigError for
    an unknown level and for a glob that is none. Since 0.1.
    """
    number = parse_level(level)
    if not (tool is None or (isinstance(tool, str) and tool)):
        raise ConfigError(f"tool takes a glob over tool names such as 'payment.*', not {tool!r}")
    if tool is None:
        _rules.clear()
        logging.getLogger(ROOT).setLevel(number)
        for logger in _loggers.values():
            logger.setLevel(logging.NOTSET)
        return sorted(_loggers)
    _rules.append((tool, number))
    changed = [name for name in _loggers if fnmatchcase(name, tool)]
    for name in changed:
        _loggers[name].setLevel(number)
    return sorted(changed)


def _start_level() -> None:
    root = logging.getLogger(ROOT)
    if root.level == logging.NOTSET:
        wanted = os.environ.get("TOOLOG_LEVEL") or os.environ.get("LOG_LEVEL")
        try:
            root.setLevel(parse_level(wanted, "TOOLOG_LEVEL") if wanted else logging.INFO)
        except ConfigError:
            if os.environ.get("TOOLOG_LEVEL"):
                raise
            root.setLevel(logging.INFO)  # LOG_LEVEL belongs to the application: it may hold words of its own
