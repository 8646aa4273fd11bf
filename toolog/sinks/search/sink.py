"""The sinks ``elasticsearch`` and ``opensearch``: records as documents in a data stream for each policy."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from copy import copy
from math import ceil
from typing import Any

from toolog.breath import breathing
from toolog.errors import SerializationError, SinkDenied, SinkUnavailable
from toolog.sinks.base import Answer, Batch, BatchLimits, Pulse, SinkRecord
from toolog.sinks.heap import keep_freed_memory
from toolog.sinks.lanes import work_side_by_side
from toolog.sinks.search.bulk import LONGEST_ID, REQUIRE, Bulk, Line
from toolog.sinks.search.clients import check_client, connect_search, most_tries
from toolog.sinks.search.document import LEAF_BYTES, encode
from toolog.sinks.search.install import Server, install_template, is_answered, look_at
from toolog.sinks.search.isolation import MOST, send_apart
from toolog.sinks.search.names import NAMESPACE, data_stream, stream_pattern
from toolog.sinks.search.options import TIMEOUT, SearchOptions, check_dialect
from toolog.sinks.search.outcome import Outcome
from toolog.sinks.search.pace import Pace
from toolog.sinks.search.short import encode_short
from toolog.sinks.search.streams import check_streams, find_occupied
from toolog.sinks.search.suspects import Suspects, vitals_of
from toolog.sinks.search.wire import Wire
from toolog.sinks.short import ShortRecord


class ElasticsearchSink:
    """Writes each record once, with its id, into the data stream ``toolog-<policy>-<namespace>``.

    ``hosts`` (needed), ``api_key``, ``basic_auth``, ``bearer_auth``, ``ca_certs``, ``verify_certs``,
    ``ssl_assert_fingerprint``, ``timeout`` (seconds) and ``http_compress`` mean what they mean for the
    client. ``leaf_bytes``: how long a leaf of arguments and results may be, in bytes of UTF-8. ``dialect``:
    whose client is used, ``"elasticsearch"`` or ``"opensearch"``. ``lifecycle``: who lets go of old records
    there (``"data_stream"``, ``"ilm"``, ``"ism"``, ``"toolog"``), for ``toolog retention``. Raises
    ConfigError for a wrong option or a client that is not installed.
    """

    paths = ("ca_certs",)
    batch = BatchLimits(max_records=8000, max_bytes=16 * 1024 * 1024, max_age=1.0)
    max_backoff = 20.0  # a server that is back is seen soon: what waited meanwhile takes its time
    kind = "elasticsearch"

    def __init__(
        self,
        *,
        name: str = "search",
        hosts: str | Sequence[str] | None = None,
        api_key: Any = None,
        basic_auth: Any = None,
        bearer_auth: Any = None,
        ca_certs: str | os.PathLike[str] | None = None,
        verify_certs: bool = True,
        ssl_assert_fingerprint: str | None = None,
        timeout: float | str = TIMEOUT,
        http_compress: bool = False,
        namespace: str = NAMESPACE,
        lifecycle: str | None = None,
        leaf_bytes: int | str = LEAF_BYTES,
        dialect: str | None = None,
    ) -> None:
        self.name = name
        table = {
            "hosts": hosts,
            "api_key": api_key,
            "basic_auth": basic_auth,
            "bearer_auth": bearer_auth,
            "ca_certs": ca_certs,
            "verify_certs": verify_certs,
            "ssl_assert_fingerprint": ssl_assert_fingerprint,
            "timeout": timeout,
            "http_compress": http_compress,
            "namespace": namespace,
            "lifecycle": lifecycle,
            "leaf_bytes": leaf_bytes,
            "dialect": self.kind if dialect is None else dialect,
        }
        where = f"sink {name!r}"
        check_client(check_dialect(table["dialect"], where), where)
        self.options = SearchOptions.from_table(table, where)
        self.timeout = self.options.timeout
        self._begin(stream_pattern(self.options.namespace))

    def _begin(self, streams: str) -> None:
        """Begin as a sink that never reached its server; ``streams`` are those that must have our mapping."""
        self._streams = streams
        self.pace = Pace()
        self.pulse = Pulse()
        self._suspects = Suspects(self.options.where, vitals=vitals_of(self.options.hosts))
        self._wire: Wire | None = None
        self._bulk: Bulk | None = None
        self._open = False

    def for_policy(self, policy: str) -> ElasticsearchSink:
        """Return another sink like this one for the records of one policy: of the others' data streams it
        neither knows nor wants to know anything.
        """
        made = copy(self)
        made._begin(data_stream(policy, self.options.namespace))
        return made

    # -- the protocol of a sink ------------------------------------------------------------------------------

    def connect(self) -> None:
        """Reach the server and put the index template there if it is missing or of an older toolog.

        Raises SinkUnavailable when nobody answers, SinkDenied when somebody has to put something right first.
        """
        self._open = True
        keep_freed_memory()
        if self._bulk is None:
            self._reach()

    def write(self, batch: Batch) -> Answer | None:
        """Store a batch; see ``toolog.sinks.base``. A record that was there already counts as again."""
        if not self._open:
            raise SinkUnavailable(f"{self.options.where} is closed", tells=True)
        if self._bulk is None:  # parted from it when it refused us: secrets are read again
            self._reach()
        outcome = self._send(batch)
        if isinstance(outcome.trouble, SinkDenied) and not outcome.stored:
            self._part()
        if outcome.retry and not outcome.stored and not outcome.rejected:
            reason = outcome.reason or "the answer names none of them"
            text = f"{self.options.where}: the server took none of {len(batch)} records ({reason})"
            trouble = outcome.trouble or SinkUnavailable(text, tells=True)
            try:
                raise trouble
            finally:  # what leads to itself would hold the batch until the garbage collector finds it
                outcome.trouble = None
                del trouble
        if outcome.rejected or outcome.retry or outcome.again:
            reason = outcome.reason if outcome.trouble is None else str(outcome.trouble)
            return Answer(outcome.rejected, frozenset(outcome.retry), outcome.again, reason)
        return None

    def close(self) -> None:
        """Close the client; may be called twice."""
        self._open = False
        self._part()

    # -- the server ------------------------------------------------------------------------------------------

    def _reach(self) -> None:
        if self._wire is None:
            self._wire = Wire(connect_search(self.options), self.options, self.pulse)
        try:
            server = self._find_server(self._wire)
            known = install_template(self._wire, server, self.options)
            # Each try would roll them over once more, where nobody knows which template makes the new index.
            check_streams(self._wire, self.options, self._streams, roll=known)
            occupied = find_occupied(self._wire, self.options, self._streams)
        except SinkDenied:
            self._part()  # secrets are read again
            raise
        # After any other failure the client stays, because it knows by now which hosts are down.
        params = _bulk_params(server)
        self._bulk = Bulk(self._wire, self.options, self.pace, params, sure=known, occupied=occupied)

    def _find_server(self, wire: Wire) -> Server:
        """Return what the server says it is; where more hosts hang than one request is sent to, the next one
        goes to the others: whoever makes a new sink for the next try begins with all of them.
        """
        for _ in range(1, ceil(len(self.options.hosts) / most_tries(self.options))):
            try:
                return look_at(wire, self.options)
            except SinkDenied:
                raise
            except SinkUnavailable:
                continue
        return look_at(wire, self.options)

    def _part(self) -> None:
        wire, self._wire, self._bulk = self._wire, None, None
        if wire is not None:
            wire.close()

    # -- a batch ---------------------------------------------------------------------------------------------

    def _send(self, batch: Batch) -> Outcome:
        assert self._bulk is not None
        total = self._send_apart(batch) if self._suspects.looking else self._send_whole(batch)
        if total.broke is not None:
            raise total.broke
        total.trouble = total.trouble or next(iter(total.denied.values()), None)
        self._suspects.judge(total, self._answers, self._check_streams)
        self._follow(total)
        return total

    def _send_whole(self, batch: Batch) -> Outcome:
        """Send a batch in requests as large as the pace says, side by side."""
        assert self._bulk is not None
        bulk, options = self._bulk, self.options
        outcomes: list[Outcome] = []
        turn = threading.Lock()  # while one lane makes documents, another sends: both at once only collide

        def work(part: Batch) -> bool:
            outcome = Outcome(requests=1)
            outcomes.append(outcome)
            try:
                with turn:
                    lines = _lines(part, options, outcome)
                bulk.send(lines, outcome)
            except Exception as error:  # raised again on the thread that the runner called
                outcome.broke = error
            refused = outcome.refused and not outcome.stored
            return not (outcome.throttled or outcome.trouble or outcome.broke or refused)

        batch = self._suspects.put_last(batch)
        size = self.pace.records
        parts = [batch[start : start + size] for start in range(0, len(batch), size)]
        now = parts[:1] if self.pace.lanes == 1 else parts
        left = work_side_by_side(now, work, self.pace.lanes) + parts[len(now) :]
        total = Outcome()
        for outcome in outcomes:
            total.add(outcome)
        total.retry |= {record.record_id for part in left for record in part}
        return total

    def _send_apart(self, batch: Batch) -> Outcome:
        """Send records one by one, because one of them may be what requests fail for."""
        assert self._bulk is not None
        total = Outcome()
        batch = self._suspects.put_last(batch)
        lines = _lines(batch[:MOST], self.options, total)
        send_apart(lines, self._bulk.send, self._suspects.tries, total, self.options.timeout)
        total.retry |= {record.record_id for record in batch[MOST:]}
        return total

    def _answers(self) -> bool:
        return self._wire is not None and is_answered(self._wire)

    def _check_streams(self) -> SinkUnavailable | None:
        """Return what is wrong with the streams, or None when they have our mapping."""
        assert self._wire is not None
        try:
            check_streams(self._wire, self.options, self._streams, roll=False)
        except SinkUnavailable as error:
            return error
        return None

    def _follow(self, outcome: Outcome) -> None:
        """Keep the pace that the server asks for."""
        if outcome.throttled:
            self.pace.slow_down()
        elif outcome.trouble is None:
            self.pace.speed_up(max(1, outcome.requests))
        elif not isinstance(outcome.trouble, SinkDenied):
            self.pace.shrink()


class OpenSearchSink(ElasticsearchSink):
    """The same sink with opensearch-py; its options are those of ``ElasticsearchSink``."""

    kind = "opensearch"


def _lines(part: Batch, options: SearchOptions, outcome: Outcome) -> list[Line]:
    """Return the lines of a bulk request for records; ``outcome`` learns of those that cannot become one."""
    lines: list[Line] = []
    for record in breathing(part):
        try:
            record_id, body = _encode(record, options.leaf_bytes)
        except SerializationError as error:
            outcome.rejected[record.record_id] = str(error)
            continue
        if len(record_id) > LONGEST_ID // 4 and len(record_id.encode()) > LONGEST_ID:
            outcome.rejected[record_id] = f"a record_id of more than {LONGEST_ID} bytes"
            continue
        lines.append(Line(record, record_id, data_stream(record.policy, options.namespace), body))
    return lines


def _encode(record: SinkRecord, leaf_bytes: int) -> tuple[str, bytes]:
    short = encode_short(record.short, leaf_bytes) if type(record) is ShortRecord else None
    return encode(record.data, record.serializer, leaf_bytes) if short is None else short


def _bulk_params(server: Server) -> dict[str, str]:
    """Further parameters of a bulk request: never make a plain index, where the server knows how not to (one
    that may not be asked for its version is tried).
    """
    knows = server.kind == "elasticsearch" and (server.version >= (8, 13) or server.version == (0, 0))
    return {REQUIRE: "true"} if knows else {}
