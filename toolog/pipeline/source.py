"""What a sink's thread reads from: the spool on disk, or what is held in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from toolog.spool import Frame, SpoolReader


class Source(Protocol):
    """What a runner reads. ``patience``: how many seconds its frames may wait at most."""

    patience: float

    @property
    def state(self) -> dict[str, Any] | None:
        """What the sink left in its cursor."""

    def read(self, max_records: int = ..., max_bytes: int = ...) -> list[Frame]:
        """Return the next frames."""

    def ack(self, frame: Frame, state: dict[str, Any] | None = None) -> bool:
        """Acknowledge a frame and all before it."""

    def forget(self) -> None:
        """Return to the cursor."""

    def in_hand(self) -> int:
        """Return how many bytes of the disk cannot be freed because of what was read."""

    def urgent(self) -> bool:
        """Return whether something waits here for which another source's batch should not go on waiting."""


class OfShipper:
    """The spool as a runner reads it: nothing is there unless this process ``is_shipper`` of the directory,
    and nothing is acknowledged unless it ``may_acknowledge``.
    """

    patience = math.inf

    def __init__(
        self, reader: SpoolReader, is_shipper: Callable[[], bool], may_acknowledge: Callable[[], bool]
    ) -> None:
        self._reader = reader
        self._is_shipper = is_shipper
        self._may_acknowledge = may_acknowledge

    @property
    def state(self) -> dict[str, Any] | None:
        """What the sink left in its cursor."""
        return self._reader.state

    def read(self, max_records: int = 1000, max_bytes: int = 8 << 20) -> list[Frame]:
        """Return the next frames."""
        return self._reader.read(max_records, max_bytes) if self._is_shipper() else []

    def ack(self, frame: Frame, state: dict[str, Any] | None = None) -> bool:
        """Acknowledge a frame and all before it; not once another process may have taken over, whose cursor
        it is then.
        """
        return self._may_acknowledge() and self._reader.ack(frame, state)

    def forget(self) -> None:
        """Return to the cursor."""
        self._reader.forget()

    def in_hand(self) -> int:
        """Return how many bytes of the spool cannot be deleted because of what was read."""
        return self._reader.in_hand()

    def urgent(self) -> bool:
        """Return False: what is on disk can wait."""
        return False
