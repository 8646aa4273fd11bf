"""What a sink's thread reads from: the spool on disk, or what is held in memory."""

from __future__ import annotations

from typing import Any, Protocol

from toolog.spool import Frame


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
