"""Client libraries that toolog does not install by itself: each sink says which one it needs."""

from __future__ import annotations

import importlib
import importlib.util
import threading
from typing import Any

from toolog.context import is_ours
from toolog.errors import NotInstalled
from toolog.forks import after_in_child
from toolog.untraced import leave_no_spans

_turn = threading.Lock()


def _renew() -> None:
    global _turn
    _turn = threading.Lock()  # a thread that the child does not have may hold the parent's


after_in_child(_renew)


def load(module: str) -> Any:
    """Import a client library and return it; one sink at a time.

    Some libraries change the filters of warnings while they are imported, and put back what they found. Two
    at once put back what the other had changed, and the application sees warnings that nobody else sees.
    """
    with _turn:
        found = importlib.import_module(module)
    if is_ours():
        leave_no_spans()  # some clients bring OpenTelemetry along
    return found


def require(module: str, extra: str, where: str) -> None:
    """Raise NotInstalled, which says how to install it, when a client library is not there.

    Nothing is imported: only whether it could be is looked up. ``where`` names who needs it.
    """
    if not is_installed(module):
        raise NotInstalled(f"{where} needs a client that is not installed: pip install 'toolog[{extra}]'")


def is_installed(module: str) -> bool:
    """Whether a module could be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
