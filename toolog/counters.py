"""What toolog counts about itself, and how its own troubles are told without ever reaching the application.

Counters are plain dict items: ``+=`` on them may lose an increment when two threads race, so each counter is
an ``itertools.count`` per label whose ``next`` is atomic in C and whose value is read by copying it.
"""

from __future__ import annotations

import itertools
import logging
import time
from typing import Any

_counters: dict[tuple[str, tuple[tuple[str, str], ...]], list[Any]] = {}
_internal = logging.getLogger("toolog.internal")
_internal.propagate = False
_told: dict[str, float] = {}
TELL_EVERY = 30.0
"""Seconds between two lines on ``toolog.internal`` about the same reason."""


def count(name: str, n: int = 1, **labels: str) -> None:
    """Add ``n`` to a counter, for example ``count("dropped", reason="queue_full", level="DEBUG")``."""
    key = (name, tuple(sorted(labels.items())))
    held = _counters.get(key)
    if held is None:
        held = _counters.setdefault(key, [itertools.count(), []])
    if n == 1:
        next(held[0])
    else:
        held[1].append(n)  # list.append is atomic; summed when read
        if len(held[1]) > 4096:
            _fold(held)


def _fold(held: list[Any]) -> None:
    extra = held[1]
    size = len(extra)
    total = sum(extra[:size])
    extra[:size] = [total]  # one bytecode-level slice assignment: appended items behind `size` stay


def value(name: str, **labels: str) -> int:
    """Return a counter's value, summed over all labels that were not given."""
    wanted = set(labels.items())
    total = 0
    for (counter, have), held in list(_counters.items()):
        if counter == name and wanted <= set(have):
            total += _read(held)
    return total


def _read(held: list[Any]) -> int:
    counted = int(repr(held[0])[len("count(") : -1])  # reading by next() would count; by copy() is deprecated
    added: int = sum(held[1])
    return counted + added


def table(name: str) -> dict[tuple[tuple[str, str], ...], int]:
    """Return a counter's values by label set."""
    return {labels: _read(held) for (counter, labels), held in list(_counters.items()) if counter == name}


def reset() -> None:
    """Forget all counters (a forked child counts from zero; tests start clean)."""
    _counters.clear()
    _told.clear()


def contain(reason: str, error: BaseException | None = None, *, told: str | None = None) -> None:
    """Count a trouble of our own and tell it on ``toolog.internal``, at most once in TELL_EVERY seconds a
    reason.

    Never raises. The text of an error may quote a user's data, so only its type is told, or ``told``: what
    the caller knows to quote none.
    """
    try:
        count("internal", reason=reason)
        said = told or ("" if error is None else type(error).__name__)
        tell(reason, f"{reason} ({said})" if said else reason)
    except Exception:
        pass


def tell(reason: str, text: str) -> None:
    """Tell a text that quotes no data on ``toolog.internal``, at most once in TELL_EVERY seconds a reason.

    Never raises.
    """
    try:
        now = time.monotonic()
        last = _told.get(reason)
        if last is None or now - last >= TELL_EVERY:
            _told[reason] = now
            _internal.warning("toolog: %s", text)
    except Exception:
        pass
