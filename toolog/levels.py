"""Levels of tools: each tool has a logger of its own, ``toolog.calls.<tool>``, and levels are those of
`logging`.
"""

from __future__ import annotations

import logging
import os
import sys
from fnmatch import fnmatchcase

from toolog.errors import ConfigError, nearest

ROOT = "toolog.calls"
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
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name == "disabled" and value and sys._getframe(1).f_globals.get("__name__") == "logging.config":
            return
        super().__setattr__(name, value)


def _keep_enabled(name: str) -> logging.Logger:
    """Return a logger that is ours in the sense of `ToolLogger`, unless the application made its class."""
    logger = logging.getLogger(name)
    if type(logger) is logging.Logger:
        logger.__class__ = ToolLogger
    return logger


for _name in ("toolog", "toolog.internal", ROOT):
    _keep_enabled(_name)


def parse_level(level: int | str, where: str = "level") -> int:
    """Return the number of a level; raises ConfigError that names the nearest level."""
    if isinstance(level, bool) or not isinstance(level, (int, str)):
        raise ConfigError(f"{where}: {level!r} is no level; known: {', '.join(NAMES)}")
    if isinstance(level, int):
        return level
    text = level.strip().upper()
    if text.isdigit():
        return int(text)
    text = {"WARN": "WARNING", "FATAL": "CRITICAL"}.get(text, text)
    if text not in NAMES:
        guess = nearest(text, NAMES)
        hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(NAMES)}"
        raise ConfigError(f"{where}: {level!r} is no level; {hint}")
    return NAMES[text]


def level_name(number: int) -> str:
    """Return the standard name at or below a level number (25 is INFO)."""
    name = "DEBUG"
    for candidate, bound in NAMES.items():
        if number >= bound:
            name = candidate
    return name


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
