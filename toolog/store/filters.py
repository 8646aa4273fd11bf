"""What users ask by, turned into SQL conditions: tools by glob, levels, times, statuses, words.

Every value goes to SQLite as a parameter, never into the text of a statement.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from toolog.errors import ConfigError, nearest
from toolog.levels import NAMES, parse_level
from toolog.units import parse_duration

STATUSES = (
    "success",
    "validation_error",
    "context_error",
    "execution_error",
    "timeout",
    "cancelled",
    "closed",
    "unknown_tool",
)
"""The statuses of ended calls."""

GROUPS: dict[str, tuple[str, ...]] = {
    "failed": ("execution_error", "timeout"),
    "rejected": ("validation_error", "context_error", "unknown_tool"),
    "error": tuple(status for status in STATUSES if status not in ("success", "cancelled", "closed")),
}
"""Words that stand for several statuses."""

UNSUCCESSFUL = "status <> 'success'"
NOTABLE = "level NOT IN ('DEBUG', 'INFO')"
"""Said besides the statuses and levels asked for: only so SQLite sees that an index holds them all."""

RUNNING = "running"
"""The status of a call that began and has no end (yet)."""


@dataclass(slots=True)
class Where:
    """Conditions that all hold, and their parameters; ``is_narrow``: one of them alone leaves few rows."""

    conditions: list[str] = field(default_factory=list)
    parameters: list[Any] = field(default_factory=list)
    is_narrow: bool = False

    def add(self, condition: str, *parameters: Any) -> None:
        """Add a condition with as many parameters as it has question marks."""
        self.conditions.append(condition)
        self.parameters += parameters

    @property
    def sql(self) -> str:
        """The conditions as one SQL expression."""
        return " AND ".join(self.conditions) or "1"


_FIRST, _LAST = "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"


def moment(value: str | float | datetime, where: str = "since") -> str:
    """Return a point in time as records write it (RFC 3339, UTC, microseconds, Z): texts compare as times
    then.

    Takes a datetime (a naive one is UTC), seconds of the Unix epoch as a number, RFC 3339 text ("2026-11-30",
    "2026-11-30T12:00:00+01:00"), or a duration before now as text ("15 min"). Raises ConfigError naming
    ``where``.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            pass
    if isinstance(value, str):
        try:
            value = datetime.now(UTC) - timedelta(seconds=parse_duration(value, where))
        except OverflowError:
            return _FIRST
        except ConfigError:
            raise ConfigError(
                f"{where}: {value!r} is neither a time ('2026-11-30T12:00:00Z') "
                "nor a duration before now ('15 min')"
            ) from None
    elif isinstance(value, int | float) and not isinstance(value, bool) and value == value:
        is_past = value < 0
        try:
            value = datetime.fromtimestamp(value, UTC)
        except (OverflowError, OSError, ValueError):
            return _FIRST if is_past else _LAST
    if not isinstance(value, datetime):
        raise ConfigError(f"{where}: {value!r} is no time")
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def statuses(asked: str | Sequence[str]) -> list[str]:
    """Return the single statuses that ``asked`` (one or several, groups too) stands for. Raises
    ConfigError.
    """
    found: list[str] = []
    for word in [asked] if isinstance(asked, str) else asked:
        if word in GROUPS:
            found += GROUPS[word]
        elif word in STATUSES or word == RUNNING:
            found.append(word)
        else:
            known = (*STATUSES, RUNNING, *GROUPS)
            guess = nearest(word, known)
            hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(known)}"
            raise ConfigError(f"no call has the status {word!r}; {hint}")
    return found


def build(
    *,
    tool: str | None = None,
    session: str | None = None,
    trace: str | None = None,
    instance: str | None = None,
    level: str | int | None = None,
    since: str | float | datetime | None = None,
    until: str | float | datetime | None = None,
    hold: str | None = None,
) -> Where:
    """Return the conditions for the columns that calls, starts and logs have in common. Raises
    ConfigError.
    """
    where = Where()
    if tool is not None:
        where.add("tool_name GLOB ?" if set("*?[") & set(tool) else "tool_name = ?", tool)
    for column, value in (("session_id", session), ("trace_id", trace), ("instance_id", instance)):
        if value is not None:
            where.add(f"{column} = ?", value)
            where.is_narrow |= column != "instance_id"
    if hold is not None:
        where.add("hold GLOB ?", hold)
    if level is not None:
        least = parse_level(level)
        names = [name for name, number in NAMES.items() if number >= least]
        where.add(f"level IN ({', '.join('?' * len(names))})", *names)
        if least > NAMES["INFO"]:
            where.add(NOTABLE)
    if since is not None:
        where.add("timestamp >= ?", moment(since, "since"))
    if until is not None:
        where.add("timestamp < ?", moment(until, "until"))
    return where


def words(text: str) -> list[str]:
    """Return the words of a search text; what stands in double quotes is one of them."""
    found: list[str] = []
    for position, part in enumerate(text.split('"')):
        found += [part.strip()] if position % 2 else part.split()
    return [word for word in found if word]


def match(text: str) -> str:
    """Return the full-text query for a search text: all its words; one that ends in ``*`` stands for its
    beginnings.
    """
    terms = []
    for word in words(text):
        stem = word.rstrip("*").replace('"', "")
        if any(char.isalnum() for char in stem):
            terms.append(f'"{stem}"' + ("*" if word.endswith("*") else ""))
    return " AND ".join(terms)


def needs_scan(text: str) -> bool:
    """Return whether a text has letters of a script without spaces between words, which the index takes for
    one word.
    """
    return any(unicodedata.east_asian_width(char) in "WF" or "\u0e00" <= char <= "\u0eff" for char in text)


AS_WORDS = "replace(replace(replace({0}, '\\n', ' '), '\\t', ' '), '\\r', ' ')"
"""JSON text as words: an escaped line end would glue its letter to the next word."""
_JSON = ("input", "output", "error")
TEXTS_OF_CALLS = ("tool_name", *_JSON, "stdout", "stderr")
"""The columns of calls in which words are looked for."""
TEXTS_OF_LOGS = ("tool_name", "error", "message")
"""The columns of log lines in which words are looked for."""


def scan(text: str, columns: Sequence[str]) -> Where:
    """Return conditions that find the words of a text anywhere in these columns, without the index."""
    where = Where()
    for word in words(text):
        pattern = word.rstrip("*")
        for char in ("\\", "%", "_"):
            pattern = pattern.replace(char, "\\" + char)
        has_blank = any(char.isspace() for char in word)
        # Making words of JSON takes ten times as long as looking at it, and finds the same in one word.
        texts = [AS_WORDS.format(name) if has_blank and name in _JSON else name for name in columns]
        either = " OR ".join(f"{name} LIKE ? ESCAPE '\\'" for name in texts)
        where.add(f"({either})", *[f"%{pattern}%"] * len(columns))
    return where
