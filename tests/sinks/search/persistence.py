"""Doing something until it works, as the shipper does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar

from toolog.errors import SinkUnavailable

Found = TypeVar("Found")


def persist(do: Callable[[], Found]) -> Found:
    """Return what ``do`` returns, once it finds the server in time: where that may take seconds only, a busy
    machine misses it now and then.
    """
    for _ in range(20):
        with contextlib.suppress(SinkUnavailable):
            return do()
    raise AssertionError("the server was not reached in 20 tries")
