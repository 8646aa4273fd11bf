"""Records in bulk requests, with accounting by the ``_id`` of each answered item.

``create`` with the record's id: 201 and 409 (it was there) are stored. What the answer does not name was not
answered and comes again, alone. A document that the server refuses never takes others with it: a request
that is refused as a whole is sent in halves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from toolog.errors import SerializationError, SinkDenied, SinkUnavailable
from toolog.sinks.base import SinkRecord
from toolog.sinks.search.document import LIGHTER, lighten
from toolog.sinks.search.options import SearchOptions
from toolog.sinks.search.pace import Pace
from toolog.sinks.search.refusals import reason_of, refusal
from toolog.sinks.search.wire import NDJSON, Reply, Wire

LONGEST_ID = 512
"""Bytes; a longer ``_id`` fails the whole request."""
_WANTED = "errors,items.*._id,items.*.status,items.*.error"
_OTHERS_FAULT = frozenset(
    {"validation_exception", "index_closed_exception", "invalid_index_name_exception", "security_exception"}
)
"""Types of errors with status 400 that are the cluster's state, not the document's: no room for another
shard, a closed index."""
_HEAD = 40  # bytes around the names in a line's head
_LATER = frozenset({408, 502, 503, 504})
_DENIED = frozenset({401, 403, 404})
_TRIES = 5
"""How often a record is sent on which the server breaks while it stores others."""


class Line:
    """One record of a request: where it goes and what stands there."""

    __slots__ = ("body", "lightened", "record", "record_id", "stream")

    def __init__(self, record: SinkRecord, record_id: str, stream: str, body: bytes) -> None:
        self.record = record
        self.record_id = record_id
        self.stream = stream
        self.body = body
        self.lightened = 0  # how many steps of LIGHTER were taken


@dataclass
class Outcome:
    """What became of records: ``stored`` (a number), of them ``again``; the others by their ids.

    ``throttled``: the server said 429. ``reason`` is what it said of one in ``retry``, ``trouble`` why some
    there had no answer at all, ``broke`` an error of ours.
    """

    stored: int = 0
    again: int = 0
    rejected: dict[str, str] = field(default_factory=dict)
    retry: set[str] = field(default_factory=set)
    throttled: bool = False
    reason: str = ""
    trouble: SinkUnavailable | None = None
    broke: Exception | None = None

    def add(self, other: Outcome) -> None:
        """Take over what became of other records."""
        self.stored += other.stored
        self.again += other.again
        self.rejected.update(other.rejected)
        self.retry |= other.retry
        self.throttled = self.throttled or other.throttled
        self.reason = self.reason or other.reason
        self.trouble = self.trouble or other.trouble
        self.broke = self.broke or other.broke


class Bulk:
    """Sends lines. ``params`` are further parameters of each request."""

    def __init__(
        self, wire: Wire, options: SearchOptions, pace: Pace, params: dict[str, str] | None = None
    ) -> None:
        self._wire = wire
        self._options = options
        self._pace = pace
        self._params = {"filter_path": _WANTED, **(params or {})}
        self._tries: dict[str, int] = {}
        self._heads: dict[str, bytes] = {}
        self._seen: set[str] = set()

    def send(self, lines: Sequence[Line], outcome: Outcome) -> None:
        """Send lines until each has an answer, or the server takes no more now; ``outcome`` learns of each.

        What is wrong with the server stands there too; it is not raised.
        """
        open_parts = list(reversed(self._requests(lines)))
        while open_parts:
            part = open_parts.pop()
            try:
                open_parts += self._send_part(part, outcome)
            except SinkUnavailable as error:
                outcome.trouble = error
                open_parts.append(part)
            if outcome.throttled or outcome.trouble is not None:
                outcome.retry |= {line.record_id for rest in open_parts for line in rest}
                return

    def _requests(self, lines: Sequence[Line]) -> list[Sequence[Line]]:
        """Return the lines in requests that are not larger than the pace says."""
        parts: list[Sequence[Line]] = []
        start = size = 0
        for index, line in enumerate(lines):
            if size + len(line.body) > self._pace.bytes and index > start:
                parts.append(lines[start:index])
                start, size = index, 0
            size += len(line.body) + len(line.record_id) + len(line.stream) + _HEAD
        if lines:
            parts.append(lines[start:])
        return parts

    def _send_part(self, part: Sequence[Line], outcome: Outcome) -> list[Sequence[Line]]:
        """Send one request; return in which parts its lines go out again at once."""
        body = self._body(part)
        fresh = {line.stream for line in part} - self._seen
        params = self._params
        if fresh:  # only once for each stream: it makes answers longer
            params = {**params, "filter_path": f"{_WANTED},items.*._index"}
        self._pace.note_request()
        reply = self._wire.request("POST", "/_bulk", body=body, params=params, content_type=NDJSON)
        if reply.status == 200 and isinstance(reply.body.get("items"), list):
            if fresh:
                self._check_streams(reply.body["items"], fresh)
            self._read(part, reply.body["items"], outcome)
            return []
        if reply.status == 413:
            return self._smaller(part, len(body), outcome)
        if reply.status == 429:
            outcome.throttled = True
            outcome.reason = f"429 {reason_of(reply.body)}"
            return [part]
        if reply.status == 400 and _is_about_documents(reply):
            return self._apart(part, reply, outcome)
        if reply.status == 200:
            raise SinkUnavailable(f"{self._options.where}: an answer without items", tells=True)
        raise refusal(reply, "writing", self._options)

    def _body(self, part: Sequence[Line]) -> bytes:
        pieces: list[bytes] = []
        for line in part:
            head = self._heads.get(line.stream)
            if head is None:
                head = self._heads[line.stream] = b'{"create":{"_index":%b,"_id":' % orjson.dumps(line.stream)
            pieces += (head, orjson.dumps(line.record_id), b"}}\n", line.body, b"\n")
        return b"".join(pieces)

    # -- answers

    def _read(self, part: Sequence[Line], items: Iterable[Any], outcome: Outcome) -> None:
        """Settle each line by the item that has its id; a line without an item comes again."""
        waiting: dict[str, list[Line]] = {}
        for line in part:
            waiting.setdefault(line.record_id, []).append(line)
        stored_before = outcome.stored
        broken: list[tuple[Line, str]] = []
        for item in items:
            result = item.get("create") if isinstance(item, dict) else None
            lines = waiting.get(str(result.get("_id"))) if isinstance(result, dict) else None
            if not lines or not isinstance(result, dict):
                continue
            line = lines.pop()
            status = result.get("status")
            if status == 201 or status == 200:
                outcome.stored += 1
            elif status == 409:
                outcome.stored += 1
                outcome.again += 1
            elif status == 429 or status in _LATER:
                outcome.throttled = outcome.throttled or status == 429
                outcome.reason = outcome.reason or f"{status} {reason_of(result.get('error'))}"
                outcome.retry.add(line.record_id)
            elif status in _DENIED or (status == 400 and _type_of(result) in _OTHERS_FAULT):
                outcome.retry.add(line.record_id)
                reply = Reply(int(status), {"error": result.get("error")})
                doing = f"writing to {line.stream}"
                outcome.trouble = outcome.trouble or refusal(reply, doing, self._options)
            elif status == 400:
                outcome.rejected[line.record_id] = f"400 {reason_of(result.get('error'))}"
            else:
                broken.append((line, f"{status} {reason_of(result.get('error'))}"))
        for lines in waiting.values():
            outcome.retry.update(line.record_id for line in lines)
        self._count_tries(broken, outcome, others_stored=outcome.stored > stored_before)

    def _count_tries(
        self, broken: Sequence[tuple[Line, str]], outcome: Outcome, *, others_stored: bool
    ) -> None:
        """Try again what the server broke on; but a record on which it breaks while it stores others only a
        few times, else it would hold up all that come after it.
        """
        if not broken and others_stored:
            self._tries.clear()
        for line, reason in broken:
            tries = self._tries.get(line.record_id, 0)
            if others_stored or tries:
                tries += 1
                self._tries[line.record_id] = tries
            if tries >= _TRIES:
                del self._tries[line.record_id]
                outcome.rejected[line.record_id] = reason
            else:
                outcome.reason = outcome.reason or reason
                outcome.retry.add(line.record_id)

    def _check_streams(self, items: Iterable[Any], fresh: set[str]) -> None:
        """Raise SinkDenied when a name is that of a plain index: no template of ours holds there."""
        for item in items:
            result = item.get("create", {}) if isinstance(item, dict) else {}
            if result.get("_index") in fresh and result.get("status") in (200, 201):
                raise SinkDenied(
                    f"{self._options.where}: {result['_index']} is an index, not a data stream; it was there "
                    "before the index template: move or delete it"
                )
        self._seen |= fresh

    # -- requests that were too large, or refused for one of their documents

    def _smaller(self, part: Sequence[Line], size: int, outcome: Outcome) -> list[Sequence[Line]]:
        if len(part) > 1:
            self._pace.limit_size(size)
            return _halves(part)
        line = part[0]
        while line.lightened < len(LIGHTER):
            texts, items = LIGHTER[line.lightened]
            line.lightened += 1
            try:
                lighter = lighten(line.record.data, line.record.serializer, texts, items)
            except SerializationError:
                break
            if len(lighter) < len(line.body):
                line.body = lighter
                return [part]
        outcome.rejected[line.record_id] = (
            f"413 too large for the server, even when cut to {len(line.body):,} bytes"
        )
        return []

    def _apart(self, part: Sequence[Line], reply: Reply, outcome: Outcome) -> list[Sequence[Line]]:
        if len(part) > 1:
            return _halves(part)
        outcome.rejected[part[0].record_id] = f"400 {reason_of(reply.body)}"
        return []


def _halves(part: Sequence[Line]) -> list[Sequence[Line]]:
    middle = len(part) // 2
    return [part[middle:], part[:middle]]  # the last one is sent first


def _is_about_documents(reply: Reply) -> bool:
    """Whether a 400 speaks of what was sent; that of a proxy, or of a parameter, does not."""
    error = reply.body.get("error")
    if not isinstance(error, dict) or error.get("type") in _OTHERS_FAULT:
        return False
    return "unrecognized parameter" not in str(error.get("reason"))


def _type_of(result: dict[str, Any]) -> Any:
    error = result.get("error")
    return error.get("type") if isinstance(error, dict) else None
