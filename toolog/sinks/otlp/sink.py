"""Exports records to a collector: requests of one signal each, and what becomes of the records in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolog.breath import breathe, breathing
from toolog.counters import contain
from toolog.errors import SerializationError, SinkDenied, SinkUnavailable
from toolog.sinks.base import Answer, Batch, BatchLimits, Pulse, SinkRecord
from toolog.sinks.extras import load
from toolog.sinks.otlp import messages as client
from toolog.sinks.otlp import options as checked
from toolog.sinks.otlp.events import make_logs
from toolog.sinks.otlp.fields import CALLS
from toolog.sinks.otlp.resources import Source, make_request, source_of
from toolog.sinks.otlp.spans import make_span
from toolog.sinks.otlp.values import Values
from toolog.sinks.otlp.wire import CONNECT_TIMEOUT, Wire

MOST_TRIES = 5
"""So often a record that is alone in its request may make the collector fail while it takes others, before it
is a dead letter."""
_MOST_FAILED = 10_000


class _Item(NamedTuple):
    """A record on its way: its id, where it comes from, and the spans or log records that it became."""

    record_id: str
    source: Source
    things: list[Any]


@dataclass
class _Outcome:
    """What became of records: ``rejected`` and ``retry`` by their ids; ``refused`` and ``failed`` (alone in a
    request, with what the collector said) are still to be judged; all others are stored.
    """

    stored: int = 0
    rejected: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    retry: set[str] = field(default_factory=set)
    trouble: SinkUnavailable | None = None
    wasted: int = 0
    """Requests that were refused or failed while nothing was taken."""


class OtlpSink:
    """Exports records over OTLP/HTTP: the end of each call as a span, everything else as a log record.

    ``endpoint``: the collector's URL, to which ``/v1/traces`` and ``/v1/logs`` are added. ``signals``:
    ``"all"``; ``"logs"``: calls, too, are log records; ``"traces"``: calls only, everything else is not
    exported. ``headers``: further headers, whose values may be secrets. ``ca_certs``: a file of certificates
    of authorities to trust. ``compression``: ``"gzip"`` or ``"none"``. ``timeout``: for the answer to one
    request. Raises ConfigError for a wrong value and NotInstalled without the extra ``otlp``.
    """

    batch = BatchLimits(max_records=512, max_bytes=2 * 1024 * 1024, max_age=1.0)
    timeout = checked.TIMEOUT

    def __init__(
        self,
        *,
        name: str = "otlp",
        endpoint: str = checked.ENDPOINT,
        signals: str = "all",
        headers: Mapping[str, Any] | None = None,
        ca_certs: str | None = None,
        compression: str = "gzip",
        timeout: float | str = checked.TIMEOUT,
    ) -> None:
        self.name = name
        where = f"sink {name!r}"
        self._options = checked.check(
            where, endpoint=endpoint, signals=signals, headers=headers, ca_certs=ca_certs,
            compression=compression, timeout=timeout,
        )  # fmt: skip
        client.check_client(where)
        self.pulse = Pulse()
        self._wire: Wire | None = None
        self._taken: set[str] = set()  # signals of which something was taken
        self._failed: dict[str, int] = {}  # how often a record made the collector fail when it was alone
        self._in_trouble = False  # the last write was not taken whole

    # -- the protocol of a sink

    def connect(self) -> None:
        """Import the client. Raises SinkDenied for a certificate that is not there; no request is made."""
        self._messages = client.load_messages()
        self._values = Values(self._messages)
        self._wire = Wire(self._options, load("google.rpc.status_pb2").Status)

    def write(self, batch: Batch) -> Answer | None:
        """Export a batch. Raises SinkUnavailable when none of it could be."""
        if self._wire is None:
            raise SinkUnavailable(f"sink {self.name!r} is closed")
        outcome = _Outcome()
        parts = self._divide(batch, outcome)
        for signal, items in parts.items():
            if outcome.trouble is None:
                self._send(signal, items, outcome)
            else:
                outcome.retry.update(item.record_id for item in items)
        self._judge(outcome)
        if outcome.trouble is not None and not outcome.stored and not outcome.rejected:
            raise outcome.trouble
        if not outcome.rejected and not outcome.retry:
            return None
        reason = str(outcome.trouble) if outcome.trouble is not None and outcome.trouble.tells else ""
        return Answer(outcome.rejected, outcome.retry - outcome.rejected.keys(), reason=reason)

    def close(self) -> None:
        """Let go of the connection."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    # -- a batch

    def _divide(self, batch: Batch, outcome: _Outcome) -> dict[str, list[_Item]]:
        """Return what is sent for each signal; what becomes no message is rejected."""
        parts: dict[str, list[_Item]] = {"traces": [], "logs": []}
        for record in breathing(batch):
            try:
                signal, things = self._translate(record)
                if things:
                    parts[signal].append(_Item(record.record_id, source_of(record.decode()), things))
                else:
                    outcome.stored += 1  # a backend that takes calls only
            except SerializationError as error:
                outcome.rejected[record.record_id] = str(error)
            except Exception as error:  # protobuf's own: a field of a kind that it does not take
                outcome.rejected[record.record_id] = f"it is no message of OTLP: {type(error).__name__}"
        return {signal: items for signal, items in parts.items() if items}

    def _translate(self, record: SinkRecord) -> tuple[str, list[Any]]:
        document = record.decode()
        wanted = self._options.signals
        if wanted != "logs":
            if document.get("event") in CALLS:
                return "traces", [make_span(document, self._messages, self._values)]
            if wanted == "traces":
                return "traces", []
        return "logs", make_logs(document, self._messages, self._values)

    # -- requests

    def _send(self, signal: str, items: list[_Item], outcome: _Outcome) -> None:
        """Send records in one request; which of them it is refused for is found by halving.

        While nothing at all is taken the fault is hardly a record's, so that is not asked for long.
        """
        waiting = [items]
        enough = 2 * len(items).bit_length() if self._in_trouble else 2
        while waiting and outcome.trouble is None:
            some = waiting.pop()
            breathe()
            try:
                verdict, reason = self._export(signal, some, outcome)
            except SinkUnavailable as error:
                outcome.trouble = error
                waiting.append(some)
                break
            if not verdict:
                continue
            if len(some) == 1:
                (outcome.failed if verdict == "failed" else outcome.refused)[some[0].record_id] = reason
            else:
                middle = len(some) // 2
                waiting += [some[middle:], some[:middle]]
            outcome.wasted += not outcome.stored
            if outcome.wasted > enough:
                outcome.trouble = self._no_use(verdict, reason)
        outcome.retry.update(item.record_id for some in waiting for item in some)

    def _no_use(self, verdict: str, reason: str) -> SinkUnavailable:
        place = f"{self._options.where}: {self._options.endpoint}"
        if verdict == "failed":
            return SinkUnavailable(f"{place} failed ({reason})", tells=True)
        return SinkDenied(
            f"{place} refuses everything ({reason}); is it a collector for OTLP, and endpoint right?"
        )

    def _export(self, signal: str, items: Sequence[_Item], outcome: _Outcome) -> tuple[str, str]:
        """Export records in one request; return ("", "") when they were taken, else why they were not."""
        assert self._wire is not None
        pairs = ((item.source, thing) for item in items for thing in item.things)
        body: bytes = make_request(signal, pairs, self._messages, self._values).SerializeToString()
        self.pulse.beat(self._options.timeout + CONNECT_TIMEOUT)
        reply = self._wire.post(signal, body)
        if reply.verdict:
            return reply.verdict, reply.reason
        refused, why = self._refused(signal, reply.body)
        self._taken.add(signal)
        if not refused:
            outcome.stored += len(items)
            return "", ""
        # It may not be sent again, says the protocol, and which of them are meant is not said: none is lost.
        number = sum(len(item.things) for item in items)
        which = why if refused >= number else f"the collector refused {refused} of these {number}: {why}"
        outcome.rejected.update(dict.fromkeys((item.record_id for item in items), which))
        return "", ""

    def _refused(self, signal: str, body: bytes) -> tuple[int, str]:
        """Return how many spans or log records a collector that took a request did not take, and why."""
        kind = self._messages.SpansAnswer if signal == "traces" else self._messages.LogsAnswer
        try:
            partly = kind.FromString(body).partial_success
        except Exception:  # taken, but answered in words of its own
            contain("otlp: an answer that is none")
            return 0, ""
        refused = partly.rejected_spans if signal == "traces" else partly.rejected_log_records
        return max(0, refused), " ".join(partly.error_message.split())[:300] or "no reason given"

    def _judge(self, outcome: _Outcome) -> None:
        """Decide whose fault it is that records were not taken when they were alone: their own, where others
        were, else the place's.
        """
        if outcome.refused:
            if outcome.stored or self._taken:
                outcome.rejected.update(outcome.refused)
            else:
                outcome.retry.update(outcome.refused)
                reason = next(iter(outcome.refused.values()))
                outcome.trouble = outcome.trouble or self._no_use("refused", reason)
        for record_id, reason in outcome.failed.items():
            if outcome.stored:
                tries = self._failed[record_id] = self._failed.get(record_id, 0) + 1
                if tries >= MOST_TRIES:
                    del self._failed[record_id]
                    outcome.rejected[record_id] = f"the collector failed on it {tries} times: {reason}"
                    continue
            outcome.retry.add(record_id)
            outcome.trouble = outcome.trouble or self._no_use("failed", reason)
        self._in_trouble = outcome.trouble is not None
        if len(self._failed) > _MOST_FAILED:
            self._failed.clear()
