"""What a sink is: the protocol, what it is handed, and how it answers.

A sink writes batches of sealed (sanitized, serialized) records somewhere. It has three methods:

- ``connect()`` opens files or imports clients; the only place where a heavy client may be imported.
- ``write(batch)`` returns None when every record of the batch is stored, or an :class:`Answer` about the
  rest. It raises ``SinkUnavailable`` when all of the batch should be tried again later, ``SinkRejected`` when
  never again. A batch may come twice (after a crash, or when an answer was lost): a sink keeps each
  ``record_id`` once if it can.
- ``close()`` writes what is buffered and lets go of everything. It may be called twice.

Some more are optional: a sink that must know at its next start how far it came gives ``cursor_state()``
(plain data, saved with the spool's cursor after each acknowledged batch) and takes it back in
``restore(state)``, which is called once, after ``connect()`` and before the first ``write``. A sink whose
target may ask it to slow down has a ``pace`` (:class:`Pace`). One whose ``connect`` or ``write`` is more than
one request has a ``pulse`` (:class:`Pulse`), else all of them together have the time of its ``timeout``.

So is a pair for a sink that must make the very same thing of the same records, whoever repeats it after a
crash: ``plan(batch)`` decides what ``write(batch)`` will make, and answers whether ``cursor_state()`` must be
on disk before that; ``goes_on(segment, seq)`` answers whether what was planned once goes on behind that
record, so that the next batch must not end there. Such a sink gets its batches whole, never as a probe.

A sink that keeps the records of each policy in a place of its own has ``for_policy(policy)``
(:class:`ByPolicy`): then one of these places that takes nothing does not hold up the others.

A sink runs in a thread of its own and is never called by two threads at once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias, runtime_checkable

import orjson
import ormsgpack

from toolog.errors import ConfigError, SerializationError, kind_of, shown, unknown_key
from toolog.units import parse_duration, parse_size

JSON = 0
"""The serializer code of JSON."""
MSGPACK = 1
"""The serializer code of MessagePack."""


def decode(data: bytes, serializer: int) -> dict[str, Any]:
    """Return the record document in ``data``; ``serializer`` is the code that stood in its frame.

    Raises SerializationError when the bytes are no document of that serializer.
    """
    try:
        if serializer == MSGPACK:
            document: Any = ormsgpack.unpackb(data)
        elif serializer == JSON:
            document = orjson.loads(data)
        else:
            raise SerializationError(f"no serializer has the code {serializer}")
    except ValueError as error:
        raise SerializationError(f"not a readable record: {error}") from error
    if not isinstance(document, dict):
        raise SerializationError(f"a record is a map, not {type(document).__name__}")
    return document


class SinkRecord:
    """One record on its way into a sink: bytes as they stood in the spool, decoded only when somebody asks.

    Attributes: ``policy`` (name of the retention policy), ``level`` (number as in ``logging``), ``data``
    (bytes), ``serializer`` (code: 0 JSON, 1 MessagePack), ``segment`` and ``seq`` (where it stood: the name
    of the spool's segment and the writer's serial number in it; together they are the record's own, and the
    same whenever it is read again. A segment with the number 000000 was never on disk: its records were held
    in memory while the disk failed. "" where no spool was).
    """

    __slots__ = ("_document", "data", "level", "policy", "segment", "seq", "serializer")

    def __init__(
        self,
        data: bytes,
        serializer: int = MSGPACK,
        level: int = 20,
        policy: str = "",
        segment: str = "",
        seq: int = 0,
    ) -> None:
        self.data = data
        self.serializer = serializer
        self.level = level
        self.policy = policy
        self.segment = segment
        self.seq = seq
        self._document: dict[str, Any] | None = None

    @property
    def record_id(self) -> str:
        """The record's unique id; decodes the record when it is first asked for. Never raises.

        Bytes that are no record, or have no id, are named by their hash, so that an Answer can speak of them.
        """
        try:
            found = self.decode().get("record_id")
        except SerializationError:
            found = None
        return (
            found
            if isinstance(found, str) and found
            else f"unreadable-{blake2b(self.data, digest_size=8).hexdigest()}"
        )

    def decode(self) -> dict[str, Any]:
        """Return the record document (the same object each time; do not change it). Raises
        SerializationError.
        """
        if self._document is None:
            self._document = decode(self.data, self.serializer)
        return self._document

    def __repr__(self) -> str:
        return f"<SinkRecord {len(self.data)} bytes, level {self.level}, policy {self.policy!r}>"


Batch: TypeAlias = Sequence[SinkRecord]
"""What a sink is handed: records in the order in which they were accepted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A sink's answer when a batch was not simply stored; every record that is not named here is stored.

    ``rejected``: record_id -> reason, never to be tried again. ``retry``: record_ids to be tried again later.
    ``again``: how many had been stored before and were recognized (delivered twice, stored once).
    ``reason``: why those in ``retry`` could not be stored now; it is told to people and quotes no record.
    """

    rejected: Mapping[str, str] = field(default_factory=dict)
    retry: AbstractSet[str] = frozenset()
    again: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """When a batch is full: ``max_records``, ``max_bytes``, or when its oldest record waited ``max_age``
    seconds.
    """

    max_records: int = 1000
    max_bytes: int = 4 * 1024 * 1024
    max_age: float = 1.0

    def override(self, options: Mapping[str, Any], where: str) -> BatchLimits:
        """Return these limits with the user's ``options`` put over them. Raises ConfigError naming
        ``where``.
        """

        known = ("max_records", "max_bytes", "max_age")
        for key in options:
            if key not in known:
                raise unknown_key(key, known, where)
        records = options.get("max_records", self.max_records)
        if isinstance(records, bool) or not isinstance(records, int) or records < 1:
            raise ConfigError(f"{where}: max_records is a whole number of at least 1, not {shown(records)}")
        size = parse_size(options.get("max_bytes", self.max_bytes), f"max_bytes in {where}")
        if size < 1:
            raise ConfigError(f"{where}: max_bytes is at least 1")
        return BatchLimits(
            records, size, parse_duration(options.get("max_age", self.max_age), f"max_age in {where}")
        )


@runtime_checkable
class Sink(Protocol):
    """Anything with a name that takes batches. See the module's docstring for the contract."""

    name: str

    def connect(self) -> None:
        """Open what the sink needs. Raises SinkUnavailable when that is not possible now."""

    def write(self, batch: Batch) -> Answer | None:
        """Store a batch; None when all of it is stored."""

    def close(self) -> None:
        """Let go of everything; may be called twice."""


@runtime_checkable
class ByPolicy(Protocol):
    """A sink that may be served once for each policy, each time by a thread and with a cursor of its own.

    Not one that has ``cursor_state``.
    """

    def for_policy(self, policy: str) -> Sink:
        """Return another sink like this one that will be handed records of this policy, and hardly any other
        (dead letters that are sent again after their policy is gone).
        """


class Pace(Protocol):
    """How much a sink takes now, and when; asked before each ``write``."""

    @property
    def take(self) -> int | None:
        """How many records the next batch may have; None: as many as the batch limits say."""

    def wait(self) -> float:
        """Return for how many seconds the sink should be left alone."""


class Pulse:
    """A sink's signs of life: a ``connect`` or ``write`` hangs when none came for longer than the timeout.

    ``last``: when the last one came (monotonic seconds), and how many seconds the next may take (None: the
    sink's ``timeout``).
    """

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last: tuple[float, float | None] = (0.0, None)

    def beat(self, timeout: float | None = None) -> None:
        """Say that the sink gets on: before each request, and whenever a long one has made headway.

        ``timeout``: the seconds until which the next sign may be awaited, where the sink's own are too few.
        Any thread may call it; it takes no lock and never raises.
        """
        self.last = (time.monotonic(), timeout)


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a sink wants to be served: the options every sink takes, with the sink's own defaults filled in.

    ``batch`` limits, ``timeout`` in seconds until a call into it hangs (see `Pulse`), ``max_backoff`` in
    seconds between two tries.
    """

    batch: BatchLimits
    timeout: float = 30.0
    max_backoff: float = 60.0


COMMON_OPTIONS = ("type", "batch", "timeout", "retry")
"""The options that every sink takes: they belong to the shipper, not to the sink's constructor."""


def delivery(sink: Sink, options: Mapping[str, Any]) -> Delivery:
    """Return how ``sink`` is to be served, from its options in the configuration and its class's defaults.

    A sink class may carry ``batch`` (BatchLimits), ``timeout`` and ``max_backoff`` (seconds). Raises
    ConfigError.
    """
    where = f"sink {sink.name!r}"
    default = getattr(sink, "batch", None)
    batch = default if isinstance(default, BatchLimits) else BatchLimits()
    if (given := options.get("batch")) is not None:
        batch = batch.override(_table(given, f"batch of {where}"), f"batch of {where}")
    retry = _table(options.get("retry") or {}, f"retry of {where}")
    for key in retry:
        if key != "max_backoff":
            raise unknown_key(key, ("max_backoff",), f"retry of {where}")
    timeout = parse_duration(options.get("timeout", getattr(sink, "timeout", 30.0)), f"timeout of {where}")
    if not timeout:
        raise ConfigError(f"timeout of {where} is more than 0 s: nothing returns at once")
    backoff = parse_duration(
        retry.get("max_backoff", getattr(sink, "max_backoff", 60.0)), f"retry.max_backoff of {where}"
    )
    return Delivery(batch, timeout, backoff)


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} is a table of options, not {kind_of(value)}")
    return value
