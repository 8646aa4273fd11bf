"""Values of a configuration: sizes and durations, as plain numbers or with a unit in a string ("16 MiB",
"7 days"), and paths.
"""

from __future__ import annotations

import math
import os

from toolog.errors import ConfigError, shown

_SIZES = {
    "": 1, "b": 1, "byte": 1, "bytes": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "k": 2**10, "m": 2**20, "g": 2**30,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_DURATIONS = {
    "": 1.0, "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "us": 1e-6, "usec": 1e-6, "usecs": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6,
    "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "m": 60.0, "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hr": 3600.0, "hrs": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
    "w": 604800.0, "wk": 604800.0, "wks": 604800.0, "week": 604800.0, "weeks": 604800.0,
}  # fmt: skip


def _split(text: str) -> tuple[float, str]:
    stripped = text.strip()
    end = len(stripped)
    while end and not (stripped[end - 1].isdigit() or stripped[end - 1] == "."):
        end -= 1
    return float(stripped[:end]), stripped[end:].strip().lower()  # a comma may mean a point: it is refused


def _parse(
    value: object, units: dict[str, float] | dict[str, int], where: str, what: str, example: str
) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ConfigError(f"{where}: {shown(value)} is no {what}; write for example {example}")
    try:
        number, unit = _split(value) if isinstance(value, str) else (float(value), "")
        result = number * units[unit]
    except (ValueError, KeyError, OverflowError):
        raise ConfigError(f"{where}: {shown(value)} is no {what}; write for example {example}") from None
    if not math.isfinite(result) or result < 0:
        raise ConfigError(f"{where}: a {what} is a finite number, zero or more, not {shown(value)}")
    return result


def parse_size(value: object, where: str = "size") -> int:
    """Return a number of bytes from ``16777216`` or ``"16 MiB"``.

    ``where`` names the setting in the error. Raises ConfigError for anything that is no size.
    """
    return int(_parse(value, _SIZES, where, "size", "'16 MiB' or a number of bytes"))


def parse_duration(value: object, where: str = "duration") -> float:
    """Return seconds from ``2.5`` or ``"7 days"``; ``where`` names the setting in the error (ConfigError)."""
    return _parse(value, _DURATIONS, where, "duration", "'5 s', '10 min', '7 days' or a number of seconds")


def parse_path(value: object, where: str = "path") -> str:
    """Return a path that a file can have, ``~`` expanded; ``where`` names the setting in the error
    (ConfigError).
    """
    try:
        if isinstance(value, (str, os.PathLike)) and os.fspath(value) and b"\0" not in os.fsencode(value):
            return os.path.expanduser(os.fsdecode(value))
    except UnicodeEncodeError:
        pass
    raise ConfigError(f"{where} is a path, not {shown(value)}")
