"""The sink of tests: keeps every delivery as it came, and every record once.

The two lists are independent on purpose, so that a test can tell "delivered twice" from "stored twice".
"""

from __future__ import annotations

import threading
from typing import Any

from toolog.errors import SerializationError, SinkUnavailable
from toolog.sinks.base import Answer, Batch, BatchLimits, SinkRecord


class MemorySink:
    """Keeps records in memory.

    ``deliveries``: every batch that arrived, as lists of SinkRecord, repeated ones included. ``rows``:
    record_id -> record document, each once. Both survive ``close()``; ``wait_for(n)`` waits until ``n`` rows
    are there.
    """

    batch = BatchLimits(max_records=1000, max_age=0.05)

    def __init__(self, *, name: str = "memory") -> None:
        self.name = name
        self.deliveries: list[list[SinkRecord]] = []
        self.rows: dict[str, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._connected = False

    def connect(self) -> None:
        """Take batches from now on."""
        self._connected = True

    def write(self, batch: Batch) -> Answer | None:
        """Keep the batch. A record that cannot be decoded is rejected; one that is there already counts as
        again.
        """
        if not self._connected:
            raise SinkUnavailable(f"sink {self.name!r} is closed")
        rejected: dict[str, str] = {}
        again = 0
        with self._changed:
            self.deliveries.append(list(batch))
            for record in batch:
                record_id = record.record_id
                try:
                    document = record.decode()
                except SerializationError as error:
                    rejected[record_id] = str(error)
                    continue
                if record_id in self.rows:
                    again += 1
                else:
                    self.rows[record_id] = document
            self._changed.notify_all()
        return Answer(rejected, again=again) if rejected or again else None

    def wait_for(self, count: int, timeout: float = 10.0) -> bool:
        """Wait until at least ``count`` records are stored; False when ``timeout`` seconds passed before
        that.
        """
        with self._changed:
            return self._changed.wait_for(lambda: len(self.rows) >= count, timeout)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The stored record documents in the order of their first arrival."""
        return list(self.rows.values())

    def close(self) -> None:
        """Take no more batches; what is kept stays readable."""
        self._connected = False
