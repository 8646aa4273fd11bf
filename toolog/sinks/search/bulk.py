"""Records in bulk requests, with accounting by the ``_id`` of each answered item.

``create`` with the record's id: 201 and 409 (it was there) are stored. What the answer does not name was not
answered and comes again, alone. A document that the server refuses never takes others with it: a request
that is refused as a whole is sent in halves. Whose fault a refusal is, is not decided here but by `Suspects`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from toolog.errors import SerializationError, SinkUnavailable
from toolog.sinks.base import SinkRecord
from toolog.sinks.search.document import LIGHTER, lighten
from toolog.sinks.search.options import SearchOptions
from toolog.sinks.search.outcome import Cause, Failure, Outcome, Refusal
from toolog.sinks.search.pace import Pace
from toolog.sinks.search.refusals import NO_REASON, is_state, reason_of, refusal, type_of, unquoted
from toolog.sinks.search.streams import in_the_way, make_stream
from toolog.sinks.search.suspects import ALIKE
from toolog.sinks.search.wire import NDJSON, NoAnswer, Reply, Wire

LONGEST_ID = 512
"""Bytes; a longer ``_id`` fails the whole request."""
_WANTED = "errors,items.*._id,items.*.status,items.*.error"
_HEAD = 40  # bytes around the names in a line's head
REQUIRE = "require_data_stream"
"""The parameter by which a server makes no plain index of what is written."""
_LATER = frozenset({408, 502, 503, 504})
_DENIED = frozenset({401, 403, 404})


class Line:
    """One record of a request: where it goes and what stands there."""

    __slots__ = ("body", "lightened", "record", "record_id", "stream")

    def __init__(self, record: SinkRecord, record_id: str, stream: str, body: bytes) -> None:
        self.record = record
        self.record_id = record_id
        self.stream = stream
        self.body = body
        self.lightened = 0  # how many steps of LIGHTER were taken


class Bulk:
    """Sends lines. ``params`` are further parameters of each request. Unless it is ``sure`` that the index
    template is in effect, each data stream is made before its first record. ``occupied`` are names of
    streams under which something else stands, and what: nothing is sent there.
    """

    def __init__(
        self,
        wire: Wire,
        options: SearchOptions,
        pace: Pace,
        params: dict[str, str] | None = None,
        *,
        sure: bool = True,
        occupied: Mapping[str, str] | None = None,
    ) -> None:
        self._sure = sure
        self._occupied = dict(occupied or {})
        self._wire = wire
        self._options = options
        self._pace = pace
        self._params = {"filter_path": _WANTED, **(params or {})}
        self._heads: dict[str, bytes] = {}
        self._seen: set[str] = set()

    def send(self, lines: Sequence[Line], outcome: Outcome) -> None:
        """Send lines until each has an answer, or the server takes no more now; ``outcome`` learns of each.

        What is wrong with the server stands there too; it is not raised.
        """
        open_parts = list(reversed(self._requests(lines)))
        while open_parts:
            part = _without(outcome, open_parts.pop())
            if not part:
                continue
            try:
                open_parts += self._send_part(part, outcome)
            except SinkUnavailable as error:
                outcome.trouble = error.with_traceback(None)  # which leads here, and so to the outcome
                open_parts.append(part)
            if outcome.throttled or outcome.trouble is not None or _is_uniform(outcome):
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
        for stream in sorted(fresh & self._occupied.keys()):
            raise in_the_way(stream, self._occupied[stream], self._options)
        if not self._sure:
            for stream in sorted(fresh):
                make_stream(self._wire, stream, self._options)
        if fresh:  # only once for each stream: it makes answers longer
            params = {**params, "filter_path": f"{_WANTED},items.*._index"}
        self._pace.note_request()
        try:
            reply = self._wire.request("POST", "/_bulk", body=body, params=params, content_type=NDJSON)
        except NoAnswer as error:
            _note(part, Failure(Cause.WHOLE, str(error)), outcome)
            raise
        if reply.status == 200 and isinstance(reply.body.get("items"), list):
            if fresh:
                self._check_streams(reply.body["items"], fresh)
            self._read(part, reply.body["items"], outcome)
            return []
        if reply.status == 413:
            return self._smaller(part, len(body), outcome)
        if reply.status == 429:
            outcome.throttled = True
            outcome.reason = outcome.reason or _told(429, reply.body)
            if type_of(reply.body) == "circuit_breaking_exception":
                _note(part, Failure(Cause.BUSY, f"429 {reason_of(reply.body)}"), outcome)
            return [part]
        if reply.status == 400 and self._drop_unknown(reply):
            return [part]
        if reply.status == 400 and _is_about_documents(reply):
            return self._apart(part, reply, outcome)
        if reply.status == 200:
            raise SinkUnavailable(f"{self._options.where}: an answer without items", tells=True)
        reason = reason_of(reply.body)
        if reply.status >= 500 or (reason == NO_REASON and reply.status != 401):
            _note(part, Failure(Cause.WHOLE, f"{reply.status} {reason}"), outcome)
        raise refusal(reply, "writing", self._options)

    def _drop_unknown(self, reply: Reply) -> bool:
        """Whether a server that could not be asked for its version does not know a parameter: then never
        again with it.
        """
        if REQUIRE in self._params and REQUIRE in reason_of(reply.body):
            del self._params[REQUIRE]
            return True
        return False

    def _body(self, part: Sequence[Line]) -> bytes:
        pieces: list[bytes] = []
        for line in part:
            head = self._heads.get(line.stream)
            if head is None:
                head = self._heads[line.stream] = b'{"create":{"_index":%b,"_id":' % orjson.dumps(line.stream)
            pieces += (head, orjson.dumps(line.record_id), b"}}\n", line.body, b"\n")
        return b"".join(pieces)

    # -- answers

    def _read(self, part: Sequence[Line], items: Sequence[Any], outcome: Outcome) -> None:
        """Settle each line by the item that has its id; a line without an item comes again."""
        if _are_all_new(part, items):
            outcome.stored += len(part)
            return
        waiting: dict[str, list[Line]] = {}
        for line in part:
            waiting.setdefault(line.record_id, []).append(line)
        for item in items:
            result = item.get("create") if isinstance(item, dict) else None
            lines = waiting.get(str(result.get("_id"))) if isinstance(result, dict) else None
            if not lines or not isinstance(result, dict):
                continue
            line = lines.pop()
            status = result.get("status")
            if not isinstance(status, int):
                status = 0  # whatever that is
            if status == 201 or status == 200:
                outcome.stored += 1
            elif status == 409:
                outcome.stored += 1
                outcome.again += 1
            else:
                self._note_item(line, status, result.get("error"), outcome)
        for lines in waiting.values():
            outcome.retry.update(line.record_id for line in lines)

    def _note_item(self, line: Line, status: Any, error: Any, outcome: Outcome) -> None:
        """Note what the server says of one record that it did not store."""
        if status == 429 or status in _LATER:
            outcome.throttled = outcome.throttled or status == 429
            outcome.reason = outcome.reason or _told(status, error)
            outcome.retry.add(line.record_id)
        elif status in _DENIED or (status == 400 and is_state({"error": error})):
            outcome.retry.add(line.record_id)
            if line.stream not in outcome.denied:
                doing = f"writing to {line.stream}"
                outcome.denied[line.stream] = refusal(
                    Reply(int(status), {"error": error}), doing, self._options
                )
        elif status == 400:
            outcome.refused[line.record_id] = Refusal(type_of({"error": error}), reason_of(error))
        else:
            outcome.reason = outcome.reason or _told(status, error)
            outcome.failed[line.record_id] = Failure(Cause.ITEM, f"{status} {reason_of(error)}")

    def _check_streams(self, items: Iterable[Any], fresh: set[str]) -> None:
        """Raise SinkDenied when a name is that of a plain index: no template of ours holds there."""
        for item in items:
            result = item.get("create", {}) if isinstance(item, dict) else {}
            where, error = result.get("_index"), result.get("error")
            if result.get("status") == 409 and isinstance(error, dict):
                where = error.get("index")  # where it is already
            elif result.get("status") not in (200, 201):
                continue
            if where in fresh:
                raise in_the_way(where, "an index", self._options)
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
        outcome.refused[part[0].record_id] = Refusal(type_of(reply.body), reason_of(reply.body))
        return []


def _halves(part: Sequence[Line]) -> list[Sequence[Line]]:
    middle = len(part) // 2
    return [part[middle:], part[:middle]]  # the last one is sent first


def _are_all_new(part: Sequence[Line], items: Sequence[Any]) -> bool:
    """Whether an answer says of each line, in their order, that it was stored: the common one, seen fast."""
    try:
        results = [item["create"] for item in items]
        return [result["_id"] for result in results] == [line.record_id for line in part] and {
            result["status"] for result in results
        } == {201}
    except (KeyError, TypeError):
        return False


def _without(outcome: Outcome, part: Sequence[Line]) -> Sequence[Line]:
    """Return a request without the streams that were denied us: others do not wait for them."""
    if not outcome.denied:
        return part
    outcome.retry.update(line.record_id for line in part if line.stream in outcome.denied)
    return [line for line in part if line.stream not in outcome.denied]


def _is_uniform(outcome: Outcome) -> bool:
    """Whether nothing but refusals of one kind came so far: then there is no use in sending the rest."""
    if outcome.stored or len(outcome.refused) < ALIKE:
        return False
    return len({refusal.kind for refusal in outcome.refused.values()}) == 1


def _note(part: Sequence[Line], failure: Failure, outcome: Outcome) -> None:
    """Note that a request failed as a whole, perhaps for one of its records: for which, if it is alone."""
    outcome.vague = True
    if len(part) == 1:
        outcome.failed[part[0].record_id] = failure


def _is_about_documents(reply: Reply) -> bool:
    """Whether a 400 speaks of what was sent; that of a proxy, or of a parameter, does not."""
    if not isinstance(reply.body.get("error"), dict) or is_state(reply.body):
        return False
    return "unrecognized parameter" not in reason_of(reply.body)


def _told(status: Any, error: Any) -> str:
    """Return what may be told of an error of single records."""
    return f"{status} {unquoted(reason_of(error))}"
