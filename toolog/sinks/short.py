"""A record that lies in the spool's short form, on its way into a sink.

To most sinks it is a record like others. Who makes something of thousands of them can look at ``short``
instead of ``data``, and leave out making the bytes of each.
"""

from __future__ import annotations

from toolog.serializers.compact import expand, id_of
from toolog.sinks.base import MSGPACK, SinkRecord


class ShortRecord(SinkRecord):
    """A record of which ``short`` is the form in the spool; ``data`` is made of it when somebody asks.

    ``short`` has at least as many bytes as each short form (see `toolog.serializers.compact`).
    """

    __slots__ = ("_data", "short")

    def __init__(self, short: bytes, level: int = 20, policy: str = "", segment: str = "", seq: int = 0):
        self.short = short
        self.level = level
        self.policy = policy
        self.segment = segment
        self.seq = seq
        self.serializer = MSGPACK
        self._data: bytes | None = None
        self._document = None

    @property
    def data(self) -> bytes:  # type: ignore[override]
        """The record's bytes."""
        if self._data is None:
            self._data = expand(self.short)
        return self._data

    @property
    def record_id(self) -> str:
        """The record's unique id."""
        return id_of(self.short)
